"""The population of a game: one policy for all agents, or several with a share of the agents each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hlmc.checks import between, storable
from hlmc.errors import BadArgument, BadType, shown
from hlmc.games.base import Game
from hlmc.policies.base import Policy
from hlmc.simulation.own import AnyPolicy, PythonPolicy, policy_of


@dataclass(frozen=True)
class Group:
    """Agents that follow one policy."""

    name: str
    policy: AnyPolicy
    agents: int

    @property
    def compiled(self) -> Policy:
        """The policy, which is not one in plain Python."""
        assert isinstance(self.policy, Policy)
        return self.policy


def population(given: Any, game: Game) -> tuple[Group, ...]:
    """The groups of a population.

    ``given`` is a policy, or a dictionary of ``name: (policy, share)``, or of ``name: policy`` for equal shares.
    Shares are relative: 0.3 and 0.7, or 3 and 7. Agents are assigned by largest remainder: every
    agent is in one group, and each group has its share to within one agent.

    >>> import hlmc
    >>> game = hlmc.games.Spectrum(agents=10, channels=4)
    >>> hlmc_, ucb1 = hlmc.HLMC(arms=4, levels=2), hlmc.UCB1(arms=4)
    >>> [(g.name, g.agents) for g in population({"small": (hlmc_, 1), "large": (ucb1, 2)}, game)]
    [('small', 3), ('large', 7)]
    """
    shares = _shares(given)
    for name, policy, _ in shares:
        if isinstance(policy, Policy) and policy.arms != game.arms:
            arms = f"{name} has {policy.arms} arms and {game!r} has {game.arms}"
            raise BadArgument(f"{arms}; they must be equal")
    whole = sum(share for _, _, share in shares)
    exact = [share / whole * game.agents for _, _, share in shares]
    counts = [int(x) for x in exact]
    by_remainder = sorted(range(len(exact)), key=lambda g: (counts[g] - exact[g], g))
    for g in by_remainder[: game.agents - sum(counts)]:
        counts[g] += 1
    groups = tuple(Group(name, policy, n) for (name, policy, _), n in zip(shares, counts, strict=True))
    for group in groups:
        if group.agents == 0:
            raise BadArgument(f"{group.name} has too small a share for a single one of the {game.agents} agents")
    return groups


def _shares(given: Any) -> list[tuple[str, AnyPolicy, float]]:
    if not isinstance(given, (Mapping, list, tuple)):
        policy = policy_of(given)
        given = {policy.label if isinstance(policy, PythonPolicy) else type(policy).__name__: policy}
    if not isinstance(given, Mapping) or not given:
        raise BadType(f"policies must be a policy or a dictionary of name: (policy, share), not {shown(given)}")
    found = []
    for name, value in given.items():
        policy, share = value if isinstance(value, tuple) and len(value) == 2 else (value, 1.0)
        if not isinstance(name, str):
            raise BadType(
                f"policies must have entries name: policy or name: (policy, share), not {shown(name)}: {shown(value)}"
            )
        found.append(
            (
                storable("policies", name),
                policy_of(policy, f"policies[{name!r}]"),
                between(f"the share of {name!r}", share, 0.0, float("inf"), "(0, inf)"),
            )
        )
    return found
