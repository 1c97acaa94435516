"""A fleet of learners in plain Python: the calls of :class:`hlmc.Fleet`, one object for each learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlmc.checks import whole
from hlmc.errors import BadArgument, BadReward, OutOfTurn
from hlmc.learners.batches import given_ids
from hlmc.simulation.own import PythonPolicy, checked_arm, run_seed

Array = np.ndarray


class PythonFleet:
    """Learners that follow a policy in plain Python. Made by :meth:`hlmc.PythonPolicy.fleet`.

    Learner i is the object that run i of a simulation has: the same seed, the same copy. ``select`` and ``update`` are
    those of :class:`hlmc.Fleet`; a batch that is refused changes nothing.

    >>> import hlmc
    >>> class Cycle:
    ...     def __init__(self, arms):
    ...         self.arms, self.last = arms, -1
    ...     def select(self):
    ...         return (self.last + 1) % self.arms
    ...     def update(self, arm, reward):
    ...         self.last = arm
    >>> fleet = hlmc.PythonPolicy(Cycle).fleet(3, arms=2)
    >>> fleet.select().tolist()
    [0, 0, 0]
    >>> fleet.update([1.0, 0.5, 0.0])
    >>> fleet.select([2, 0]).tolist(), fleet.time.tolist()
    ([1, 1], [1, 1, 1])
    """

    def __init__(self, policy: PythonPolicy, size: int, arms: int, horizon: int, seed: int) -> None:
        self.policy, self.arms = policy, arms
        self._players = [policy.player(arms, horizon, run_seed(seed, policy.label, i)) for i in range(size)]
        self._chosen: list[int | None] = [None] * size
        self.time = np.zeros(size, np.int64)

    def __len__(self) -> int:
        return len(self._players)

    def __repr__(self) -> str:
        return f"<fleet of {len(self)} learners of {self.policy!r}>"

    def select(self, ids: Any = None) -> Array:
        """Select an arm for each of the given learners, or for all; asked again, they give the same answer."""
        return np.array([self._select(i) for i in self._batch(ids)], np.int64)

    def update(self, rewards: Any, ids: Any = None) -> None:
        """Tell the given learners, or all, the rewards of the arms that they have selected."""
        batch = self._batch(ids)
        given = np.asarray(rewards, dtype=np.float64)
        if given.shape != (len(batch),):
            raise BadArgument(
                f"rewards must be a list of {len(batch)}, one for each learner, not of shape {given.shape}"
            )
        for place, (i, reward) in enumerate(zip(batch, given.tolist(), strict=True)):
            if not 0.0 <= reward <= 1.0:
                raise BadReward(f"rewards must be numbers in [0, 1], not {reward} (in place {place})")
            if self._chosen[i] is None:
                raise OutOfTurn(f"learner {i} has no arm selected: call select first")
        for i, reward in zip(batch, given.tolist(), strict=True):
            arm = self._chosen[i]
            self._chosen[i] = None
            self._players[i].update(arm, reward)  # type: ignore[arg-type]
            self.time[i] += 1

    def _select(self, i: int) -> int:
        arm = self._chosen[i]
        if arm is None:
            arm = self._chosen[i] = checked_arm(
                self.policy.label, self._players[i].select(), self.arms, int(self.time[i])
            )
        return arm

    def _batch(self, ids: Any) -> list[int]:
        given = given_ids(ids)
        if given is None:
            return list(range(len(self)))
        for place, i in enumerate(given.tolist()):
            whole(f"ids[{place}]", i, 0, len(self) - 1)
        if len(set(given.tolist())) < len(given):
            raise BadArgument("ids must not repeat a learner")
        return [int(i) for i in given]
