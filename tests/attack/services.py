"""Whoever reaches a service: wrong rights, pages of other sites, damaged requests, endless ones."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import string
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from attack.harness import Harm, Trial, attack
from hlmc.serve.application import Application
from hlmc.serve.config import read_config
from hlmc.serve.guard import Guard
from hlmc.serve.rights import RIGHTS, Rights, add, made
from hlmc.serve.routes import ROUTES
from hlmc.serve.service import Service
from hlmc.serve.warming import warm

SHOP = """
durable = false
tokens = "shop.tokens"
[experiments.drinks]
arms = ["tea", "coffee"]
policy = { policy = "TsallisINF", arms = 10 }
[experiments.other]
arms = ["a", "b"]
policy = { policy = "TsallisINF", arms = 10 }
[limits]
body = 10000
batch = 20
"""


@cache
def shop() -> tuple[Path, dict[str, str]]:
    """The file of a service, and a token for each right on one experiment."""
    folder = Path(tempfile.mkdtemp(prefix="hlmc-attack-"))
    (folder / "shop.toml").write_text(SHOP)
    texts = {}
    for right in RIGHTS:
        texts[right], token = made("drinks", [right])
        add(folder / "shop.tokens", token)
    warm(read_config(folder / "shop.toml").experiments[0].policy)  # type: ignore[arg-type]
    return folder / "shop.toml", texts


class Caller:
    """An application that is called without a network: one request, and what came of it."""

    def __init__(self, trial: Trial) -> None:
        file, self.texts = shop()
        config = read_config(file, str(trial.folder / "shop.db"))
        self.service = Service(config.opened(), config.limits)
        self.service.ready = True
        self._called = Application(self.service, Guard(("127.0.0.1",)), Rights(config.tokens))

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the answer."""
        given = {"host": "127.0.0.1", "content-type": "application/json", **headers}
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(errors="replace"),
            "query_string": b"",
            "root_path": "",
            "headers": [(key.encode(), value.encode("latin-1", "replace")) for key, value in given.items()],
        }
        said: list[Any] = []
        come = iter([{"type": "http.request", "body": body}])

        async def receive() -> dict[str, Any]:
            return next(come, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            said.append(message)

        asyncio.run(self._called(scope, receive, send))
        return int(said[0]["status"]), b"".join(each.get("body", b"") for each in said[1:])

    def state(self) -> list[Any]:
        """What must not change."""
        found: list[Any] = []
        for hosted in self.service.hosted.values():
            found += [hosted.bandit.report().as_dict(), list(hosted.bandit.arms), hosted.bandit.settings]
        return found


NEEDS = {path: {m: o.right for m, o in methods.items()} for path, methods in ROUTES.items() if "{experiment}" in path}
BODIES: dict[str, Any] = {
    "ask": {},
    "tell": {"id": "x", "reward": 1.0},
    "drop": {"id": "x"},
    "arms": {"action": "add", "name": "cocoa"},
    "settings": {"control": 0.5},
    "forget": {"unit": "u"},
}


@attack(short=20, long=2000, prepare=shop)
def a_token_for_something_else(trial: Trial) -> None:
    """Use an operation with a token that lacks its right, is changed, or is for another experiment.

    Harm: an answer other than 401 or 403, or a store that has changed.
    """
    caller = Caller(trial)
    before = caller.state()
    for path, methods in NEEDS.items():
        for method, right in methods.items():
            if path.endswith("/stream"):
                continue
            own = trial.random.choice([each for each in RIGHTS if each not in (right, "admin")])
            text, name = trial.random.choice(
                [
                    (caller.texts[own], "drinks"),
                    (caller.texts["admin"], "other"),
                    (_changed(trial.random, caller.texts["admin"]), "drinks"),
                    ("", "drinks"),
                ]
            )
            content = json.dumps(BODIES.get(path.rpartition("/")[2], {})).encode()
            headers = {"authorization": f"Bearer {text}"}
            status, _ = caller.send(method, path.replace("{experiment}", name), headers, content)
            if status not in (401, 403):
                raise Harm(f"{method} {path} with another token: {status}")
    if caller.state() != before:
        raise Harm("a refused request has changed the store")
    caller.service.close()


def _changed(draw: random.Random, text: str) -> str:
    """A token with one character changed, left out or added."""
    at = draw.randrange(len(text))
    other = draw.choice([c for c in string.ascii_letters + string.digits + "_" if c != text[at]])
    return draw.choice([text[:at] + other + text[at + 1 :], text[:at] + text[at + 1 :], text[:at] + other + text[at:]])


@attack(short=20, long=2000, prepare=shop)
def a_page_of_another_site(trial: Trial) -> None:
    """Send what a browser lets a page of another site send. Harm: anything but a refusal, or a change."""
    caller = Caller(trial)
    before = caller.state()
    name = "".join(trial.random.choices(string.ascii_lowercase, k=8))
    tricks = [
        {"host": f"{name}.example"},
        {"host": f"127.0.0.1.{name}.example"},
        {"host": f"127.0.0.1@{name}.example"},
        {"origin": f"https://{name}.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1.{name}.example"},
        {"origin": "http://127.0.0.1:1"},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=application/json"},
    ]
    for trick in tricks:
        headers = {"authorization": f"Bearer {caller.texts['admin']}"} | trick
        for what, body in BODIES.items():
            status, _ = caller.send("POST", f"/v1/drinks/{what}", headers, json.dumps(body).encode())
            if status not in (403, 415, 421):
                raise Harm(f"{trick}: {status}")
    if caller.state() != before:
        raise Harm("a refused request has changed the store")
    caller.service.close()


@attack(short=50, long=5000, prepare=shop)
def a_damaged_request(trial: Trial) -> None:
    """Send bodies and headers at random. Harm: a 5xx, a message of several lines, or one of the service's own."""
    caller = Caller(trial)
    draw = trial.random
    for _ in range(20):
        what, body = draw.choice(list(BODIES.items()))
        content = json.dumps(draw.choice([body, [body] * draw.randrange(30), [], {}, None, draw.random()])).encode()
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(content) + 1)
            more = draw.choice([b"", os.urandom(1), b"[" * 2000, b'"', b"1e999", b"\x00"])
            content = content[:at] + more + content[at:]
        headers = {"authorization": f"Bearer {caller.texts['admin']}"}
        if draw.random() < 0.3:
            headers["idempotency-key"] = "".join(map(chr, draw.choices(range(256), k=draw.randrange(300))))
        path = draw.choice([f"/v1/drinks/{what}", f"/v1/drinks/{what}\x00", f"/v1/{'x' * 5000}/{what}", "/v1//ask"])
        status, answer = caller.send(
            draw.choice(["POST", "POST", "POST", "GET", "DELETE", "\x00"]), path, headers, content
        )
        if status >= 500:
            raise Harm(f"status {status}: {answer[:100]!r}")
        if status >= 400 and ("\n" in json.loads(answer)["detail"] or len(answer) > 1000):
            raise Harm(f"a long message: {answer[:100]!r}")
    caller.service.close()


