"""Play many runs on a device at once, a slice of the steps at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.device.loop import WHILE, built
from hlmc.device.memory import Memory, checked_device, gives_up
from hlmc.device.places import BLOCK, Layout
from hlmc.device.shape import Shape, steps_between_restarts
from hlmc.device.slices import next_length
from hlmc.device.target import SIMULATED
from hlmc.learner import fresh_rows
from hlmc.simulation.runs import Played, Task, refusal
from hlmc.streams import derive_seed, keys

Array = np.ndarray

FIRST_SLICE = WHILE
LONGEST_SLICE = 1 << 24
"""Steps of a launch, which ends at a multiple of the first or at a time point: few, then as many as take a breath."""

AT_ONCE = 1 << 23
"""Runs side by side, unless a single task has more."""

STOPS = 16
"""Time points within one launch, at most."""

SHARED_BYTES = 200 * 1024
"""Shared memory of a multiprocessor that desks may fill."""

BLOCK_BYTES = 48 * 1024
"""Shared memory that a block may have for the asking."""

REGISTERS = 1 << 16
"""Registers of a multiprocessor, which its threads share."""

FEWEST = 256
"""With fewer threads than this on a multiprocessor, desks in shared memory cost more than they bring."""


@dataclass(frozen=True)
class Noted:
    """What the runs of a task had earned at one time point, and about how many of the device's seconds it took."""

    task: Task
    point: int
    rewards: Array
    seconds: float


def play_on_device(
    tasks: list[Task], points: Array, precision: str, advance: Callable[[str, int], None]
) -> Iterator[Noted]:
    """Play all runs of all tasks, those of one shape together; at every time point, say what was earned."""
    checked_device()
    shapes: dict[Shape, list[Task]] = {}
    for task in tasks:
        shapes.setdefault(Shape.of(task.policy), []).append(task)
    for shape, same in shapes.items():
        for together in _at_once(same):
            yield from Group(shape, together, precision).play(points, advance)


def _at_once(tasks: list[Task]) -> Iterator[list[Task]]:
    """Tasks of one shape, as many together as a device takes without growing larger than it need be."""
    some: list[Task] = []
    for task in tasks:
        if some and sum(each.count for each in some) + task.count > AT_ONCE:
            yield some
            some = []
        some.append(task)
    yield some


class DeviceWork:
    """Tasks in the hands of a device: iterate to get what was played, as with :class:`hlmc.simulation.workers.Work`."""

    def __init__(self, tasks: list[Task], points: Array, precision: str, advance: Callable[[str, int], None]) -> None:
        self._points = points
        self._noted = play_on_device(tasks, points, precision, advance)

    def __iter__(self) -> Iterator[Played]:
        rewards: dict[Task, Array] = {}
        for noted in self._noted:
            task = noted.task
            if task not in rewards:
                rewards[task] = np.empty((task.count, len(self._points)))
            rewards[task][:, noted.point] = noted.rewards
            if noted.point == len(self._points) - 1:
                yield Played(task.name, task.first, rewards.pop(task), noted.seconds)

    def end(self) -> list[Played]:
        """Nothing is finished on the side."""
        return []


