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

from hlmc.errors import BadArgument, OutOfTurn, extra
from hlmc.learners.learner import Learner
from hlmc.policies.base import Policy, in_range

try:
    from river.bandit.base import Policy as Base
except ImportError as error:  # pragma: no cover
    raise extra("river", "river") from error

__all__ = ["RiverPolicy"]


class RiverPolicy(Base):
    """A policy of this library with river's interface: clone, pull and update.

    river's own policies keep an object per arm. This one keeps the words of the learner and, if the arms are not a
    ``range``, their labels. Therefore it has no ranking of the arms and no burn-in.

    Parameters
    ----------
    policy
        A policy with as many arms as will be pulled.
    seed
        The seed of the learner. A clone has the same seed.
    low, high
        The range of the rewards, instead of the policy's ``rewards``.
    clip
        Whether rewards outside that range are clipped to it; otherwise they are an error.

    Notes
    -----
    A pull stays pending until its update: without an update in between, another pull returns the same arm. In
    ``bandit.evaluate_offline`` the policy thus waits until the log plays its arm.

    Examples
    --------
    >>> import hlmc
    >>> policy = RiverPolicy(hlmc.HLMC(arms=3, levels=1), seed=1)
    >>> arm = policy.pull(["tea", "coffee", "water"])
    >>> policy.update(arm, 1.0)
    >>> policy
    RiverPolicy(HLMC(arms=3, levels=1), seed=1)
    """

    def __init__(
        self, policy: Policy, seed: int = 0, low: float | None = None, high: float | None = None, clip: bool = False
    ) -> None:
        super().__init__()
        self._learner = in_range(policy, low, high).start(seed)
        self.policy = policy
        self.seed = seed
        self.low = low
        self.high = high
        self.clip = clip
        self._arms: Sequence[Hashable] = range(0)
        self._met: Sequence[Hashable] = self._arms
        self._labels: frozenset[Hashable] = frozenset()

    @property
    def learner(self) -> Learner:
        """The learner."""
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
        """Store the labels of the arms at the first pull; later, check that they are the same, in any order."""
        if len(arm_ids) != self.policy.arms:
            raise BadArgument(f"arm_ids must have {self.policy.arms} arms, as {self.policy!r} has, not {len(arm_ids)}")
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
        """Learn from the reward of the last pulled arm."""
        if reward_kwargs or len(reward_args) != 1:
            raise BadArgument("update takes an arm and one reward")
        if not len(self._arms) or self._arms[self._learner.select()] != arm_id:
            raise OutOfTurn(f"update needs the arm that was pulled last, not {arm_id!r}")
        low, high = self._learner.policy.rewards
        told = float(reward_args[0])
        if self.clip:
            told = min(max(told, low), high)
        if not low <= told <= high:
            given = f"reward {reward_args[0]!r} is outside [{low}, {high}]"
            raise BadArgument(f"{given}; give low and high, or clip=True")
        self._learner.update(told)
        self._n += 1

    @property
    def ranking(self) -> list[Any]:
        """Empty: the learner keeps no ranking of the arms."""
        return []

    def __repr__(self) -> str:
        given = [("low", self.low, None), ("high", self.high, None), ("clip", self.clip, False)]
        further = "".join(f", {name}={value!r}" for name, value, default in given if value != default)
        return f"RiverPolicy({self.policy!r}, seed={self.seed}{further})"

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from hlmc import HLMC, UCB1

        yield {"policy": HLMC(arms=10, levels=2)}
        yield {"policy": UCB1(arms=10)}
