"""The gate in front of the kernels: what comes from outside is checked here, once, before a kernel sees it.

Select and update trust a row: some of its words say where in the row or in the program to go on. So every row that
this library has not made itself passes :func:`admitted` (an array of the caller's, a pickle) or
:func:`first_unsound` (a file). What passes is copied first, into memory that no caller can change afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.engine.primitives import CHECK
from hlmc.engine.routines import level_check_kernel
from hlmc.engine.soundness import checker
from hlmc.errors import BadArgument, BadType
from hlmc.policies.base import Policy
from hlmc.targets import address_of, callback, entry, linked

Array = np.ndarray


def admitted(policy: Policy, state: Any, dimensions: int) -> Array:
    """A copy of a learner's row (one dimension) or of a fleet's rows (two), or a refusal.

    Numbers of another kind are refused rather than converted: the first word of a row holds 64 raw bits.
    """
    if not isinstance(policy, Policy):
        raise BadType(f"policy must be a policy of hlmc, not {type(policy).__name__}")
    name, words = ("row", "rows")[dimensions - 1], policy.words.total
    wanted = f"{name} must be an array of {f'{words}' if dimensions == 1 else f'[learners, {words}]'} float64 words"
    if not isinstance(state, np.ndarray):
        raise BadType(f"{wanted}, not {type(state).__name__}")
    if state.dtype != np.float64:
        raise BadType(f"{wanted}, not of {state.dtype}")
    if state.ndim != dimensions or state.shape[-1] != words or len(state) == 0:
        raise BadArgument(f"{wanted}, not of shape {list(state.shape)}")
    own = np.array(state, np.float64, order="C", subok=False)
    rows = own.reshape(-1, words)
    found = first_unsound(policy, rows)
    if found < len(rows):
        which = "row" if dimensions == 1 else f"rows[{found}]"
        raise BadArgument(f"{which} must be a state of a learner of {policy!r}, and it is none")
    return own


def first_unsound(policy: Policy, rows: Array) -> int:
    """The first of some rows that no learner of the policy can have; their number when there is none.

    ``rows``: float64 [learners, words], in one piece of memory.
    """
    return soundness(policy)(address_of(rows), rows.shape[1], len(rows))


def soundness(policy: Policy) -> Callable[[int, int, int], int]:
    """The same for who asks often: a function of the rows' address, the words from one to the next, and how many."""
    check = entry(checker(policy.structure), "int64", *["int64"] * 6, release=True)
    checks, program = checks_of(policy), linked(policy)
    program_at, checks_at = program.address, address_of(checks)

    def first(rows_at: int, stride: int, count: int, kept: object = (program, checks)) -> int:
        found: int = check(program_at, checks_at, rows_at, stride, 0, count)
        return found

    return first


def checks_of(policy: Policy) -> Array:
    """The addresses of the checks of a policy's routines, one per level: an array of int64."""
    found = [callback(level_check_kernel(routine.kernels), CHECK).address for routine in policy.routines_used]
    return np.array(found, np.int64)
