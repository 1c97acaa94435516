"""A host plays in place of a GPU, unless HLMC_DEVICE_TESTS=1 asks for a real one; see docs/research/device.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devices import HOST
from hlmc.games import on_device as games
from hlmc.simulation import on_device
from hlmc.targets.cuda import memory


def _forget() -> None:
    for each in (memory.device, on_device.compiled, games._compiled):
        each.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def _where() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if HOST:
            patch.setenv("HLMC_DEVICE", "host")
        _forget()
        yield
    _forget()
