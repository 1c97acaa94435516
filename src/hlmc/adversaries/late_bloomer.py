"""One arm is the worst until late, and then the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import chosen, seed_of
from hlmc.checks import share, whole
from hlmc.engine.kernel import kernel

ARM, BLOOM, BEFORE, AFTER, OTHERS = range(5)


@kernel
def late_bloomer(spec: Array, t: int, arm: int) -> float:
    """The reward of an arm at step t. That of the late bloomer changes at step BLOOM."""
    if arm != int(spec[ARM]):
        return spec[OTHERS]  # type: ignore[no-any-return]
    return spec[BEFORE] if t < int(spec[BLOOM]) else spec[AFTER]  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class LateBloomer(Adversary):
    """One arm pays ``before`` until step ``bloom`` and ``after`` from then on; the others never change.

    A learner that has ruled the arm out by then misses it. With the default rewards it is the best fixed arm of every
    horizon longer than twice ``bloom``. Rewards are not random; the seed only chooses the arm.

    Parameters
    ----------
    arms
        K, the number of arms.
    bloom
        The first step at which the arm pays ``after``.
    arm
        The late bloomer. Default: drawn with the seed.
    before, after, others
        The rewards of the late bloomer before and after ``bloom``, and of the others, in [0, 1].
    seed
        Seed for drawing the arm if ``arm`` is not given.

    Examples
    --------
    >>> adversary = LateBloomer(arms=10**9, bloom=1000, seed=1)
    >>> arm = adversary.best_arm
    >>> adversary.reward(999, arm), adversary.reward(1000, arm), adversary.reward(1000, arm - 1)
    (0.0, 1.0, 0.5)
    >>> list(adversary.changes(10**6))
    [1000]

    References
    ----------
    Designed for this library.
    """

    arms: int
    bloom: int = 10**5
    arm: int | None = None
    before: float = 0.0
    after: float = 1.0
    others: float = 0.5
    seed: int = 0

    rule = staticmethod(late_bloomer)

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 2), bloom=whole("bloom", self.bloom, 1), seed=seed_of(self.seed))
        self._keep_given(whole, "arm", least=0, most=self.arms - 1)
        self._keep_each(share, "before", "after", "others")

    @property
    def best_arm(self) -> int:
        """The late bloomer."""
        return chosen(self.arms, self.seed, "LateBloomer", "arm") if self.arm is None else self.arm

    @cached_property
    def spec(self) -> Array:
        return packed(self.best_arm, self.bloom, self.before, self.after, self.others)

    def changes(self, horizon: int) -> Iterator[int]:
        horizon = whole("horizon", horizon, 0)
        return iter([self.bloom] if self.before != self.after and self.bloom < horizon else [])
