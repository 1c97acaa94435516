"""``hlmc export``: a policy or a saved learner as C99 for a microcontroller, or as WebAssembly for a web page."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hlmc.cli.expression import policy_of
from hlmc.cli.numbers import whole_number
from hlmc.cli.options import option, switch
from hlmc.cli.output import Table, line, show, show_json
from hlmc.errors import BadArgument

if TYPE_CHECKING:
    from hlmc.learners.learner import Learner
    from hlmc.policies.base import Policy

EXAMPLES = """\
examples:
  hlmc export c 'HLMC(arms=20, memory=10)' -o radio
  hlmc export c 'Champion(arms=100, memory=20, horizon=10**6)' -o champion --name champion
  hlmc export c 'HLMC(arms=20, memory=10)' -o radio --precision float32
  hlmc export c learner.hlmc -o radio
  hlmc export js 'Champion(arms=100, memory=20)' -o site

The policy is written as the call that makes it. It is parsed and never evaluated: numbers, texts, tuples and
routines are understood. A file of learner.save goes on from the learner's state.
"""

_CALL = re.compile(r"\s*[\w.]+\s*\(")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument("language", choices=("c", "js"), help="c: C99 for microcontrollers; js: for browsers and Node")
    parser.add_argument("policy", metavar="POLICY", help="a policy as the call that makes it, or a saved learner")
    option(parser, "-o --out", "FOLDER", "where the files go", Path, required=True)
    parser.add_argument("--name", default="hlmc", help="c: what files and functions begin with (default hlmc)")
    table = "c: the most steps of a learner, if its horizon is not known; a shorter table"
    option(parser, "--steps", "N", table, whole_number)
    single = "c: float32 for processors whose floats have single precision (default float64)"
    option(parser, "--precision", ("float64", "float32"), single, default="float64")
    switch(parser, "--json", "print JSON, for programs")


def run(options: argparse.Namespace) -> None:
    """Write the files and say which."""
    what = given(options.policy)
    if options.language == "c":
        paths = what.to_c(options.name, options.steps, options.precision).save(options.out)
        then = f"make -C {options.out} test compiles it and compares it with Python."
    else:
        from hlmc.export.javascript import save
        from hlmc.learners.learner import Learner

        paths = save(options.out, what.policy, what.state) if isinstance(what, Learner) else save(options.out, what)
        then = f"In a page: import {{ load }} from './{options.out.name}/hlmc.js'."
    if options.json:
        show_json({"files": [str(path) for path in paths]})
        return
    table = Table(("file", "bytes"), left=frozenset({0}))
    for path in paths:
        table.add(str(path), f"{path.stat().st_size:,}")
    show(table)
    line(then)


def given(text: str) -> Policy | Learner:
    """The policy that a text describes, or the learner in the file that it names."""
    if _CALL.match(text):
        return policy_of(text)
    from hlmc import load
    from hlmc.learners.learner import Learner

    found = load(Path(text))
    if not isinstance(found, Learner):
        raise BadArgument(f"{text} holds a fleet; give the file of one learner")
    return found
