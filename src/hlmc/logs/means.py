"""The mean reward of each arm before each block, which estimators may know of an arm."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hlmc.logs.reading import Log

Array = np.ndarray


class Means:
    """The mean reward of each arm before each block: what an estimator may know of an arm. 0 before its first row."""

    def __init__(self, log: Log) -> None:
        self._rows, self._log_arm = len(log.arm), log.arm
        order = np.argsort(log.arm, kind="stable")
        arm = log.arm[order]
        self._begins = np.searchsorted(arm, np.arange(len(log.labels)))
        total = np.cumsum(log.reward[order])
        before = np.concatenate(([0.0], total))[self._begins][arm]
        count = np.arange(len(arm)) - self._begins[arm] + 1
        self._after = (total - before) / count
        self._keys = arm * self._rows + order
        self._order = order
        self._arm = arm
        self.since = log.firsts[log.block]

    @cached_property
    def own(self) -> Array:
        """[row]: the mean of the arm that was played."""
        return self.of(self._log_arm, np.arange(self._rows))

    def of(self, arms: Array, rows: Array) -> Array:
        """The means of some arms when the blocks of some rows began; 0 for arm -1, which was never played."""
        at = np.searchsorted(self._keys, arms * self._rows + self.since[rows])
        known = (arms >= 0) & (at > self._begins[np.maximum(arms, 0)])
        found: Array = np.where(known, self._after[np.maximum(at, 1) - 1], 0.0)
        return found

    def mixed(self, chances: Array) -> Array:
        """[row]: the sum over all arms of chance times mean when the row's block began."""
        last = np.concatenate(([0.0], self._after[:-1]))
        last[self._begins] = 0.0
        steps = np.empty(self._rows)
        steps[self._order] = chances[self._arm] * (self._after - last)
        found: Array = np.concatenate(([0.0], np.cumsum(steps)))[self.since]
        return found
