"""An experiment as a value: policies, environments, steps, runs and seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.checks import choice, share, storable, whole
from hlmc.delays import Constant, Delays, checked
from hlmc.errors import BadArgument, BadType, shown
from hlmc.evaluation.segments import checked_threads
from hlmc.simulation.environments import environments_of
from hlmc.simulation.own import AnyPolicy, PythonPolicy, policy_of, words_of
from hlmc.simulation.players import WAYS
from hlmc.simulation.points import time_points
from hlmc.simulation.runs import WORTH
from hlmc.streams import SCHEME, derive_seed
from hlmc.versions import versions

Array = np.ndarray

_ENOUGH = 1_000_000
_AT_ONCE = 1 << 18
_SIDE_BY_SIDE = 32
_LONG = 2_000_000_000


@dataclass(frozen=True)
class Experiment:
    """Policies by name, the environments that they face, and where to look. Run r faces environment r mod E."""

    policies: dict[str, AnyPolicy]
    environments: tuple[Adversary, ...]
    horizon: int
    runs: int
    seed: int
    points: Array
    arithmetic: tuple[str, str] = ("cpu", "float64")
    delays: Delays | None = None
    missing: float = 0.0

    @classmethod
    def of(
        cls,
        policies: Any,
        adversary: Any,
        horizon: Any,
        runs: Any,
        seed: Any,
        points: Any,
        arithmetic: tuple[str, str] = ("cpu", "float64"),
        *,
        delays: Any = None,
        missing: Any = 0.0,
        environments: Any = None,
    ) -> Experiment:
        """Check the arguments of :func:`hlmc.simulate` and put them together."""
        named = _named(policies)
        compiled = {name: policy for name, policy in named.items() if not isinstance(policy, PythonPolicy)}
        number = whole("runs", runs, 1)
        arms = next((policy.arms for policy in compiled.values()), None)
        faced = environments_of(adversary, environments, number, arms)
        adversary = faced[0]
        for name in named if arithmetic[0] != "cpu" else ():
            if name not in compiled:
                raise BadArgument(f'policy {name!r} is plain Python, which is played with device="cpu" only')
            if not compiled[name].known_probability:
                raise BadArgument(f'policy {name!r} is {compiled[name]!r}, which is played with device="cpu" only')
        for name, policy in compiled.items():
            if policy.arms != adversary.arms:
                raise BadArgument(
                    f"policy {name!r} has {policy.arms} arms and {adversary!r} has {adversary.arms}; they must be equal"
                )
        derive_seed(seed)
        steps = _horizon(named, faced, horizon)
        law, never = checked_feedback(arithmetic[0], delays, missing)
        if law is not None:
            for name, each in named.items():
                if not isinstance(each, PythonPolicy) and not each.pending:
                    raise BadArgument(f"policy {name!r} needs pending=W for rewards that come late, and has none")
        at = time_points(points, steps)
        return cls(named, faced, steps, number, int(seed), at, arithmetic, law, never)

    @property
    def adversary(self) -> Adversary:
        """The first environment, and as a rule the only one."""
        return self.environments[0]

    @property
    def device(self) -> str:
        """Where it is played: "cpu" or "cuda"."""
        return self.arithmetic[0]

    @property
    def precision(self) -> str:
        """What routines learn with: "float64" or "float32"."""
        return self.arithmetic[1]

    @property
    def batch(self) -> int:
        """How many runs a worker is given at a time.

        So many that handing them out costs little. In a large experiment also so many that they can be played side by
        side (:func:`hlmc.simulation.runs.played_together`), if all cores have some and it does not take minutes until
        any is finished. A device takes many.
        """
        if self.device != "cpu":
            return _AT_ONCE
        few = max(1, _ENOUGH // self.horizon)
        share = -(-self.runs // max(checked_threads(None), len(self.environments)))
        if share * self.horizon < WORTH:
            return few
        return max(few, min(share, _SIDE_BY_SIDE, _LONG // self.horizon))

    def bounds(self) -> Array:
        """What is proved of the regret at each time point, [policy, time]; not a number where nothing is.

        A policy made for a horizon has its bound there and nowhere else; one without a horizon, everywhere.
        """
        return np.array([bounds_at(policy, self.points) for policy in self.policies.values()])

    def identity(self) -> dict[str, Any]:
        """What makes this experiment this one and no other; policies and runs may be added to it."""
        return {
            "adversary": repr(self.adversary),
            **({} if len(self.environments) == 1 else {"environments": [repr(each) for each in self.environments]}),
            "horizon": self.horizon,
            "seed": self.seed,
            "points": self.points.tolist(),
            "streams": SCHEME,
            # Results of the processor are the same bytes wherever; a device's are its own.
            **({} if self.device == "cpu" else {"arithmetic": list(self.arithmetic)}),
            **({} if self.delays is None else {"delays": repr(self.delays), "missing": self.missing}),
        }

    def provenance(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Where the rewards of these policies (all by default) come from: enough to get them again."""
        policies = {name: self.policies[name] for name in (self.policies if names is None else names)}
        return {
            **self.identity(),
            "arms": self.adversary.arms,
            "runs": self.runs,
            "device": self.device,
            "precision": self.precision,
            "policies": {name: repr(policy) for name, policy in policies.items()},
            "rules": {name: rule_of(policy) for name, policy in policies.items()},
            "words": {name: words_of(policy) for name, policy in policies.items()},
            "words_total": {name: policy.words and policy.words.total for name, policy in policies.items()},
            "switches": {name: _switches(policy) for name, policy in policies.items()},
            "versions": versions(),
        }


