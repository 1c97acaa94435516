"""A plain reading of ask and tell that remembers every decision, written from docs/research/feedback.md, not from the
kernels.

What a level knows is a function of the decisions of its present run and of their rewards so far, in whatever order
these came: each reward adds its part, over the probability with which the level had chosen. So nothing here is updated:
the probabilities of a decision are computed from the list of all decisions before it.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache

import hlmc
from hlmc.plan import PlanLevel
from reference_losses import tsallis


@cache
def _stage(policy: hlmc.HLMC, t: int) -> tuple[int, int, tuple[PlanLevel, ...]]:
    """The first step of the stage in which step t falls, the first step after it, and its plan."""
    T = policy.horizon
    assert T is not None
    if t < T or policy.after == "stop":
        return 0, T, policy.plan.levels
    # T, 2 T, 4 T, ... steps: what ends has been going on for one step less than the next will.
    first, length = T, 2 * T
    while t >= first + length:
        first, length = first + length, 2 * length
    return first, first + length, replace(policy, horizon=length, after="stop").plan.levels


@dataclass
class Decision:
    """A decision with the child and the probability of every level, and its reward once it is told."""

    time: int
    children: tuple[int, ...]
    chances: tuple[float, ...]
    reward: float | None = None
    settled: bool = False


@dataclass
class Remembering:
    """HLMC with EXP3, EXP3 on losses or importance-weighted Tsallis-INF at any level, and a horizon at which it may go
    on with others."""

    policy: hlmc.HLMC
    decisions: list[Decision] = field(default_factory=list)
    lives: list[int] = field(default_factory=list)
    """The first steps of the incarnations that have asked."""
    reborn: bool = True
    """Whether the next decision begins an incarnation."""

    def copy(self) -> "Remembering":
        return Remembering(self.policy, [replace(decision) for decision in self.decisions], list(self.lives), True)

    def __post_init__(self) -> None:
        self.levels = self.policy.plan.levels

    def level(self, d: int, t: int) -> PlanLevel:
        """Level d as it is planned for the stage of step t."""
        return _stage(self.policy, t)[2][d]

    def run(self, d: int, t: int) -> int:
        """The first step of the run of level d in which step t falls."""
        return _stage(self.policy, t)[0] if d == 0 else self.choice(d - 1, t)

    def choice(self, d: int, t: int) -> int:
        """The first step of the choice of level d that stands at step t."""
        first, stands = _stage(self.policy, t)[0], self.level(d, t).length
        return first + (t - first) // stands * stands

    def steps(self, d: int, t: int) -> int:
        """The steps for which that choice stands."""
        first = self.choice(d, t)
        return min(first + self.level(d, t).length, _stage(self.policy, t)[1]) - first

    def path(self, arm: int) -> list[tuple[int, int]]:
        """(child, number of children) at every level on the way to an arm."""
        found, base, count = [], 0, self.policy.arms
        for level in self.levels:
            child = (arm - base) // level.size
            found.append((child, math.ceil(count / level.size)))
            base += child * level.size
            count = min(level.size, count - child * level.size)
        return found

    def chance(self, d: int, t: int, slot: int, n: int) -> float:
        """The probability with which level d chooses a slot among n children at the first step t of a choice."""
        if n == 1:
            return 1.0
        level = self.level(d, t)
        sums = [0.0] * n
        learned = 0
        for each in self.decisions:
            if self.run(d, each.time) != self.run(d, t) or each.reward is None:
                continue
            assert self.choice(d, each.time) != self.choice(d, t)
            learned += 1
            paid = each.reward if level.routine == "exp3" else each.reward - 1.0
            sums[each.children[d]] += paid / self.steps(d, each.time) / each.chances[d]
        if level.routine == "tsallis-inf":
            # At the arms every reward is a choice learned from; above, every choice that has ended is.
            tau = learned if level.length == 1 else (t - self.run(d, t)) // level.length
            return tsallis([-x for x in sums], 2.0 / math.sqrt(tau + 1.0), len(self.levels) - d)[slot]
        gamma = level.parameters.get("gamma", 0.0)
        rate = gamma / level.children if level.routine == "exp3" else level.parameters["eta"]
        top = max(sums)
        weights = [math.exp(rate * (x - top)) for x in sums]
        return (1.0 - gamma) * weights[slot] / math.fsum(weights) + gamma / n

    def ask(self, ticket: hlmc.Ticket) -> None:
        """Compare a ticket with the decision as it should be, and remember it."""
        t = len(self.decisions)
        assert ticket.time == t
        if self.reborn:
            self.lives.append(t)
            self.reborn = False
        fresh, children, chances = 1.0, [], []
        for d, (child, n) in enumerate(self.path(ticket.arm)):
            if t == self.choice(d, t):
                chance = self.chance(d, t, child, n)
                fresh *= chance
            else:
                assert self.decisions[-1].children[d] == child
                chance = self.decisions[-1].chances[d]
            children.append(child)
            chances.append(chance)
        assert math.isclose(ticket.probability, fresh, rel_tol=1e-6)
        self.decisions.append(Decision(t, tuple(children), tuple(chances)))

    def settle(self, ticket: hlmc.Ticket, reward: float | None) -> str:
        """What becomes of a ticket that is told, or dropped without a reward."""
        now, t = len(self.decisions), ticket.time
        if now - t > self.policy.pending or self.forgotten(t):
            return "expired"
        decision = self.decisions[t]
        if decision.settled:
            return "duplicate"
        decision.settled = True
        if reward is None:
            return "applied"
        alive = [
            d
            for d, (_, n) in enumerate(self.path(ticket.arm))
            if self.run(d, t) == self.run(d, now - 1) and (n > 1 or d == len(self.levels) - 1)
        ]
        if not alive:
            return "expired"
        decision.reward = reward
        return "applied" if alive[-1] == len(self.levels) - 1 else "late"

    def forgotten(self, t: int) -> bool:
        """Whether decision t was made more than four incarnations ago."""
        return len(self.lives) >= 4 and t < self.lives[-4]

    @property
    def pending(self) -> int:
        """Decisions of the window that are not settled."""
        return sum(not each.settled for each in self.decisions[-self.policy.pending :])
