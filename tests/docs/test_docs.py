"""The examples in README.md and docs/ run, each file from top to bottom as one module."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest

from hlmc import advice, cli

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("research/*.md"))]


def examples(page: Path) -> str:
    """All Python of a page, every line where it stands in the page, so that an error shows the page's line."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text[: block.start(1)].count("\n")
        code = block.group(1).split("\n")
        lines[first : first + len(code)] = code
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
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
    "the same, and need the smallest bound": ("HLMC tsallis-rv", 10**6),
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


SHELL = re.compile(r"^ *```(sh|console)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    """The words of every call of hlmc in a page: what a reader types in a shell, and what README.md has in its text.

    In blocks of `console` that is what stands behind a prompt.
    """
    text = page.read_text(encoding="utf-8")
    typed = [
        (kind, line.strip()) for kind, block in SHELL.findall(text) for line in block.replace("\\\n", " ").splitlines()
    ]
    lines = [line.removeprefix("$ ") for kind, line in typed if kind == "sh" or line.startswith("$ ")]
    lines += re.findall(r"`(hlmc [^`]*)`", text) if page.name == "README.md" else []
    found = [shlex.split(line, comments=True) for line in lines if line.startswith(("hlmc ", "HLMC_DEVICE=host hlmc "))]
    found = [words[words.index("hlmc") + 1 :] for words in found]
    return [words[: words.index("|")] if "|" in words else words for words in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_have_the_options_that_pages_show(page: Path) -> None:
    for words in commands(page):
        if words[0].startswith("-") or any("mypackage" in word for word in words):  # stands for a user's own
            continue
        try:
            cli.whole_parser(words[:1])[1][words[0]].parse_args(words[1:])
        except cli.UsageError as error:
            pytest.fail(f"{page.name}: hlmc {shlex.join(words)}: {error}")


FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LONG = {"architecture.md", "format.md"}  # for contributors, and a specification


def prose(page: Path) -> list[str]:
    """The words of a page outside of code."""
    return [word for word in FENCED.sub("", page.read_text(encoding="utf-8")).split() if word.strip("|-:")]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_pages_for_users_are_short(page: Path) -> None:
    """Proofs and measurements are in docs/research."""
    assert page.name in LONG or len(prose(page)) <= 1200


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_code_fits_the_page(page: Path) -> None:
    """What a reader copies is at most 88 columns wide; what a program prints may be wider."""
    blocks = re.findall(r"^ *```(?!text|json|\{|\n)\w+\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.M | re.S)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 88] == []


def test_words_of_code_are_not_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nimport hlmc\n```\n\n| a | b |\n|---|---|\n")
    assert prose(page) == ["#", "A", "page", "a", "b"]


BAD = (
    "A table from what you have to what to take",
    "also when the rewards are chosen by an adversary",
    "First steps comes before",
    "They run as they are",
    "All that the learner knows is one row",
    "the best arm is not said to change",
    "nothing for a champion to outlive",
    "says so where there are none",
    "no click is no message",
    "knows of a newcomer",
    "and nothing changes there",
    "nobody wants them one by one",
    "has learners start afresh",
    "opens into the level below",
    "One sees",
    "runs that nobody keeps",
    "ns a step",
)


def test_sentences_that_readers_stumbled_over_are_gone() -> None:
    pages = [*PAGES, *(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "examples").rglob("*.py")]
    texts = {page.name: " ".join(page.read_text(encoding="utf-8").split()).lower() for page in pages}
    assert {(name, bad) for name, text in texts.items() for bad in BAD if bad.lower() in text} == set()


def test_there_are_commands_to_check() -> None:
    assert ["simulate", "examples/trap.toml", "--set", 'plots=["first.png"]'] in commands(ROOT / "docs" / "tutorial.md")
    assert len([words for page in PAGES for words in commands(page)]) > 20


def test_the_first_plot_of_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its second command, a hundred times shorter; the first installs the package."""
    monkeypatch.chdir(tmp_path)
    words = commands(ROOT / "docs" / "tutorial.md")[0]
    words[1] = str(ROOT / words[1])
    assert cli.main([*words, "--set", "horizon=1000", "--quiet"]) == 0
    assert Path("first.png").stat().st_size > 10_000
