"""The clock of experiments 1 and 2: phase i has h0 sub-phases of b0 2^i steps.

It is read in every step and must be fast; see :mod:`hlmc.adversaries.arithmetic`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlmc.adversaries.arithmetic import quotient
from hlmc.adversaries.base import STEPS, Adversary, Array
from hlmc.checks import whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import floor_log2
from hlmc.errors import BadArgument

# The first words of a spec.
SUBPHASE = 0  # b0
SUBPHASE_INVERSE = 1
SUBPHASES = 2  # h0
SUBPHASES_LOG = 3  # floor(log2(h0))
OWN = 4  # the adversary's own words from here on


@kernel
def subphase(spec: Array, t: int) -> int:
    """The sub-phase u of step t within its phase.

    Phase i begins at h0 b0 (2^i - 1). Therefore s = floor(t / b0) + h0 is in [h0 2^i, h0 2^(i + 1)), and
    u = floor(s / 2^i) - h0.
    """
    blocks, phase = _blocks_and_phase(spec, t)
    return (blocks >> phase) - int(spec[SUBPHASES])


@kernel
def subphase_until(spec: Array, t: int) -> tuple[int, int]:
    """The sub-phase u of step t, and the step at which it ends."""
    blocks, phase = _blocks_and_phase(spec, t)
    h0 = int(spec[SUBPHASES])
    number = blocks >> phase
    return number - h0, (((number + 1) << phase) - h0) * int(spec[SUBPHASE])


@kernel
def _blocks_and_phase(spec: Array, t: int) -> tuple[int, int]:
    """s and i as in :func:`subphase`."""
    h0 = int(spec[SUBPHASES])
    s = quotient(t, int(spec[SUBPHASE]), spec[SUBPHASE_INVERSE]) + h0
    i = floor_log2(s) - int(spec[SUBPHASES_LOG])
    return s, i - 1 if h0 << i > s else i


@dataclass(frozen=True, repr=False)
class Phased(Adversary):
    """An adversary whose rewards depend on the sub-phase."""

    arms: int = 100
    memory: int = 20
    subphases: int | None = None

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1), memory=whole("memory", self.memory, 2))
        self._keep_given(whole, "subphases", least=1)
        if self.memory * self.h0 > STEPS:
            raise BadArgument(f"memory times subphases must be at most 2^53, not {self.memory} * {self.h0}")

    @property
    def h0(self) -> int:
        """Sub-phases per phase: as given, or ceil((K - 1) / (M - 1))."""
        return self.subphases or max(1, -((1 - self.arms) // (self.memory - 1)))

    @property
    def b0(self) -> int:
        """Steps in a sub-phase of phase 0: M (M + 2)."""
        return self.memory * (self.memory + 2)

    def _clock(self) -> tuple[float, ...]:
        """The words that :func:`subphase` reads. A b0 beyond the last step is truncated to an exact number."""
        b0 = min(self.b0, STEPS)
        return b0, 1.0 / b0, self.h0, self.h0.bit_length() - 1

    def state(self, u: int) -> int:
        """What the rewards of sub-phase u depend on. It has a period, at which it comes back to that of u = 0."""
        raise NotImplementedError

    def changes(self, horizon: int) -> Iterator[int]:
        return self._changes(whole("horizon", horizon, 0))

    def _changes(self, horizon: int) -> Iterator[int]:
        before = self.state(0)
        if self.h0 == 1 or self.state(1) == before:  # it never changes
            return
        t, length = 0, self.b0
        while True:
            for u in range(self.h0):
                if t >= horizon:
                    return
                if self.state(u) != before:
                    yield t
                before = self.state(u)
                t += length
            length *= 2
