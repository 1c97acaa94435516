"""``hlmc export``: a policy or a saved learner as C99 for a microcontroller."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hlmc.cli.expression import policy_of
from hlmc.cli.output import Table, line, show, show_json
from hlmc.errors import BadArgument

if TYPE_CHECKING:
    from hlmc.learner import Learner
    from hlmc.policies.base import Policy

EXAMPLES = """\
examples:
  hlmc export c 'HLMC(arms=20, memory=10)' -o radio
  hlmc export c 'Champion(arms=100, memory=20, horizon=10**6)' -o champion --name champion
  hlmc export c learner.hlmc -o radio

The policy is written as the call that makes it. It is parsed and never evaluated: numbers, texts, tuples and
routines are understood. A file of learner.save goes on from the learner's state.
"""

_CALL = re.compile(r"\s*[\w.]+\s*\(")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument("language", choices=("c",), help="c: C99 for microcontrollers")
    parser.add_argument("policy", metavar="POLICY", help="a policy as the call that makes it, or a saved learner")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="where the files go")
    parser.add_argument("--name", default="hlmc", help="what files and functions begin with (default hlmc)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(options: argparse.Namespace) -> None:
    """Write the files and say which."""
    what = given(options.policy)
    source = what.to_c(options.name)
    paths = source.save(options.out)
    if options.json:
        show_json({"name": source.name, "files": [str(path) for path in paths]})
        return
    table = Table(("file", "bytes"), left=frozenset({0}))
    for path in paths:
        table.add(str(path), f"{path.stat().st_size:,}")
    show(table)
    line(f"make -C {options.out} test compiles it and compares it with Python.")


def given(text: str) -> Policy | Learner:
    """The policy that a text describes, or the learner in the file that it names."""
    if _CALL.match(text):
        return policy_of(text)
    from hlmc import load
    from hlmc.learner import Learner

    found = load(Path(text))
    if not isinstance(found, Learner):
        raise BadArgument(f"{text} holds a fleet; give the file of one learner")
    return found
