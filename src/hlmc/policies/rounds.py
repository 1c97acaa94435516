"""UCB-M and EXP3-M: blocks of arms in turn; the most played arm is carried over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hlmc.checks import choice, flag, whole
from hlmc.engine import layout
from hlmc.engine.structures import BLOCK_ROTATION, Structure
from hlmc.guarantee import Guarantee
from hlmc.plan import Plan, PlanLevel
from hlmc.policies.base import Array, Policy, Words
from hlmc.routines import UCB1, CountedEXP3
from hlmc.routines.base import LevelContext, Routine
from hlmc.routines.ucb1 import TIES as TIE_RULES

FILLS = ("left", "wrap")


@dataclass(frozen=True, repr=False)
class RoundsPolicy(Policy):
    """A policy that holds M arms at a time, block after block."""

    structure: ClassVar[Structure] = BLOCK_ROTATION

    arms: int
    memory: int
    shuffle: bool = True
    ties: str = "random"
    fill: str = "left"
    subphases: int | None = None
    sublength: int | None = None
    horizon: ClassVar[None] = None  # type: ignore[misc]  # it has none, and no argument for one

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(arms=whole("arms", self.arms, 1))
        self._keep(memory=whole("memory", self.memory, 2, otherwise=" (arms held at a time, two words each)"))
        self._keep_given(whole, "subphases", "sublength", least=1)
        flag("shuffle", self.shuffle)
        choice("ties", self.ties, *TIE_RULES)
        choice("fill", self.fill, *FILLS)
        self._adopt(self.routine)
        self._check_dynamic()

    @property
    def routine(self) -> Routine:
        """The routine over the arms held."""
        raise NotImplementedError

    @property
    def held(self) -> int:
        """The number of arms held at a time."""
        return min(self.memory, self.arms)

    @property
    def phases(self) -> tuple[int, int]:
        """h0 and b0: phase i has h0 sub-phases of b0 2^i steps."""
        M, K = self.memory, self.arms
        return self.subphases or max(1, -(-(K - 1) // (M - 1))), self.sublength or M * (M + 2)

    @property
    def _clock(self) -> tuple[int, int]:
        """h0 and b0 as stored in the program: exact, and truncated so that their product is below 2^54.

        No step past 2^53 is taken, so a phase that extends beyond it may end anywhere after it: every step is in the
        same sub-phase as with :attr:`phases`.
        """
        h0, b0 = self.phases
        sublength = min(b0, layout.FOREVER)
        return min(h0, -(-layout.FOREVER // sublength)), sublength

    @property
    def words(self) -> Words:
        control = self.structure.header_words + layout.LEVEL_CONTROL + self.window_words
        return Words(self.routine.words(self.held), control)

    @property
    def routines_used(self) -> tuple[Routine, ...]:
        return (self.routine,)

    @cached_property
    def program(self) -> Array:
        h0, b0 = self._clock
        count = next(i for i in range(64) if h0 * b0 * (2 ** (i + 1) - 1) >= layout.FOREVER) + 1
        table = np.zeros((1 + count, layout.FIELDS))
        header = table[0]
        header[layout.ARMS] = self.arms
        header[layout.HORIZON] = layout.FOREVER
        header[layout.LEVELS] = 1
        header[layout.DOUBLING] = -1
        header[layout.WORDS] = self.words.total
        header[layout.SHUFFLE] = self.shuffle
        header[layout.MEMORY] = self.held
        header[layout.SUBPHASES] = h0
        header[layout.SUBLENGTH] = b0
        header[layout.WRAP] = self.fill == "wrap"
        header[layout.TIES] = TIE_RULES.index(self.ties)
        for phase in range(count):
            record = table[1 + phase]
            context = self._context(phase)
            record[layout.CHILDREN] = self.held
            record[layout.SIZE] = record[layout.LENGTH] = 1
            record[layout.SPAN] = min(context.choices, layout.FOREVER)
            record[layout.CONTROL] = self.structure.header_words
            record[layout.AT] = self.structure.header_words + layout.LEVEL_CONTROL + self.window_words
            values = self.routine.packed(context)
            record[layout.PARAMETERS : layout.PARAMETERS + len(values)] = values
        return self._finished(table)

    def _context(self, phase: int) -> LevelContext:
        h0, b0 = self.phases
        return LevelContext(arms=self.arms, horizon=h0 * b0, children=self.held, choices=b0 * 2**phase)

    @property
    def plan(self) -> Plan:
        h0, b0 = self.phases
        level = PlanLevel(1, self.routine.name, self.held, 1, b0, 1, {}, self.words.statistics)
        held = f"memory counts arms: {self.held} held at a time, two words each"
        note = f"{held}; phase i = 0, 1, ... has {h0} sub-phases of {b0} x 2^i steps; shown for i = 0"
        made = (repr(self), self.arms, None, (level,), self.words.statistics, self.words.control, None)
        return Plan(*made, self._noted(note), *self._awaited(b0))


@dataclass(frozen=True, repr=False)
class UCBM(RoundsPolicy):
    """UCB-M: UCB1 over M arms at a time, block after block, in phases of doubling length; for stochastic rewards.

    A sub-phase resets all counts and means. It holds the arm carried over and the next M - 1 arms in order, and
    carries over the most played arm. Against an adversary the regret can be linear. M counts arms, with two words each.

    Parameters
    ----------
    arms, memory
        K, and M, the number of arms held at a time (at least 2).
    shuffle
        Whether the order of the arms is shuffled once, at the start (by a keyed permutation, which needs no memory).
    ties
        ``"random"``, ``"first"`` or ``"last"``: how ties are broken between arms with the same index, and between the
        most played arms. This decides the paper's experiment 1, in which all rewards that UCB-M sees are equal.
    fill
        ``"left"``: the last sub-phase of a phase holds the remaining arms. ``"wrap"``: it is filled up from the
        beginning of the order.
    subphases, sublength
        h0 and b0. Default: ceil((K-1)/(M-1)) and M (M+2).

    Guarantee
    ---------
    If the rewards of each arm are independent with a fixed mean: expected regret of order
    K M + K^(3/2) sqrt(T log(T / (K M))) / M (the reference; its quantile regret is for another algorithm, for
    infinitely many arms). The paper leaves details of the algorithm open, and the proof was not checked for the
    choices made here. Against an adversary, none: in experiments 1 and 2 the regret is linear.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.UCBM(arms=100, memory=20)
    >>> policy.words.statistics
    40
    >>> print(policy.bound())
    None

    References
    ----------
    Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm memory", AAAI 2020.
    """

    @property
    def routine(self) -> Routine:
        return UCB1(ties=self.ties)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "on independent rewards with fixed means, expected regret of order "
            "K M + K^(3/2) sqrt(T log(T / (K M))) / M, for the algorithm as its authors have it",
            "Roy Chaudhuri and Kalyanakrishnan (2020)",
            "experiment 1 at T = 10^7, unshuffled: all that the best arm earns is lost (docs/reproduction.md)",
            "rewards set by an adversary: the regret can be linear",
        )


@dataclass(frozen=True, repr=False)
class EXP3M(RoundsPolicy):
    """EXP3-M: UCB-M with EXP3 instead of UCB1, a baseline of the paper's second experiment.

    Parameters
    ----------
    arms, memory, shuffle, ties, fill, subphases, sublength
        As for :class:`UCBM`; ``ties`` applies to the most played arm.
    gamma
        Probability of uniform exploration, in [1e-300, 1]. Default: sqrt(n ln n / (2 b)) with n arms held for b steps.

    Guarantee
    ---------
    None. EXP3-M shows that replacing UCB1 by EXP3 is not enough: in experiment 2 its regret is linear.

    Examples
    --------
    >>> import hlmc
    >>> hlmc.EXP3M(arms=100, memory=20).words.statistics
    40
    """

    gamma: float | None = None

    @property
    def routine(self) -> Routine:
        return CountedEXP3(gamma=self.gamma)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            measured="in experiment 2 at T = 10^7 it loses more than UCB-M and HLMC do (docs/reproduction.md)",
            lost="rewards set by an adversary: what was learned of an arm is forgotten with its block",
        )
