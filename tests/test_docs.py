"""The examples in README.md and docs/ run, each file from top to bottom as one module."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from hlmc import advice

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


# A row of the table on docs/policies.md, what the advice calls its policy, and the horizon.
FIGURES = {
    "M words, far fewer than K": ("Champion", 10**6),
    "the same, and need the smallest bound": ("CrownedHLMC", 10**6),
    "10 bits or more for every arm": ("Tsallis-INF bits", 10**6),
    "a best arm that changes, V pieces known": ("Champion known V", 10**6),
    "an unknown horizon": ("Champion unknown T", 10**6),
    "stochastic rewards for certain": ("UCB-M", 10**6),
    "memory for all K arms": ("Tsallis-INF", 10**6),
    "few steps: T = 10^5": ("Champion", 10**5),
}


def test_the_page_on_policies_has_the_measured_figures() -> None:
    measured = {(name, T): found for T in (10**5, 10**6) for name, found in advice.measured(100, T).items()}
    text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ") and "%" in line]
    assert {row[0] for row in rows} == set(FIGURES)
    for have, _, stays, changes in rows:
        found = measured[FIGURES[have]]
        shown = [float(cell.split(" %")[0]) for cell in (stays, changes)]
        assert shown == [float(f"{100 * ratio:.2g}") for ratio in (found.stays, found.changes)], have
    share = 100 * measured["Champion", 10**6].stays
    assert f"has {share:.0f} % of HLMC's regret" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"has {share:.0f} % of HLMC's regret" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
