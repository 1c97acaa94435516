"""Experiment 1: the arm that pays is always in the block that UCB-M will hold next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hlmc.adversaries.arithmetic import divides, divisor
from hlmc.adversaries.base import Array, packed, pays
from hlmc.adversaries.phases import OWN, Phased, subphase, subphase_until
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits

MEMORY, ARMS, INVERSE, TWOS, MOST = range(OWN, OWN + 5)


@kernel
def block_trap(spec: Array, t: int, arm: int) -> float:
    """1 for arm M (u + 1) mod K, 0 for the others."""
    distance = int(spec[MEMORY]) * (subphase(spec, t) + 1) + (int(spec[ARMS]) - arm)
    return 1.0 if divides(np.uint64(distance), bits(spec, INVERSE), bits(spec, TWOS), bits(spec, MOST)) else 0.0


@kernel
def _paying(spec: Array, t: int) -> tuple[int, int]:
    """The arm that pays at step t, and the step at which that ends."""
    u, until = subphase_until(spec, t)
    return int(spec[MEMORY]) * (u + 1) % int(spec[ARMS]), until


@dataclass(frozen=True, repr=False)
class BlockTrap(Phased):
    r"""Experiment 1 of the paper: no arm pays while UCB-M (unshuffled) holds it.

    Phase i = 0, 1, 2, ... has h0 sub-phases of b0 2^i steps, b0 = M (M + 2), the same as those of UCB-M. In
    sub-phase u, the first arm of the block after the one that UCB-M holds pays 1, and the others pay 0:

    .. math:: r_t(a) = 1 \text{ if } a = M (u + 1) \bmod K, \text{ else } 0.

    Arms count from 0. Counted from 1, "mod K" could give a number that is not an arm, and UCB-M would hold the
    arm that pays. The paper says that the best arm earns T/5, which holds for h0 = 5 at the end of a phase;
    its formula gives h0 = 6 for K = 100 and M = 20.

    Parameters
    ----------
    arms
        K, the number of arms.
    memory
        M, the number of arms that UCB-M holds at a time; at least 2.
    subphases
        h0. Default: ceil((K - 1) / (M - 1)).

    Examples
    --------
    >>> trap = BlockTrap(arms=100, memory=20)
    >>> trap.h0, trap.b0
    (6, 440)
    >>> trap.rewards(0, 1).nonzero()[1], trap.rewards(440, 441).nonzero()[1]
    (array([20]), array([40]))
    >>> list(trap.changes(4000))  # no change at 2640, where phase 1 begins: arm 20 pays before and after
    [440, 880, 1320, 1760, 2200, 3520]

    References
    ----------
    The paper's Section on numerical examples, weak regret, first experiment (Fig. 2).
    """

    rule = staticmethod(block_trap)
    piecewise = (_paying, pays)
    binary = True

    def state(self, u: int) -> int:
        """The arm that pays in sub-phase u."""
        return self.memory * (u + 1) % self.arms

    @cached_property
    def spec(self) -> Array:
        return packed(*self._clock(), self.memory, self.arms, *divisor(self.arms))
