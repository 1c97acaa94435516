"""``hlmc completion``: a script that teaches a shell to complete the commands and options of hlmc.

shtab writes the script from the same parsers that read the command line, so that it cannot name an option that does not
exist. It contains all it needs: completing a word starts no Python.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hlmc.errors import need_lab

EPILOG = """\
examples:
  source <(hlmc completion bash)        # for this shell; in ~/.bashrc for every one
  source <(hlmc completion zsh)         # in ~/.zshrc, after compinit
  hlmc completion fish | source         # or into ~/.config/fish/completions/hlmc.fish
"""

SHELLS = ("bash", "zsh", "fish")

# What an option takes, by the name of its value: these are paths. The names of other values cannot be completed.
_PATHS = ("DIR", "FILE", "FILE.toml", "FOLDER", "POLICY")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    sys.stdout.write(script(options.shell))


def script(shell: str) -> str:
    """The script for a shell."""
    need_lab("shtab")
    import shtab

    from hlmc.cli import COMMANDS, whole_parser

    parser, commands = whole_parser(COMMANDS)
    for command in commands.values():
        for action in command._actions:
            if not action.choices and (action.type is Path or action.metavar in _PATHS):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    # Within `source` zsh calls its context "file"; shtab takes that for a function loaded from a folder of $fpath.
    return str(shtab.complete(parser, shell)).replace("[-1] == eval ]]", "[-1] != loadautofunc ]]") + "\n"
