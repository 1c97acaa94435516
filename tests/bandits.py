"""Bandits for tests."""

from __future__ import annotations

from collections.abc import Callable

import hlmc

POLICY = hlmc.HLMC(arms=9, groups=(3, 3), horizon=10**6)
NAMES = [f"arm {i}" for i in range(9)]

Opener = Callable[..., hlmc.Bandit]


class Clock:
    """Seconds since 1970, for all stores that are opened while a test runs."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self, *_: object) -> float:
        return self.time
