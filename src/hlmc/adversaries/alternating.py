"""Experiment 2: one arm pays in every other sub-phase, and UCB-M always drops it before it pays again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Array, packed
from hlmc.adversaries.phases import OWN, Phased, subphase, subphase_until
from hlmc.checks import share
from hlmc.engine.kernel import kernel

EPSILON = OWN


@kernel
def alternating(spec: Array, t: int, arm: int) -> float:
    """u mod 2 for arm 0, epsilon for the others."""
    if arm != 0:
        return spec[EPSILON]  # type: ignore[no-any-return]
    return float(subphase(spec, t) & 1)


@kernel
def _parity(spec: Array, t: int) -> tuple[int, int]:
    """The state of step t (0 or 1), and the step at which it ends."""
    u, until = subphase_until(spec, t)
    return u & 1, until


@kernel
def _pays(spec: Array, parity: int, arm: int) -> float:
    """The reward of an arm in a state."""
    return float(parity) if arm == 0 else spec[EPSILON]


@dataclass(frozen=True, repr=False)
class Alternating(Phased):
    r"""Experiment 2 of the paper: UCB-M holds the good arm exactly when it pays nothing.

    Phases and sub-phases are those of :class:`BlockTrap`. In sub-phase u, the paper's arm 1 (arm 0 here) pays
    u mod 2, and all others pay epsilon. UCB-M carries the good arm over after a sub-phase in which it paid,
    sees it pay 0, and drops it, shuffled or not.

    Parameters
    ----------
    arms
        K, the number of arms.
    memory
        M, the number of arms that UCB-M holds at a time; at least 2.
    subphases
        h0. Default: ceil((K - 1) / (M - 1)).
    epsilon
        The reward of the other arms, in [0, 1].

    Examples
    --------
    >>> Alternating(arms=100, memory=20).rewards(439, 441, 0, 3).tolist()
    [[0.0, 0.0001, 0.0001], [1.0, 0.0001, 0.0001]]

    References
    ----------
    The paper's Section on numerical examples, weak regret, second experiment (Fig. 3).
    """

    epsilon: float = 1e-4

    rule = staticmethod(alternating)
    piecewise = (_parity, _pays)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(epsilon=share("epsilon", self.epsilon))

    @cached_property
    def spec(self) -> Array:
        return packed(*self._clock(), self.epsilon)

    def state(self, u: int) -> int:
        """What the good arm pays in sub-phase u."""
        return u % 2
