"""A service that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from serve.services import ADMIN_TEXT, Running, serving


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service without a file of tokens, and with an admin's token."""
    with serving(tmp_path_factory.mktemp("service")) as made:
        yield made


@pytest.fixture
def http(running: Running) -> Iterator[httpx.Client]:
    """Requests of anybody."""
    with running.http() as made:
        yield made


@pytest.fixture
def admin(running: Running) -> Iterator[httpx.Client]:
    """Requests of an admin."""
    with running.http(ADMIN_TEXT) as made:
        yield made
