"""What an experiment is, as a value: who plays against whom, how long, how often, from which seed."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.errors import BadArgument, BadType, whole
from hlmc.policies.base import Policy
from hlmc.simulation.points import time_points
from hlmc.streams import SCHEME

Array = np.ndarray

ENOUGH = 1_000_000
"""A worker is given at least this many steps at a time."""


@dataclass(frozen=True)
class Experiment:
    """Policies by name, an adversary, and where to look."""

    policies: dict[str, Policy]
    adversary: Adversary
    horizon: int
    runs: int
    seed: int
    points: Array

    @classmethod
    def of(
        cls, policies: Any, adversary: Adversary, horizon: Any, runs: Any, seed: int, points: Any
    ) -> Experiment:
        """Check the arguments of :func:`hlmc.simulate` and put them together."""
        named = _named(policies)
        if not isinstance(adversary, Adversary):
            raise BadType(f"adversary must be one of hlmc.adversaries, not {adversary!r}")
        for name, policy in named.items():
            if policy.arms != adversary.arms:
                raise BadArgument(
                    f"{name} has {policy.arms} arms and {adversary!r} has {adversary.arms}; they must be equal"
                )
        steps = _horizon(named, adversary, horizon)
        return cls(named, adversary, steps, whole("runs", runs, 1), int(seed), time_points(points, steps))

    @property
    def batch(self) -> int:
        """How many runs go together, so that handing them out costs little; a function of the horizon alone."""
        return max(1, ENOUGH // self.horizon)

    def bounds(self) -> Array:
        """What theory promises at each time point, [policy, time]; not a number where nothing is proved."""
        values = [[policy.bound(int(t)) for t in self.points] for policy in self.policies.values()]
        return np.array(values, dtype=np.float64)

    def identity(self) -> dict[str, Any]:
        """What makes this experiment this one and no other; policies and runs may be added to it."""
        return {
            "adversary": repr(self.adversary),
            "horizon": self.horizon,
            "seed": self.seed,
            "points": [int(t) for t in self.points],
            "streams": SCHEME,
        }

    def provenance(self) -> dict[str, Any]:
        """Where a result comes from: enough to get it again."""
        packages = ("hlmc", "numpy", "numba")
        return {
            **self.identity(),
            "runs": self.runs,
            "policies": {name: repr(policy) for name, policy in self.policies.items()},
            "words": {name: policy.words.statistics for name, policy in self.policies.items()},
            "words_total": {name: policy.words.total for name, policy in self.policies.items()},
            "versions": {name: version(name) for name in packages} | {"python": platform.python_version()},
        }


def _named(policies: Any) -> dict[str, Policy]:
    if isinstance(policies, Policy):
        policies = {type(policies).__name__: policies}
    elif isinstance(policies, (list, tuple)):
        names = [type(p).__name__ if isinstance(p, Policy) else repr(p) for p in policies]
        policies = {n if names.count(n) == 1 else repr(p): p for n, p in zip(names, policies, strict=True)}
    if not isinstance(policies, Mapping) or not policies:
        raise BadType(f"policies must be a policy, a list of them or a dictionary by name, not {policies!r}")
    for name, policy in policies.items():
        if not isinstance(name, str) or not isinstance(policy, Policy):
            raise BadType(f"policies must map names to policies, not {name!r} to {policy!r}")
    return dict(policies)


def _horizon(policies: dict[str, Policy], adversary: Adversary, given: Any) -> int:
    known = {p.horizon for p in policies.values() if p.horizon is not None}
    if given is None:
        candidates = known or ({adversary.length} if adversary.length else set())
        if len(candidates) != 1:
            raise BadArgument(
                f"horizon must be given: the policies have {sorted(known) or 'none'} of their own"
            )
        (given,) = candidates
    horizon = whole("horizon", given, 1)
    for name, policy in policies.items():
        if policy.horizon is not None and policy.horizon < horizon:
            raise BadArgument(
                f"{name} was made for {policy.horizon} steps, fewer than the horizon of {horizon}"
            )
    if adversary.length is not None and adversary.length < horizon:
        raise BadArgument(
            f"{adversary!r} has rewards for {adversary.length} steps, fewer than the horizon of {horizon}"
        )
    return horizon
