"""The experiments that are served, and what a request does to them. Knows bandits and limits, and nothing of HTTP.

Nothing here waits on the event loop: ``ask`` and ``tell`` join a group commit, which a thread performs, and everything
else runs in a thread.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from hlmc.bandit import Bandit, Decision
from hlmc.errors import BadArgument, BadType, HLMCError
from hlmc.serve import wire
from hlmc.serve.copying import Log
from hlmc.serve.looking import Looker
from hlmc.serve.metrics import Counts
from hlmc.serve.problems import AGAIN, Problem, problem_of

Units = Literal["all", "each", "any"]
Found = TypeVar("Found")
Answer = Decision | Problem
Beside = Callable[["Service"], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Limits:
    """What a service lets others do to it.

    Parameters
    ----------
    body
        Bytes of a request.
    batch
        Items of a list.
    waiting
        Items that may wait for their transaction, of all requests together; more are told to come back (429).
    connections
        Connections at a time.
    streams
        Pages that are kept up to date at a time.
    units
        Units of an experiment; those that are there already go on, whatever comes. 0: any number.
    patience
        Seconds within which a request must have come, and an answer must have been taken.
    stop
        Seconds that a stopping service waits for requests that it has begun.
    """

    body: int = 1_000_000
    batch: int = wire.MOST_ITEMS
    waiting: int = 20_000
    connections: int = 1000
    streams: int = 50
    units: int = 0
    patience: float = 20.0
    stop: float = 10.0


class Hosted:
    """One experiment as it is served: the bandit, which units it takes, and what it has been asked."""

    def __init__(self, bandit: Bandit, units: Units = "any", every: float = 5.0) -> None:
        self.bandit = bandit
        self.units = units
        self.counts = Counts(bandit.policy.rewards)
        self.looker = Looker(bandit, every)
        bandit.commits.watch = self.counts.commit

    def check_units(self, units: Sequence[str | None]) -> None:
        """Refuse a unit where all share one learner, and none where each has one."""
        if self.units == "each" and None in units:
            raise BadArgument(f"unit is needed: each unit of experiment {self.bandit.name!r} has a learner of its own")
        if self.units == "all" and any(unit is not None for unit in units):
            raise BadArgument(f"unit must be left out: all units of experiment {self.bandit.name!r} share one learner")


class Service:
    """What is served, and how much of it at a time. ``log``: that of the store, if it is an SQLite file."""

    def __init__(self, hosted: Sequence[Hosted], limits: Limits | None = None, log: Log | None = None) -> None:
        self.log = log
        self.hosted = {each.bandit.name: each for each in hosted}
        self.limits = limits or Limits()
        for each in hosted:
            each.bandit.most_units = self.limits.units or None
        self.ready = False
        self.stopping = asyncio.Event()
        self.waiting = 0
        self.refused = 0
        self.streams = 0
        self.quiet_until = 0.0

    # --- Decisions and rewards

    async def ask(
        self, hosted: Hosted, units: Sequence[str | None], keys: Sequence[str | None] | None = None
    ) -> list[Answer]:
        """A decision for each unit, or what stands against it."""
        try:
            hosted.check_units(units)
            self._enter(len(units))
            try:
                answers = await hosted.bandit.ask_each(units, key=keys)
            finally:
                self.waiting -= len(units)
        except HLMCError as error:  # nothing was done: find out whose fault it is
            if problem_of(error).status >= 500:
                raise
            if len(units) == 1:
                return [problem_of(error)]
            each = (self.ask(hosted, [unit], keys and [keys[at]]) for at, unit in enumerate(units))
            return [answer for (answer,) in await asyncio.gather(*each)]
        return _counted(hosted, answers)

    async def ask_keyed(self, hosted: Hosted, units: Sequence[str | None], key: str) -> list[Answer]:
        """A decision for each unit, once for all requests with this key. With other units the key is refused.

        The first decision is made by itself: it takes the key, or tells that another request has it.
        """
        hosted.check_units(units)
        if not units:
            return []
        purpose = hashlib.sha256("\x1f".join("" if unit is None else f"={unit}" for unit in units).encode()).hexdigest()
        self._enter(len(units))
        try:
            answers = await hosted.bandit.ask_each(units[:1], key=[key], purpose=purpose)
            if isinstance(answers[0], HLMCError):
                raise answers[0]
            rest = [f"{key}#{at}" for at in range(1, len(units))]
            answers += await hosted.bandit.ask_each(units[1:], key=rest, purpose=purpose)
        finally:
            self.waiting -= len(units)
        return _counted(hosted, answers)

    async def tell(self, hosted: Hosted, names: Sequence[str], rewards: Sequence[float]) -> list[str | Problem]:
        """What became of each reward, or what is wrong with it."""
        told: list[str | Problem]
        try:
            told = await self._tell(hosted, names, rewards)
        except (HLMCError, BadType) as error:
            if problem_of(error).status >= 500:
                raise
            told = await asyncio.gather(*(self._tell_one(hosted, *each) for each in zip(names, rewards, strict=True)))
        hosted.counts.told(told, rewards)
        return told

    async def _tell(self, hosted: Hosted, names: Sequence[str], rewards: Sequence[float]) -> Any:
        self._enter(len(names))
        try:
            return await hosted.bandit.tell_async(names, rewards)
        finally:
            self.waiting -= len(names)

    async def _tell_one(self, hosted: Hosted, name: str, reward: float) -> str | Problem:
        try:
            return (await self._tell(hosted, [name], [reward]))[0]  # type: ignore[no-any-return]
        except (HLMCError, BadType) as error:
            return problem_of(error)

    async def drop(self, hosted: Hosted, names: Sequence[str]) -> list[str]:
        """What became of each decision that is given up."""
        self._enter(len(names))
        try:
            told: list[str] = await hosted.bandit.drop_async(names)
        finally:
            self.waiting -= len(names)
        hosted.counts.dropped += told.count("applied")
        return told

    def _enter(self, size: int) -> None:
        """Count items that wait for the group commit, unless too many do. Whoever calls this takes them off again."""
        if self.waiting + size > self.limits.waiting and self.waiting:
            self.refused += 1
            raise Problem(429, "overload", "too many requests wait for the database; come back in a second", AGAIN)
        self.waiting += size

    # --- The rest, in threads

    async def call(self, function: Callable[..., Found], *given: Any, **named: Any) -> Found:
        """Call a function that waits, such as one of a bandit."""
        return await asyncio.to_thread(function, *given, **named)

    def begin(self) -> None:
        """Do from now on, in the running event loop, what is done from time to time."""
        for each in self.hosted.values():
            each.looker.begin()
        if self.log is not None:
            self.log.begin()

    def close(self) -> None:
        """Close all bandits."""
        for each in self.hosted.values():
            each.looker.close()
            each.bandit.close()
        if self.log is not None:
            self.log.close()


def _counted(hosted: Hosted, answers: list[Any]) -> list[Answer]:
    """Decisions, which are counted, and the problems that stand for errors."""
    found: list[Answer] = [each if type(each) is Decision else problem_of(each) for each in answers]
    hosted.counts.asks += sum(type(each) is Decision for each in answers)
    return found