class Group:
    """Runs whose policies have one shape: side by side, each policy in blocks of its own."""

    def __init__(self, shape: Shape, tasks: list[Task], precision: str) -> None:
        # Those that restart most often take longest. The device begins with the first.
        tasks = sorted(tasks, key=lambda task: steps_between_restarts(task.policy))
        self._shape = shape
        self._tasks = tasks
        self._adversary = tasks[0].adversary
        layout = laid_out(shape, precision)
        self._block = block = layout.block
        self._blocks = [-(-task.count // block) for task in tasks]
        total = sum(self._blocks)
        desk_bytes = block * shape.desk_words * np.dtype(precision).itemsize
        self._launched = compiled(shape, _Rule(self._adversary), layout)
        self._launch = (total, block, 0, desk_bytes if layout.shared else 0)
        self._memory = memory = Memory()
        memory.room_for(total * (8 * block * (shape.width + STOPS + 2) + desk_bytes))
        programs = np.stack([shape.program(task.policy) for task in tasks])
        self.rows = memory.put(self._fresh())
        self._sums = memory.put(np.zeros((total, STOPS + 1, block)))
        self._flag = memory.put(np.zeros(1))
        self._kept = memory.put(np.zeros((total, 1, block)))
        self.desks = memory.put(np.zeros((total, shape.desk_words, block), dtype=precision))
        spec = memory.put(self._adversary.spec_in(memory.address))
        there = [memory.put(programs), memory.put(programs.astype(precision)), memory.put(self._which())]
        self._first = [memory.given(x) for x in (*there, self.rows, self.desks, spec)]
        self._then = [memory.given(x) for x in (self._sums, self._kept, self._flag)]

    def _which(self) -> Array:
        """For every block the number of its program, and how many of its threads have a learner."""
        rows = []
        for number, (task, blocks) in enumerate(zip(self._tasks, self._blocks, strict=True)):
            rows += [(number, min(self._block, task.count - self._block * i)) for i in range(blocks)]
        return np.array(rows, dtype=np.float64).reshape(-1)

    def _fresh(self) -> Array:
        """Rows as [block, word, thread]."""
        there = np.zeros((sum(self._blocks), self._shape.width, self._block))
        first = 0
        for task, blocks in zip(self._tasks, self._blocks, strict=True):
            rows = np.zeros((blocks * self._block, self._shape.width))
            fresh_rows(task.policy, keys(derive_seed(task.seed, task.name), task.first, task.count), rows[: task.count])
            there[first : first + blocks] = rows.reshape(blocks, self._block, -1).transpose(0, 2, 1)
            first += blocks
        return there

    def play(self, points: Array, advance: Callable[[str, int], None]) -> Iterator[Noted]:
        """Take all runs through to the last time point."""
        t, noted, length = 0, 0, FIRST_SLICE
        spent, timed = 0.0, 0
        while noted < len(points):
            began = time.perf_counter()
            # How long slices are depends on the clock; between time points they end where it makes no difference.
            until = min((t + length) // FIRST_SLICE * FIRST_SLICE, int(points[-1]))
            upto = int(np.searchsorted(points, until, side="right"))
            if upto - noted >= STOPS:
                upto = noted + STOPS - 1
                until = int(points[upto - 1])
            stops = list(points[noted:upto])
            if not stops or stops[-1] < until:
                stops.append(until)
            seconds = self._run(np.array(stops, dtype=np.float64))
            sums = self._sums.copy_to_host() if upto > noted else None
            if t > 0 or until == points[-1]:  # the first launch compiles, and what is done with the rewards is not ours
                spent += time.perf_counter() - began
                timed += until - t
            for i in range(noted, upto):
                taken = spent / timed * int(points[i]) if timed else 0.0
                yield from self._noted(i, sums[:, i - noted, :], taken)  # type: ignore[index]
            for task in self._tasks:
                advance(task.name, task.count * (until - t))
            noted, t = upto, until
            length = next_length(length, seconds, FIRST_SLICE, LONGEST_SLICE)

    def _run(self, stops: Array) -> float:
        from numba import cuda

        there = self._memory.put(stops) if SIMULATED else cuda.to_device(stops)
        began = time.perf_counter()
        shape = self._shape
        sizes = (shape.length, shape.width, shape.desk_words, STOPS + 1, len(stops))
        with gives_up(), warnings.catch_warnings():
            # A few runs leave most of a device idle, and the simulator's words say so when they wrap around.
            warnings.simplefilter("ignore")
            self._launched[self._launch](*self._first, self._memory.given(there), *self._then, *sizes)
            flag = self._flag.copy_to_host()[0]
        if flag:
            kept = self._kept.copy_to_host()
            raise refusal(self._adversary, int(-kept[kept < 0].max()) - 1)
        return time.perf_counter() - began

    def _noted(self, point: int, sums: Array, seconds: float) -> Iterator[Noted]:
        """What every task's runs had earned, from [block, thread]."""
        everyone = sum(task.count for task in self._tasks)
        first = 0
        for task, blocks in zip(self._tasks, self._blocks, strict=True):
            rewards = sums[first : first + blocks].reshape(-1)[: task.count]
            yield Noted(task, point, rewards, seconds * task.count / everyone)
            first += blocks


class _Rule:
    """An adversary as machine code sees it: its rule, not its numbers."""

    def __init__(self, adversary: Adversary) -> None:
        self.adversary = adversary
        self._key: tuple[Any, ...] = (adversary.rule, adversary.phased, adversary.coins, adversary.arms < 2**31)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rule) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=32)
def compiled(shape: Shape, rule: _Rule, layout: Layout) -> Any:
    return built(shape, rule.adversary, layout)


def laid_out(shape: Shape, precision: str) -> Layout:
    """Desks in shared memory where enough of them fit, in blocks small enough for it.

    Registers: few where a thread rarely leaves the loop over the steps, which needs few; more where it often does; and
    many where the desks leave room for no more threads anyway.
    """
    desk = max(1, shape.desk_words) * np.dtype(precision).itemsize
    registers = 40 if shape.stride > 1 else 48
    if SIMULATED or SHARED_BYTES // desk < FEWEST:
        return Layout(precision, False, registers)
    block = BLOCK
    while block * desk > BLOCK_BYTES:
        block //= 2
    spare = REGISTERS // (SHARED_BYTES // desk) // 8 * 8
    return Layout(precision, True, min(64, max(registers, spare)), block)
