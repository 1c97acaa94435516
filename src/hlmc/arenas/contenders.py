"""The policies of the arena: those with as many words as the paper's HLMC, and those with memory for all arms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hlmc import policies
from hlmc.checks import listed, storable, whole
from hlmc.errors import BadArgument, BadType, HLMCError, shown
from hlmc.planning import deepest, even_groups
from hlmc.policies.base import Policy
from hlmc.routines import TsallisINF as Tsallis
from hlmc.simulation.own import AnyPolicy, PythonPolicy, policy_of
from hlmc.spelling import hint, spelled

Factory = Callable[[int, int, int], Any]
"""``factory(arms, memory, horizon)`` returns a policy, compiled or in plain Python, or None to omit a size."""

SWITCHES = 10
"""V: the number of pieces of the benchmark of shifting regret. Policies with a parameter V get this value."""

BASELINE = "HLMC"
"""The policy whose regret is the denominator of all ratios."""

HEAVY = 10**9
"""Limit on K T for policies whose steps take time proportional to K: beyond, one run takes minutes."""


def budget(arms: int) -> int:
    """The words of statistics of all policies: those of the paper's two even levels, about 2 sqrt(K).

    >>> [budget(arms) for arms in (16, 100, 1000, 10_000)]
    [8, 20, 64, 200]
    """
    return sum(even_groups(whole("arms", arms, 2), 2))


def _inside(routine: Any) -> Factory:
    return lambda arms, memory, horizon: policies.HLMC(arms, memory=memory, horizon=horizon, routines=routine)


def _as_it_comes(cls: Any) -> Factory:
    return lambda arms, memory, horizon: cls(arms, memory=memory, horizon=horizon)


def _three_levels(arms: int, memory: int, horizon: int) -> Policy | None:
    """HLMC with three levels, if there are enough arms and words."""
    if deepest(arms) < 3 or sum(even_groups(arms, 3)) > memory:
        return None
    return policies.HLMC(arms, levels=3, horizon=horizon)


LEAST_BITS = 8
"""With fewer bits for every arm than this, Tsallis-INF on codes is left out."""


def _width(arms: int, memory: int) -> int | None:
    """Bits for every arm in so many words; None if these are too few."""
    bits = 64 * memory // arms
    return 64 if bits >= 64 else min(32, bits) if bits >= LEAST_BITS else None


def _counts(arms: int, memory: int, horizon: int) -> Policy | None:
    """UCB1 with as many bits for every arm, two statistics each, as the words hold."""
    for bits in (64, *range(32, LEAST_BITS // 2 - 1, -1)):
        policy = policies.UCB1(arms, bits=bits)
        if policy.words.statistics <= memory:
            return policy if arms * horizon <= HEAVY else None
    return None


def _packed(make: Callable[[int, int, int], Policy]) -> Factory:
    """A policy ``make(arms, horizon, bits)`` with as many bits for every arm as the words hold."""

    def factory(arms: int, memory: int, horizon: int) -> Policy | None:
        bits = _width(arms, memory)
        return make(arms, horizon, bits) if bits and arms * horizon <= HEAVY else None

    return factory


def _fitting(make: Factory) -> Factory:
    """The policy, if it fits in the words."""

    def factory(arms: int, memory: int, horizon: int) -> Policy | None:
        policy = make(arms, memory, horizon)
        return policy if policy is None or policy.words.statistics <= memory else None

    return factory


def _champion_in_bytes(arms: int, memory: int, horizon: int) -> Policy | None:
    """The champion with codes, unless its groups are so large that its steps take long."""
    policy = policies.Champion(arms, memory=memory, horizon=horizon, bits="auto")
    return policy if max(policy.groups_used) * horizon <= HEAVY else None


def _where_light(make: Callable[[int, int], Policy]) -> Factory:
    return lambda arms, memory, horizon: make(arms, horizon) if arms * horizon <= HEAVY else None


_ASKED = {"arms", "memory", "horizon"}


def _asks(cls: type[Policy]) -> set[str]:
    return set(inspect.signature(cls).parameters)


POLICIES: dict[str, Factory] = {
    BASELINE: lambda arms, memory, horizon: policies.HLMC(arms, memory=memory, horizon=horizon),
    "HLMC.S": lambda arms, memory, horizon: policies.HLMC(arms, memory=memory, horizon=horizon, switches=SWITCHES),
    "HLMC unknown T": lambda arms, memory, horizon: policies.HLMC(arms, memory=memory),
    "HLMC 3 levels": _three_levels,
    "HLMC exp3-loss": _inside("exp3-loss"),
    "HLMC exp3-ix": _inside("exp3-ix"),
    "HLMC tsallis-iw": _inside(Tsallis(estimator="importance-weighted")),
    "HLMC tsallis-rv": _inside(Tsallis()),
    # The champion, and all other policies of the catalogue that can be constructed from a size alone.
    **{
        name: _as_it_comes(cls)
        for name, cls in policies.CATALOGUE.items()
        if cls is not policies.HLMC and _asks(cls) >= _ASKED
    },
    "Champion unknown T": lambda arms, memory, horizon: policies.Champion(arms, memory=memory),
    "Champion known V": lambda arms, memory, horizon: policies.Champion(
        arms, memory=memory, horizon=horizon, switches=SWITCHES
    ),
    # Equal bytes: as many codes of few bits as the same words hold.
    "Tsallis-INF bits": _packed(lambda arms, horizon, bits: policies.TsallisINF(arms, bits=min(32, bits))),
    "Champion bits": _champion_in_bytes,
    # Two words per arm: half as many arms as words.
    "UCB-M": lambda arms, memory, horizon: policies.UCBM(arms, memory=max(2, memory // 2)),
    "EXP3-M": lambda arms, memory, horizon: policies.EXP3M(arms, memory=max(2, memory // 2)),
    "Uniform": lambda arms, memory, horizon: policies.Uniform(arms),
    "EXP3": lambda arms, memory, horizon: policies.EXP3(arms, horizon),
    "EXP3.P": _where_light(policies.EXP3P),
    "EXP3.S": lambda arms, memory, horizon: policies.EXP3S(arms, horizon, SWITCHES),
    "EXP3 loss": lambda arms, memory, horizon: policies.EXP3Loss(arms, horizon),
    "EXP3-IX": lambda arms, memory, horizon: policies.EXP3IX(arms, horizon),
    "Tsallis-INF": _where_light(lambda arms, horizon: policies.TsallisINF(arms)),
    "UCB1": _where_light(lambda arms, horizon: policies.UCB1(arms)),
}
"""The policies of the arena by name: bounded memory first, then those with one or two words per arm."""

FULL = ("EXP3", "EXP3.P", "EXP3.S", "EXP3 loss", "EXP3-IX", "Tsallis-INF", "UCB1")
"""The policies with memory for all arms. They are included for comparison only."""

IN_BYTES: dict[str, Factory] = {
    **{name: _fitting(factory) for name, factory in POLICIES.items()},
    "HLMC bits": lambda arms, memory, horizon: policies.HLMC(arms, memory=memory, horizon=horizon, bits="auto"),
    "EXP3 bits": _packed(lambda arms, horizon, bits: policies.EXP3(arms, horizon, bits=bits)),
    "EXP3 loss bits": _packed(lambda arms, horizon, bits: policies.EXP3Loss(arms, horizon, bits=bits)),
    "EXP3-IX bits": _packed(lambda arms, horizon, bits: policies.EXP3IX(arms, horizon, bits=bits)),
    "UCB1 bits": _counts,
}
"""The policies of the arena in equal bytes: those above that fit, and all that can keep statistics of few bits."""


def chosen(theirs: Any, against: Any, known: Mapping[str, Factory] = POLICIES) -> dict[str, Factory]:
    """The policies to compare: those of the arena (all or by name), always the baseline, and the user's own."""
    given = known if against is None else [against] if isinstance(against, str) else against
    names = listed("against", given, "names of the arena's policies", empty=True)
    meant = [spelled(name, known) for name in names]
    for name, found in zip(names, meant, strict=True):
        if found is None:
            raise BadArgument(f"against: there is no policy {shown(name)} in the arena; {hint(name, known)}")
    field = {name: known[name] for name in known if name in meant or name == BASELINE}
    if theirs is None:
        return field
    if not isinstance(theirs, Mapping):
        raise BadType(
            "policies must be a dictionary of functions (arms, memory, horizon) -> policy by name, such as "
            f"{{'mine': lambda arms, memory, horizon: ...}}, not {shown(theirs)}"
        )
    for name in theirs:
        if not isinstance(name, str):
            raise BadType(f"policies must map names to functions, not {shown(name)} to {shown(theirs[name])}")
        storable("policies", name)
        if name in known:
            raise BadArgument(f"policies: {name!r} is a policy of the arena; choose another name")
    return field | {name: _sized(given, f"policies[{name!r}]") for name, given in theirs.items()}


