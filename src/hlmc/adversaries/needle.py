"""The best arm lies in the worst group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Array, Grouped, packed
from hlmc.adversaries.chance import coin, key
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.errors import BadArgument, shown

KEY, NEEDLE, FIRST, LAST, GOOD, POOR, FAIR = range(7)


@kernel
def needle_mean(spec: Array, t: int, arm: int) -> float:
    """GOOD for the needle, POOR for the rest of its group, FAIR for all other arms."""
    mean: float = spec[FAIR]
    if arm == int(spec[NEEDLE]):
        mean = spec[GOOD]
    elif int(spec[FIRST]) <= arm <= int(spec[LAST]):
        mean = spec[POOR]
    return mean


@kernel
def needle(spec: Array, t: int, arm: int) -> float:
    """1 with the probability of the arm, else 0."""
    return coin(bits(spec, KEY), t, arm, needle_mean(spec, t, arm))


@dataclass(frozen=True, repr=False)
class Needle(Grouped):
    """The best arm is in a group whose other arms are the worst of all.

    Groups are ``groupsize`` consecutive arms, from arm 0 on, as in HLMC. A learner that judges a group
    by a few plays leaves the best arm's group first. A learner that stays in the group for an epoch and learns within
    it can find the arm.

    Parameters
    ----------
    arms
        K, the number of arms; at least 2.
    groupsize
        Arms per group. Default: ceil(sqrt(K)).
    good, poor, fair
        The probabilities of a reward of 1, in [0, 1]: for the best arm, the other arms of its group, and all other
        arms. ``good`` is the largest and ``poor`` the smallest.
    seed
        Seed of the position of the best arm and of the rewards.

    Examples
    --------
    >>> adversary = Needle(arms=100, seed=1)
    >>> adversary.best_arm in adversary.group, len(adversary.group)
    (True, 10)

    References
    ----------
    Designed for this library.
    """

    arms: int
    groupsize: int | None = None
    good: float = 0.9
    poor: float = 0.1
    fair: float = 0.4
    seed: int = 0

    rule = staticmethod(needle)
    mean_rule = staticmethod(needle_mean)
    stream = "Needle"

    def __post_init__(self) -> None:
        self._check("good", "poor", "fair")
        if not self.poor <= self.fair < self.good:
            raise BadArgument(
                f"good must be above fair, and fair at least poor, not {shown(self.good)}, {self.fair!r}, {self.poor!r}"
            )

    @cached_property
    def spec(self) -> Array:
        places = (self.best_arm, self.group[0], self.group[-1])
        return packed(key(self.seed, "Needle", "coin"), *places, self.good, self.poor, self.fair)
