"""Play many runs on a CUDA device at once, some steps per launch.

Runs of policies of one shape (:mod:`hlmc.targets.cuda.shape`) are played side by side: each policy has blocks of its
own, each run a thread. Rows, workspaces and sums stay on the device from the first launch to the last; at every time
point the sums are copied back. How long a launch is depends on the clock; no number depends on that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.errors import BadReward
from hlmc.learners.learner import fresh_rows
from hlmc.simulation.runs import Played, Task, refusal
from hlmc.targets.cuda.code import BLOCK, Layout
from hlmc.targets.cuda.ftrl import one_path
from hlmc.targets.cuda.launch import next_length
from hlmc.targets.cuda.loop import CHECKED_EVERY, Launch, code_of
from hlmc.targets.cuda.memory import DeviceArray, checked_device, device, packed, room_for
from hlmc.targets.cuda.shape import Shape, steps_between_restarts

Array = np.ndarray

SHORTEST = CHECKED_EVERY
LONGEST = 1 << 24
"""Steps of a launch, which ends at a multiple of the first number or at a time point: few, then as many as take
:data:`hlmc.targets.cuda.launch.SECONDS`."""

AT_ONCE = 1 << 23
"""Runs that are played side by side at most, unless a single task has more."""

STOPS = 16
"""Time points within one launch, at most."""

SHARED_BYTES = 200 * 1024
"""Shared memory of a multiprocessor that workspaces may fill."""

BLOCK_BYTES = 48 * 1024
"""Shared memory that a block may have without asking the driver for more."""

REGISTERS = 1 << 16
"""Registers of a multiprocessor, which its threads share."""

FEWEST = 256
"""With fewer threads than this on a multiprocessor, workspaces in shared memory cost more than they save."""


@dataclass(frozen=True)
class Noted:
    """What the runs of a task had earned at one time point [run], and about how many seconds the device took."""

    task: Task
    point: int
    rewards: Array
    seconds: float


def play_on_device(
    tasks: list[Task], points: Array, precision: str, advance: Callable[[str, int], None]
) -> Iterator[Noted]:
    """Play all runs of all tasks, those of one shape against adversaries of one rule together.

    It yields what was earned at every time point.

    ``advance`` is told the policy's name and how many steps of it were played since.
    """
    checked_device()
    shapes: dict[tuple[Shape, _Rule, int], list[Task]] = {}
    for task in tasks:
        kind = Shape.of(task.compiled), _Rule(task.adversary), len(task.adversary.spec)
        shapes.setdefault(kind, []).append(task)
    for (shape, _, _), same in shapes.items():
        for together in _at_once(same):
            yield from Group(shape, together, shape.precision(precision)).play(points, advance)


def _at_once(tasks: list[Task]) -> Iterator[list[Task]]:
    """Tasks of one shape in parts of at most :data:`AT_ONCE` runs."""
    some: list[Task] = []
    for task in tasks:
        if some and sum(each.count for each in some) + task.count > AT_ONCE:
            yield some
            some = []
        some.append(task)
    yield some


class DeviceWork:
    """Tasks that a device plays: iterate to get what was played, as with :class:`hlmc.simulation.workers.Work`."""

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
                yield Played(task.name, task.runs, rewards.pop(task), noted.seconds)

    def end(self) -> list[Played]:
        """Nothing is finished on the side."""
        return []


class Group:
    """Runs whose policies have one shape and whose adversaries have one rule, side by side; B blocks of L threads.

    ``rows`` [B, word, L] and ``workspaces`` [B, word, L] are arrays on the device (see
    :class:`hlmc.targets.cuda.loop.Launch`).
    """

    def __init__(self, shape: Shape, tasks: list[Task], precision: str) -> None:
        # Those that restart most often take longest, and the device begins with the first blocks.
        tasks = sorted(tasks, key=lambda task: steps_between_restarts(task.compiled))
        self._shape = shape
        self._tasks = tasks
        # Each adversary once: many tasks may face one whose numbers are many.
        self._environments = list({id(task.adversary): task.adversary for task in tasks}.values())
        layout = laid_out(shape, precision)
        self._block = block = layout.block
        self._blocks = [-(-task.count // block) for task in tasks]
        total = sum(self._blocks)
        workspace_bytes = block * shape.loop_words * np.dtype(precision).itemsize
        self._play = compiled(shape, _Rule(self._environments[0]), layout)
        room_for(total * (8 * block * (shape.row_words + STOPS + 2) + workspace_bytes))
        programs = np.stack([shape.program(task.compiled) for task in tasks])
        self._tables: list[DeviceArray] = []
        specs = np.stack([each.spec_in(self._table) for each in self._environments])
        self.rows = DeviceArray(self._fresh())
        self.workspaces = DeviceArray(np.zeros((total, shape.loop_words, block), dtype=precision))
        self._record = Launch(
            programs=DeviceArray(programs),
            own_programs=DeviceArray(programs.astype(precision)),
            blocks=DeviceArray(self._which()),
            rows=self.rows,
            workspaces=self.workspaces,
            specs=DeviceArray(specs),
            sums=DeviceArray(np.zeros((total, STOPS + 1, block))),
            carried=DeviceArray(np.zeros((total, 1, block))),
            flag=DeviceArray(np.zeros(1)),
            stops=DeviceArray(np.zeros(STOPS + 1)),
            spec_words=specs.shape[1],
            program_words=shape.program_words,
            row_words=shape.row_words,
            workspace_words=shape.loop_words,
            sum_words=STOPS + 1,
            stop_count=0,
        )

    def _table(self, array: Array) -> int:
        """The address of an adversary's table, which stays on the device."""
        self._tables.append(DeviceArray(array))
        return self._tables[-1].address

    def _which(self) -> Array:
        """[B, 3], flat: the numbers of a block's program and spec, and how many of its threads have a learner."""
        rows = []
        places = {id(each): place for place, each in enumerate(self._environments)}
        for number, (task, blocks) in enumerate(zip(self._tasks, self._blocks, strict=True)):
            spec = places[id(task.adversary)]
            rows += [(number, spec, min(self._block, task.count - self._block * i)) for i in range(blocks)]
        return np.array(rows, dtype=np.float64).reshape(-1)

    def _fresh(self) -> Array:
        """Rows of fresh learners as [block, word, lane]."""
        there = np.zeros((sum(self._blocks), self._shape.row_words, self._block))
        first = 0
        for task, blocks in zip(self._tasks, self._blocks, strict=True):
            rows = np.zeros((blocks * self._block, self._shape.row_words))
            fresh_rows(task.compiled, task.keys(), rows[: task.count])
            there[first : first + blocks] = rows.reshape(blocks, self._block, -1).transpose(0, 2, 1)
            first += blocks
        return there

    def play(self, points: Array, advance: Callable[[str, int], None]) -> Iterator[Noted]:
        """Take all runs through to the last time point."""
        t, noted, length = 0, 0, SHORTEST
        spent, timed = 0.0, 0
        while noted < len(points):
            began = time.perf_counter()
            # Between time points launches end where a cut changes no number.
            until = min((t + length) // SHORTEST * SHORTEST, int(points[-1]))
            upto = int(np.searchsorted(points, until, side="right"))
            if upto - noted >= STOPS:
                upto = noted + STOPS - 1
                until = int(points[upto - 1])
            stops = list(points[noted:upto])
            if not stops or stops[-1] < until:
                stops.append(until)
            seconds = self._run(np.array(stops, dtype=np.float64))
            sums = self._record.sums.copy_to_host() if upto > noted else None
            if (
                t > 0 or until == points[-1]
            ):  # the first launch compiles; what the caller does with rewards is not counted
                spent += time.perf_counter() - began
                timed += until - t
            for i in range(noted, upto):
                taken = spent / timed * int(points[i]) if timed else 0.0
                yield from self._noted(i, sums[:, i - noted, :], taken)  # type: ignore[index]
            for task in self._tasks:
                advance(task.name, task.count * (until - t))
            noted, t = upto, until
            length = next_length(length, seconds, SHORTEST, LONGEST)

    def _run(self, stops: Array) -> float:
        """One launch, to the last of these times [stop]; the seconds that it took."""
        there = np.zeros(STOPS + 1)
        there[: len(stops)] = stops
        began = time.perf_counter()
        record = self._record
        record.stops.copy_to_device(there)
        device().launch(
            self._play, (sum(self._blocks), 1), self._block, 0, packed(record._replace(stop_count=len(stops)))
        )
        if record.flag.copy_to_host()[0]:
            raise self._refusal(record.carried.copy_to_host())
        return time.perf_counter() - began

    def _refusal(self, carried: Array) -> BadReward:
        """The error for the first reward that is none, from what the threads carried [block, 1, lane]."""
        first = carried < 0
        step = int(-carried[first].max()) - 1
        block = int(np.argmax(np.where(first, carried, -np.inf).max(axis=(1, 2))))
        number = int(np.searchsorted(np.cumsum(self._blocks), block, side="right"))
        return refusal(self._tasks[number].adversary, step)

    def _noted(self, point: int, sums: Array, seconds: float) -> Iterator[Noted]:
        """What every task's runs had earned, from sums [block, lane]."""
        everyone = sum(task.count for task in self._tasks)
        first = 0
        for task, blocks in zip(self._tasks, self._blocks, strict=True):
            rewards = sums[first : first + blocks].reshape(-1)[: task.count]
            yield Noted(task, point, rewards, seconds * task.count / everyone)
            first += blocks


class _Rule:
    """An adversary as a key for compiled code: equal if its rule is, whatever its numbers."""

    def __init__(self, adversary: Adversary) -> None:
        self.adversary = adversary
        self._key: tuple[Any, ...] = (adversary.rule, adversary.piecewise, adversary.binary, adversary.arms < 2**31)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rule) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=32)
def compiled(shape: Shape, rule: _Rule, layout: Layout) -> Any:
    """The entry point for a shape, a rule and a layout, kept for the next groups."""
    return device().load(code_of(shape, rule.adversary, layout))["play"]


def laid_out(shape: Shape, precision: str) -> Layout:
    """Workspaces in shared memory where enough of them fit, in blocks small enough for it.

    Registers per thread, as measured on an H200: more where a thread often leaves the loop over the steps, and most
    where loops over slots are unrolled; as many as are left where workspaces leave room for few threads, but no more
    than help.
    """
    size = max(1, shape.loop_words) * np.dtype(precision).itemsize
    registers = 48 if shape.stride > 1 else 80 if one_path(shape, precision) else 64
    room = SHARED_BYTES // size
    if room < FEWEST:
        return Layout(precision, False, registers)
    block = BLOCK
    while block * size > BLOCK_BYTES:
        block //= 2
    spare = min(REGISTERS // room // 8 * 8, 80 if shape.pieces else 96)
    return Layout(precision, True, max(registers, spare), block)
