"""The clients: the interface of a bandit in the same process, and requests that are repeated."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

import hlmc
from hlmc.errors import BadArgument, BadReward, BadType, ConflictingKey, OutOfTurn, StoreUnavailable, UnknownDecision
from hlmc.serve import AsyncClient, Client
from serve.services import ADMIN_TEXT, Running


def used(bandit: Any) -> list[Any]:
    """What a program does with a bandit, and what comes of it, but for ids and times."""
    found: list[Any] = []
    decision = bandit.ask("user-1")
    found.append((decision.arm, decision.propensity, decision.unit, decision.control))
    found.append(bandit.tell(decision.id, 1.0))
    found.append(bandit.tell(decision, 1))
    found.append(bandit.drop(decision.id))
    several = bandit.ask(["user-1", None, 17, b"bytes"])
    found.append([(each.arm, each.propensity, each.unit) for each in several])
    found.append(bandit.tell([each.id for each in several] + ["no"], np.array([1.0, 0.0, 0.5, 1.0, 0.0])))
    found.append(bandit.drop([several[0].id, "no"]))
    found.append((bandit.ask([]), bandit.tell([], []), bandit.drop([])))
    keyed = bandit.ask("user-2", key="k")
    found.append(bandit.ask("user-2", key="k") == keyed)
    found.append([each.unit for each in bandit.ask(["a", "b"], key=["k1", None])])
    for wrong, kind in (
        (lambda: bandit.ask("user-3", key="k"), ConflictingKey),
        (lambda: bandit.ask(["a", "b"], key=["k1"]), BadArgument),
        (lambda: bandit.ask("a\nb"), BadArgument),
        (lambda: bandit.tell("no", 1.0), UnknownDecision),
        (lambda: bandit.tell(keyed.id, 1.5), BadReward),
        (lambda: bandit.tell(keyed.id, float("nan")), BadReward),
        (lambda: bandit.tell([keyed.id], [1.0, 2.0]), BadArgument),
        (lambda: bandit.tell([7], [1.0]), BadType),
        (lambda: bandit.arms.add("tea"), BadArgument),
    ):
        with pytest.raises(kind):
            wrong()
    bandit.arms.add("cocoa", "water")
    bandit.arms.pause("water")
    bandit.arms.rename("water", "still water")
    found.append((list(bandit.arms), bandit.arms.paused, len(bandit.arms), bandit.arms.capacity, "tea" in bandit.arms))
    bandit.arms.resume("still water")
    bandit.arms.forget("tea")
    bandit.arms.remove("cocoa")
    bandit.arms.remove("still water")
    bandit.configure(wait="1 hour", default=0.0)
    found.append(bandit.settings)
    bandit.configure(wait=None, default=None)
    found += [bandit.forget("user-1"), bandit.forget("user-1"), bandit.policy, bandit.plan, bandit.name]
    bandit.settle()
    report = bandit.report()
    found += [report.learned.squares, report.learned.pending, report.units, report.favourites]
    found.append([(each["name"], each["state"], each["share"], each["tally"].reward) for each in report.arms])
    return found


def test_a_client_is_used_as_a_bandit_is(running: Running, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = hlmc.TsallisINF(arms=10)
    with hlmc.open(tmp_path / "own.db", policy, arms=["tea", "coffee"], name="drinks", seed=1) as own:
        embedded = used(own)
    monkeypatch.setenv("HLMC_TOKEN", ADMIN_TEXT)
    with hlmc.open(running.url, name="drinks") as served:
        assert isinstance(served, Client)
        assert used(served) == embedded
    with pytest.raises(OutOfTurn, match="closed"):
        served.ask()


def test_a_client_has_the_methods_of_a_bandit() -> None:
    beside = {"check", "backup", "export", "commits", "most_units", "ask_each", "ask_async", "tell_async", "drop_async"}
    wanted = {name for name in vars(hlmc.Bandit) if not name.startswith("_")} - beside
    assert wanted <= set(dir(Client))
    for name in ("ask", "tell", "drop"):
        own = list(inspect.signature(getattr(hlmc.Bandit, name)).parameters)
        assert list(inspect.signature(getattr(Client, name)).parameters) == own
        assert list(inspect.signature(getattr(AsyncClient, name)).parameters) == own


def test_an_async_client(running: Running) -> None:
    async def main() -> None:
        async with AsyncClient(running.url, ADMIN_TEXT, name="drinks") as bandit:
            decisions = await asyncio.gather(*(bandit.ask(f"task {i}") for i in range(20)))
            assert len({each.id for each in decisions}) == 20
            assert await bandit.tell([each.id for each in decisions], [1.0] * 20) == ["applied"] * 20
            assert await bandit.tell_async(decisions[0].id, 1.0) == "duplicate"
            assert await bandit.drop(decisions[0].id) == "duplicate"
            with pytest.raises(UnknownDecision):
                await bandit.tell("no", 1.0)
            await bandit.change_arms("add", name="cocoa")
            assert await bandit.arms() == ["tea", "coffee", "cocoa"]
            await bandit.change_arms("remove", name="cocoa")
            await bandit.configure(control=None)
            assert await bandit.forget("task 0")
            assert (await bandit.report()).decisions >= 20

    asyncio.run(main())


def test_long_lists_are_several_requests(running: Running) -> None:
    with Client(running.url, name="drinks") as bandit:
        decisions = bandit.ask(["many"] * 2500)
        assert len({each.id for each in decisions}) == 2500
        assert bandit.tell(decisions, [0.0] * 2500) == ["applied"] * 2500


# --- Requests that are repeated


def with_answers(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[Client, list[httpx.Request], list[float]]:
    """A client whose service gives these answers, the requests that it got, and the pauses."""
    seen: list[httpx.Request] = []
    slept: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        given = answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return httpx.Response(*given[:1], **given[1])

    client = Client("http://127.0.0.1:1", "t", retries=3)
    client._http = httpx.Client(transport=httpx.MockTransport(answer), **client._options)
    monkeypatch.setattr("time.sleep", slept.append)
    return client, seen, slept


DECISION = {"arm": "tea", "id": "x", "propensity": 1.0, "unit": None, "control": False}


def test_a_repeated_ask_has_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [
        (429, {"headers": {"Retry-After": "2"}}),
        httpx.ReadTimeout("no answer"),
        (503, {}),
        (200, {"json": DECISION}),
    ]
    client, seen, slept = with_answers(answers, monkeypatch)
    assert client.ask().arm == "tea"
    assert len({each.content for each in seen}) == 1
    assert b'"key"' in seen[0].content
    assert {each.headers["authorization"] for each in seen} == {"Bearer t"}
    assert slept[0] >= 2.0
    assert len(slept) == 3


def test_a_list_has_a_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [httpx.ReadError("cut"), (200, {"json": [DECISION, DECISION]})]
    client, seen, _ = with_answers(answers, monkeypatch)
    assert len(client.ask([None, None])) == 2
    assert len({each.headers["idempotency-key"] for each in seen}) == 1


@pytest.mark.parametrize(
    ("call", "error", "times"),
    [
        (lambda client: client.arms.add("x"), httpx.ReadTimeout("no answer"), 1),  # it may have arrived
        (lambda client: client.arms.add("x"), httpx.ConnectError("refused"), 4),  # it cannot have
        (lambda client: client.tell("x", 1.0), httpx.ReadTimeout("no answer"), 4),
    ],
)
def test_what_may_have_arrived_is_repeated_only_if_that_is_safe(
    call: Callable[[Client], Any], error: Exception, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, seen, _ = with_answers([error] * 4, monkeypatch)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        call(client)
    assert len(seen) == times


def test_an_answer_that_is_no_problem_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    client, _, _ = with_answers([(404, {"text": "<html>"}), (302, {"headers": {"Location": "/"}})], monkeypatch)
    for _ in range(2):
        with pytest.raises(BadArgument, match="the service answered with status"):
            client.tell("x", 1.0)


def test_wrong_addresses() -> None:
    for wrong in ("http://", "http://user:word@host", "http://host/?token=x"):
        with pytest.raises(BadArgument, match="url"):
            hlmc.open(wrong)
    with pytest.raises(BadArgument, match="policy must be left out for a service"):
        hlmc.open("http://127.0.0.1:1", hlmc.UCB1(arms=2))
