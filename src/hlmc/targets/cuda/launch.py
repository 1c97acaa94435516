"""How long a launch may take."""

from __future__ import annotations

SECONDS = 0.2
"""What a launch should take: short enough for Ctrl-C, a progress bar and a display's watchdog."""


def next_length(length: int, seconds: float, shortest: int, longest: int) -> int:
    """The steps of the next launch, after one of ``length`` steps that took so many seconds.

    >>> next_length(256, 0.01, 256, 10**6), next_length(5000, 0.4, 256, 10**6)
    (1024, 2500)
    """
    return max(shortest, min(longest, int(length * min(4.0, SECONDS / max(seconds, 1e-6)))))
