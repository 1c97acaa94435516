"""Clients of a service, with the interface of :class:`hlmc.Bandit`: code moves from embedded to served by one line.

>>> import hlmc
>>> bandit = hlmc.open("http://127.0.0.1:8000", name="drinks")  # in place of hlmc.open("shop.db", ...)
>>> bandit
<client of experiment 'drinks' at http://127.0.0.1:8000>
>>> bandit.close()

A request that gets no answer, or is told to come back, is repeated with growing pauses. Every ``ask`` carries a key,
so that a repeated one makes no second decision.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from typing import Any, Self

from hlmc.bandit import Report, Settings
from hlmc.checks import whole
from hlmc.errors import BadArgument, OutOfTurn, StoreUnavailable, extra
from hlmc.policies.base import Policy
from hlmc.serve.remote import Remote, Request, answered, pause, policy_of

try:
    import httpx
except ImportError:
    raise extra("httpx", "client") from None

TOKEN = "HLMC_TOKEN"
"""The environment variable that holds a token."""
AGAIN = (429, 502, 503, 504)
"""Statuses after which a request is repeated: nothing was done, or the way to the service was interrupted."""
IDLE = 64
"""Connections that are kept open."""


class _Shared:
    """What both clients are made of."""

    def __init__(
        self, url: str, token: str | None = None, *, name: str = "default", retries: int = 6, timeout: float = 30.0
    ) -> None:
        token = token or os.environ.get(TOKEN)
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError) as error:
            raise BadArgument(
                f"url must be the address of a service, such as http://127.0.0.1:8000 ({error})"
            ) from None
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or parsed.query:
            raise BadArgument("url must be http://HOST:PORT or https://HOST, without a password and without a query")
        self._url = str(parsed).rstrip("/")
        self._remote = Remote(name)
        self._retries = whole("retries", retries, 0, 100)
        self._closed = False
        self._described: Any = None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._options: dict[str, Any] = {
            "base_url": self._url,
            "headers": headers,
            "timeout": timeout,
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=IDLE),
        }

    @property
    def name(self) -> str:
        """The name of the experiment at the service."""
        return self._remote.name

    @property
    def store(self) -> str:
        """The address of the service."""
        return self._url

    def __repr__(self) -> str:
        return f"<client of experiment {self.name!r} at {self._url}>"

    def _sent(self, request: Request) -> dict[str, Any]:
        """A request as httpx takes it."""
        if self._closed:
            raise OutOfTurn(f"{self!r} is closed: open it again with hlmc.open")
        made: dict[str, Any] = {"method": request.method, "url": request.path}
        if request.body is not None:
            made["content"] = json.dumps(request.body, allow_nan=False)
            made["headers"] = {"Content-Type": "application/json"}
            if request.key is not None:
                made["headers"]["Idempotency-Key"] = request.key
        return made

    def _after(self, request: Request, answer: httpx.Response | httpx.TransportError, attempt: int) -> float | None:
        """Seconds after which to try again; None: not again."""
        if attempt >= self._retries:
            return None
        if isinstance(answer, httpx.TransportError):
            safe = request.repeats or isinstance(answer, (httpx.ConnectError, httpx.ConnectTimeout))
            return pause(attempt, None) if safe else None
        return pause(attempt, answer.headers.get("Retry-After")) if answer.status_code in AGAIN else None

    def _result(self, request: Request, answer: httpx.Response | httpx.TransportError) -> Any:
        if isinstance(answer, httpx.TransportError):
            raise StoreUnavailable(f"{self._url} does not answer: {answer}") from answer
        return request.read(answered(answer.status_code, answer.content))


def _first(many: bool, answers: list[list[Any]]) -> Any:
    flat = [each for part in answers for each in part]
    return flat if many else flat[0]


class Client(_Shared):
    """A bandit at a service, with the interface of :class:`hlmc.Bandit`. Made by :func:`hlmc.open`.

    Any number of threads may use one client. ``check``, ``backup`` and ``export`` are done beside the store, with
    ``hlmc bandit``.

    Parameters
    ----------
    url
        The address of the service.
    token
        The token that authenticates you. Default: the environment variable ``HLMC_TOKEN``.
    name
        Which experiment.
    retries
        How often a request that fails is repeated.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> from hlmc.serve import Client
    >>> with Client("http://127.0.0.1:8000", name="drinks") as bandit:
    ...     bandit.name
    'drinks'
    """

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._http = httpx.Client(**self._options)
        self.arms = RemoteArms(self)

    def ask(self, unit: Any = None, *, key: Any = None) -> Any:
        """Make a decision, or one for each of a list: see :meth:`hlmc.Bandit.ask`."""
        many, requests = self._remote.ask(unit, key)
        return _first(many, [self._do(each) for each in requests])

    def tell(self, decision: Any, reward: Any) -> Any:
        """Tell the reward of a decision, or those of a list: see :meth:`hlmc.Bandit.tell`."""
        many, requests = self._remote.tell(decision, reward)
        return _first(many, [self._do(each) for each in requests])

    def drop(self, decision: Any) -> Any:
        """Say that the reward of a decision will not come: see :meth:`hlmc.Bandit.drop`."""
        many, requests = self._remote.drop(decision)
        return _first(many, [self._do(each) for each in requests])

    @property
    def policy(self) -> Policy:
        """The policy of the learners."""
        self._described = self._described or self._do(self._remote.experiment())
        return policy_of(self._described)

    @property
    def plan(self) -> str:
        """The plan of the learners, as text."""
        return str(self._do(self._remote.experiment())["plan"])

    @property
    def settings(self) -> Settings:
        """Wait, default, control and the rest, as they are now."""
        return Settings(**self._do(self._remote.experiment())["settings"])

    def report(self) -> Report:
        """A report: see :meth:`hlmc.Bandit.report`."""
        found: Report = self._do(self._remote.report())
        return found

    def configure(self, **changes: Any) -> None:
        """Change settings: see :meth:`hlmc.Bandit.configure`. Needs the right ``admin``."""
        self._do(self._remote.configure(changes))

    def forget(self, unit: Any) -> bool:
        """Forget a unit. Needs the right ``admin``."""
        return bool(self._do(self._remote.forget(unit)))

    def settle(self) -> None:
        """Let the service do all that is due now: see :meth:`hlmc.Bandit.settle`."""
        self.report()

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, request: Request) -> Any:
        attempt = 0
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = self._http.request(**self._sent(request))
            except httpx.TransportError as error:
                answer = error
            seconds = self._after(request, answer, attempt)
            if seconds is None:
                return self._result(request, answer)
            time.sleep(seconds)
            attempt += 1


class RemoteArms:
    """The arms of a bandit at a service, with the interface of :class:`hlmc.bandit.BanditArms`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _read(self) -> Any:
        return self._client._do(self._client._remote.arms())

    def _change(self, action: str, **named: Any) -> None:
        self._client._do(self._client._remote.change_arms(action, **named))

    @property
    def capacity(self) -> int:
        """How many arms there can be at a time."""
        return int(self._read()["capacity"])

    @property
    def paused(self) -> tuple[str, ...]:
        """The arms that are paused."""
        return tuple(each["name"] for each in self._read()["arms"] if each["paused"])

    def __len__(self) -> int:
        return len(self._read()["arms"])

    def __iter__(self) -> Iterator[str]:
        return iter([each["name"] for each in self._read()["arms"]])

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def add(self, *names: str) -> None:
        """Add arms."""
        self._change("add", names=list(names))

    def remove(self, name: str) -> None:
        """Remove an arm."""
        self._change("remove", name=name)

    def pause(self, name: str) -> None:
        """Take an arm out of play."""
        self._change("pause", name=name)

    def resume(self, name: str) -> None:
        """Bring a paused arm back."""
        self._change("resume", name=name)

    def rename(self, name: str, new: str) -> None:
        """Give an arm another name."""
        self._change("rename", name=name, new=new)

    def forget(self, name: str) -> None:
        """Forget what is known of an arm."""
        self._change("forget", name=name)


