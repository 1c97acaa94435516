"""Several learners in place of one that all share: what that costs.

Each of n shards sees one decision in n, and learns as slowly as its feedback comes. What a policy with a bound B(T) on
its regret can lose in T decisions is then n B(T / n): sqrt(n) times B(T) where B grows as sqrt(T).
"""

from __future__ import annotations

import math

from hlmc.policies.base import Policy

TYPICAL = 10**6
"""Decisions, where the policy does not say."""


def shard_cost(policy: Policy, shards: int, horizon: int | None = None) -> float | None:
    """How many times larger the bound on the regret is with so many shards; None where no bound below T is proved.

    >>> import hlmc
    >>> round(shard_cost(hlmc.TsallisINF(arms=10), 8), 2)
    3.04
    """
    steps = horizon or policy.horizon or TYPICAL
    whole, part = policy.bound(steps), policy.bound(math.ceil(steps / shards))
    if whole is None or part is None or shards * part >= steps:
        return None
    return shards * part / whole


def plan_of(policy: Policy, shards: int) -> str:
    """The plan of the learners of a bandit, and what their shards cost, as text."""
    lines = [str(policy.plan)]
    if shards > 1:
        cost = shard_cost(policy, shards)
        known = "nothing is proved" if cost is None else f"the bound on the regret is {cost:.3g} times that of one"
        lines.append(f"shards: {shards} learners share the decisions without a unit; {known}")
    return "\n".join(lines)
