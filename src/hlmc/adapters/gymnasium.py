"""Gymnasium: every adversary as an environment, and every policy in any environment.

Importing this module registers the catalogue of adversaries: ``hlmc/BlockTrap-v0``, ``hlmc/Bernoulli-v0`` and so on.
``gymnasium.make("hlmc.adapters.gymnasium:hlmc/BlockTrap-v0")`` imports it automatically.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from hlmc.adversaries import CATALOGUE, EXAMPLES, Adversary, Function, named
from hlmc.checks import whole
from hlmc.errors import BadArgument, BadType, extra, shown
from hlmc.learners.learner import Learner
from hlmc.policies.base import Policy, in_range

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:  # pragma: no cover
    raise extra("gymnasium", "gym") from error

Array = np.ndarray

__all__ = ["AdversaryEnv", "Played", "env_id", "play_env"]

STEPS = 1_000_000
"""Steps per episode if neither the caller nor the adversary defines it."""


class AdversaryEnv(gymnasium.Env[Any, Any]):
    """An adversary as an environment: an action is an arm, and the reward is that of the arm at this step.

    The observation is always 0. An episode ends as ``truncated`` after ``horizon`` steps. ``info["time"]`` is the
    number of steps taken.

    Parameters
    ----------
    adversary
        An adversary, or its name in the catalogue.
    horizon
        Steps per episode. Default: the length of the adversary, or a million.
    arguments
        The arguments of an adversary given by name.

    Notes
    -----
    An adversary is one sequence of rewards, so every episode is the same. ``reset(seed=...)`` selects another
    sequence if the adversary has a seed; otherwise it has no effect.

    Examples
    --------
    >>> env = gymnasium.make("hlmc/BlockTrap-v0", arms=100, memory=20)
    >>> _ = env.reset(seed=0)
    >>> env.step(20)[:2]
    (0, 1.0)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - declared so by Gymnasium

    def __init__(self, adversary: Adversary | str, horizon: int | None = None, **arguments: Any) -> None:
        if isinstance(adversary, str):
            adversary = named(adversary, **arguments)
        elif arguments:
            raise BadType(f"arguments can only be given with the name of an adversary, not with {adversary!r}")
        if not isinstance(adversary, Adversary):
            raise BadType(f"adversary must be one of hlmc.adversaries or the name of one, not {shown(adversary)}")
        self.adversary = adversary
        length = STEPS if adversary.length is None else adversary.length
        self.horizon = length if horizon is None else whole("horizon", horizon, 1)
        if adversary.length is not None and self.horizon > length:
            raise BadArgument(f"{adversary!r} has rewards for {length} steps, fewer than the horizon of {horizon}")
        self.action_space = spaces.Discrete(adversary.arms)
        self.observation_space = spaces.Discrete(1)
        self.time = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Return to the first step."""
        super().reset(seed=seed)
        if seed is not None and any(f.name == "seed" for f in fields(self.adversary)):  # type: ignore[arg-type]
            self.adversary = replace(self.adversary, seed=int(seed))  # type: ignore[type-var]
        self.time = 0
        return 0, {"time": 0}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play an arm."""
        if not self.action_space.contains(action):
            raise BadArgument(f"action must be an arm from 0 to {self.adversary.arms - 1}, not {shown(action)}")
        reward = self.adversary.reward(self.time, int(action))
        self.time += 1
        return 0, reward, False, self.time >= self.horizon, {"time": self.time}


def env_id(kind: type[Adversary]) -> str:
    """The Gymnasium id of an adversary of the catalogue.

    >>> from hlmc.adversaries import BlockTrap
    >>> env_id(BlockTrap)
    'hlmc/BlockTrap-v0'
    """
    return f"hlmc/{kind.__name__}-v0"


def _register() -> None:
    """Register the catalogue. Required arguments of an adversary are taken from its example."""
    for kind in CATALOGUE:
        if env_id(kind) in gymnasium.registry:
            continue
        example = next(adversary for adversary in EXAMPLES if type(adversary) is kind)
        required = [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
        kwargs: dict[str, Any] = {"adversary": kind.__name__}
        for name in required:
            value = example.function if isinstance(example, Function) and name == "reward" else getattr(example, name)
            kwargs[name] = value.tolist() if isinstance(value, np.ndarray) else value
        gymnasium.register(env_id(kind), entry_point="hlmc.adapters.gymnasium:AdversaryEnv", kwargs=kwargs)


_register()


@dataclass(frozen=True)
class Played:
    """The result of :func:`play_env`: the arms played, the rewards in the environment's units, and the learner."""

    arms: Array
    rewards: Array
    episodes: int
    learner: Learner

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return float(self.rewards.sum())


def play_env(
    policy: Policy,
    env: gymnasium.Env[Any, Any],
    steps: int,
    seed: int = 0,
    low: float | None = None,
    high: float | None = None,
    clip: bool = False,
) -> Played:
    """Run a policy in an environment with discrete actions, as a bandit: observations are ignored.

    Parameters
    ----------
    policy
        A policy with as many arms as the environment has actions.
    env
        Any environment whose action space is ``Discrete``.
    steps
        Steps to take; when an episode ends, another begins.
    seed
        The seed of the learner and of the environment's first reset.
    low, high
        The range of the environment's rewards, instead of the policy's ``rewards``.
    clip
        Whether rewards outside that range are clipped to it; otherwise they are an error.

    Examples
    --------
    >>> import hlmc
    >>> env = gymnasium.make("hlmc/Bernoulli-v0", means=(0.2, 0.8))
    >>> played = play_env(hlmc.UCB1(arms=2), env, steps=1000)
    >>> played.arms.shape, played.total > 650
    ((1000,), True)
    """
    if not isinstance(env.action_space, spaces.Discrete):
        raise BadType(f"env must have a Discrete action space, not {shown(env.action_space)}")
    actions, first = int(env.action_space.n), int(env.action_space.start)
    if policy.arms != actions:
        raise BadArgument(
            f"{policy!r} has {policy.arms} arms and the environment {actions} actions; they must be equal"
        )
    policy = in_range(policy, low, high)
    low, high = policy.rewards
    steps = whole("steps", steps, 1)
    learner = policy.start(seed)
    arms, rewards = np.empty(steps, dtype=np.int64), np.empty(steps)
    env.reset(seed=seed)
    episodes = 1
    for t in range(steps):
        arm = learner.select()
        _, reward, terminated, truncated, _ = env.step(first + arm)
        told = min(max(float(reward), low), high) if clip else float(reward)
        if not low <= told <= high:
            raise BadArgument(
                f"the environment paid {reward!r} at step {t}, outside [{low}, {high}]; give low and high"
            )
        learner.update(told)
        arms[t], rewards[t] = arm, reward
        if (terminated or truncated) and t < steps - 1:
            env.reset()
            episodes += 1
    return Played(arms, rewards, episodes, learner)
