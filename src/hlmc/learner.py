"""A learner: a policy that runs, and one row of words that is all it knows."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import gate
from hlmc.engine.layout import ARM, KEY, PROBABILITY, TIME
from hlmc.engine.step import NOT_SELECTED, PAST_HORIZON, select, update
from hlmc.errors import BadReward, BadType, HLMCError, OutOfTurn, shown
from hlmc.streams import keys
from hlmc.targets import address_of, entry, linked

if TYPE_CHECKING:
    from hlmc.export import CSource
    from hlmc.policies.base import Policy

Array = np.ndarray


def fresh_rows(policy: Policy, keys: Array, out: Array | None = None) -> Array:
    """Rows of learners that have yet to choose, one a key."""
    if out is None:
        rows = np.zeros((len(keys), policy.words.total))
    else:
        rows = out
        rows[:] = 0.0
    rows.view(np.uint64)[:, KEY] = keys
    rows[:, ARM] = -1.0
    rows[:, PROBABILITY] = 1.0
    return rows


def refusal(status: int, policy: Policy, reward: object = None) -> HLMCError:
    """The error that a status of the step functions stands for."""
    if status == PAST_HORIZON:
        return OutOfTurn(f"the horizon of {policy.horizon} steps has been reached; a new learner can be started")
    if status == NOT_SELECTED:
        return OutOfTurn("update needs a selection first: call select() once before each update()")
    return BadReward(f"reward must be a number in [0, 1], not {shown(reward)}")


def checked_reward(reward: object) -> float:
    """A reward as a float; its range is looked at by the step function."""
    if not isinstance(reward, (Real, np.bool_)):
        raise BadType(f"reward must be a number in [0, 1], not {shown(reward)}")
    try:
        return float(reward)
    except OverflowError:
        raise BadReward(f"reward must be a number in [0, 1], not {shown(reward)}") from None


class Learner:
    """A running policy. Made by :meth:`Policy.start <hlmc.Policy.start>`; all that it knows is :attr:`state`.

    ``Learner(policy, row)`` makes one from a copy of :attr:`state`, after a check.

    >>> import hlmc
    >>> learner = hlmc.HLMC(arms=100, memory=20, horizon=1000).start(seed=7)
    >>> arm = learner.select()
    >>> learner.update(0.5)
    >>> learner.time, learner.state.nbytes == 8 * learner.policy.words.total
    (1, True)
    """

    __slots__ = ("_policy", "_program_at", "_row", "_row_at", "_select", "_update")

    def __init__(self, policy: Policy, row: Array) -> None:
        self._set_up(policy, gate.admitted(policy, row, 1))

    @classmethod
    def trusted(cls, policy: Policy, row: Array) -> Learner:
        """A learner over a row that is sound and in one piece; it is shared with the caller."""
        learner = cls.__new__(cls)
        learner._set_up(policy, row)
        return learner

    def _set_up(self, policy: Policy, row: Array) -> None:
        self._policy = policy
        self._row = row
        self._row_at = address_of(row)
        self._program_at = linked(policy).address
        self._select = entry(select, "int64", "int64", "int64")
        self._update = entry(update, "int64", "int64", "int64", "float64")

    @classmethod
    def fresh(cls, policy: Policy, seed: int = 0, stream: int = 0) -> Learner:
        """A learner that has yet to choose."""
        return cls.trusted(policy, fresh_rows(policy, keys(seed, stream, 1))[0])

    @property
    def policy(self) -> Policy:
        """What the learner follows."""
        return self._policy

    def select(self) -> int:
        """The arm to play now. Asked again before :meth:`update`, the answer is the same."""
        arm: int = self._select(self._program_at, self._row_at)
        if arm < 0:
            raise refusal(arm, self.policy)
        return arm

    def update(self, reward: float) -> None:
        """Learn the reward, in [0, 1], of the arm selected."""
        if type(reward) is not float:
            reward = checked_reward(reward)
        status = self._update(self._program_at, self._row_at, reward)
        if status:
            raise refusal(status, self.policy, reward)

    @property
    def state(self) -> Array:
        """All that the learner knows: one row of 64-bit words, read-only."""
        view = self._row.view()
        view.flags.writeable = False
        return view

    @property
    def time(self) -> int:
        """The number of completed steps."""
        return int(self._row[TIME])

    @property
    def probability(self) -> float:
        """The probability of the last selection, given everything before it.

        A level whose choice stood already counts 1. Where one arm can be reached in several ways (a champion plays in
        every group), this is the probability of the way that was taken, at a step at which groups are chosen: of the
        groups, times that of the arm given them. At all other steps it is that of the arm.
        """
        return float(self._row[PROBABILITY])

    def copy(self) -> Learner:
        """A second learner that knows the same and goes on by itself."""
        return Learner.trusted(self.policy, self._row.copy())

    __copy__ = copy

    def save(self, path: str | Path) -> None:
        """Write policy and state to a file, which after a crash is the old one or the new one, never half of each."""
        from hlmc.files import save

        save(path, self.policy, self._row[None, :], "learner")

    def to_c(self, name: str = "hlmc") -> CSource:
        """The learner in C99, going on from its state: ``NAME_resume`` in place of ``NAME_start``.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
        >>> "void hlmc_resume(hlmc_learner *learner);" in learner.to_c().header
        True
        """
        from hlmc.export import exported

        return exported(self.policy, name, self._row)

    def __eq__(self, other: object) -> bool:
        """Whether the two will behave alike from here on: the same policy and the same state."""
        if not isinstance(other, Learner):
            return NotImplemented
        return self.policy == other.policy and self._row.tobytes() == other._row.tobytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Learner, (self.policy, self._row.copy()))

    def __repr__(self) -> str:
        return f"<learner at step {self.time} of {self.policy!r}>"
