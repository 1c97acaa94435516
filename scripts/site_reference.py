"""The reference of the site: a page for every public class and module, from the names that the package exports.

What is public: `hlmc.__all__`, and the `__all__` of every module in it and of `MODULES`. `public()` lists the names,
and tests/site/test_reference.py asks that each has its place in the built site.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from site_links import prose_typeset
from sphinx.pycode import ModuleAnalyzer

import hlmc
from hlmc.adversaries import Adversary

# Public modules that `import hlmc` does not bring along, mostly because they need another package.
MODULES = (
    "hlmc.adapters.gymnasium",
    "hlmc.adapters.pettingzoo",
    "hlmc.adapters.river",
    "hlmc.evaluation",
    "hlmc.errors",
    "hlmc.plotting",
)

# What the library itself asks of its own classes: of no use to whoever has an object of them.
INTERNAL = {
    "arguments",
    "ask_each",
    "compiled",
    "described",
    "fresh",
    "keep_benchmarks",
    "of",
    "of_file",
    "player",
    "read",
    "trusted",
    "unanswered",
}

# The same of a policy.
ENGINE = {
    "accepted",
    "anytime",
    "arguments",
    "assumed_delta",
    "assumed_switches",
    "bits",
    "bits_used",
    "delay_power",
    "epochs_used",
    "first_stage",
    "groups_used",
    "level_words",
    "levels_at",
    "program",
    "promised",
    "range_shown",
    "routines_used",
    "rule",
    "scale",
    "scaled",
    "structure",
    "window_words",
}

# What the library asks of an adversary or a routine: on the pages of these two classes, for those who write one.
FOR_AUTHORS = {
    Adversary: {
        "address",
        "code",
        "failure",
        "mean_rule",
        "piecewise",
        "rule",
        "spec",
        "spec_in",
        "state",
        "unchecked",
    },
    hlmc.routines.Routine: {"check_coded", "coded_packed", "coded_words", "cost", "kernels", "packed"},
}

GALLERY = Path(__file__).resolve().parent.parent / "examples" / "gallery"

# The names of `hlmc` itself, by what they are for. Names that are in no list come last, as "Other".
SECTIONS: dict[str, tuple[str, ...]] = {
    "Policies": (
        "Champion",
        "HLMC",
        "TsallisINF",
        "EXP3",
        "EXP3Loss",
        "EXP3IX",
        "EXP3P",
        "EXP3S",
        "UCB1",
        "UCBM",
        "EXP3M",
        "Thompson",
        "EpsilonGreedy",
        "Uniform",
        "Policy",
        "Words",
        "Guarantee",
    ),
    "Learners": ("Learner", "Fleet", "Arms", "Ticket", "BadTicket", "load", "derive_seed"),
    "Bandits in a database": ("open", "Bandit", "Decision", "UnknownDecision"),
    "Contexts and logs": ("Experts", "replay"),
    "Experiments": (
        "simulate",
        "PythonPolicy",
        "Result",
        "load_result",
        "sweep",
        "Sweep",
        "estimate",
        "Moments",
        "trace",
        "arena",
        "play",
    ),
}


@dataclass(frozen=True)
class Name:
    """A public name: the module that exports it, and what it is."""

    module: str
    name: str
    item: Any

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def exported(module: ModuleType) -> list[str]:
    """The public names of a module: its `__all__` or, without one, what it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, item in vars(module).items()
        if not name.startswith("_") and getattr(item, "__module__", None) == module.__name__
    ]


def modules() -> list[ModuleType]:
    """The public modules besides `hlmc` itself, as far as what they need is installed."""
    found = [item.__name__ for name in hlmc.__all__ if inspect.ismodule(item := getattr(hlmc, name))]
    return [importlib.import_module(name) for name in dict.fromkeys([*found, *MODULES])]


def public() -> Iterator[Name]:
    """Every public name but the modules."""
    for module in (hlmc, *modules()):
        for name in exported(module):
            if not inspect.ismodule(item := getattr(module, name)):
                yield Name(module.__name__, name, item)


def _heading(title: str, mark: str = "=") -> str:
    return f"{title}\n{mark * len(title)}\n\n"


