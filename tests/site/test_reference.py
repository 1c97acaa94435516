"""Every public name has its place in the reference."""

from __future__ import annotations

import inspect
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from sphinx.util.inventory import InventoryFile

import hlmc

sys.path.append(str(Path(__file__).parent.parent.parent / "scripts"))
from site_reference import description, modules, public


@pytest.fixture(scope="module")
def described(site: Path) -> set[str]:
    """The names of Python that the site describes."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names}


def test_every_public_name_has_a_place(described: set[str]) -> None:
    names = [str(name) for name in public()]
    assert "hlmc.Champion" in names
    assert "hlmc.adversaries.Needle" in names
    assert len(names) > len(hlmc.__all__)
    assert sorted(set(names) - described) == []


def test_every_public_name_is_described() -> None:
    assert [str(name) for name in public() if not description(name)] == []


def test_every_public_module_has_a_page(described: set[str], site: Path) -> None:
    for module in modules():
        assert module.__name__ in described
        assert (site / "reference" / f"{module.__name__}.html").exists()


@pytest.mark.parametrize("name", ["hlmc.Learner.select", "hlmc.Policy.start", "hlmc.Result.plot", "hlmc.Fleet.update"])
def test_methods_are_described(described: set[str], name: str) -> None:
    assert name in described


def undocumented(item: object) -> list[str]:
    """The parameters of a class or function that its docstring does not speak of."""
    text = inspect.getdoc(item) or ""
    if inspect.isclass(item) and issubclass(item, hlmc.Policy):
        text += inspect.getdoc(hlmc.Policy) or ""
    return [name for name in inspect.signature(item).parameters if not re.search(rf"\b{name}\b", text)]  # type: ignore[arg-type]


def test_every_parameter_is_described() -> None:
    called = {
        str(name): name.item
        for name in public()
        if name.module in ("hlmc", "hlmc.adversaries", "hlmc.delays")
        and (
            inspect.isfunction(name.item) or (inspect.isclass(name.item) and hasattr(name.item, "__dataclass_fields__"))
        )
    }
    assert {"hlmc.Champion", "hlmc.simulate", "hlmc.adversaries.Needle"} <= called.keys()
    assert {name: missing for name, item in called.items() if (missing := undocumented(item))} == {}


OWN = re.compile(r"\n(?:Guarantee|Facts)\n")  # sections that numpydoc does not know come after the parameters


def test_no_prose_is_taken_for_a_parameter() -> None:
    prose = [
        f"{name}: {each.name}"
        for name in public()
        for each in NumpyDocString(OWN.split(inspect.getdoc(name.item) or "")[0])["Parameters"]
        if not re.fullmatch(r"\*{0,2}\w+(, \*{0,2}\w+)*", each.name)
    ]
    assert prose == []


class _Prose(HTMLParser):
    """The text of a page outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self._code = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._code += tag in ("pre", "code", "script", "style", "math", "svg")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("pre", "code", "script", "style", "math", "svg")

    def handle_data(self, data: str) -> None:
        self.text += "" if self._code else data


RAW = re.compile(r"``|:(?:class|meth|func|attr|mod|obj|ref|doc):`|\{py:obj\}|\*\*\w[^*]*\w\*\*|\]\([\w/.#:-]+\)")


def test_no_page_shows_raw_markup(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if not {"playground", "_static"} & set(page.parts)]
    shown = {
        str(page.relative_to(site)): found[0]
        for page in pages
        if (found := [match[0] for match in RAW.finditer(_Prose(page.read_text(encoding="utf-8")).text)])
    }
    assert len(pages) > 50
    assert shown == {}


def test_raw_markup_is_found() -> None:
    assert RAW.search(_Prose("<p>see :class:`X`</p>").text)
    assert not RAW.search(_Prose("<pre>**a</pre><p>2 ** 3</p>").text)
