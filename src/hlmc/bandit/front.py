"""The bandit that users hold: ask, tell, drop, and what can be done with a whole experiment."""

from __future__ import annotations

import gc
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Self, TypeVar, overload

import numpy as np

from hlmc import checks
from hlmc.bandit.arms import BanditArms, text_of
from hlmc.bandit.decision import Decision
from hlmc.bandit.experiment import Experiment
from hlmc.bandit.group import GroupCommit
from hlmc.bandit.log import export
from hlmc.bandit.replay import problems
from hlmc.bandit.report import Report, report
from hlmc.bandit.requests import Batch, Call
from hlmc.bandit.settings import NAMES, Settings, checked
from hlmc.bandit.shards import plan_of
from hlmc.bandit.store import Again, Store
from hlmc.bandit.units import SHARD
from hlmc.bandit.upkeep import Upkeep
from hlmc.bandit.work import UNKNOWN, Ask, Tell, Work
from hlmc.errors import (
    BadArgument,
    BadReward,
    BadType,
    HLMCError,
    OutOfTurn,
    StoreUnavailable,
    UnknownDecision,
    shown,
)
from hlmc.learners.learner import checked_reward
from hlmc.policies.base import Policy

Unit = str | int | bytes
Found = TypeVar("Found")
Item = TypeVar("Item")
Many = list[Item] | tuple[Item, ...] | np.ndarray

ATTEMPTS = 20
"""How often a transaction is tried that the database refuses because of others."""


