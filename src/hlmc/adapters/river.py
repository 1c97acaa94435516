"""river: any policy of this library as a policy of ``river.bandit``.

>>> import gymnasium, hlmc
>>> from river import bandit
>>> policy = RiverPolicy(hlmc.HLMC(arms=100, memory=20), seed=1)
>>> env = gymnasium.make("river_bandits/CandyCaneContest-v0", max_episode_steps=100)
>>> steps = list(bandit.evaluate([policy], env, n_episodes=1, seed=42))
>>> len(steps), steps[-1]["reward_stat"] > 20
(100, True)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from hlmc.errors import BadArgument, OutOfTurn, extra, shown
from hlmc.learner import Learner
from hlmc.policies.base import Policy

try:
    from river.bandit.base import Policy as Base
except ImportError as error:  # pragma: no cover
    raise extra("river", "river") from error

__all__ = ["RiverPolicy"]


class RiverPolicy(Base):
    """A policy of this library that river can clone, pull and update.

    river's own policies keep an object for every arm; this one keeps the learner's words, and, where arms have labels
    other than the numbers of a ``range``, the labels. So there is no ranking of the arms, and no burn-in.

    Parameters
    ----------
    policy
        With as many arms as there will be to pull.
    seed
        Of the learner. A clone starts from the same.
    low, high
        The range of the rewards: the learner is told ``(reward - low) / (high - low)``.
    clip
        Whether a reward beyond that range counts as the end of it; otherwise it is an error.

    Notes
    -----
    A pull stands until it is answered: pulled again without an update between, the policy names the same arm. In
    ``bandit.evaluate_offline`` it so waits for the log to play the arm it wants.

    Examples
    --------
    >>> import hlmc
    >>> policy = RiverPolicy(hlmc.HLMC(arms=3, levels=1), seed=1)
    >>> arm = policy.pull(["tea", "coffee", "water"])
    >>> policy.update(arm, 1.0)
    >>> policy
    RiverPolicy(HLMC(arms=3, levels=1), seed=1)
    """

    def __init__(self, policy: Policy, seed: int = 0, low: float = 0.0, high: float = 1.0, clip: bool = False) -> None:
        super().__init__()
        if not low < high:
            raise BadArgument(f"low must be below high, not {shown(low)} and {high!r}")
        self.policy = policy
        self.seed = seed
        self.low = low
        self.high = high
        self.clip = clip
        self._learner = policy.start(seed)
        self._arms: Sequence[Hashable] = range(0)
        self._met: Sequence[Hashable] = self._arms
        self._labels: frozenset[Hashable] = frozenset()

    @property
    def learner(self) -> Learner:
        """The learner behind it."""
        return self._learner

    def pull(self, arm_ids: Sequence[Hashable]) -> Any:
        """The arm to play, one of ``arm_ids``."""
        return self._pull(arm_ids)

    def _pull(self, arm_ids: Sequence[Hashable]) -> Any:
        if arm_ids is not self._met or len(arm_ids) != self.policy.arms:
            self._meet(arm_ids)
            self._met = arm_ids
        return self._arms[self._learner.select()]

    def _meet(self, arm_ids: Sequence[Hashable]) -> None:
        """Learn what the arms are called, or see that they are still the same, in whichever order."""
        if len(arm_ids) != self.policy.arms:
            raise BadArgument(f"{self.policy!r} was made for {self.policy.arms} arms, not for {len(arm_ids)}")
        if isinstance(arm_ids, range):
            if len(self._arms) and arm_ids != self._arms:
                raise BadArgument(f"the arms were {self._arms!r} so far; they cannot become {arm_ids!r}")
            self._arms = arm_ids
        elif not len(self._arms):
            labels = tuple(arm_ids)
            self._labels = frozenset(labels)
            if len(self._labels) < len(labels):
                raise BadArgument("two arms have the same label")
            self._arms = labels
        elif not all(label in self._labels for label in arm_ids):
            raise BadArgument("the arms must be the same in every pull; this policy cannot leave any of them out")

    def update(self, arm_id: Hashable, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn the reward of the arm pulled last."""
        if reward_kwargs or len(reward_args) != 1:
            raise BadArgument("update takes an arm and one reward")
        if not len(self._arms) or self._arms[self._learner.select()] != arm_id:
            raise OutOfTurn(f"update is for the arm pulled last, not for {arm_id!r}")
        share = (float(reward_args[0]) - self.low) / (self.high - self.low)
        if self.clip:
            share = min(max(share, 0.0), 1.0)
        if not 0.0 <= share <= 1.0:
            given = f"reward {reward_args[0]!r} is outside [{self.low}, {self.high}]"
            raise BadArgument(f"{given}; give low and high, or clip=True")
        self._learner.update(share)
        self._n += 1

    @property
    def ranking(self) -> list[Any]:
        """Empty: nothing is kept by which arms could be ranked."""
        return []

    def __repr__(self) -> str:
        given = [("low", self.low, 0.0), ("high", self.high, 1.0), ("clip", self.clip, False)]
        further = "".join(f", {name}={value!r}" for name, value, default in given if value != default)
        return f"RiverPolicy({self.policy!r}, seed={self.seed}{further})"

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from hlmc import HLMC, UCB1

        yield {"policy": HLMC(arms=10, levels=2)}
        yield {"policy": UCB1(arms=10)}
