"""What each address does. ``ROUTES`` is the whole interface, from which :mod:`hlmc.serve.openapi` describes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from hlmc.errors import BadArgument
from hlmc.policies.description import described
from hlmc.serve import metrics, wire
from hlmc.serve.endpoint import JSON, Call, Operation
from hlmc.serve.problems import AGAIN, Problem
from hlmc.serve.rights import ADMIN, ASK, READ, TELL
from hlmc.serve.service import Hosted

_ASK = msgspec.json.Decoder(wire.Ask | list[wire.AskItem])
_TELL = msgspec.json.Decoder(wire.Tell | list[wire.Tell])
_DROP = msgspec.json.Decoder(wire.Drop | list[wire.Drop])
_RAW = msgspec.json.Decoder(list[msgspec.Raw])


# --- Decisions and rewards


async def ask(call: Call) -> Any:
    """Make a decision, or one for each item of a list."""
    hosted = call.experiment
    asked, bad = _read(_ASK, wire.AskItem, call)
    key = _key(call)
    if isinstance(asked, wire.Ask):
        if key is not None and asked.key is not None and key != asked.key:
            raise BadArgument("key must be the Idempotency-Key, or one of the two must be left out")
        key = key or asked.key
        if asked.count is msgspec.UNSET:
            (answer,) = await call.service.ask(hosted, [asked.unit], None if key is None else [key])
            if isinstance(answer, Problem):
                raise answer
            return wire.Decision(*answer)
        _check_batch(asked.count, call)
        units, keys = [asked.unit] * asked.count, [] if key is None or asked.count > 1 else [key]
    else:
        units, keys = [each.unit for each in asked], [each.key for each in asked]
        if key is not None and any(keys):
            raise BadArgument("key of an item must be left out where the request has an Idempotency-Key")
    if key is None or any(keys):
        answers = await call.service.ask(hosted, units, keys if any(keys) else None)
    else:
        answers = await call.service.ask_keyed(hosted, units, key)
    return _placed([_item(each) if isinstance(each, Problem) else wire.Decision(*each) for each in answers], bad)


async def tell(call: Call) -> Any:
    """Tell the reward of a decision, or of each of a list. An id makes this safe to repeat."""
    hosted = call.experiment
    told, bad = _read(_TELL, wire.Tell, call)
    if isinstance(told, wire.Tell):
        return _one(hosted, (await call.service.tell(hosted, [told.id], [told.reward]))[0])
    found = await call.service.tell(hosted, [each.id for each in told], [each.reward for each in told])
    return _placed([_item(each) if isinstance(each, Problem) else wire.Told(each) for each in found], bad)


async def drop(call: Call) -> Any:
    """Say that the reward of a decision will not come, or those of a list."""
    hosted = call.experiment
    given, bad = _read(_DROP, wire.Drop, call)
    if isinstance(given, wire.Drop):
        return _one(hosted, (await call.service.drop(hosted, [given.id]))[0])
    found = await call.service.drop(hosted, [each.id for each in given])
    return _placed([wire.Told(each) for each in found], bad)


def _one(hosted: Hosted, result: str | Problem) -> wire.Told:
    if isinstance(result, Problem):
        raise result
    if result == "unknown":
        raise Problem(404, "unknown-decision", "this is not the id of a decision of this experiment")
    return wire.Told(result)


def _read(decoder: Any, item: Any, call: Call) -> tuple[Any, dict[int, Any]]:
    """The body, and which items of a list are not what they should be."""
    bad: dict[int, Any] = {}
    try:
        read = decoder.decode(call.body)
    except msgspec.ValidationError as error:
        if call.body.lstrip()[:1] != b"[":
            raise Problem(422, "bad-argument", str(error)) from None
        raw = _decoded(_RAW, call.body)
        _check_batch(len(raw), call)
        read = []
        for at, each in enumerate(raw):
            try:
                read.append(msgspec.json.decode(each, type=item))
            except msgspec.ValidationError as mistake:
                bad[at] = _item(Problem(422, "bad-argument", str(mistake)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, "bad-json", f"the body is not JSON: {error}") from None
    if isinstance(read, list):
        _check_batch(len(read) + len(bad), call)
    return read, bad


def _decoded(decoder: Any, body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Problem(422, "bad-argument", str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, "bad-json", f"the body is not JSON: {error}") from None


def _check_batch(count: int, call: Call) -> None:
    most = call.service.limits.batch
    if count > most:
        raise Problem(413, "too-many", f"a list may have {most} items, not {count}")


def _item(problem: Problem) -> wire.Refused:
    return wire.Refused(wire.Problem(**problem.body()))


def _placed(found: list[Any], bad: dict[int, Any]) -> list[Any]:
    """The answers in the order of the items."""
    if not bad:
        return found
    answers = iter(found)
    return [bad[at] if at in bad else next(answers) for at in range(len(found) + len(bad))]


def _key(call: Call) -> str | None:
    given = call.headers.get(b"idempotency-key")
    if given is None:
        return None
    try:
        key = given.decode("ascii")
    except UnicodeDecodeError:
        key = ""
    if not 0 < len(key) <= wire.MOST_KEY or not key.isprintable():
        raise Problem(400, "bad-header", f"Idempotency-Key must have from 1 to {wire.MOST_KEY} printable characters")
    return key


# --- Arms and experiments


async def arms(call: Call) -> Any:
    """The arms that are there."""
    own = call.experiment.bandit.arms

    def read() -> wire.Arms:
        paused = set(own.paused)
        return wire.Arms([wire.Arm(name, name in paused) for name in own], own.capacity)

    return await call.service.call(read)


async def change_arms(call: Call) -> Any:
    """Add, remove, pause, resume, rename or forget an arm, for all units."""
    change = _decoded(_ARMS, call.body)
    own = call.experiment.bandit.arms
    _check_change(change)
    if change.action == "add":
        names = [change.name] if change.names is msgspec.UNSET else change.names
        await call.service.call(own.add, *names)
    elif change.action == "rename":
        await call.service.call(own.rename, change.name, change.new)
    else:
        await call.service.call(getattr(own, change.action), change.name)
    return await arms(call)


_ARMS = msgspec.json.Decoder(wire.ArmChange)


def _check_change(change: wire.ArmChange) -> None:
    wanted = {"add": ("name",), "rename": ("name", "new")}.get(change.action, ("name",))
    if change.action == "add" and change.names is not msgspec.UNSET:
        wanted = ("names",)
    given = {name for name in ("name", "names", "new") if getattr(change, name) is not msgspec.UNSET}
    if given != set(wanted):
        raise BadArgument(f"a change of the kind {change.action!r} has {' and '.join(wanted)}, and no others")


async def experiments(call: Call) -> Any:
    """The experiments that the token may read."""
    return wire.Experiments([name for name in call.service.hosted if call.token.allows(READ, name)])


async def experiment(call: Call) -> Any:
    """What an experiment is: policy, words, plan, guarantee, settings."""
    hosted = call.experiment
    bandit = hosted.bandit
    policy = bandit.policy
    words = {"statistics": policy.words.statistics, "control": policy.words.control, "total": policy.words.total}
    return wire.Experiment(
        name=bandit.name,
        policy=repr(policy),
        description=msgspec.json.decode(described(policy)),
        words=words,
        plan=bandit.plan,
        guarantee=str(policy.guarantee),
        settings=asdict(bandit.settings),
        units=hosted.units,
        rewards=policy.rewards,
    )


async def report(call: Call) -> Any:
    """Decisions, rewards, arms, feedback and delays, as of now."""
    return (await call.service.call(call.experiment.bandit.report)).as_dict()


async def configure(call: Call) -> Any:
    """Change settings, for all processes."""
    changes = _decoded(_CHANGES, call.body)
    given = {name: value for name, value in msgspec.structs.asdict(changes).items() if value is not msgspec.UNSET}
    bandit = call.experiment.bandit
    await call.service.call(bandit.configure, **given)
    return asdict(bandit.settings)


_CHANGES = msgspec.json.Decoder(wire.Changes)


async def forget(call: Call) -> Any:
    """Forget a unit: its learner and its name."""
    return wire.Forgotten(await call.service.call(call.experiment.bandit.forget, _decoded(_FORGET, call.body).unit))


_FORGET = msgspec.json.Decoder(wire.Forget)


# --- The stream of a page


@dataclass
class Stream:
    """Server-sent events: points of the past at first, then each report when it is made."""

    call: Call
    media: bytes = b"text/event-stream"
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The events."""
        looker, stopping = self.call.experiment.looker, self.call.service.stopping
        news, leave = looker.subscribe()
        self.call.service.streams += 1
        try:
            yield _event("past", list(looker.points))
            if looker.latest is not None:
                yield _event("report", looker.latest.as_dict())
            while not stopping.is_set():
                try:
                    async with asyncio.timeout(self.call.service.limits.patience / 2):
                        await _either(news, stopping)
                except TimeoutError:
                    yield b": here\n\n"  # whoever has left is noticed
                    continue
                news.clear()
                if looker.latest is not None and not stopping.is_set():
                    yield _event("point", looker.points[-1])
                    yield _event("report", looker.latest.as_dict())
        finally:
            leave()
            self.call.service.streams -= 1


