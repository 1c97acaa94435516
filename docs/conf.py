"""How Sphinx builds the site. `make docs` runs it through scripts/docs.py, which puts the sources together."""

from __future__ import annotations

import html
import inspect
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.docscrape import NumpyDocString
from sphinx.util import logging

import hlmc
from hlmc.versions import VERSION

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))
import site_gallery  # noqa: E402
from site_links import docstring_typeset, source  # noqa: E402
from site_reference import names  # noqa: E402

project = "hlmc"
author = "The hlmc authors"
copyright = "The hlmc authors. MIT licence"  # noqa: A001, a name that Sphinx reads
version = release = VERSION

# Where the project is at home, once it is: `Documentation` and `Source` of [project.urls] in pyproject.toml.
# The first makes addresses of the social card and of pages absolute, the second links each page to its file.
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
].get("urls", {})
html_baseurl = URLS.get("Documentation", "").rstrip("/")
html_baseurl += "/" if html_baseurl else ""

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# Of what sphinx-gallery writes, only the pages are sources.
exclude_patterns = [
    "gallery/*.ipynb",
    "gallery/*.py",
    "gallery/*.zip",
    "gallery/*.json",
    "gallery/*.md5",
]
default_role = "py:obj"
highlight_language = "none"

# Pages: Markdown with anchors at headings, as the places that show the repository have them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
# Notebooks are committed with their outputs; tests run them, this build does not.
nb_execution_mode = "off"
nb_ipywidgets_js = {}

# The reference.
autodoc_typehints = "signature"
# A class that is imported for its name alone, and has that name in several modules.
autodoc_type_aliases = {"Bandit": "hlmc.Bandit"}
python_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The gallery: every script runs, and its figures and what it prints are shown.
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "min_reported_time": 10**6,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "site_gallery.place",
    "image_scrapers": ("site_gallery.scraper",),
    "image_srcset": [],
    "remove_config_comments": True,
    "notebook_images": False,
    "first_notebook_cell": None,
}

html_theme = "pydata_sphinx_theme"
html_title = "hlmc"
html_static_path = ["_static"]
html_sidebars = {
    "**": ["sidebar-nav-bs"],
    "index": [],
    "tutorial": [],
    "search": [],
    "genindex": [],
}
html_css_files = ["site.css"]
html_context = {
    "default_mode": "auto",
    "home": html_baseurl,
    "repository": URLS.get("Source"),
    "playground": (ROOT / "scripts" / "playground.py").exists(),
}
html_favicon = "_static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "text": f"hlmc {VERSION}",
        "image_light": "_static/icon.svg",
        "image_dark": "_static/icon.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_center": ["navbar-nav", "playground-link"],
    "navigation_depth": 2,
    "show_nav_level": 1,
    "collapse_navigation": True,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["source-link"],
    "secondary_sidebar_items": ["page-toc", "edit-link"],
    "search_as_you_type": False,
}

# Formulas: MathML, which browsers show without any script or font from elsewhere.
html_math_renderer = "mathml"


def formula(node: nodes.Node, *, block: bool) -> str:
    """A formula of TeX as MathML; one that cannot be translated is a warning, and shown as it is written."""
    text = " ".join(node.astext().split()).replace(r"\dots", r"\ldots")
    text = re.sub(
        r"\\([Bb]ig|textstyle|mathrel)(?![a-z])", "", text
    )  # sizes and spaces that MathML finds by itself
    text = re.sub(r"(?<=[\w)}])\s*\\ln(?![a-z])", r"\\,\\ln", text)
    text = re.sub(r"\\ln\s+(?=\w)", r"\\ln\\,", text)
    try:
        return str(tex2mathml(text, as_block=block))
    except MathError as error:
        logger.warning("%s in the formula %s", error, text, location=node)
        return f"<code>{html.escape(text)}</code>"


def inline_formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(formula(node, block=False))
    raise nodes.SkipNode


