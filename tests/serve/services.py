"""Services for tests: a real server in a thread of this process, at a port of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from hlmc.serve.config import read_config
from hlmc.serve.rights import Token, made
from hlmc.serve.running import Server, prepared

ADMIN_TEXT, ADMIN = made(note="of the tests")
SHOP = """
[experiments.drinks]
arms = ["tea", "coffee"]
policy = { policy = "TsallisINF", arms = 10 }
seed = 1

[experiments.fixed]
arms = ["a", "b", "c"]
policy = { policy = "HLMC", arms = 3, groups = [3], horizon = 5 }
units = "each"
rewards = [0.0, 10.0]
seed = 2

[experiments.shared]
arms = ["a", "b"]
policy = "UCB1"
units = "all"
wait = "1 hour"
default = 0.0
seed = 3
"""


class Running:
    """A service that runs: its address, and the object behind it."""

    def __init__(self, server: Server, url: str) -> None:
        self.server = server
        self.url = url
        self.service = server.service

    def http(self, token: str | None = None, **headers: str) -> httpx.Client:
        """Requests to the service."""
        given = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=given | headers, timeout=600.0)


@contextmanager
def serving(folder: Path, text: str = SHOP, more: tuple[Token, ...] = (ADMIN,)) -> Iterator[Running]:
    """A service as this text describes it, with its store in a folder."""
    file = folder / "shop.toml"
    file.write_text(text)
    server, listening = prepared(read_config(file), "127.0.0.1", 0, more)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    running = Running(server, f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        with running.http() as http:
            while http.get("/readyz").status_code != 200:
                assert thread.is_alive()
        yield running
    finally:
        server.should_exit = True
        server.service.stopping.set()
        thread.join()
        listening.close()


def error_name(answer: httpx.Response) -> Any:
    """The name of the problem that an answer is."""
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert "\n" not in body["detail"]
    return body["type"].removeprefix("urn:hlmc:")