def _sized(given: Any, argument: str) -> Factory:
    """A function (arms, memory, horizon) as it is; a policy in plain Python, which has a seed, for every size."""
    if isinstance(given, Policy):
        raise BadType(f"{argument} must be for every size: write lambda arms, memory, horizon: ..., not {shown(given)}")
    if callable(given) and not isinstance(given, type):
        try:
            if "seed" not in inspect.signature(given).parameters:
                return given  # type: ignore[no-any-return]
        except (TypeError, ValueError):
            return given  # type: ignore[no-any-return]
    policy = policy_of(given, argument)
    return lambda arms, memory, horizon: policy


def made(
    field: Mapping[str, Factory], arms: int, memory: int, horizon: int, limited: bool = False
) -> dict[str, AnyPolicy]:
    """The policies for a size, without those whose function returns None; ``limited``: none may have more words.

    How many words a policy in plain Python has is not known, so it is not limited.
    """
    found: dict[str, AnyPolicy] = {}
    for name, factory in field.items():
        try:
            policy = factory(arms, memory, horizon)
        except (HLMCError, BadType):
            raise
        except Exception as error:  # a user's function may raise anything
            size = f"{arms} arms, {memory} words and {horizon} steps"
            raise BadArgument(f"policies[{name!r}] failed for {size}: {type(error).__name__}: {error}") from error
        if isinstance(policy, Policy) and limited and policy.words.statistics > memory:
            has = f"{policy.words.statistics} words of statistics, {8 * policy.words.statistics} bytes"
            raise BadArgument(f"policies: {name!r} has {has}, more than the {8 * memory} bytes that each may have")
        if policy is not None:
            found[name] = policy_of(policy, f"what policies[{name!r}] returns")
    return found


def with_window(name: str, policy: AnyPolicy, window: int) -> AnyPolicy:
    """A policy that takes late rewards: as it is, or with so many decisions that may await theirs."""
    if isinstance(policy, PythonPolicy):
        return policy
    return replace(policy, pending=policy.pending or window)
