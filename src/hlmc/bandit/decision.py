"""A decision of a bandit, as its caller sees it."""

from __future__ import annotations

from typing import NamedTuple


class Decision(NamedTuple):
    """Which arm to play, and the id under which its reward is told.

    >>> Decision("tea", "kJ3", 0.5)
    Decision(arm='tea', id='kJ3', propensity=0.5, unit=None, control=False)
    """

    arm: str
    """The name of the arm to play."""
    id: str
    """An opaque id, safe in a URL or a cookie."""
    propensity: float
    """The probability by which a log of decisions is weighed."""
    unit: str | None = None
    """Whose learner decided; None: the one that all share."""
    control: bool = False
    """Whether the arm was chosen uniformly, as one of the control group, and is not learned from."""
