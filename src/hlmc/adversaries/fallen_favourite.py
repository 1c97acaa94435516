"""The best arm falls below a field of equal arms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import around, chosen, key, seed_of
from hlmc.checks import flag, share, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.errors import BadArgument, shown

KEY, FAVOURITE, SECOND, FALL, STEPS, BEFORE, AFTER, FIELD, BETTER, NOISE, COINS = range(11)


@kernel
def fallen_mean(spec: Array, t: int, arm: int) -> float:
    """The expected reward of an arm at step t. The favourite's falls in STEPS steps, from step FALL on."""
    if arm == int(spec[FAVOURITE]):
        fallen = min(max((t + 1 - int(spec[FALL])) / spec[STEPS], 0.0), 1.0)
        return spec[BEFORE] + fallen * (spec[AFTER] - spec[BEFORE])  # type: ignore[no-any-return]
    return spec[BETTER] if arm == int(spec[SECOND]) else spec[FIELD]  # type: ignore[no-any-return]


@kernel
def fallen_favourite(spec: Array, t: int, arm: int) -> float:
    """The mean, the mean in uniform noise, or a coin with this mean."""
    # What is cut is the rounding, which can leave [0, 1] by a last digit.
    return around(bits(spec, KEY), t, arm, fallen_mean(spec, t, arm), spec[NOISE], spec[COINS])


@dataclass(frozen=True, repr=False)
class FallenFavourite(Adversary):
    """One arm is the best until it falls below the others, which are all alike: a radio channel that is jammed.

    A learner that trusts its favourite must notice that it earns less than it could, although no other arm stands out:
    equal arms share the plays of an exploring learner, and none of them wins.

    Parameters
    ----------
    arms
        K, the number of arms; at least 3.
    fall
        The first step at which the favourite pays less.
    before, after, field
        The expected rewards of the favourite before and after its fall, and of the others, in [0, 1].
    better
        That of one other arm, which is not of the field. Default: there is none.
    ramp
        How many steps the fall takes. Default: it takes none, so step ``fall`` already pays ``after``.
    noise
        Rewards are uniform within ``noise`` of these; they must stay in [0, 1].
    coins
        Rewards are 0 or 1 with these means. Not together with ``noise``.
    seed
        Seed of the favourite's position, of the better arm's, and of the noise.

    Examples
    --------
    >>> adversary = FallenFavourite(arms=100, fall=1000, seed=1)
    >>> favourite = adversary.favourite
    >>> [adversary.reward(t, favourite) for t in (999, 1000)], adversary.reward(1000, favourite - 1)
    ([0.7, 0.4], 0.6)
    >>> slow = FallenFavourite(arms=100, fall=1000, ramp=3, seed=1)
    >>> [round(slow.reward(t, favourite), 3) for t in range(999, 1003)]
    [0.7, 0.6, 0.5, 0.4]

    References
    ----------
    Designed for this library, from what a search for adversaries of :class:`hlmc.Champion` found.
    """

    arms: int
    fall: int = 10**5
    before: float = 0.7
    after: float = 0.4
    field: float = 0.6
    better: float | None = None
    ramp: int = 0
    noise: float = 0.0
    coins: bool = False
    seed: int = 0

    rule = staticmethod(fallen_favourite)
    mean_rule = staticmethod(fallen_mean)

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 3), seed=seed_of(self.seed), coins=flag("coins", self.coins))
        self._keep(fall=whole("fall", self.fall, 1), ramp=whole("ramp", self.ramp, 0))
        self._keep_each(share, "before", "after", "field", "noise")
        self._keep_given(share, "better")
        if self.coins and self.noise:
            raise BadArgument(f"noise must be 0 where rewards are coins, not {shown(self.noise)}")
        levels = (self.before, self.after, self.field, self.field if self.better is None else self.better)
        if self.noise > min(*levels, 1.0 - max(levels)):
            raise BadArgument(
                f"noise must leave rewards from {min(levels)} to {max(levels)} in [0, 1], not {self.noise}"
            )

    @property
    def favourite(self) -> int:
        """The arm that falls."""
        return chosen(self.arms, self.seed, "FallenFavourite", "arm")

    @property
    def second(self) -> int | None:
        """The arm that is better than the field, if there is one."""
        if self.better is None:
            return None
        return (self.favourite + 1 + chosen(self.arms - 1, self.seed, "FallenFavourite", "second")) % self.arms

    @cached_property
    def spec(self) -> Array:
        second = -1 if self.second is None else self.second
        better = self.field if self.better is None else self.better
        times = self.fall, max(1, self.ramp)
        levels = self.before, self.after, self.field, better
        return packed(
            key(self.seed, "FallenFavourite", "noise"), self.favourite, second, *times, *levels, self.noise, self.coins
        )

    def mean_changes(self, horizon: int) -> Iterator[int]:
        horizon = whole("horizon", horizon, 0)
        until = self.fall + max(1, self.ramp) if self.before != self.after else self.fall
        return iter(range(self.fall, min(until, horizon)))

    def changes(self, horizon: int) -> Iterator[int] | None:
        return None if self.coins or self.noise else self.mean_changes(horizon)
