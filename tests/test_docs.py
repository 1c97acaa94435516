"""The examples in README.md and docs/ run, each file from top to bottom as one module."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path) -> str:
    """All Python of a page, every line where it stands in the page, so that an error shows the page's line."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text[: block.start(1)].count("\n")
        code = block.group(1).split("\n")
        lines[first : first + len(code)] = code
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = examples(page)
    if not code.strip():
        pytest.skip("a page without Python")
    monkeypatch.chdir(tmp_path)
    name = f"page_{page.stem}"
    file = tmp_path / f"{name}.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered, so that what the page defines can be pickled.
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)


def test_the_page_on_routines_has_examples() -> None:
    assert "Custom(" in examples(ROOT / "docs" / "routines.md")
