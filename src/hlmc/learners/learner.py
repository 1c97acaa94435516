"""A learner: a running policy whose entire state is one row of words."""

from __future__ import annotations

import math
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import fitting
from hlmc.engine.calls import IDENTITY, TICKET, ask_now, select_now, tell_now, update_now
from hlmc.engine.feedback import BAD_TICKET, SELECTED, for_structure
from hlmc.engine.layout import ARM, BITS, KEY, LEVELS, PROBABILITY, TIME, WINDOW, ZERO, window_words
from hlmc.engine.step import NOT_SELECTED, PAST_HORIZON
from hlmc.engine.tickets import ticket_words
from hlmc.errors import BadArgument, BadReward, BadTicket, BadType, HLMCError, OutOfTurn, shown
from hlmc.learners import gate
from hlmc.learners.identity import Identity, anonymous, give_secrets
from hlmc.learners.identity import checked as checked_identity
from hlmc.learners.saving import Seen, save
from hlmc.learners.tickets import CODES, Ticket, as_ticket
from hlmc.streams import given_seed, keys
from hlmc.targets import address_of, address_table, entry, linked

if TYPE_CHECKING:
    from hlmc.export import CSource
    from hlmc.learners.looking import Looked
    from hlmc.policies.base import Policy

Array = np.ndarray


def fresh_rows(policy: Policy, keys: Array, out: Array | None = None) -> Array:
    """Rows of new learners, one per key."""
    if out is None:
        with fitting(f"learners of {policy!r}, each of {policy.words.total} words,"):
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
    if status == SELECTED:
        return OutOfTurn("ask needs an update first: an arm was selected, and select() and update() go together")
    if status == BAD_TICKET:
        found = "it is damaged, forged, or one of another learner or copy"
        return BadTicket(f"ticket must be one of this learner of {policy!r}; {found}")
    return BadReward(f"{policy.accepted}, not {shown(reward)}")


def outstanding(policy: Policy, rows: Array) -> Array:
    """The number of outstanding decisions of each row; ``rows`` has shape [..., words]."""
    if not policy.pending:
        return np.zeros(rows.shape[:-1], np.int64)
    first = int(policy.program[WINDOW])
    bits = rows.view(np.uint64)[..., first + BITS : first + window_words(policy.pending)]
    counts: Array = np.bitwise_count(bits).sum(axis=-1, dtype=np.int64)
    return counts


def no_window(policy: Policy) -> BadArgument:
    """The error of a policy that was made without ``pending``."""
    return BadArgument(f"ask needs a policy with pending=W, the decisions that may await their rewards, not {policy!r}")


def checked_reward(reward: object, policy: Policy) -> float:
    """A reward as a float; its range is looked at by the step function."""
    if not isinstance(reward, (Real, np.bool_)):
        raise BadType(f"{policy.accepted}, not {shown(reward)}")
    try:
        return float(reward)
    except OverflowError:
        raise BadReward(f"{policy.accepted}, not {shown(reward)}") from None


