"""The base class of policies. A policy is a value that describes how to learn; the state is in its learners."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hlmc.checks import between, choice, flag, interval, whole
from hlmc.engine import layout
from hlmc.engine.soundness import check_program
from hlmc.engine.structures import CATALOGUE as STRUCTURES
from hlmc.engine.structures import Structure
from hlmc.errors import BadArgument, shown
from hlmc.guarantee import Guarantee
from hlmc.plan import Plan
from hlmc.routines import kind
from hlmc.streams import given_seed
from hlmc.values import Value

if TYPE_CHECKING:
    from pathlib import Path

    from hlmc.export import CSource
    from hlmc.learners import Arms, Fleet, Learner
    from hlmc.routines.base import Routine

Array = np.ndarray

SKIP = "skip"
STOP, CONTINUE = "stop", "continue"
MOST_PENDING = 2**30
"""Decisions of the largest window: 128 MiB per learner."""
_OF_LEARNERS = ("select", "update", "ask", "tell", "drop")
_FEEDBACK = {"counts": layout.COUNTS, "gain": layout.GAIN, "loss": layout.LOSS}


@dataclass(frozen=True)
class Words:
    """The number of 64-bit words of a learner.

    ``statistics`` is the paper's M: the numbers kept per arm or per group. ``control`` is the rest (clocks, sums and
    the random stream): a few words per level, independent of the number of arms.

    >>> Words(20, 19).total
    39
    """

    statistics: int
    control: int

    @property
    def total(self) -> int:
        """Statistics and control: ``learner.state.nbytes == 8 * total``."""
        return self.statistics + self.control


@dataclass(frozen=True, repr=False, kw_only=True)
class Common(Value):
    """The arguments that every policy takes, by keyword alone."""

    rewards: tuple[float, float] = (0.0, 1.0)
    losses: bool = False
    pending: int = 0
    delay: int = 0
    missing: str | float = SKIP
    dynamic: bool = False
    after: str = STOP

    def __post_init__(self) -> None:
        self._keep(rewards=interval("rewards", self.rewards))
        flag("losses", self.losses)
        flag("dynamic", self.dynamic)
        self._keep(pending=whole("pending", self.pending, 0, MOST_PENDING))
        self._keep(delay=whole("delay", self.delay, 0))
        if isinstance(self.missing, str):
            if self.missing != SKIP:
                raise BadArgument(
                    f'missing must be "skip" or a number in {self.range_shown}, not {shown(self.missing)}'
                )
        else:
            self._keep(missing=between("missing", self.missing, *self.rewards, self.range_shown))
        for name, value, idle in (("delay", self.delay, 0), ("missing", self.missing, SKIP)):
            if value != idle and not self.pending:
                raise BadArgument(f"{name}={shown(value)} needs pending=W, the decisions that may await their rewards")
        choice("after", self.after, STOP, CONTINUE)
        if self.after == CONTINUE and getattr(self, "horizon", None) is None:
            raise BadArgument('after must be "stop" without a horizon: then a learner goes on for ever')

    @property
    def scale(self) -> tuple[float, float]:
        """The numbers that are learned as a reward of 0 and of 1.

        >>> import hlmc
        >>> hlmc.UCB1(arms=3, rewards=(0, 20), losses=True).scale
        (20.0, 0.0)
        """
        low, high = self.rewards
        return (high, low) if self.losses else (low, high)

    @property
    def scaled(self) -> bool:
        """Whether learners are told something else than rewards in [0, 1]."""
        return self.scale != (0.0, 1.0)

    @property
    def range_shown(self) -> str:
        """The range of what learners are told, as messages show it."""
        low, high = (f"{x:.0f}" if abs(x) < 1e15 and x == int(x) else repr(x) for x in self.rewards)
        return f"[{low}, {high}]"

    @property
    def accepted(self) -> str:
        """What learners must be told, in words.

        >>> import hlmc
        >>> hlmc.UCB1(arms=3).accepted, hlmc.UCB1(arms=3, rewards=(-1, 2.5), losses=True).accepted
        ('reward must be a number in [0, 1]', 'loss must be a number in [-1, 2.5]')
        """
        return f"{'loss' if self.losses else 'reward'} must be a number in {self.range_shown}"

    def _noted(self, *notes: str) -> str:
        """The notes of a plan: its own, the unit of regret unless that is a reward of 1, and what a bound is for."""
        told = "losses" if self.losses else "rewards"
        unit = f"{told} in {self.range_shown}: regret in units of {self.rewards[1] - self.rewards[0]:g}"
        moving = "arms may come and go: a bound is for arms that stay"
        return "; ".join(filter(None, (*notes, unit if self.scaled else "", moving if self.dynamic else "")))


class Policy(Common):
    """A description of how to learn: frozen, hashable, comparable and picklable. It prints as the call that makes it.

    Subclasses are frozen dataclasses that check their arguments on construction. They compile to a *program*, the
    small table that the step functions read (:mod:`hlmc.engine.layout`).

    Parameters
    ----------
    rewards
        (low, high): the range of the numbers that ``update`` is told. They are scaled to [0, 1] inside.
    losses
        Whether these numbers are losses, of which less is better.
    pending
        W: the number of decisions that may be outstanding. It costs 15 words and one bit per decision. Default: 0,
        every reward is told before the next decision, and :meth:`Learner.ask` is refused.
    delay
        The expected delay of a reward, in decisions: epochs are planned for it. Default: 0.
    missing
        What a dropped decision counts as: ``"skip"``, as if it had not been made, or a number in ``rewards``.
    dynamic
        Whether arms come and go (:class:`hlmc.Arms`), at most ``arms`` at a time. It costs one word.
    after
        What a learner does at its horizon T. ``"stop"``: it takes no more steps. ``"continue"``: it restarts with a
        plan for 2 T steps, then for 4 T, and so on, as with an unknown horizon. A policy that needs no horizon, such as
        :class:`TsallisINF <hlmc.TsallisINF>`, goes on as it is.

    Notes
    -----
    The scale applies to ``update`` and ``tell`` only. Adversaries and games pay in [0, 1], and :func:`hlmc.simulate`
    and :func:`hlmc.play` give the same results for every scale. Regret and bounds are in units of the range: multiply
    by high - low for your own units.

    Examples
    --------
    >>> import hlmc
    >>> learner = hlmc.UCB1(arms=3, rewards=(0, 500), losses=True).start()
    >>> arm = learner.select()
    >>> learner.update(120)  # milliseconds
    >>> arm = learner.select()
    >>> learner.update(700)
    Traceback (most recent call last):
    hlmc.errors.BadReward: loss must be a number in [0, 500], not 700.0
    """

    arms: int
    horizon: int | None
    structure: ClassVar[Structure]
    """How the arms are grouped, and when the routine over them restarts."""
    rule: ClassVar[int] = 1
    """The version of what a learner does with its row, part of the identity of files and stores.

    A change after which equal rows and rewards no longer lead to equal choices raises it (``docs/format.md``).
    """
    _shows_defaults: ClassVar[bool] = False

    @property
    def limit(self) -> int | None:
        """The most steps that a learner takes: the horizon, or None if there is no limit.

        >>> import hlmc
        >>> hlmc.EXP3(arms=3, horizon=100).limit, hlmc.EXP3(arms=3, horizon=100, after="continue").limit
        (100, None)
        """
        return None if self.after == CONTINUE else self.horizon

    @property
    def words(self) -> Words:
        """The memory of one learner, in 64-bit words."""
        raise NotImplementedError

    @cached_property
    def program(self) -> Array:
        """The table that the step functions read, flattened."""
        raise NotImplementedError

    @property
    def routines_used(self) -> tuple[Routine, ...]:
        """The routine of each level, top first."""
        raise NotImplementedError

    @property
    def known_probability(self) -> bool:
        """Whether ``probability`` is known; otherwise it is NaN.

        >>> import hlmc
        >>> hlmc.UCB1(arms=3).known_probability, hlmc.Thompson(arms=3).known_probability
        (True, False)
        """
        return all(routine.known_chance for routine in self.routines_used)

    @property
    def full_support(self) -> bool:
        """Whether every arm has a chance whenever the top level chooses, so that a log of decisions can be weighed by
        their propensities (:attr:`Ticket.propensity <hlmc.Ticket.propensity>`).

        >>> import hlmc
        >>> hlmc.EXP3(arms=3, horizon=100).full_support, hlmc.UCB1(arms=3).full_support
        (True, False)
        """
        return self.structure.full_support and all(
            each.known_chance and each.full_support for each in self.routines_used
        )

    @property
    def window_words(self) -> int:
        """The words for decisions that await their rewards and for arms that come and go.

        They lie between the control words and the statistics.
        """
        return layout.window_words(self.pending) + self.dynamic

    def _check_dynamic(self) -> None:
        """Refuse arms that come and go where they cannot, and tickets without a probability; every ``__post_init__``
        ends with it."""
        if self.pending and not self.known_probability:
            raise BadArgument(f"pending must be 0 for {self!r}: a ticket carries the probability of its decision")
        if self.dynamic and self.structure.change is None:
            raise BadArgument(f"dynamic must be False for {type(self).__name__}: its arms cannot come and go")

    def _awaited(self, run: int) -> tuple[int, int, float]:
        """For the plan: ``pending``, ``delay``, and the share of rewards that come after a run of so many steps."""
        return self.pending, self.delay, min(1.0, self.delay / run)

    def _finished(self, table: Array) -> Array:
        """Complete a program: fill in the fields that the structure and the routines determine; return it flattened."""
        if self.pending:
            table[0, layout.PENDING] = self.pending
            table[0, layout.WINDOW] = self.structure.header_words + layout.LEVEL_CONTROL * int(table[0, layout.LEVELS])
        if self.dynamic:
            before = self.structure.header_words + layout.LEVEL_CONTROL * int(table[0, layout.LEVELS])
            table[0, layout.IDLE] = before + layout.window_words(self.pending)
        check_program(table, self.structure, [routine.words for routine in self.routines_used])
        table[0, layout.STRUCTURE] = STRUCTURES.index(self.structure) if self.structure in STRUCTURES else -1
        table[0, layout.CONTIGUOUS] = self.structure.contiguous
        if self.scaled:
            table[0, layout.ZERO], table[0, layout.ONE] = self.scale
        for i, record in enumerate(table[1:]):
            d = i % int(table[0, layout.LEVELS])
            routine = self.routines_used[d]
            record[layout.KIND] = kind(routine)
            record[layout.ROUTINE] = d
            record[layout.OPAQUE] = routine.opaque or routine.bits < 64
            if self.pending:
                record[layout.FEEDBACK] = _FEEDBACK[routine.feedback]
        if self.pending:
            # What is not in the program, but makes another policy of it.
            rest = repr((self.delay, self.missing)).encode()
            digest = hashlib.blake2b(table.astype("<f8").tobytes() + rest, digest_size=8).digest()
            table[0, layout.DIGEST] = int.from_bytes(digest, "little") >> 11
        table.flags.writeable = False
        return table.reshape(-1)

    @property
    def plan(self) -> Plan:
        """Levels, groups, epochs, routines, parameters, words and bound; prints as a table."""
        raise NotImplementedError

    def bound(self, horizon: int | None = None, switches: int | None = None) -> float | None:
        """The proved bound on the regret of the policy at a horizon (by default its own), or None if there is none.

        ``switches`` is the V of shifting regret, for policies that were not given it.
        """
        return None

    @property
    def guarantee(self) -> Guarantee:
        """What is proved about the regret, with its source; what was measured; what is not covered."""
        return Guarantee()

    def start(
        self, seed: int | None = 0, stream: int = 0, arms: Arms | None = None, *, identity: int | None = None
    ) -> Learner:
        """A new learner. Equal seeds and streams give equal learners; different ones give independent learners.

        The default seed is always the same: use different seeds, or ``seed=None`` for one from the system's entropy,
        for learners that play side by side.

        With ``arms``, a table of names, the arms have these names and may come and go (:class:`hlmc.Arms`).
        ``identity`` is for tests of policies with ``pending``: by default, the secret and the number by which a learner
        recognises its own tickets are random. An ``identity`` fixes both; two learners with the same one accept each
        other's tickets.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
        >>> arm = learner.select()
        >>> learner.update(1.0)
        >>> learner.time
        1
        """
        # A learner is made of a policy: imported here, the circle is never closed.
        from hlmc.learners import Learner, NamedLearner

        if arms is not None:
            return NamedLearner.started(self, arms, given_seed(seed), stream, identity)
        return Learner.fresh(self, given_seed(seed), stream, identity)

    def fleet(
        self, size: int, seed: int | None = 0, file: str | Path | None = None, *, identity: int | None = None
    ) -> Fleet:
        """``size`` learners as the rows of one array, or of a memory-mapped file. Learner i is ``start(seed, i)``.

        ``seed=None`` and ``identity``: as for :meth:`start`.

        >>> import hlmc
        >>> fleet = hlmc.EXP3(arms=3, horizon=100).fleet(size=4, seed=1)
        >>> fleet.select().shape
        (4,)
        """
        # A fleet is made of a policy: imported here, the circle is never closed.
        from hlmc.learners import Fleet

        return Fleet.fresh(self, size, given_seed(seed), file, identity)

    if not TYPE_CHECKING:  # what a checker does not find is not there

        def __getattr__(self, name: str) -> object:
            """What a policy does not have; it says who has it."""
            if name in _OF_LEARNERS:
                raise AttributeError(
                    f"{type(self).__name__} is a policy, and {name} is what its learners do: "
                    f"learner = policy.start(), then learner.{name}()"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def to_c(self, name: str = "hlmc", steps: int | None = None, precision: str = "float64") -> CSource:
        """The learner of this policy in C99: no heap, no recursion, the row of words that Python has.

        ``name`` is the prefix of files, functions and, in capitals, macros. ``steps`` limits the steps of a learner
        that has no end (:attr:`limit`), which makes the program shorter. ``precision="float32"`` is for processors with
        single-precision floats: statistics have 32 bits, and the row has a form of its own. See ``docs/embedded.md``.

        >>> import hlmc
        >>> c = hlmc.EXP3(arms=3, horizon=100).to_c()
        >>> "#define HLMC_ARMS 3" in c.header
        True
        >>> narrow = hlmc.EXP3(arms=3, horizon=100).to_c(precision="float32")
        >>> "int32_t hlmc_update(hlmc_learner *learner, float reward);" in narrow.header
        True
        """
        from hlmc.export import exported

        return exported(self, name, None, steps, precision)

    def _adopt(self, routine: Routine) -> None:
        """Keep a routine's parameters, which are fields of the same names here, as the routine has checked them."""
        self._keep(**{f.name: getattr(routine, f.name) for f in fields(routine)})


def in_range(policy: Policy, low: float | None, high: float | None) -> Policy:
    """The policy for rewards from ``low`` to ``high``; None: as the policy has them.

    >>> import hlmc
    >>> in_range(hlmc.UCB1(arms=3), -1.0, None)
    UCB1(arms=3, rewards=(-1.0, 1.0))
    """
    own = policy.rewards
    wanted = (own[0] if low is None else low, own[1] if high is None else high)
    return policy if wanted == own else replace(policy, rewards=wanted)