@attack(short=2, long=20, prepare=shop, limit=120.0)
def connections_that_never_end(trial: Trial) -> None:
    """Open many connections to a real server, which send nothing, half a head or half a body, and are never closed.

    Harm: a good request that is not answered meanwhile, or connections that are not cut off.
    """
    from threading import Thread

    from hlmc.serve.running import prepared

    file, texts = shop()
    slow = trial.folder / "slow.toml"
    limits = "connections = 30\npatience = 0.5\n"
    slow.write_text(file.read_text().replace("shop.tokens", str(file.with_name("shop.tokens"))) + limits)
    server, listening = prepared(read_config(slow), "127.0.0.1", 0)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = ("127.0.0.1", listening.getsockname()[1])
    head = f"POST /v1/drinks/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {texts['ask']}\r\n"
    begun = [b"", b"GET / HT", f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode()]
    try:
        held = [socket.create_connection(address, timeout=60.0) for _ in range(100)]
        for each in held:
            try:
                each.sendall(trial.random.choice(begun))
            except OSError:
                continue
        for each in held:
            try:
                while each.recv(1000):
                    pass
            except ConnectionError:
                pass
            each.close()
        with socket.create_connection(address, timeout=60.0) as good:
            good.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            if b" 200 " not in good.recv(1000):
                raise Harm("a good request was not answered")
    except TimeoutError:
        raise Harm("a connection that sends nothing is not cut off") from None
    finally:
        server.should_exit = True
        server.service.stopping.set()
        thread.join()
        listening.close()
