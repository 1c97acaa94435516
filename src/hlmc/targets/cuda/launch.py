"""How long a launch may take, and what is wrong when one fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hlmc.errors import NoDevice

SECONDS = 0.2
"""What a launch should take: short enough for Ctrl-C, a progress bar and a display's watchdog."""


def next_length(length: int, seconds: float, shortest: int, longest: int) -> int:
    """The steps of the next launch, after one of ``length`` steps that took so many seconds.

    >>> next_length(256, 0.01, 256, 10**6), next_length(5000, 0.4, 256, 10**6)
    (1024, 2500)
    """
    return max(shortest, min(longest, int(length * min(4.0, SECONDS / max(seconds, 1e-6)))))


@contextmanager
def driver_errors() -> Iterator[None]:
    """Raise what the driver says in many lines when a launch fails as one line."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in ("CudaAPIError", "CUDAError"):
            raise NoDevice(f"the device gave up: {one_line(error)}") from error
        raise


def one_line(error: BaseException) -> str:
    """The first lines of an error's text that say something, as one."""
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip(" :")]
    return ": ".join(lines[:2]) or type(error).__name__
