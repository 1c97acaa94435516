"""Adversaries that no policy here was tuned on.

They were written after the constants of every policy had been fixed. Neither the policies nor these adversaries were
changed after the first results. All of them scale with the horizon. The last four are favourites that fall or are
overtaken: they were written for the champion's second rule, whose constants were chosen on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import coin, fork, key, seed_of
from hlmc.arenas.cases import Case
from hlmc.checks import whole
from hlmc.engine.arithmetic import exponential
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.engine.stream import unit
from hlmc.errors import BadArgument

COIN, DRAWN, ARMS, HORIZON, FIRST, SECOND = range(6)


@kernel
def twins(spec: Array, t: int, arm: int) -> float:
    """Two arms with nearly equal means, 0.70 and 0.69; the others have mean 0.5."""
    mean = 0.5
    if arm == int(spec[FIRST]):
        mean = 0.7
    elif arm == int(spec[SECOND]):
        mean = 0.69
    return coin(bits(spec, COIN), t, arm, mean)


@kernel
def swap(spec: Array, t: int, arm: int) -> float:
    """Two arms swap the means 0.9 and 0.3 once in each eighth of the horizon, at a random step; the others 0.4."""
    length = max(1, int(spec[HORIZON]) // 8)
    stretch = t // length
    change = int(unit(fork(bits(spec, DRAWN), stretch)) * length)
    turned = (stretch + (1 if t - stretch * length >= change else 0)) % 2
    mean = 0.4
    if arm == int(spec[FIRST]):
        mean = 0.9 if turned == 0 else 0.3
    elif arm == int(spec[SECOND]):
        mean = 0.3 if turned == 0 else 0.9
    return coin(bits(spec, COIN), t, arm, mean)


@kernel
def correlated(spec: Array, t: int, arm: int) -> float:
    """Groups of ten arms share one random reward, means 0.3 to 0.6; one arm has its own, of mean 0.7."""
    if arm == int(spec[FIRST]):
        return coin(bits(spec, COIN), t, arm, 0.7)
    group = arm // 10
    mean = 0.3 + 0.3 * unit(fork(bits(spec, DRAWN), group))
    return coin(bits(spec, COIN), t, int(spec[ARMS]) + group, mean)


@kernel
def bursts(spec: Array, t: int, arm: int) -> float:
    """A random arm, redrawn every two-thousandth of the horizon, pays 1; one fixed arm pays 0.3, the others 0."""
    burst = t // max(1, int(spec[HORIZON]) // 2000)
    lucky = int(unit(fork(bits(spec, DRAWN), burst)) * spec[ARMS])
    if arm == lucky:
        return 1.0
    return 0.3 if arm == int(spec[FIRST]) else 0.0


@kernel
def sevenths(spec: Array, t: int, arm: int) -> float:
    """All rewards are 0 except at every seventh step; then the means are random in [0, 1]."""
    if t % 7 != 0:
        return 0.0
    return coin(bits(spec, COIN), t, arm, unit(fork(bits(spec, DRAWN), arm)))


@kernel
def rotating(spec: Array, t: int, arm: int) -> float:
    """The best arm drifts through all arms three times per horizon: mean 0.5 + 0.4 cos(distance to it)."""
    angle = 2.0 * math.pi * (arm / spec[ARMS] - 3.0 * t / spec[HORIZON])
    return coin(bits(spec, COIN), t, arm, 0.5 + 0.4 * math.cos(angle))


@kernel
def near_zero(spec: Array, t: int, arm: int) -> float:
    """Rare rewards: means up to 0.01, one arm 0.02."""
    mean = 0.02 if arm == int(spec[FIRST]) else 0.01 * unit(fork(bits(spec, DRAWN), arm))
    return coin(bits(spec, COIN), t, arm, mean)


@kernel
def near_one(spec: Array, t: int, arm: int) -> float:
    """Rare losses: means from 0.98 to 0.99, one arm 0.999."""
    mean = 0.999 if arm == int(spec[FIRST]) else 0.98 + 0.01 * unit(fork(bits(spec, DRAWN), arm))
    return coin(bits(spec, COIN), t, arm, mean)


@kernel
def ramp(spec: Array, t: int, arm: int) -> float:
    """Means increase linearly from 0 to 1 over the arms, so many arms are nearly best."""
    return coin(bits(spec, COIN), t, arm, arm / max(1.0, spec[ARMS] - 1.0))


@kernel
def antiphase(spec: Array, t: int, arm: int) -> float:
    """Even and odd arms oscillate in opposite phase, fifty periods per horizon, without noise; one arm pays 0.6."""
    if arm == int(spec[FIRST]):
        return 0.6
    swing = 0.5 * math.sin(2.0 * math.pi * 50.0 * t / spec[HORIZON])
    return 0.5 + swing if arm % 2 == 0 else 0.5 - swing


@kernel
def sleeper(spec: Array, t: int, arm: int) -> float:
    """The best arm has mean 0.9, but 0.1 in the middle third; another has 0.55 throughout, the others 0.4."""
    mean = 0.4
    if arm == int(spec[FIRST]):
        third = int(3.0 * t / spec[HORIZON])
        mean = 0.1 if third == 1 else 0.9
    elif arm == int(spec[SECOND]):
        mean = 0.55
    return coin(bits(spec, COIN), t, arm, mean)


@kernel
def wearing_out(spec: Array, t: int, arm: int) -> float:
    """All means start at 0.9 and decay at different rates, so the best arm can be identified only later."""
    rate = 20.0 * unit(fork(bits(spec, DRAWN), arm))
    return coin(bits(spec, COIN), t, arm, 0.9 * exponential(-rate * t / spec[HORIZON]))


@kernel
def learning_arms(spec: Array, t: int, arm: int) -> float:
    """Means increase from 0.3 to different limits; the slower arms have the higher limits."""
    talent = unit(fork(bits(spec, DRAWN), arm))
    pace = 2.0 + 30.0 * (1.0 - talent)
    grown = 1.0 - exponential(-pace * t / spec[HORIZON])
    return coin(bits(spec, COIN), t, arm, 0.3 + 0.6 * talent * grown)


@kernel
def mirage(spec: Array, t: int, arm: int) -> float:
    """One arm pays 1 in the first twentieth and 0 afterwards; another has mean 0.6 throughout, the others 0.5."""
    if arm == int(spec[FIRST]):
        return 1.0 if 20 * t < int(spec[HORIZON]) else 0.0
    return coin(bits(spec, COIN), t, arm, 0.6 if arm == int(spec[SECOND]) else 0.5)


@kernel
def hairline(spec: Array, t: int, arm: int) -> float:
    """No noise: one arm pays 0.52, all others 0.5."""
    return 0.52 if arm == int(spec[FIRST]) else 0.5


@kernel
def clumps(spec: Array, t: int, arm: int) -> float:
    """Each arm pays 0 or 1 for 500 steps at a time, means 0.4 to 0.6, one 0.7: the noise averages out slowly."""
    mean = 0.7 if arm == int(spec[FIRST]) else 0.4 + 0.2 * unit(fork(bits(spec, DRAWN), arm))
    return coin(bits(spec, COIN), t // 500, arm, mean)


@kernel
def overtaken(spec: Array, t: int, arm: int) -> float:
    """One arm has mean 0.6 throughout; all others rise from 0.5 to 0.8 in the middle third of the horizon."""
    risen = min(1.0, max(0.0, 3.0 * t / spec[HORIZON] - 1.0))
    return coin(bits(spec, COIN), t, arm, 0.6 if arm == int(spec[FIRST]) else 0.5 + 0.3 * risen)


@kernel
def succession(spec: Array, t: int, arm: int) -> float:
    """One arm at a time pays 0.8, for a tenth of the horizon, and 0.2 ever after; all others pay 0.5, without noise."""
    tenth = int(10.0 * t / spec[HORIZON])
    after = (arm + int(spec[ARMS]) - int(spec[FIRST])) % int(spec[ARMS])
    if after > tenth:
        return 0.5
    return 0.8 if after == tenth else 0.2


@kernel
def faint(spec: Array, t: int, arm: int) -> float:
    """Rare rewards: a favourite of mean 0.05 falls to 0.01 after a fifth; one arm has 0.035, the others 0.03."""
    mean = 0.035 if arm == int(spec[SECOND]) else 0.03
    if arm == int(spec[FIRST]):
        mean = 0.05 if 5 * t < int(spec[HORIZON]) else 0.01
    return coin(bits(spec, COIN), t, arm, mean)


@kernel
def tides(spec: Array, t: int, arm: int) -> float:
    """All rewards rise and fall together, five times; one arm is 0.1 above the others for a quarter, then 0.1 below."""
    tide = 0.45 + 0.25 * math.sin(2.0 * math.pi * 5.0 * t / spec[HORIZON])
    if arm == int(spec[FIRST]):
        return tide + 0.1 if 4 * t < int(spec[HORIZON]) else tide - 0.1
    return tide


_RULES: dict[str, Callable[[Array, int, int], float]] = {
    rule.__name__: rule
    for rule in (
        twins,
        swap,
        correlated,
        bursts,
        sevenths,
        rotating,
        near_zero,
        near_one,
        ramp,
        antiphase,
        sleeper,
        wearing_out,
        learning_arms,
        mirage,
        hairline,
        clumps,
        overtaken,
        succession,
        faint,
        tides,
    )
}


@dataclass(frozen=True, repr=False)
class HeldOut(Adversary):
    """A held-out adversary by name; :data:`HELD_OUT` lists them.

    Parameters
    ----------
    name
        The name.
    arms, horizon
        K, at least 3, and T, with which the times of changes scale.
    seed
        The seed of the random rewards and of the choice of special arms.

    Examples
    --------
    >>> adversary = HeldOut("hairline", arms=100, horizon=10**6, seed=3)
    >>> sorted(set(adversary.rewards(0, 1)[0].tolist()))
    [0.5, 0.52]
    >>> HeldOut("hairlin", arms=100, horizon=10**6)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no held-out adversary 'hairlin'; there are twins, swap, ...

    References
    ----------
    Made for this library.
    """

    name: str
    arms: int
    horizon: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in _RULES:
            raise BadArgument(f"there is no held-out adversary {self.name!r}; there are {', '.join(_RULES)}")
        self._keep(arms=whole("arms", self.arms, 3), horizon=whole("horizon", self.horizon, 1))
        self._keep(seed=seed_of(self.seed))

    @property
    def rule(self) -> Callable[..., float]:  # type: ignore[override]
        """The kernel of this adversary."""
        return _RULES[self.name]

    @property
    def length(self) -> int:
        return self.horizon

    @cached_property
    def spec(self) -> Array:
        keys = (key(self.seed, "HeldOut", self.name, purpose) for purpose in ("coin", "drawn"))
        drawn = np.random.default_rng(self.seed).permutation(self.arms)[:3]
        return packed(*keys, self.arms, self.horizon, *map(int, drawn))


def _case(name: str) -> Case:
    return Case(name, lambda K, M, T, seed: HeldOut(name, K, T, seed))


HELD_OUT: dict[str, Case] = {name: _case(name) for name in _RULES}
"""The held-out adversaries, as cases of the arena."""
