r"""The best sequence of arms that switches a limited number of times, by dynamic programming.

Let :math:`G_{v,k}(t)` be the largest reward in the first t steps of a sequence of at most v constant
segments whose last arm is k, and :math:`B_v(t) = \max_k G_{v,k}(t)`. Then

.. math:: G_{v,k}(t+1) = \max\{G_{v,k}(t),\, B_{v-1}(t)\} + r_{k,t},

with :math:`G = 0` at t = 0 and :math:`B_0 = -\infty`. The benchmark of the shifting regret with hardness
constraint V is :math:`B_V(T)`.

*Phases.* If no reward changes in steps s to e - 1, the recursion can process them at once,
:math:`G_{v,k}(e) = \max\{G_{v,k}(s), B_{v-1}(s)\} + (e-s) r_{k,s}`, because some best sequence switches only at
edges of phases. Proof: take a best sequence with a switch strictly inside a phase, from arm i to arm j. Moving the
switch by one step changes the sum by :math:`\pm(r_i - r_j)`, the same for every step, until it meets an edge of the
phase or another switch. In one of the two directions nothing is lost. If it meets an edge, there is one inner
switch fewer. If it meets another switch, the segment between them vanishes, and so does a switch. The end of
a prefix counts as an edge.

*The sequence.* With each G the step is stored at which its last segment began. That gives the last segment
of the best sequence. The segment before it is the last segment of the best sequence of V - 1 segments on the
previous steps, and so on. The state is stored at some checkpoints, and each step backwards repeats the
recursion from the previous checkpoint.

*Memory.* 2 K V words for the state (V rounded up to a multiple of 16), a few blocks of rewards, and at
most 64 checkpoints of the size of the state, in at most 256 MiB. None of this grows with T.

*Rounding.* G is summed in 64-bit floats with one addition per row. The relative error is at most T 2⁻⁵³
(10⁻⁹ at T = 10⁷, and usually much less), and zero if the sums are exact, as for rewards of 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlmc.checks import flag, whole
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import offset, words
from hlmc.errors import BadArgument
from hlmc.evaluation.records import Marks
from hlmc.evaluation.segments import (
    REWARD_NS,
    Report,
    RewardSegments,
    checked_points,
    checked_threads,
    in_order,
    refused,
    steps,
)
from hlmc.targets import address_of, compiled

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary

Array = np.ndarray

LANES = 16  # levels are padded to whole runs of this length, over which the inner loop is vectorised
CHECKPOINTS = 64
CHECKPOINT_WORDS = 2**25  # 256 MiB
STATE_WORDS = 2**29  # 4 GiB
STATE_NS = 0.5  # about what one state costs a row on one core, for the estimate in a refusal
_NOTHING = -math.inf


@kernel
def look(sums: Array, best: Array, top: Array, row: Array, arms: int, levels: int, n: float) -> None:
    """Write B after n more steps of a row to ``top``."""
    for v in range(levels):
        top[v] = _NOTHING
    for k in range(arms):
        g = offset(sums, k * levels)
        gain = row[k] * n
        for v in range(levels):
            x = g[v]
            b = best[v]
            x = (b if b > x else x) + gain
            top[v] = x if x > top[v] else top[v]


@kernel
def switching_advance(
    rewards_at: Address,
    edges_at: Address,
    segments: int,
    arms: int,
    levels: int,
    sums_at: Address,
    starts_at: Address,
    best_at: Address,
    top_at: Address,
    marks: Marks,
) -> int:
    """Run the recursion over some segments of rewards; record B at each point passed; return the next point.

    ``sums`` and ``starts`` are [arms, levels]; ``best`` is B_0, B_1, ...; ``values`` is [points,
    levels]. Level v uses B_{v-1} *before* the row, so ``best`` does not change while ``top`` collects
    its next values.
    """
    rewards = words(rewards_at)
    edges = words(edges_at)
    sums = words(sums_at)
    starts = words(starts_at)
    best = words(best_at)
    top = words(top_at)
    points, values = words(marks.points_at), words(marks.values_at)
    point, last_point = marks.point, marks.stop
    for i in range(segments):
        row = offset(rewards, i * arms)
        now = edges[i]
        while point < last_point and points[point] <= edges[i + 1]:
            look(sums, best, top, row, arms, levels, points[point] - now)
            for v in range(levels):
                values[point * levels + v] = top[v]
            point += 1
        n = edges[i + 1] - now
        for v in range(levels):
            top[v] = _NOTHING
        for k in range(arms):
            g = offset(sums, k * levels)
            start = offset(starts, k * levels)
            gain = row[k] * n
            for v in range(levels):
                x = g[v]
                b = best[v]
                start[v] = now if b > x else start[v]
                x = (b if b > x else x) + gain
                g[v] = x
                top[v] = x if x > top[v] else top[v]
        for v in range(levels):
            best[v + 1] = top[v]
    return point


class Segment(NamedTuple):
    """Steps start to end - 1, in which one arm is played."""

    start: int
    end: int
    arm: int


@dataclass
class _State:
    """G, the starts of its last segments and B, after ``time`` steps."""

    time: int
    sums: Array  # [arms, levels]
    starts: Array  # [arms, levels]
    best: Array  # [levels + 1]

    @classmethod
    def initial(cls, arms: int, levels: int) -> _State:
        best = np.zeros(levels + 1)
        best[0] = _NOTHING
        return cls(0, np.zeros((arms, levels)), np.zeros((arms, levels)), best)

    def copy(self) -> _State:
        return _State(self.time, self.sums.copy(), self.starts.copy(), self.best.copy())

    def last_segment(self, level: int) -> Segment:
        """The last segment of the best sequence of at most ``level`` segments; ties go to the lowest arm."""
        arm = int(self.sums[:, level - 1].argmax())
        return Segment(int(self.starts[arm, level - 1]), self.time, arm)


def _padded(levels: int) -> int:
    return -(-levels // LANES) * LANES


def _walk(
    reward_segments: RewardSegments, state: _State, last: int, threads: int, points: Array, values: Array
) -> Iterator[_State]:
    """Advance the state to step ``last`` and yield it after every block; other threads compute the next blocks."""
    arms, levels = state.sums.shape
    top = np.empty(levels)
    point = int(np.searchsorted(points, state.time, side="right"))
    step = compiled(switching_advance)

    def filled(edges: Array) -> tuple[Array, Array]:
        return edges, reward_segments.rewards(edges, 0, arms)

    for edges, rewards in in_order(filled, reward_segments.blocks(state.time, last, arms), threads):
        point = step(
            address_of(rewards.reshape(-1)),
            address_of(edges),
            len(edges) - 1,
            arms,
            levels,
            address_of(state.sums.reshape(-1)),
            address_of(state.starts.reshape(-1)),
            address_of(state.best),
            address_of(top),
            Marks(address_of(points), point, len(points), address_of(values.reshape(-1))),
        )
        state.time = int(edges[-1])
        yield state


@dataclass(frozen=True, eq=False, repr=False)
class SwitchingBenchmark:
    """The best sequences with hardness at most V on prefixes of an adversary, from :func:`best_switching`."""

    adversary: Adversary
    horizon: int
    switches: int
    points: Array
    """Numbers of completed steps."""
    levels: Array
    """[min(V, T), points]: row v - 1 is the benchmark with hardness constraint v; row 0 is the best fixed arm."""
    _checkpoints: list[_State] = field(default_factory=list)
    _threads: int = 1

    @property
    def values(self) -> Array:
        """The benchmark with hardness constraint V at each point."""
        values: Array = self.levels[-1]
        return values

    @cached_property
    def sequence(self) -> list[Segment]:
        """The best sequence over the whole horizon, as segments (start, end, arm) in order of time.

        It is computed at first access. If several sequences are best, it is one of them.
        """
        reward_segments = RewardSegments(self.adversary, self.horizon)
        nothing = np.empty(0)
        found: list[Segment] = []
        end = self.horizon
        for level in range(len(self.levels), 0, -1):
            before = [c for c in self._checkpoints if c.time <= end]
            state = before[-1].copy() if before else _State.initial(reward_segments.arms, _padded(len(self.levels)))
            for _ in _walk(reward_segments, state, end, self._threads, nothing, nothing):
                pass
            found.append(state.last_segment(level))
            end = found[-1].start
            if end == 0:
                break
        return found[::-1]

    def __repr__(self) -> str:
        return f"SwitchingBenchmark({self.adversary!r}, horizon={self.horizon}, switches={self.switches})"


def best_switching(
    adversary: Adversary,
    horizon: int,
    switches: int,
    points: Any = None,
    *,
    threads: int | None = None,
    force: bool = False,
    report: Report | None = None,
) -> SwitchingBenchmark:
    r"""The best sequence of arms with hardness at most V: the benchmark of the shifting regret R_s(T, V).

    .. math:: \max_{a^n : H(a^n) \le V} \sum_{t < n} r_{a_t,t}, \qquad H(a^n) = 1 + \sum_t [a_t \ne a_{t+1}]

    V is the number of constant segments, one more than the number of changes. The module's docstring explains
    the algorithm, its memory and its accuracy.

    Parameters
    ----------
    horizon
        T, the number of steps of the sequence.
    switches
        V, at least 1.
    points
        Numbers of completed steps, increasing and at most T, at which to return the benchmark of the prefix.
        Default: T only.
    threads
        Number of threads. One runs the recursion, and the others compute the next rewards. The result does
        not depend on it. Default: the cores available to this process.
    force
        Compute the benchmark even if it takes hours or more than 4 GiB of memory.
    report
        Told what share of the work has been done since it was last told.

    Examples
    --------
    >>> from hlmc.adversaries import Trace
    >>> best = best_switching(Trace([[1, 0], [1, 0], [0, 1], [1, 0]]), horizon=4, switches=3, points=[2, 4])
    >>> best.values
    array([2., 4.])
    >>> best.levels
    array([[2., 3.],
           [2., 3.],
           [2., 4.]])
    >>> best.sequence
    [Segment(start=0, end=2, arm=0), Segment(start=2, end=3, arm=1), Segment(start=3, end=4, arm=0)]
    """
    horizon = whole("horizon", horizon, 1, steps(adversary))
    switches = whole("switches", switches, 1)
    times = checked_points(adversary, [horizon] if points is None else points)
    if len(times) and times[-1] > horizon:
        raise BadArgument(f"points must be at most the horizon, {horizon}, not {int(times[-1])}")
    threads = checked_threads(threads)
    reward_segments = RewardSegments(adversary, horizon)
    arms = adversary.arms
    # T steps hold at most T segments: more levels would only repeat the last one.
    used = min(switches, horizon)
    levels = _padded(used)
    if not flag("force", force):
        _affordable(reward_segments, levels)

    state = _State.initial(arms, levels)
    values = np.zeros((len(times), levels))
    parts = 1 + min(CHECKPOINTS, CHECKPOINT_WORDS // (2 * arms * levels))
    checkpoints: list[_State] = []
    before = 0
    for reached in _walk(reward_segments, state, horizon, threads, times, values):
        if report is not None:
            report((reached.time - before) / horizon)
            before = reached.time
        if len(checkpoints) < parts - 1 and parts * reached.time >= (len(checkpoints) + 1) * horizon:
            checkpoints.append(reached.copy())
    table = np.ascontiguousarray(values.T[:used])
    return SwitchingBenchmark(adversary, horizon, switches, times.astype(np.int64), table, checkpoints, threads)


def _affordable(reward_segments: RewardSegments, levels: int) -> None:
    """Raise an error for very large and very long computations."""
    if 2 * reward_segments.arms * levels > STATE_WORDS:
        size = 2 * reward_segments.arms * levels / 2**27
        raise BadArgument(
            f"{reward_segments.arms:,} arms and {levels} levels need {size:,.0f} GiB of memory;"
            " pass force=True to compute it anyway"
        )
    refused(reward_segments, f" and {levels} levels", reward_segments.arms * (REWARD_NS + levels * STATE_NS) * 1e-9)