def displayed_formula(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{formula(node, block=True)}</div>\n')
    raise nodes.SkipNode


# Sections of docstrings that numpydoc does not know. It would drop them, so they are set aside and put back behind it.
OWN_SECTIONS = ("Guarantee", "Facts")
_aside: dict[str, list[str]] = {}


def set_aside(
    app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    docstring_typeset(lines, lambda page: (ROOT / "docs" / f"{page}.md").exists())
    heads = [
        i
        for i in range(len(lines) - 1)
        if lines[i].strip() and set(lines[i + 1].strip()) == {"-"}
    ]
    for start in reversed(heads):
        if lines[start].strip() in OWN_SECTIONS:
            end = min((i for i in heads if i > start), default=len(lines))
            _aside[name] = [
                f".. rubric:: {lines[start].strip()}",
                "",
                *lines[start + 2 : end],
                "",
                *_aside.get(name, []),
            ]
            del lines[start:end]
            heads = [i - (end - start) if i > start else i for i in heads if i != start]
    if (
        inspect.isclass(item)
        and issubclass(item, hlmc.Policy)
        and item is not hlmc.Policy
    ):
        _aside[name] = [*shared_parameters(item), *_aside.get(name, [])]


def shared_parameters(policy: type) -> list[str]:
    """The parameters that all policies have, as their base describes them, for the page of one."""
    own = {
        each.name for each in NumpyDocString(inspect.getdoc(policy) or "")["Parameters"]
    }
    lines = [".. rubric:: Parameters of every policy", ""]
    for each in NumpyDocString(inspect.getdoc(hlmc.Policy) or "")["Parameters"]:
        if each.name not in own and each.name in inspect.signature(policy).parameters:
            lines += [f"**{each.name}**", *(f"    {line}" for line in each.desc), ""]
    docstring_typeset(lines, lambda page: (ROOT / "docs" / f"{page}.md").exists())
    return lines


def put_back(
    app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    section = _aside.pop(name, [])
    place = next(
        (i for i, line in enumerate(lines) if line.startswith(".. rubric::")),
        len(lines),
    )
    lines[place:place] = section


NumpyDocString.sections = {**NumpyDocString.sections, **dict.fromkeys(OWN_SECTIONS, "")}


# Classes whose objects the library makes: how it does so is not for users. (hlmc.Ticket has no signature to leave out.)
MADE = {
    "hlmc.Bandit",
    "hlmc.Moments",
    "hlmc.Result",
    "hlmc.Sweep",
    "hlmc.arenas.ArenaResult",
    "hlmc.bandit.BanditArms",
    "hlmc.bandit.Report",
    "hlmc.bandit.Tally",
    "hlmc.games.GameResult",
    "hlmc.games.Match",
}


def unsigned(
    app: Any, what: str, name: str, item: Any, options: Any, signature: Any, result: Any
) -> tuple[str, None] | None:
    return ("", None) if name in MADE else None


KNOWN = names()


def inherited(app: Any, env: Any, node: Any, contents: Any) -> Any:
    """A link to a member that a docstring names without its class: one that the class on the page inherits."""
    if node.get("refdomain") != "py":
        return None
    # A table of inherited members is outside of the class; the page has its name.
    places = (
        f"{node.get('py:module')}.{node.get('py:class')}",
        Path(node["refdoc"]).name,
    )
    found = (KNOWN.get(f"{place}.{node.get('reftarget')}") for place in places)
    target = next(filter(None, found), None)
    if target is None:
        return None
    return env.domains["py"].resolve_xref(
        env, node["refdoc"], app.builder, "obj", target, node, contents
    )


# What extensions add to every page, and the folders whose pages use it.
USED_IN = {
    "sg_": "gallery/",
    "sg-": "gallery/",
    "mystnb": "notebooks/",
    "design-tabs": "-",
    "sphinx_highlight": "search",
}


def describe(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """The first paragraph of a page, for search engines and for whoever is sent a link to it; the link to its file."""
    first = (
        next(iter(doctree.findall(nodes.paragraph)), None)
        if doctree is not None
        else None
    )
    if first is not None:
        text = " ".join(first.astext().split())
        context["described"] = (
            text if len(text) <= 200 else f"{text[:197].rpartition(' ')[0]} ..."
        )
    if "Source" in URLS and (file := source(page, ROOT)):
        context["edit"] = f"{URLS['Source'].rstrip('/')}/edit/main/{file}"


def leave_out(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Scripts and styles only where they are used: a page is to be small."""

    def used(asset: Any) -> bool:
        name = Path(str(asset.filename or "")).name
        return all(
            page.startswith(folder)
            for start, folder in USED_IN.items()
            if name.startswith(start)
        )

    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context[kind] if used(asset)]


def setup(app: Any) -> None:
    app.connect(
        "builder-inited", site_gallery.finish, priority=900
    )  # after sphinx-gallery
    app.connect("html-page-context", leave_out, priority=900)
    app.connect("html-page-context", describe)
    app.connect("missing-reference", inherited)
    app.connect("autodoc-process-signature", unsigned)
    app.add_html_math_renderer(
        "mathml", (inline_formula, None), (displayed_formula, None)
    )
    app.connect("autodoc-process-docstring", set_aside, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)
