"""Compile, or load from the cache, what decisions of a policy need, before the first request waits for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hlmc.bandit as bandits
from hlmc.policies.base import Policy


def warm(policy: Policy) -> None:
    """Make a decision and learn a reward, in a store that is thrown away."""
    with (
        tempfile.TemporaryDirectory(prefix="hlmc-") as folder,
        bandits.open(Path(folder) / "warm.db", policy, arms=_few(policy), durable=False, seed=0) as bandit,
    ):
        bandit.tell(bandit.ask("warm").id, policy.rewards[0])
        if policy.structure.change is not None and policy.arms > 1:
            bandit.arms.add("another")
            bandit.ask("warm")


def _few(policy: Policy) -> list[str]:
    """Few names for a policy whose arms may come later; all of them for the others."""
    count = 1 if policy.structure.change is not None and policy.arms > 1 else policy.arms
    return [str(arm) for arm in range(count)]
