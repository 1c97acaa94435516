"""The command line: ``hlmc COMMAND``.

A command is one module of this folder and one line of `COMMANDS`. The module has two functions:
``configure(parser)``, which adds the command's options, and ``run(options)``, which does the work, prints
through `hlmc.cli.output` and returns the exit status (None is 0). It is imported only when its command is run,
so a slow import does not slow down the other commands.

Exit status: 0 success, 1 failure of something outside (such as a full disk), 2 usage error, 130 Ctrl-C. Every failure
prints one line on stderr. Plain `argparse` does the parsing, because it is imported several times faster than Typer.
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
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import NoReturn

from hlmc.errors import BadType, HLMCError, MissingExtra, brief
from hlmc.interrupts import Interrupts

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "plan": "choose the levels of a hierarchy for a given number of arms, words and steps",
    "simulate": "run the experiment described in a TOML file, and compare the regret of its policies",
    "reproduce": "run the paper's numerical section, and check every claim in it",
    "arena": "compare policies of equal memory on every adversary, as ratios to the paper's HLMC",
    "spectrum": "simulate radios that share channels under jamming, and plot which channels they use",
    "bandit": "look at a bandit in a database: report, check, backup, export of all decisions",
    "serve": "answer decisions and rewards over HTTP, with a page to look at",
    "token": "make, list and revoke the tokens of a service",
    "examples": "list the examples that come with the package, and write one of them to a folder",
    "export": "write a policy or a saved learner as C99 for a microcontroller or as WebAssembly",
    "warm": "compile the kernels of policies into the cache, for an image or a machine that must not wait",
    "completion": "print a script that completes commands and options in bash, zsh or fish",
}
"""Every command and its summary, in the order of `hlmc --help`."""

# Usage errors: another path or another permission would help. A full disk is not one.
_WRONG_PATH = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class UsageError(Exception):
    """A usage error: exit status 2."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """A formatter that keeps line breaks in descriptions and wraps lines that are longer than the terminal."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += 2  # argparse does not count the indentation of commands

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for line in text.splitlines():
            margin = indent + " " * (len(line) - len(line.lstrip()))
            below = margin + "  " if line.startswith(" ") else margin  # continuation lines of examples are indented
            lines += textwrap.wrap(
                line.strip(), width, initial_indent=margin, subsequent_indent=below, break_on_hyphens=False
            ) or [""]
        return "\n".join(lines) + "\n"


class Parser(argparse.ArgumentParser):
    """A parser with one-line errors and without abbreviated options."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**{"formatter_class": _Help, "allow_abbrev": False, **settings})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message} (see {self.prog} --help)")


class _Version(argparse.Action):
    """``--version``, which imports the version only when needed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from hlmc.versions import VERSION

        sys.stdout.write(f"hlmc {VERSION}\n")
        parser.exit()


def whole_parser(wanted: Collection[str]) -> tuple[Parser, dict[str, Parser]]:
    """The main parser, and those of all commands by name, of which the wanted ones have their options."""
    parser = Parser(prog="hlmc", description="Bandit learning in bounded memory.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser)
    found: dict[str, Parser] = {}
    for name, summary in COMMANDS.items():
        found[name] = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name in wanted:
            module = importlib.import_module(f"{__name__}.{name}")
            module.configure(found[name])
            found[name].set_defaults(run=module.run)
    return parser, found


def _unknown(parser: Parser, arguments: Sequence[str]) -> NoReturn:
    """Raise a usage error for unknown arguments; suggest the most similar option."""
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
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
        raise UsageError(f"hlmc: there is no command {command!r}; {hint} (see hlmc --help)")
    parser, commands = whole_parser(() if command is None else (command,))
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _unknown(parser if command is None else commands[command], unknown)
    if command is None:
        parser.print_help()
        return 0
    try:
        return int(options.run(options) or 0)
    except (HLMCError, BadType, MissingExtra) as error:
        raise UsageError(f"hlmc {command}: {error}") from error
    except MemoryError as error:
        raise UsageError(f"hlmc {command}: there is not enough memory for this: {error}") from error
    except _WRONG_PATH as error:
        raise UsageError(f"hlmc {command}: {error.strerror or error}: {error.filename}") from error
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"hlmc {command}: {str(interrupt) or 'interrupted'}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    try:
        with Interrupts(held=False) as interrupts:
            _open_streams()
            status = _run(sys.argv[1:] if arguments is None else arguments)
            sys.stdout.flush()
            if status == 0:
                interrupts.check()
        return status
    except SystemExit as end:  # raised by argparse after --help and --version
        return int(end.code or 0)
    except UsageError as error:
        _complain(" ".join(str(error).split()))
        return 2
    except KeyboardInterrupt as interrupt:
        _complain(str(interrupt) or "hlmc: interrupted")
        return 130
    except BrokenPipeError:  # the reader of the pipe has closed it
        _abandon_output()
        return 0
    except OSError as error:
        _complain(f"hlmc: {error}")
        _abandon_output()
        return 1


def _open_streams() -> None:
    """Make standard output and standard error streams that can be written."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller: write to nowhere
        nowhere = io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.devnull, "w")), encoding="utf-8")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where the encoding has no multiplication sign, print "?"


def _complain(message: str) -> None:
    """Print a one-line message on stderr."""
    sys.stderr.write(f"{brief(message)}\n")


def _abandon_output() -> None:
    """Prevent a second error at exit about standard output that cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> NoReturn:
    """The entry point of the ``hlmc`` process.

    After Ctrl-C it exits at once with status 130, without waiting for threads, one of which may be compiling. Left to
    itself, Python would end by the signal if the interrupt came while a C library ran Python code.
    """
    try:
        status = main()
    except KeyboardInterrupt:  # pressed again while it was ending
        status = 130
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C from here on prints no traceback
    if status == 130:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