class Learner:
    """A running policy. Made by :meth:`Policy.start <hlmc.Policy.start>`; its entire state is :attr:`state`.

    ``Learner(policy, row)`` makes one from a copy of :attr:`state`, after a check.

    >>> import hlmc
    >>> learner = hlmc.HLMC(arms=100, memory=20, horizon=1000).start(seed=7)
    >>> arm = learner.select()
    >>> learner.update(0.5)
    >>> learner.time, learner.state.nbytes == 8 * learner.policy.words.total
    (1, True)
    """

    __slots__ = (
        "_ask",
        "_at",
        "_buffer",
        "_bytes",
        "_identity",
        "_policy",
        "_row",
        "_seen",
        "_select",
        "_size",
        "_table",
        "_tell",
        "_update",
    )

    def __init__(self, policy: Policy, row: Array) -> None:
        self._set_up(policy, gate.admitted(policy, row, 1))

    @classmethod
    def trusted(cls, policy: Policy, row: Array, number: int = 0, identity: Identity | int | None = None) -> Learner:
        """A learner over a row that is sound and in one piece; it is shared with the caller.

        ``identity``: an identity that the caller's learners share, or a number that fixes one.
        """
        learner = cls.__new__(cls)
        learner._set_up(policy, row, number, identity)
        return learner

    def _set_up(self, policy: Policy, row: Array, number: int = 0, identity: Identity | int | None = None) -> None:
        self._policy = policy
        self._row = row
        self._table, self._at = address_table([linked(policy).address, address_of(row), number, 0, 0])
        self._select = entry(select_now, "int64", "int64")
        self._update = entry(update_now, "int64", "int64", "float64")
        self._identity = identity
        self._seen: Seen = {}
        self._ask: Any = None
        self._tell: Any = None
        self._size = 0

    def _set_up_tickets(self) -> None:
        """Compile ask and tell, and make the room where one ticket passes between them and Python."""
        policy = self._policy
        if not policy.pending:
            raise no_window(policy)
        self._buffer = np.zeros(ticket_words(int(policy.program[LEVELS])))
        self._table[TICKET] = address_of(self._buffer)
        self._bytes = self._buffer.view(np.uint8).data
        self._tell = entry(for_structure(tell_now, policy.structure), "int64", "int64", "float64", "int64")
        self._size = len(self._bytes)
        if not isinstance(self._identity, Identity):
            self._identity = Identity(self._identity)
        self._table[IDENTITY] = self._identity.address
        self._ask = entry(for_structure(ask_now, policy.structure), "int64", "int64")

    @classmethod
    def fresh(cls, policy: Policy, seed: int = 0, stream: int = 0, identity: int | None = None) -> Learner:
        """A new learner."""
        return cls.trusted(policy, fresh_rows(policy, keys(seed, stream, 1))[0], identity=checked_identity(identity))

    @property
    def policy(self) -> Policy:
        """The policy of the learner."""
        return self._policy

    def select(self) -> int:
        """The arm to play now. Repeated calls before :meth:`update` return the same arm."""
        arm: int = self._select(self._at)
        if arm < 0:
            raise refusal(arm, self.policy)
        return arm

    def update(self, reward: float) -> None:
        """Learn the reward of the selected arm: a number in [0, 1], or in the policy's ``rewards``."""
        if type(reward) is not float:
            reward = checked_reward(reward, self.policy)
        status = self._update(self._at, reward)
        if status:
            raise refusal(status, self.policy, reward)

    def ask(self) -> Ticket:
        """Make a decision whose reward may come later. Returns a ticket: play its ``arm``.

        Any number of decisions may be outstanding. The policy needs ``pending=W``: rewards are accepted for the last W
        decisions.

        >>> import hlmc
        >>> learner = hlmc.HLMC(arms=100, memory=20, horizon=1000, pending=256).start(seed=7)
        >>> first, second = learner.ask(), learner.ask()
        >>> learner.tell(second, 1.0), learner.pending
        ('applied', 1)
        """
        if self._ask is None:
            self._set_up_tickets()
        arm: int = self._ask(self._at)
        if arm < 0:
            raise refusal(arm, self.policy)
        return Ticket(self._bytes)

    def tell(self, ticket: Ticket | str, reward: float) -> str:
        """Learn the reward of a ticket, or of its text: a number in [0, 1], or in the policy's ``rewards``.

        Returns
        -------
        ``"applied"``; or ``"late"`` if the level of the arms has restarted since and only the levels above learned.
        ``"duplicate"`` if the ticket was told or dropped before. ``"expired"`` if the decision is older than the last W
        decisions or than the last four incarnations of the learner (it has been loaded or copied since), or if all
        levels have restarted since. ``"duplicate"`` and ``"expired"`` change nothing. A ticket that is damaged, forged,
        of another learner, or made by a copy after the copy was taken raises :class:`hlmc.BadTicket`.
        """
        if type(reward) is not float:
            reward = checked_reward(reward, self.policy)
        # As in _settle, whose call would cost a tenth of this one.
        if type(ticket) is Ticket and len(ticket) == self._size:
            self._bytes[:] = ticket
            code: int = self._tell(self._at, reward, 1)
            if code >= 0:
                return CODES[code]
        return CODES[self._settle(as_ticket(ticket), reward, 1)]

    def drop(self, ticket: Ticket | str) -> str:
        """Declare that the reward of a ticket will not come. It counts as the policy's ``missing`` says.

        With ``missing="skip"`` nothing is learned, as if the decision had not been made, and the answer is
        ``"applied"``, ``"duplicate"`` or ``"expired"``. With a number this is ``tell(ticket, number)``.

        >>> import hlmc
        >>> learner = hlmc.TsallisINF(arms=3, pending=64, missing=0.0).start(seed=1)
        >>> learner.drop(learner.ask()), learner.pending
        ('applied', 0)
        """
        missing = self._policy.missing
        if isinstance(missing, str):
            return CODES[self._settle(as_ticket(ticket), float(self._policy.program[ZERO]), 0)]
        return CODES[self._settle(as_ticket(ticket), missing, 1)]

    def _settle(self, ticket: Ticket, reward: float, learns: int) -> int:
        """Tell a ticket's reward; with ``learns`` = 0 only that the ticket is done with."""
        if self._tell is None:
            self._set_up_tickets()
        if type(ticket) is not Ticket:
            raise BadType(f"ticket must be a Ticket, not {shown(ticket)}; Ticket.from_bytes and from_str read one")
        if len(ticket) != len(self._bytes):
            raise refusal(BAD_TICKET, self._policy)
        self._bytes[:] = ticket
        code: int = self._tell(self._at, reward, learns)
        if code < 0:
            raise refusal(code, self._policy, reward)
        return code

    @property
    def pending(self) -> int:
        """The number of outstanding decisions: those of the last W that were neither told nor dropped."""
        return int(outstanding(self._policy, self._row))

    @property
    def state(self) -> Array:
        """The learner's entire state: one row of 64-bit words, read-only."""
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

        A level that keeps an earlier choice counts 1. A champion can be reached through every group: at a step at which
        groups are chosen, this is the probability of the groups that were chosen times that of the arm given them; at
        all other steps it is that of the arm. It is NaN for :class:`hlmc.Thompson`.
        """
        return float(self._row[PROBABILITY]) if self.policy.known_probability else math.nan

    def _name(self, arm: int) -> Any:
        """The name of an arm."""
        return arm

    def distribution(self) -> dict[Any, float]:
        """The probability of each arm at the next decision, given everything so far; largest first.

        Arms of probability 0, such as those outside the current group, are omitted. With more than 100 arms, only those
        above about one percent are listed; if groups are chosen next, these are frequencies in 128 draws.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=2, horizon=100).start(seed=1)
        >>> {arm: round(p, 3) for arm, p in learner.distribution().items()}
        {0: 0.5, 1: 0.5}
        """
        return {self._name(arm): share for arm, share in self._looked().distribution().items()}

    def favourite(self) -> Any:
        """The arm that the learner favours: the champion, if it has one, else the likeliest of :meth:`distribution`.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=5, horizon=100).start(seed=1)
        >>> for _ in range(100):
        ...     learner.update(float(learner.select() == 3))
        >>> learner.favourite()
        3
        """
        return self._name(self._looked().favourite())

    def explain(self) -> str:
        """What the learner would do next and why, in a few lines: the epoch, the group, the champion, the arms.

        >>> import hlmc
        >>> print(hlmc.EXP3(arms=2, horizon=100).start(seed=1).explain())
        0 decisions made of 100
        next: 0 0.5, 1 0.5
        """
        return self._looked().explanation()

    def _looked(self) -> Looked:
        from hlmc.learners.looking import Looked

        return Looked(self._policy, self._row.copy(), self._name)

    def reset(self, seed: int | None = 0, stream: int = 0, identity: int | None = None) -> None:
        """Reset to the state of ``policy.start(seed, stream)``, in the same row.

        Earlier tickets are refused. ``identity``: as for :meth:`Policy.start <hlmc.Policy.start>`.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
        >>> arm = learner.select()
        >>> learner.update(1.0)
        >>> learner.reset(seed=2)
        >>> learner == learner.policy.start(seed=2)
        True
        """
        given, key = checked_identity(identity), keys(given_seed(seed), stream, 1)
        if given is not None:
            self._identity, self._ask = given, None
        rows = fresh_rows(self.policy, key)
        give_secrets(self.policy, rows, given)
        self._begin(rows[0])

    def _begin(self, row: Array) -> None:
        """Continue from the row of a new learner. One assignment, so that a signal finds the old row or the new."""
        self._row[:] = row

    def copy(self, identity: int | None = None) -> Learner:
        """An independent copy of the learner.

        Both accept the tickets made before the copy was taken; later ones only the learner that made them.
        ``identity``: as for :meth:`Policy.start <hlmc.Policy.start>`.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100, pending=64).start(seed=1)
        >>> before = learner.ask()
        >>> other = learner.copy()
        >>> learner.tell(before, 1.0), other.tell(before, 1.0)
        ('applied', 'applied')
        >>> other.tell(learner.ask(), 1.0)
        Traceback (most recent call last):
        hlmc.errors.BadTicket: ticket must be one of this learner of EXP3(arms=3, horizon=100, pending=64); ...
        """
        learner = Learner.trusted(self.policy, self._row.copy(), identity=checked_identity(identity))
        learner._seen = dict(self._seen)
        return learner

    def __copy__(self) -> Learner:
        return self.copy()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write policy and state to a file. After a crash it is the old file or the new one, never a mixture.

        A file that has been saved by another learner or process since this one loaded or saved it is not replaced,
        unless ``force`` is true.

        A damaged state, such as that of a learner used by two threads at once, is refused.
        """
        self._check_sound()
        save(path, self.policy, self._row, None, self._seen, force)

    def _check_sound(self) -> None:
        if gate.first_unsound(self.policy, self._row[None, :]) == 0:
            raise HLMCError(
                f"the state of this learner of {self.policy!r} is damaged and could not be loaded: not saved"
            )

    def to_c(self, name: str = "hlmc", steps: int | None = None, precision: str = "float64") -> CSource:
        """The learner in C99, going on from its state: ``NAME_resume`` in place of ``NAME_start``.

        Arguments: as for ``policy.to_c``. With ``precision="float32"`` the state is narrowed.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
        >>> "void hlmc_resume(hlmc_learner *learner);" in learner.to_c().header
        True
        """
        from hlmc.export import exported

        return exported(self.policy, name, self._row, steps, precision)

    def __eq__(self, other: object) -> bool:
        """Whether the two have the same policy and the same state, whatever their identities."""
        if not isinstance(other, Learner):
            return NotImplemented
        if self.policy != other.policy:
            return False
        own, others = (anonymous(self.policy, each._row) for each in (self, other))
        return own.tobytes() == others.tobytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Learner, (self.policy, self._row.copy()))

    def __repr__(self) -> str:
        return f"<learner at step {self.time} of {self.policy!r}>"
