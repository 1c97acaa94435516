"""``hlmc completion``: a script that teaches a shell to complete the commands and options of hlmc.

The script is generated from the same parsers that read the command line, so that it cannot name an option that does not
exist. It contains all it needs: completing a word starts no Python.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

EPILOG = """\
examples:
  source <(hlmc completion bash)        # for this shell; in ~/.bashrc for every one
  source <(hlmc completion zsh)         # in ~/.zshrc, after compinit
  hlmc completion fish | source         # or into ~/.config/fish/completions/hlmc.fish
"""

# What an option takes, by the name of its value: these are paths. The names of other values cannot be completed.
_PATHS = ("DIR", "FILE", "FILE.toml", "FOLDER", "POLICY")


@dataclass(frozen=True)
class Argument:
    """An option of a command, or a positional argument, which has no flags.

    flags
        ``("-o", "--out")``
    takes
        Whether a value follows it.
    values
        The values that it can have, where they are few.
    paths
        Whether the value is a path.
    """

    flags: tuple[str, ...]
    takes: bool
    values: tuple[str, ...]
    paths: bool
    summary: str


def arguments(parser: argparse.ArgumentParser) -> list[Argument]:
    """The arguments of a parser."""
    found = []
    for action in parser._actions:
        values = tuple(str(value) for value in action.choices or ())
        paths = not values and (action.type is Path or action.metavar in _PATHS)
        text = parser._get_formatter()._expand_help(action) if action.help else ""
        takes = action.nargs != 0
        found.append(Argument(tuple(action.option_strings), takes, values, paths, " ".join(text.split())))
    return found


def tree() -> dict[str, list[Argument]]:
    """The arguments of every command."""
    from hlmc.cli import COMMANDS, command_parser

    return {name: arguments(command_parser(name)) for name in COMMANDS}


def bash(commands: dict[str, list[Argument]], summaries: dict[str, str]) -> str:
    """The script for bash."""
    values, words = [], []
    for name, found in commands.items():
        replies: dict[str, list[str]] = {}
        for argument in found:
            if argument.takes:
                replies.setdefault(_bash_reply(argument), []).extend(f"{name}:{flag}" for flag in argument.flags)
        values += [f"        {'|'.join(flags)}) {reply}return ;;" for reply, flags in replies.items() if flags]
        flags = " ".join(flag for argument in found for flag in argument.flags)
        plain = [argument for argument in found if not argument.flags]
        choices = " ".join(value for argument in plain for value in argument.values)
        files = any(argument.paths for argument in plain)
        words.append(f'        {name}) options="{flags}" choices="{choices}" files={int(files)} ;;')
    lines = [
        "# bash completion for hlmc, written by `hlmc completion bash`",
        "_hlmc() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" i',
        '    local options="--help --version" choices="' + " ".join(commands) + '" files=0',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        if [[ "${COMP_WORDS[i]}" != -* ]]; then command="${COMP_WORDS[i]}"; break; fi',
        "    done",
        "    COMPREPLY=()",
        '    case "$command:$before" in',
        *values,
        "    esac",
        '    case "$command" in',
        *words,
        '        ?*) options="" choices="" ;;',
        "    esac",
        '    if [[ "$word" == -* ]]; then',
        '        COMPREPLY=($(compgen -W "$options" -- "$word"))',
        "    else",
        '        COMPREPLY=($(compgen -W "$choices" -- "$word"))',
        "        if ((files)); then",
        "            compopt -o filenames 2>/dev/null",
        "            local IFS=$'\\n'",
        '            COMPREPLY+=($(compgen -f -- "$word"))',
        "        fi",
        "    fi",
        "}",
        "complete -F _hlmc hlmc",
    ]
    return "\n".join(lines) + "\n"


def _bash_reply(argument: Argument) -> str:
    """What completes the value of an option; nothing where it is a number or a name."""
    if argument.values:
        return f'COMPREPLY=($(compgen -W "{" ".join(argument.values)}" -- "$word")); '
    if argument.paths:
        return "compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\")); "
    return ""


def zsh(commands: dict[str, list[Argument]], summaries: dict[str, str]) -> str:
    """The script for zsh."""

    def quoted(text: str) -> str:
        return text.replace("'", "'\\''")

    def escaped(text: str) -> str:
        for mark in "\\[]:":
            text = text.replace(mark, f"\\{mark}")
        return quoted(text)

    def value(argument: Argument) -> str:
        if argument.values:
            return f":value:({' '.join(argument.values)})"
        return ":path:_files" if argument.paths else ":value: "

    lines = [
        "#compdef hlmc",
        "# zsh completion for hlmc, written by `hlmc completion zsh`",
        "_hlmc() {",
        "    if (( CURRENT == 2 )); then",
        "        local -a commands=(",
        *(f"            '{name}:{quoted(summaries[name])}'" for name in commands),
        "        )",
        "        _describe command commands",
        "        _arguments '--help[show the help]' '--version[show the version]'",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
        "    case $command in",
    ]
    for name, found in commands.items():
        parts, place = [], 0
        for argument in found:
            if not argument.flags:
                place += 1
                parts.append(f"'{place}{value(argument)}'")
            for flag in argument.flags:
                parts.append(f"'*{flag}[{escaped(argument.summary)}]{value(argument) if argument.takes else ''}'")
        joined = " \\\n                ".join(parts)
        lines += [f"        {name})", f"            _arguments {joined} ;;"]
    # Sourced, it registers itself; in a folder of $fpath, its first line does, and it is called at once.
    lines += ["    esac", "}", 'if [[ "$funcstack[1]" == _hlmc ]]; then _hlmc "$@"; else compdef _hlmc hlmc; fi']
    return "\n".join(lines) + "\n"


def fish(commands: dict[str, list[Argument]], summaries: dict[str, str]) -> str:
    """The script for fish."""

    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = [
        "# fish completion for hlmc, written by `hlmc completion fish`",
        "complete -c hlmc -f",
        "complete -c hlmc -n __fish_use_subcommand -l help -d 'show the help'",
        "complete -c hlmc -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    for name, found in commands.items():
        lines.append(f"complete -c hlmc -n __fish_use_subcommand -a {name} -d {quoted(summaries[name])}")
        here = f"complete -c hlmc -n '__fish_seen_subcommand_from {name}'"
        for argument in found:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in argument.flags)
            takes = (" -r -F" if argument.paths else " -x") if argument.flags and argument.takes else ""
            if not argument.flags and argument.paths:
                takes = " -F"
            choices = f" -a {quoted(' '.join(argument.values))}" if argument.values else ""
            if flags or takes or choices:
                lines.append(f"{here} {flags}{takes}{choices} -d {quoted(argument.summary)}".replace("  ", " "))
    return "\n".join(lines) + "\n"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=tuple(SHELLS), help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    from hlmc.cli import COMMANDS

    sys.stdout.write(SHELLS[options.shell](tree(), COMMANDS))