def _data_text(name: Name) -> str:
    """What is written below a constant, in its module or in the one that defines it."""
    inside = [
        module
        for module, found in sys.modules.items()
        if module.partition(".")[0] == "hlmc" and vars(found).get(name.name) is name.item
    ]
    for module in inside:
        lines = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name.name))
        if lines:
            return "\n".join(lines).strip()
    return ""


def description(name: Name) -> str:
    """The docstring of a name."""
    return inspect.getdoc(name.item) or "" if callable(name.item) else _data_text(name)


def _table(names: list[Name], within: str = "") -> str:
    """A table of names with the first paragraphs of their docstrings; within their module's page without its name."""
    rows = ".. list-table::\n   :widths: 30 70\n   :class: names\n\n"
    for name in names:
        summary = prose_typeset(" ".join(description(name).split("\n\n")[0].split()))
        shown = name.name if name.module == within else str(name)
        rows += f"   * - :py:obj:`{shown} <{name}>`\n     - {summary}\n"
    return rows + "\n"


def _toctree(pages: list[str], caption: str = "", within: str = "hlmc") -> str:
    """What the margin lists: the pages by their names within a module."""
    lines = "\n".join(f"   {page.removeprefix(within + '.')} <{page}>" for page in pages)
    return f".. toctree::\n   :hidden:\n{f'   :caption: {caption}' if caption else ''}\n\n{lines}\n\n"


def _is_member(item: Any) -> bool:
    """Whether an attribute of a class is a method or property that its documentation shows."""
    kinds = (property, cached_property, classmethod, staticmethod)
    if not (inspect.isfunction(item) or isinstance(item, kinds)):
        return False
    function = getattr(item, "__func__", item)
    return bool(inspect.getdoc(function)) and (
        isinstance(item, property | cached_property) or inspect.isfunction(function)
    )


def _members(name: Name, pages: dict[type, Name]) -> tuple[list[str], dict[str, list[str]]]:
    """What a class's page describes; and what it inherits from classes that have pages of their own, by their name."""
    own: list[str] = []
    inherited: dict[str, list[str]] = {}
    seen: set[str] = set()
    for base in inspect.getmro(name.item):
        if not base.__module__.startswith("hlmc"):
            continue
        described = {
            key[1] for key in ModuleAnalyzer.for_module(base.__module__).find_attr_docs() if key[0] == base.__name__
        }
        for member, item in vars(base).items():
            if member.startswith("_") or member in seen or not (_is_member(item) or member in described):
                continue
            hidden = INTERNAL | (ENGINE if issubclass(name.item, hlmc.Policy) else set())
            for kind, asked in FOR_AUTHORS.items():
                hidden |= asked if issubclass(name.item, kind) and name.item is not kind else set()
            if member in hidden:
                continue
            seen.add(member)
            # What a class without a page overrides is described where it was first.
            page = next((pages[b] for b in inspect.getmro(base) if b in pages and member in vars(b)), pages.get(base))
            if base is name.item or page is None:
                own.append(member)
            else:
                inherited.setdefault(str(page), []).append(member)
    return own, inherited


def _summary(owner: type, member: str) -> str:
    """The first paragraph of what is written on a method, a property or an attribute, on one line."""
    text = ""
    for base in inspect.getmro(owner):
        if member in vars(base) or member in getattr(base, "__annotations__", {}):
            noted = ModuleAnalyzer.for_module(base.__module__).find_attr_docs().get((base.__name__, member))
            found = vars(base).get(member)
            text = "\n".join(noted) if noted else (inspect.getdoc(found) or "") if _is_member(found) else ""
        if text:
            break
    return prose_typeset(" ".join(text.strip().split("\n\n")[0].split()).replace("**", r"\*\*"))


def _class(name: Name, pages: dict[type, Name]) -> str:
    own, inherited = _members(name, pages)
    # A base without a page would be a name that leads nowhere.
    bases = "   :show-inheritance:\n" if all(base in pages for base in name.item.__bases__) else ""
    text = _heading(str(name)) + f".. autoclass:: {name}\n{bases}"
    text += f"   :members: {', '.join(own)}\n\n" if own else "\n"
    for base, members in inherited.items():
        text += (
            f".. rubric:: From {base.rpartition('.')[2]}\n\n.. list-table::\n   :widths: 30 70\n   :class: names\n\n"
        )
        for member in members:
            text += f"   * - :py:obj:`{member} <{base}.{member}>`\n     - {_summary(name.item, member)}\n"
        text += "\n"
    return text + _used(name)