async def stream(call: Call) -> Any:
    """Server-sent events for a page: the past, then a point and a report every few seconds."""
    if call.service.streams >= call.service.limits.streams:
        raise Problem(429, "too-many-streams", "too many pages are open; come back later", AGAIN)
    return Stream(call)


def _event(name: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))


async def _either(first: asyncio.Event, second: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(each.wait()) for each in (first, second)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


# --- The service itself


async def healthz(call: Call) -> Any:
    """Whether the process is alive."""
    return wire.State("alive")


async def readyz(call: Call) -> Any:
    """Whether the service takes requests: kernels are compiled, the store answers, and it is not stopping."""
    service = call.service
    if not service.ready or service.stopping.is_set():
        raise Problem(503, "not-ready", "the service is starting or stopping", AGAIN)
    for hosted in service.hosted.values():
        await service.call(len, hosted.bandit.arms)
    return wire.State("ready")


async def measured(call: Call) -> Any:
    """Numbers for Prometheus."""
    if not call.token.allows(READ, None):
        raise Problem(403, "no-right", "the metrics need a token with the right read on all experiments")
    return await call.service.call(metrics.exposed, call.service)


async def answered(call: Call) -> Any:
    """The OpenAPI document."""
    from hlmc.serve.openapi import document

    return document(ROUTES)


_ASKED, _TOLD = (wire.Decision, wire.Refused), (wire.Told, wire.Refused)

ROUTES: dict[str, dict[str, Operation]] = {
    "/v1/{experiment}/ask": {"POST": Operation(ask, ASK, wire.Ask | list[wire.AskItem], _ASKED)},
    "/v1/{experiment}/tell": {"POST": Operation(tell, TELL, wire.Tell | list[wire.Tell], _TOLD)},
    "/v1/{experiment}/drop": {"POST": Operation(drop, TELL, wire.Drop | list[wire.Drop], _TOLD)},
    "/v1/{experiment}/arms": {
        "GET": Operation(arms, READ, None, wire.Arms),
        "POST": Operation(change_arms, ADMIN, wire.ArmChange, wire.Arms),
    },
    "/v1/{experiment}/report": {"GET": Operation(report, READ, None, dict[str, Any])},
    "/v1/{experiment}/stream": {"GET": Operation(stream, READ, None, str, media=b"text/event-stream")},
    "/v1/{experiment}/settings": {"POST": Operation(configure, ADMIN, wire.Changes, dict[str, Any])},
    "/v1/{experiment}/forget": {"POST": Operation(forget, ADMIN, wire.Forget, wire.Forgotten)},
    "/v1/{experiment}": {"GET": Operation(experiment, READ, None, wire.Experiment)},
    "/v1": {"GET": Operation(experiments, READ, None, wire.Experiments)},
    "/healthz": {"GET": Operation(healthz, None, None, wire.State)},
    "/readyz": {"GET": Operation(readyz, None, None, wire.State)},
    "/metrics": {"GET": Operation(measured, READ, None, str, media=b"text/plain; version=0.0.4; charset=utf-8")},
    "/openapi.json": {"GET": Operation(answered, None, None, dict[str, Any], media=JSON)},
}
"""Every address, and what its methods do, take and give."""