class Bandit:
    """A bandit in a database: named arms, a learner per unit, decisions with ids. Made by :func:`hlmc.open`.

    Any number of threads, tasks and processes may use one store. ``with bandit:`` closes it at the end.

    Examples
    --------
    >>> import hlmc, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> with hlmc.open(path, hlmc.UCB1(arms=2), arms=["tea", "coffee"], seed=1) as bandit:
    ...     first, second = bandit.ask(["user-1", "user-2"])
    ...     bandit.tell([first.id, second.id], [1.0, 0.0])
    ['applied', 'applied']
    """

    def __init__(self, experiment: Experiment, reader: Callable[[], Store], readonly: bool) -> None:
        self._experiment = experiment
        self._reader = reader
        self._readonly = readonly
        self._closed = False
        self.commits = GroupCommit(self._perform, self._after)
        self._upkeep = Upkeep(experiment)
        self.arms = BanditArms(self)

    # --- What it is

    @property
    def name(self) -> str:
        """The name of the experiment in the store."""
        return self._experiment.name

    @property
    def policy(self) -> Policy:
        """The policy of the learners."""
        return self._experiment.policy

    @property
    def plan(self) -> str:
        """The plan of the learners, and what ``shards`` cost, as text."""
        return plan_of(self.policy, self.settings.shards)

    @property
    def settings(self) -> Settings:
        """Wait, default, control and the rest, as of the last call."""
        return self._experiment.settings

    @property
    def most_units(self) -> int | None:
        """The most units that this process lets the experiment have. None, the default: any number.

        A unit that is not known and has no room is refused (:class:`hlmc.errors.OutOfTurn`).
        """
        return self._experiment.room.most

    @most_units.setter
    def most_units(self, most: int | None) -> None:
        self._experiment.room.most = None if most is None else checks.whole("most_units", most, 1)

    @property
    def store(self) -> str:
        """The store, as messages name it."""
        return self._experiment.store.shown

    def __repr__(self) -> str:
        return f"<bandit {self.name!r} in {self.store}>"

    # --- Decisions

    @overload
    def ask(self, unit: Unit | None = None, *, key: str | None = None) -> Decision: ...
    @overload
    def ask(self, unit: Many[Unit | None], *, key: Sequence[str | None] | None = None) -> list[Decision]: ...
    def ask(self, unit: Any = None, *, key: Any = None) -> Any:
        """Make a decision, or one for each of a list of units in one transaction. Returns when it is committed.

        Parameters
        ----------
        unit
            Whose learner is to decide; it is made when the unit is first seen. Whole numbers and bytes are taken as
            their text. None: the learner that all share. A list: one decision for each, a list.
        key
            A text of your own that makes the call safe to repeat: asked again with the same key and the same unit, the
            answer is the same decision. With another unit: :class:`hlmc.errors.ConflictingKey`. For a list of units:
            a list of keys.
        """
        many, asks = self._asks(unit, key)
        answers = self.commits.submit(Batch((), asks))[1] if asks else []
        return _raised(answers) if many else _raised(answers)[0]

    async def ask_async(self, unit: Any = None, *, key: Any = None) -> Any:
        """:meth:`ask` for a task of asyncio: other tasks run meanwhile, and share the transaction."""
        many, asks = self._asks(unit, key)
        answers = (await self.commits.submit_async(Batch((), asks)))[1] if asks else []
        return _raised(answers) if many else _raised(answers)[0]

    async def ask_each(
        self, unit: Sequence[Unit | None], *, key: Sequence[str | None] | None = None, purpose: str | None = None
    ) -> list[Decision | HLMCError]:
        """For services: :meth:`ask_async` for a list, where the error of an item stands in its place.

        ``purpose`` is a text that must be the same when a key is used again; by default it is the unit.
        """
        _, asks = self._asks(list(unit), key, purpose)
        return (await self.commits.submit_async(Batch((), asks)))[1] if asks else []

    @overload
    def tell(self, decision: str, reward: float) -> str: ...
    @overload
    def tell(self, decision: Many[str], reward: Many[float]) -> list[str]: ...
    def tell(self, decision: Any, reward: Any) -> Any:
        """Tell the reward of a decision by its id, or those of a list in one transaction. Returns when committed.

        Returns
        -------
        ``"applied"``, ``"late"`` (only some levels learned), ``"duplicate"`` (told or dropped before) or
        ``"expired"`` (no level remembers the decision, or it was settled by ``wait``, or it is past retention). For an
        id that is not known, :class:`hlmc.UnknownDecision` is raised, and a list has ``"unknown"`` in its place.
        """
        many, tells = self._tells(decision, reward)
        return self._told(many, tells, self.commits.submit(Batch(tells, ()))[0] if tells else [])

    async def tell_async(self, decision: Any, reward: Any) -> Any:
        """:meth:`tell` for a task of asyncio."""
        many, tells = self._tells(decision, reward)
        return self._told(many, tells, (await self.commits.submit_async(Batch(tells, ())))[0] if tells else [])

    @overload
    def drop(self, decision: str) -> str: ...
    @overload
    def drop(self, decision: Many[str]) -> list[str]: ...
    def drop(self, decision: Any) -> Any:
        """Say that the reward of a decision will not come: it counts as ``default``. Answers as :meth:`tell` does."""
        many, tells = self._drops(decision)
        return self._told(many, tells, self.commits.submit(Batch(tells, ()))[0] if tells else [])

    async def drop_async(self, decision: Any) -> Any:
        """:meth:`drop` for a task of asyncio."""
        many, tells = self._drops(decision)
        return self._told(many, tells, (await self.commits.submit_async(Batch(tells, ())))[0] if tells else [])

    def _asks(self, unit: Any, key: Any, purpose: str | None = None) -> tuple[bool, list[Ask]]:
        self._check_open(writes=True)
        many = unit is not None and not isinstance(unit, (str, bytes)) and hasattr(unit, "__iter__")
        units = checks.listed("unit", unit, "units", empty=True) if many else [unit]
        keys = (
            [key] if not many else [None] * len(units) if key is None else checks.listed("key", key, "keys", empty=True)
        )
        if len(keys) != len(units):
            raise BadArgument(f"key must be a list of {len(units)} keys, one for each unit, not of {len(keys)}")
        stored = [self._shared() if each is None else text_of("unit", each) for each in units]
        if key is None:
            return many, [Ask(each, None, purpose) for each in stored]
        checked = [None if each is None else text_of("key", each) for each in keys]
        return many, [Ask(each, own, purpose) for each, own in zip(stored, checked, strict=True)]

    def _shared(self) -> str:
        """The name under which the learner that all share, or one of its shards, is stored."""
        shards = self._experiment.settings.shards
        shard = secrets.randbelow(shards) if shards > 1 else 0
        return f"{SHARD}{shard}" if shard else ""

    def _tells(self, decision: Any, reward: Any) -> tuple[bool, list[Tell]]:
        self._check_open(writes=True)
        if isinstance(decision, (str, Decision)):
            return False, [Tell(_id(decision), self._rewards([reward])[0])]
        names = checks.listed("decision", decision, "ids", empty=True)
        rewards = reward.tolist() if isinstance(reward, np.ndarray) else reward
        rewards = checks.listed("reward", rewards, "rewards", empty=True)
        if len(names) != len(rewards):
            raise BadArgument(f"reward must be a list of {len(names)}, one for each decision, not of {len(rewards)}")
        return True, list(map(Tell, [_id(name) for name in names], self._rewards(rewards)))

    def _drops(self, decision: Any) -> tuple[bool, list[Tell]]:
        self._check_open(writes=True)
        many = not isinstance(decision, (str, Decision))
        names = checks.listed("decision", decision, "ids", empty=True) if many else [decision]
        return many, [Tell(_id(name), None) for name in names]

    def _rewards(self, rewards: list[Any]) -> list[float]:
        """The rewards, checked."""
        policy = self._experiment.policy
        low, high = policy.rewards
        found = [each if type(each) is float else checked_reward(each, policy) for each in rewards]
        for each, given in zip(found, rewards, strict=True):
            if not low <= each <= high:
                raise BadReward(f"{policy.accepted}, not {shown(given)}")
        return found

    def _told(self, many: bool, tells: Sequence[Tell], answers: list[str]) -> Any:
        if many:
            return answers
        if answers[0] == UNKNOWN:
            raise UnknownDecision(f"{shown(tells[0].id)} is not the id of a decision of experiment {self.name!r}")
        return answers[0]

    # --- The whole experiment

    def report(self) -> Report:
        """A report: decisions, rewards over time and by arm, shares, missing feedback, favourites.

        >>> import hlmc, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
        >>> with hlmc.open(path, hlmc.UCB1(arms=2), arms=["tea", "coffee"], seed=1) as bandit:
        ...     decisions = bandit.ask(["user-1", "user-2", "user-3"])
        ...     codes = bandit.tell([each.id for each in decisions], [1.0, 0.0, 1.0])
        ...     bandit.report().learned.mean
        0.6666666666666666
        """
        self._check_open()
        self.settle()
        with self._looking() as experiment:
            return report(experiment)

    def check(self) -> list[str]:
        """Check the experiment and its store: the problems found, none if all is well.

        The database's own files, every row, that decisions and events agree, and that each row is what its events
        make of it: since its last snapshot all of them are played again. Reads one state while others write.

        >>> import hlmc, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
        >>> with hlmc.open(path, hlmc.UCB1(arms=2), arms=["tea", "coffee"], seed=1) as bandit:
        ...     codes = [bandit.tell(bandit.ask("user-1").id, 1.0) for _ in range(3)]
        ...     bandit.check()
        []
        """
        self._check_open()
        with self._looking() as experiment:
            return problems(experiment)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the whole store, as it is at one moment, to a new SQLite file, while others write.

        The copy is a store like any other: ``hlmc.open(path)``.
        """
        self._check_open()
        store = self._reader()
        try:
            store.backup(checks.path("path", path))
        finally:
            store.close()

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write all decisions to a file, ``.csv``, or ``.parquet`` with the extra ``lab``; returns their number.

        >>> import hlmc, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with hlmc.open(folder / "shop.db", hlmc.UCB1(arms=2), arms=["tea", "coffee"], seed=1) as bandit:
        ...     decision = bandit.ask("user-1")
        ...     bandit.export(folder / "log.csv")
        1
        >>> (folder / "log.csv").read_text().splitlines()[0]
        'id,time,unit,arm,propensity,block,control,result,reward,told'
        """
        self._check_open()
        with self._looking() as experiment:
            return export(experiment, checks.path("path", path))

    def configure(self, **changes: Any) -> None:
        """Change settings: ``wait``, ``default``, ``control``, ``keep``, ``idle``, ``shards``, ``delay``.

        They hold for all processes, from the next decision on; decisions that are made keep their ``wait``. None
        resets a setting.

        >>> import hlmc, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
        >>> with hlmc.open(path, hlmc.UCB1(arms=2), arms=["tea", "coffee"], seed=1) as bandit:
        ...     bandit.configure(wait="1 hour", default=0.0)
        ...     bandit.settings.wait
        3600.0
        """
        for name in changes:
            if name not in NAMES:
                raise BadArgument(f"settings are {', '.join(NAMES)}, not {shown(name)}")

        def change(experiment: Experiment) -> None:
            experiment.refresh()
            settings = checked(experiment.policy, {**vars(experiment.settings), **changes})
            experiment.store.update("experiments", ("settings", "id"), [(settings.described(), experiment.number)])

        self._called(change, writes=True)
        self._called(lambda experiment: experiment.refresh())

    def settle(self) -> None:
        """Do all that is due now: decisions past ``wait``, roll-ups, retention, idle units.

        Calls of ``ask`` and ``tell`` do a little of it from time to time; without calls nothing is settled.
        """
        self._check_open()
        more, first = not self._readonly, True
        while more:  # others have their turn between two rounds
            more = self.commits.submit(Call(lambda _, first=first: self._upkeep.round(first), None))  # type: ignore[misc]
            first = False

    @contextmanager
    def _looking(self) -> Iterator[Experiment]:
        """The experiment on a connection of its own, which reads one state of the store while others write."""
        store = self._reader()
        try:
            with store.reading():
                yield self._experiment.on(store)
        finally:
            store.close()

    def forget(self, unit: Unit) -> bool:
        """Forget a unit: its learner and its name. Returns whether it existed.

        Its decisions stay in the log without a name. Rewards that are told later for them are ``expired``.
        """
        self._check_open(writes=True)
        name = text_of("unit", unit)
        return self._called(lambda experiment: _forget(experiment, name), writes=True)

    def close(self) -> None:
        """Close the connection. What was acknowledged is in the store; later calls are errors."""
        if not self._closed:
            self._closed = True
            self.commits.close()
            self._experiment.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Transactions

    def _check_open(self, writes: bool = False) -> None:
        if self._closed:
            raise OutOfTurn(f"{self!r} is closed: open it again with hlmc.open")
        if writes and self._readonly:
            raise OutOfTurn(f"{self!r} was opened readonly")

    def _called(self, function: Callable[[Experiment], Found], writes: bool = False) -> Found:
        """The result of a function of the experiment, called in a transaction; one that writes runs alone."""
        self._check_open(writes)
        found: Found = self.commits.submit(Call(function, writes))
        return found

    def _perform(self, group: Sequence[Any]) -> None:
        """Do a group of requests in one transaction, and answer each."""
        try:
            if isinstance(group[0], Call):
                group[0].answer(self._tried(lambda: self._call(group[0])))
                return
            answers = self._tried(lambda: self._work(group))
        except StoreUnavailable as error:
            for request in group:
                request.refuse(error)
        except Exception as error:
            if len(group) == 1:
                group[0].refuse(error)
                return
            for request in group:  # what is wrong with one must not fail the others
                self._perform([request])
        else:
            for request, answer in zip(group, answers, strict=True):
                request.answer(answer)

    def _after(self, group: Sequence[Any]) -> None:
        """Once a group is answered: a little of what is due."""
        if isinstance(group[0], Batch) and self._upkeep.awaited():
            with suppress(HLMCError, Again):  # what is due stays due
                self._upkeep.glance()

    def _tried(self, transaction: Callable[[], Found]) -> Found:
        for _ in range(ATTEMPTS):
            try:
                return transaction()
            except Again as error:
                reason = error
        raise StoreUnavailable(f"{self.store} refused a transaction {ATTEMPTS} times: {reason}")

    def _call(self, call: Call) -> Any:
        experiment = self._experiment
        if call.writes is None:
            return call.function(experiment)
        with experiment.store.transaction(alone=True) if call.writes else experiment.store.reading():
            return call.function(experiment)

    def _work(self, group: Sequence[Batch]) -> list[tuple[list[str], list[Any]]]:
        tells, asks = group[0].tells, group[0].asks
        if len(group) > 1:
            tells, asks = [tell for each in group for tell in each.tells], [ask for each in group for ask in each.asks]
        # A fork waits for the transaction, so that no child is left without collections.
        with self._experiment.store.transaction():
            collects = gc.isenabled()
            gc.disable()  # thousands of tuples and no cycles: a search among all objects would find nothing
            try:
                told, decided = Work(self._experiment).done(tells, asks)
            finally:
                if collects:
                    gc.enable()
        if len(group) == 1:
            return [(told, decided)]
        answers, rest, left = [], iter(told), iter(decided)
        for each in group:
            answers.append((list(islice(rest, len(each.tells))), list(islice(left, len(each.asks)))))
        return answers


def _raised(answers: list[Any]) -> list[Decision]:
    """The decisions, unless one of them could not be made."""
    for answer in answers:
        if isinstance(answer, HLMCError):
            raise answer
    return answers


def _id(decision: Any) -> str:
    if type(decision) is str:
        return decision
    if isinstance(decision, Decision):
        return decision.id
    raise BadType(f"decision must be the id of a decision, a text, not {shown(decision)}")


def _forget(experiment: Experiment, unit: str) -> bool:
    found = experiment.store.one("select id from learners where experiment = ? and unit = ?", experiment.number, unit)
    if found is not None:
        experiment.store.all("delete from learners where id = ?", found[0])
    return found is not None