class AsyncClient(_Shared):
    """:class:`Client` for asyncio: the same methods, awaited.

    Examples
    --------
    >>> import asyncio
    >>> from hlmc.serve import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:8000", name="drinks") as bandit:
    ...         return bandit.name  # and: decision = await bandit.ask("user-17")
    >>> asyncio.run(main())
    'drinks'
    """

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._http = httpx.AsyncClient(**self._options)

    async def ask(self, unit: Any = None, *, key: Any = None) -> Any:
        """Make a decision, or one for each of a list: see :meth:`hlmc.Bandit.ask`."""
        many, requests = self._remote.ask(unit, key)
        return _first(many, [await self._do(each) for each in requests])

    async def tell(self, decision: Any, reward: Any) -> Any:
        """Tell the reward of a decision, or those of a list: see :meth:`hlmc.Bandit.tell`."""
        many, requests = self._remote.tell(decision, reward)
        return _first(many, [await self._do(each) for each in requests])

    async def drop(self, decision: Any) -> Any:
        """Say that the reward of a decision will not come: see :meth:`hlmc.Bandit.drop`."""
        many, requests = self._remote.drop(decision)
        return _first(many, [await self._do(each) for each in requests])

    ask_async, tell_async, drop_async = ask, tell, drop

    async def report(self) -> Report:
        """A report: see :meth:`hlmc.Bandit.report`."""
        found: Report = await self._do(self._remote.report())
        return found

    async def configure(self, **changes: Any) -> None:
        """Change settings. Needs the right ``admin``."""
        await self._do(self._remote.configure(changes))

    async def forget(self, unit: Any) -> bool:
        """Forget a unit. Needs the right ``admin``."""
        return bool(await self._do(self._remote.forget(unit)))

    async def arms(self) -> list[str]:
        """The names of the arms, paused ones included."""
        return [each["name"] for each in (await self._do(self._remote.arms()))["arms"]]

    async def change_arms(self, action: str, **named: Any) -> None:
        """Change the arms: ``change_arms("add", names=["cocoa"])``, ``change_arms("pause", name="tea")``."""
        await self._do(self._remote.change_arms(action, **named))

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _do(self, request: Request) -> Any:
        attempt = 0
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = await self._http.request(**self._sent(request))
            except httpx.TransportError as error:
                answer = error
            seconds = self._after(request, answer, attempt)
            if seconds is None:
                return self._result(request, answer)
            await asyncio.sleep(seconds)
            attempt += 1
