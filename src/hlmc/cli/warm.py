"""``hlmc warm``: compile before the first user comes, in an image or after an update."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlmc.policies import Policy

EXAMPLES = """\
examples:
  hlmc warm                                           # every class of policies
  hlmc warm "Champion(10**5, memory=640)" "EXP3(10, 10**6, pending=64)"
  RUN pip install hlmc && XDG_CACHE_HOME=/var/cache hlmc warm     # in an image; set the same variable when it runs
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "policies", nargs="*", metavar="POLICY", help="a policy as the call that makes it (default: one of every class)"
    )


def run(options: argparse.Namespace) -> None:
    """Have a learner and a fleet of each policy do everything once."""
    from hlmc.cli.expression import policy_of
    from hlmc.cli.output import line
    from hlmc.policies import EXAMPLES as KNOWN
    from hlmc.targets import JIT

    classes = {type(policy): policy for policy in reversed(KNOWN)}
    for policy in [policy_of(text) for text in options.policies] or list(classes.values()):
        warm(policy)
        line(repr(policy))
    if JIT:
        from hlmc.targets.native.cache import user_cache

        line(f"cache: {user_cache()}")
    else:
        line("HLMC_JIT=0: nothing is compiled")


def warm(policy: Policy) -> None:
    """Compile what learners and fleets of a policy use, with tickets and without, and the check of files."""
    from dataclasses import replace

    from hlmc.learners import Fleet, Learner

    for each in {policy, replace(policy, pending=policy.pending or 64 * policy.known_probability)}:
        learner = each.start(seed=1)
        fleet = each.fleet(2, seed=1)
        learner.select()
        learner.update(policy.rewards[0])
        fleet.select()
        fleet.update([policy.rewards[0]] * 2)
        if each.pending:
            learner.tell(learner.ask(), policy.rewards[0])
            fleet.tell(fleet.ask(), [policy.rewards[0]] * 2)
        Learner(each, learner.state)
        Fleet(each, fleet.state)
