"""The group with the best mean does not contain the best arm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Array, Grouped, group_at, group_size, packed
from hlmc.adversaries.chance import chosen, coin, key
from hlmc.adversaries.needle import FAIR, KEY, needle_mean
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.errors import BadArgument, shown

# After the words of Needle.
DECOY_FIRST, DECOY_LAST, DECOY = range(FAIR + 1, FAIR + 4)


@kernel
def decoy_mean(spec: Array, t: int, arm: int) -> float:
    """The mean of the arm: best arm, its group, decoy group, or other."""
    in_decoy = int(spec[DECOY_FIRST]) <= arm <= int(spec[DECOY_LAST])
    return spec[DECOY] if in_decoy else needle_mean(spec, t, arm)


@kernel
def decoy_reward(spec: Array, t: int, arm: int) -> float:
    """1 with the probability of the arm, else 0."""
    return coin(bits(spec, KEY), t, arm, decoy_mean(spec, t, arm))


@dataclass(frozen=True, repr=False)
class Decoy(Grouped):
    """All arms of one group pay well; the best arm is in another group, whose other arms pay badly.

    Groups are ``groupsize`` consecutive arms, from arm 0 on, as in HLMC. With the default probabilities
    the decoy group has the highest mean, unless the best arm is alone in its group. A learner
    that compares groups by their means settles on the decoy group. Only a learner that stays in the best arm's group
    long enough can find the best arm.

    Parameters
    ----------
    arms
        K, the number of arms; at least 2.
    groupsize
        Arms per group; there must be at least two groups. Default: ceil(sqrt(K)).
    good, poor, decoy, fair
        The probabilities of a reward of 1, in [0, 1]: for the best arm, the other arms of its group, the arms of the
        decoy group, and all other arms. ``good`` > ``decoy``, and ``decoy`` > ``fair`` and ``poor``.
    seed
        Seed of the positions of the two groups and of the rewards.

    Examples
    --------
    >>> adversary = Decoy(arms=100, seed=1)
    >>> adversary.best_arm in adversary.group, adversary.group == adversary.decoy_group
    (True, False)

    References
    ----------
    Designed for this library.
    """

    arms: int
    groupsize: int | None = None
    good: float = 0.9
    poor: float = 0.1
    decoy: float = 0.6
    fair: float = 0.3
    seed: int = 0

    rule = staticmethod(decoy_reward)
    mean_rule = staticmethod(decoy_mean)
    stream = "Decoy"

    def __post_init__(self) -> None:
        self._check("good", "poor", "decoy", "fair", groups=2)
        if not max(self.poor, self.fair) < self.decoy < self.good:
            raise BadArgument(
                "good must be above decoy, and decoy above fair and poor, "
                f"not {shown(self.good)}, {self.decoy!r}, {self.fair!r}, {self.poor!r}"
            )

    @property
    def decoy_group(self) -> range:
        """The arms of the group with the highest mean."""
        size = group_size(self.arms, self.groupsize)
        groups = -(-self.arms // size)
        ahead = 1 + chosen(groups - 1, self.seed, "Decoy", "decoy")
        return group_at(self.arms, size, (self.best_arm // size + ahead) % groups)

    @cached_property
    def spec(self) -> Array:
        hidden, open_ = self.group, self.decoy_group
        needle = (self.best_arm, hidden[0], hidden[-1], self.good, self.poor, self.fair)
        return packed(key(self.seed, "Decoy", "coin"), *needle, open_[0], open_[-1], self.decoy)
