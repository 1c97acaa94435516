"""Every arm and every reward of a run, for those who want to look at each step."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.errors import whole
from hlmc.kernels.build import kernel
from hlmc.kernels.native import call_reward, offset
from hlmc.learner import fresh_rows
from hlmc.policies.base import Policy
from hlmc.simulation.runs import _run
from hlmc.streams import keys

Array = np.ndarray

INNER, LENGTH, STEPS, OWN = 0, 1, 2, 3


@kernel
def _recorded(spec: Array, t: int, arm: int) -> float:
    """Ask the adversary within, and write down who was played and what was paid."""
    length = int(spec[LENGTH])
    steps = int(spec[STEPS])
    reward = call_reward(int(spec[INNER]), offset(spec, OWN), t, arm)
    spec[OWN + length + t] = arm
    spec[OWN + length + steps + t] = reward
    return reward


class _Recorder(Adversary):
    rule: ClassVar[Any] = staticmethod(_recorded)

    def __init__(self, adversary: Adversary, steps: int) -> None:
        self.arms = adversary.arms
        own = np.asarray(adversary.spec, dtype=np.float64)
        self.__dict__["spec"] = np.concatenate(
            [[float(adversary.address), len(own), steps], own, np.zeros(2 * steps)]
        )
        self.inner = adversary


def trace(
    policy: Policy, adversary: Adversary, horizon: int, seed: int = 0, stream: int = 0
) -> tuple[Array, Array]:
    """The arms and the rewards of ``policy.start(seed, stream)`` against an adversary, step by step, from the simulator.

    >>> import hlmc
    >>> arms, rewards = hlmc.trace(hlmc.EXP3(arms=100, horizon=50), hlmc.adversaries.BlockTrap(), 50)
    >>> arms.shape, rewards.shape
    ((50,), (50,))
    """
    steps = whole("horizon", horizon, 1)
    recorder = _Recorder(adversary, steps)
    row = fresh_rows(policy, keys(seed, stream, 1))[0]
    _run(policy, recorder, row, np.array([steps]), None)
    kept = recorder.spec[-2 * steps :]
    return kept[:steps].astype(np.int64), kept[steps:].copy()