def _used(name: Name) -> str:
    """The examples of the gallery that use a name of `hlmc`."""
    word = re.compile(rf"\b{re.escape(str(name))}\b")
    found = [path for path in sorted(GALLERY.glob("plot_*.py")) if word.search(path.read_text(encoding="utf-8"))]
    links = "".join(f"- :doc:`/gallery/{path.stem}`\n" for path in found)
    return f".. rubric:: Examples that use it\n\n{links}\n" if found else ""


def names() -> dict[str, str]:
    """What texts call public names and their members, with `hlmc.` and without, and what the reference calls them."""
    pages = {name.item: name for name in reversed(list(public())) if inspect.isclass(name.item)}
    found: dict[str, str] = {}
    for name in public():
        page = str(pages.get(name.item, name)) if inspect.isclass(name.item) else str(name)
        for short in (str(name), str(name).removeprefix("hlmc.")):
            # A word such as `open` or `play` alone is not a mention of the function.
            if short == str(name) or short[:1].isupper() or "." in short:
                found.setdefault(short, page)
        if inspect.isclass(name.item) and pages[name.item] == name:
            own, inherited = _members(name, pages)
            for base, members in {str(name): own, **inherited}.items():
                found.update({f"{name}.{member}": f"{base}.{member}" for member in members})
    return found


def _entry(name: Name, pages: dict[type, Name], first: dict[int, Name]) -> str:
    """A name of a module within the module's page: in full, or a reference to where the same thing is described."""
    original = first.get(id(name.item))
    if original is not None and str(original) != str(name):
        kind = "class" if inspect.isclass(name.item) else "function"
        return f".. py:{kind}:: {name.name}\n   :module: {name.module}\n\n   The same as :py:obj:`{original}`.\n\n"
    if callable(name.item):
        return f".. autofunction:: {name}\n\n"
    text = textwrap.indent(_data_text(name), "   ")
    return f".. py:data:: {name.name}\n   :module: {name.module}\n\n{text}\n\n"


def write(folder: Path, put: Callable[[Path, str], None]) -> None:
    """Write all pages of the reference; `put` writes one."""
    names = list(public())
    first: dict[int, Name] = {}
    pages: dict[type, Name] = {}
    for name in names:
        if callable(name.item):
            first.setdefault(id(name.item), name)
        if inspect.isclass(name.item):
            pages.setdefault(name.item, name)
    written = set()

    def page(title: str, text: str) -> None:
        written.add(f"{title}.rst")
        put(folder / f"{title}.rst", text)

    for name in names:
        if pages.get(name.item if inspect.isclass(name.item) else type(None)) is name:
            page(str(name), _class(name, pages))
    top = [name for name in names if name.module == "hlmc"]
    for name in top:
        if not inspect.isclass(name.item):
            page(str(name), _heading(str(name)) + _entry(name, pages, first) + _used(name))
    for module in modules():
        title = module.__name__
        inside = [name for name in names if name.module == title]
        own = [name for name in inside if inspect.isclass(name.item) and pages[name.item] is name]
        text = _heading(title) + f".. automodule:: {title}\n\n" + _table(inside, title)
        text += "".join(_entry(name, pages, first) for name in inside if name not in own)
        page(title, text + (_toctree([str(name) for name in own], within=title) if own else ""))
    text = (
        _heading("Reference")
        + "Every public name, with its arguments and what it returns. The tests run the examples.\n\n"
    )
    left = list(top)
    for title, listed in {**SECTIONS, "Other": ()}.items():
        chosen = [name for name in left if name.name in listed or not listed]
        chosen.sort(key=lambda name: listed.index(name.name) if listed else 0)
        left = [name for name in left if name not in chosen]
        if chosen:
            text += _heading(title, "-") + _table(chosen) + _toctree([str(name) for name in chosen], title)
    titles = [module.__name__ for module in modules()]
    text += _heading("Modules", "-")
    text += ".. list-table::\n   :widths: auto\n\n"
    for module in modules():
        summary = (module.__doc__ or "").strip().splitlines()[0]
        text += f"   * - :py:mod:`{module.__name__}`\n     - {summary}\n"
    put(folder / "index.rst", text + "\n" + _toctree(titles, "Modules"))
    for stale in folder.glob("*.rst"):
        if stale.name not in written | {"index.rst"}:
            stale.unlink()
