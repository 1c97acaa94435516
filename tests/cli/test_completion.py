"""Shell completion: the scripts know every command and option, and the shells understand them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from c_tools import needs
from hlmc import cli
from hlmc.cli.completion import SHELLS, script


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(script(shell), encoding="utf-8")
    return {shell: folder / shell for shell in SHELLS}


def in_bash(script: Path, line: str, folder: Path) -> set[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    code = f"""source {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _shtab_hlmc
    printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def in_fish(script: Path, line: str, folder: Path) -> set[str]:
    code = f"source {script}; complete -C '{line}'"
    done = subprocess.run(["fish", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


CASES = [
    ("hlmc ", set(cli.COMMANDS), set()),
    ("hlmc sim", {"simulate"}, {"plan"}),
    ("hlmc plan --mem", {"--memory"}, {"--arms"}),
    ("hlmc simulate --device ", {"cpu", "cuda"}, {"trap.toml"}),
    ("hlmc simulate trap.toml --jo", {"--jobs"}, {"--json"}),
    ("hlmc simulate tra", {"trap.toml"}, {"--set"}),
    ("hlmc export ", {"c", "js"}, {"--out"}),
    ("hlmc export c --o", {"--out"}, {"--name"}),
    ("hlmc completion ", {"bash", "zsh", "fish"}, {"trap.toml"}),
    ("hlmc plan --arms ", set(), {"trap.toml", "--memory"}),
]


@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES)
@pytest.mark.parametrize(
    ("shell", "ask"),
    [pytest.param("bash", in_bash, marks=needs("bash")), pytest.param("fish", in_fish, marks=needs("fish"))],
)
def test_a_shell_offers(scripts, tmp_path, shell, ask, line, offered, not_offered) -> None:
    (tmp_path / "trap.toml").touch()
    found = ask(scripts[shell], line, tmp_path)
    assert offered <= found
    assert not not_offered & found


@needs("zsh")
def test_zsh_understands_its_script(scripts: dict[str, Path]) -> None:
    code = f"autoload -Uz compinit && compinit -u -D && source {scripts['zsh']} && print $_comps[hlmc]"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("_shtab_hlmc\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_is_in_every_script(scripts: dict[str, Path], shell: str) -> None:
    text = scripts[shell].read_text(encoding="utf-8")
    commands = cli.whole_parser(cli.COMMANDS)[1]
    assert set(commands) == set(cli.COMMANDS)
    for command, parser in commands.items():
        assert command in text
        for flag in [flag for action in parser._actions for flag in action.option_strings]:
            assert flag.lstrip("-") in text, (command, flag)


def test_python_m_hlmc_is_hlmc() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hlmc", "completion", "bash"], capture_output=True, text=True, check=True
    )
    assert done.stdout == script("bash")
    assert shutil.which("bash") is None or "complete -o bashdefault -F _shtab_hlmc hlmc" in done.stdout


def test_an_unknown_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
