"""The command line: ``hlmc COMMAND``.

A command is one module of this folder and one line of `COMMANDS`. The module has two functions:
``configure(parser)``, which adds the command's options, and ``run(options)``, which does the work, prints
through `hlmc.cli.output` and gives the exit status (None is 0). It is imported only when its command is asked
for, so a slow import slows nobody else down.

Status 0 means done, 1 that something outside failed, 2 that the user got something wrong (either way one line
on stderr says what), 130 that Ctrl-C was pressed. Plain `argparse` does the parsing: it is imported several
times faster than Typer.
"""

from __future__ import annotations

import argparse
import atexit
import importlib
import io
import os
import signal
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from hlmc.errors import BadType, HLMCError, MissingExtra, brief
from hlmc.interrupts import Interrupts

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "plan": "choose the levels of a hierarchy for a number of arms, words and steps",
    "simulate": "let policies play against an adversary as a file says, and compare their regret",
    "reproduce": "run the paper's numerical section and judge every claim of it",
    "arena": "let policies in equal memory play every adversary, as ratios to the paper's HLMC",
    "spectrum": "let radios share channels under jamming, and draw who was where",
}
"""Every command with what it does, in the order of `hlmc --help`."""

# What the user can mend: another path, another permission. A full disk is not among them.
_WRONG_PATH = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class UsageError(Exception):
    """What the user typed cannot be understood."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions keep their lines, and a line that is too long for the window is wrapped."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += 2  # argparse forgets how far in it writes the names of commands

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for line in text.splitlines():
            margin = indent + " " * (len(line) - len(line.lstrip()))
            below = margin + "  " if line.startswith(" ") else margin  # an example's second line stands further in
            lines += textwrap.wrap(
                line.strip(), width, initial_indent=margin, subsequent_indent=below, break_on_hyphens=False
            ) or [""]
        return "\n".join(lines) + "\n"


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, and which does not guess at shortened options."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**{"formatter_class": _Help, "allow_abbrev": False, **settings})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message} (see {self.prog} --help)")


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from hlmc.versions import VERSION

        sys.stdout.write(f"hlmc {VERSION}\n")
        parser.exit()


def _parser(command: str | None) -> tuple[Parser, Parser]:
    """The parser of everything, with the options of the one command that is wanted; and that command's own."""
    parser = Parser(prog="hlmc", description="Bandit learning in bounded memory.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser)
    wanted = parser
    for name, summary in COMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        sub = commands.add_parser(name, help=summary, description=description)
        if name == command:
            module = importlib.import_module(f"{__name__}.{name}")
            module.configure(sub)
            sub.set_defaults(run=module.run)
            wanted = sub
    return parser, wanted


def _unknown(parser: Parser, arguments: Sequence[str]) -> NoReturn:
    """Refuse what the parser does not know, and say what it knows that is like it."""
    import difflib
    import re

    known = re.findall(r"--[a-z][a-z-]*", parser.format_help())
    near = [match for a in arguments for match in difflib.get_close_matches(a.split("=")[0], known, n=1)]
    hint = f"; did you mean {near[0]}?" if near else ""
    parser.error(f"unrecognized arguments: {' '.join(arguments)}{hint}")


def _run(arguments: Sequence[str]) -> int:
    command = next((a for a in arguments if not a.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(command, COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(COMMANDS)}"
        raise UsageError(f"hlmc: there is no command {command!r}; {hint} (see hlmc --help)")
    parser, wanted = _parser(command)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _unknown(wanted, unknown)
    if command is None:
        parser.print_help()
        return 0
    try:
        return int(options.run(options) or 0)
    except (HLMCError, BadType, MissingExtra) as error:
        raise UsageError(f"hlmc {command}: {error}") from error
    except _WRONG_PATH as error:
        raise UsageError(f"hlmc {command}: {error.strerror or error}: {error.filename}") from error
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"hlmc {command}: {str(interrupt) or 'interrupted'}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give the exit status."""
    if sys.stdout is None or sys.stderr is None:  # what the caller has closed: say nothing there
        nowhere = io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.devnull, "w")), encoding="utf-8")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without a multiplication sign shows a question mark
    try:
        with Interrupts(held=False) as interrupts:
            status = _run(sys.argv[1:] if arguments is None else arguments)
            sys.stdout.flush()
            if status == 0:
                interrupts.check()
        return status
    except SystemExit as end:  # argparse ends --help and --version so
        return int(end.code or 0)
    except UsageError as error:
        _complain(" ".join(str(error).split()))
        return 2
    except KeyboardInterrupt as interrupt:
        _complain(str(interrupt) or "hlmc: interrupted")
        return 130
    except BrokenPipeError:  # whoever read the output has read enough
        _abandon_output()
        return 0
    except OSError as error:
        _complain(f"hlmc: {error}")
        _abandon_output()
        return 1


def _complain(message: str) -> None:
    """Say in one line what is wrong."""
    sys.stderr.write(f"{brief(message)}\n")


def _abandon_output() -> None:
    """Keep Python from complaining once more, when it ends, that standard output cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> NoReturn:
    """The command as a process.

    After Ctrl-C it ends without waiting for threads (a compiler may be at work in one), and with status 130: where the
    interrupt came while a C library ran Python, Python itself would end by the signal.
    """
    try:
        status = main()
    except KeyboardInterrupt:  # pressed again while it was ending
        status = 130
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # pressed again from here on, it is not worth a traceback
    if status == 130:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