def rule_of(policy: AnyPolicy) -> int:
    """The version of the policy's rule. One in plain Python has a version of its own, which it prints."""
    return 1 if isinstance(policy, PythonPolicy) else policy.rule


def _switches(policy: AnyPolicy) -> Any:
    """V, if the policy's bound is on shifting regret."""
    if isinstance(policy, PythonPolicy) or "shifting regret" not in policy.guarantee.proved:
        return None
    return getattr(policy, "switches", None)


def bounds_at(policy: AnyPolicy, points: Array) -> Array:
    """What is proved of a policy's regret at some time points; not a number where nothing is."""
    bounds = np.full(len(points), np.nan)
    for i, t in enumerate(points):
        if policy.horizon is None or t >= policy.horizon:
            bound = policy.bound(int(t))
            bounds[i] = np.nan if bound is None else bound
    return bounds


def checked_feedback(device: str, delays: Any, missing: Any) -> tuple[Delays | None, float]:
    """The law of the delays, or None if every reward is told at once; and the share of rewards that never come."""
    never = share("missing", missing)
    law = checked(Constant(0) if delays is None and never > 0.0 else delays)
    if law is not None and device != "cpu":
        raise BadArgument(f'delays and missing must be left out with device="{device}": they are for the processor')
    return law, never


def checked_arithmetic(device: Any, precision: Any) -> tuple[str, str]:
    """Where to play and with what numbers: on a device single precision unless double is asked for."""
    choice("device", device, "cpu", "cuda")
    if precision is not None:
        choice("precision", precision, "float32", "float64")
    if device == "cpu":
        if precision == "float32":
            raise BadArgument('precision must be "float64" on the processor; only device="cuda" has "float32"')
        return "cpu", "float64"
    from hlmc.targets.cuda.memory import checked_device

    checked_device()
    return "cuda", precision or "float32"


def _named(policies: Any) -> dict[str, AnyPolicy]:
    if not isinstance(policies, (list, tuple, Mapping)):
        policies = [policies]
    if isinstance(policies, (list, tuple)):
        policies = [policy_of(policy) for policy in policies]
        names = [policy.label if isinstance(policy, PythonPolicy) else type(policy).__name__ for policy in policies]
        times = Counter(names)
        keys = [name if times[name] == 1 else repr(policy) for name, policy in zip(names, policies, strict=True)]
        if len(set(keys)) < len(keys):
            raise BadArgument(f"policies must differ or have names of their own, in a dictionary: {shown(policies)}")
        policies = dict(zip(keys, policies, strict=True))
    if not policies:
        raise BadArgument(f"policies must hold at least one policy: {WAYS}")
    for name in policies:
        if not isinstance(name, str):
            raise BadType(f"policies must map names to policies, not {shown(name)} to {shown(policies[name])}")
        storable("policies", name)
    return {name: policy_of(policy, f"policies[{name!r}]") for name, policy in policies.items()}


def _horizon(policies: dict[str, AnyPolicy], environments: tuple[Adversary, ...], given: Any) -> int:
    known = {p.horizon for p in policies.values() if p.horizon is not None}
    if given is None:
        candidates = known or {each.length for each in environments if each.length}
        if len(candidates) != 1:
            theirs = f"have {' and '.join(map(str, sorted(known)))}" if known else "have none of their own"
            raise BadArgument(f"horizon must be given: the policies {theirs}")
        (given,) = candidates
    horizon = whole("horizon", given, 1)
    for name, policy in policies.items():
        if policy.limit is not None and policy.limit < horizon:
            raise BadArgument(
                f"policy {name!r} was made for {policy.limit} steps, fewer than the horizon of {horizon}; "
                'with after="continue" it goes on'
            )
    for each in environments:
        if each.length is not None and each.length < horizon:
            raise BadArgument(f"{each!r} has rewards for {each.length} steps, fewer than the horizon of {horizon}")
    return horizon
