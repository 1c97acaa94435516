"""One level of one learner, as the kernels of its routine are given it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hlmc.engine.kernel import record

Array = np.ndarray


@record
class Level(NamedTuple):
    """Where a routine finds its numbers and its statistics.

    In a loop over the steps ``program`` and ``row`` are the numbers in the precision of the workspace, and the
    workspace. On a processor both are the learner's own.
    """

    program: Array
    """The policy's program: words that no kernel changes."""
    record: int
    """Where the level's record begins in it: the routine's own numbers are ``program[record + PARAMETERS]`` and on."""
    row: Array
    """The learner's row."""
    at: int
    """Where the level's statistics begin in it."""
    n: int
    """The number of children of the group that is played."""
