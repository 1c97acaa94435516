"""Group commit: one call wakes an event loop for a whole group, and what a service needs beside ``ask_async``."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from bandits import NAMES, POLICY, Clock, Opener
from hlmc.bandit.group import GroupCommit, Request
from hlmc.errors import ConflictingKey


def test_a_group_wakes_the_loop_once() -> None:
    groups: list[int] = []
    watched: list[int] = []

    def perform(group: list[Any]) -> None:
        groups.append(len(group))
        for request in group:
            request.answer(request)

    commits = GroupCommit(perform, lambda _: None)
    commits.watch = lambda seconds, items: watched.append(items)

    async def main() -> int:
        loop = asyncio.get_running_loop()
        calls = []
        plain = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *given, **named: calls.append(1) or plain(*given, **named)  # type: ignore[method-assign, func-returns-value]
        await asyncio.gather(*(_submitted(commits) for _ in range(50)))
        return len(calls)

    calls = asyncio.run(main())
    assert sum(groups) == sum(watched) == 50
    assert calls == len(groups)


async def _submitted(commits: GroupCommit) -> Any:
    return await commits.submit_async(Request())


def test_a_closed_bandit_keeps_no_thread(opened: Opener) -> None:
    """Each kept the one that leads for tasks, with its stack, until a process that opens many ran out of memory."""
    before = set(threading.enumerate())
    bandit = opened(POLICY, arms=NAMES, seed=1)
    asyncio.run(bandit.ask_async())
    helpers = set(threading.enumerate()) - before
    assert [helper.name for helper in helpers] == ["hlmc-bandit"]
    bandit.close()
    for helper in helpers:
        helper.join(60)
        assert not helper.is_alive()


def test_what_one_item_is_refused_stops_no_other(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)

    async def main() -> None:
        first = await bandit.ask_each(["a", "b"], key=["k0", "k1"], purpose="two")
        again = await bandit.ask_each(["a", "b"], key=["k0", "k1"], purpose="two")
        assert first == again
        other = await bandit.ask_each(["a", "c"], key=["k0", "k2"], purpose="two others")
        assert isinstance(other[0], ConflictingKey)
        assert other[1].unit == "c"
        assert isinstance((await bandit.ask_each(["a"], key=["k0"]))[0], ConflictingKey)

    asyncio.run(main())


def test_others_have_their_turn_while_much_is_settled(
    opened: Opener, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlmc.bandit.upkeep.SETTLED_AT_ONCE", 4)
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=10.0, default=0.0)
    bandit.ask(["u"] * 22)
    clock.time += 100.0
    sizes: list[int] = []
    perform = bandit.commits._perform
    monkeypatch.setattr(bandit.commits, "_perform", lambda group: (sizes.append(len(group)), perform(group)))
    bandit.settle()
    assert len(sizes) >= 6  # 22 decisions, 4 at a time: between two of these others are served
    assert bandit.report().learned.settled == 22


def test_garbage_is_collected_after_a_transaction_and_after_one_that_fails(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    seen: list[bool] = []
    monkeypatch.setattr(bandit._experiment.store, "several", lambda _: seen.append(gc.isenabled()) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bandit.ask()
    monkeypatch.undo()
    assert seen == [False]
    assert gc.isenabled()
    bandit.ask()
    assert gc.isenabled()
