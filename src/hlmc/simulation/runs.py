"""Play one policy against one adversary, many times: the work that is handed to workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.adversaries.function import Function
from hlmc.delays import Delays
from hlmc.engine.layout import LEVELS
from hlmc.engine.tickets import ticket_words
from hlmc.errors import BadArgument, BadReward
from hlmc.learners.learner import fresh_rows
from hlmc.policies.base import Policy
from hlmc.simulation import own
from hlmc.simulation.late import Mailbox
from hlmc.simulation.workers import COMPILING, Watch
from hlmc.streams import derive_seed, keys
from hlmc.targets import address_of, address_table, linked, loop, loop_with_delays, notes_for, side_by_side

Array = np.ndarray

SHORTEST, LONGEST = 1 << 12, 1 << 21
"""Between two looks at whether to stop lie this many steps: few at first, more as long as they take little time."""

BREATH = 0.05
"""Seconds that the steps between two looks should take."""


FEWEST, WORTH = 4, 1 << 23
"""From so many runs of a task on, and so many steps in all, runs are played side by side where that can be done: fewer
would leave most of a processor's lanes idle, or take less time than compiling the loop."""

FINISHED, STOPPED = 0, 1


@dataclass(frozen=True)
class Task:
    """Some runs of one policy against one adversary. Run r of the policy draws from stream r of (seed, name)."""

    name: str
    policy: own.AnyPolicy
    adversary: Adversary
    seed: int
    runs: range
    delays: Delays | None = None
    missing: float = 0.0

    @property
    def count(self) -> int:
        """The number of runs."""
        return len(self.runs)

    def keys(self) -> Array:
        """The key of the random stream of each run."""
        return keys(derive_seed(self.seed, self.name), self.runs.start, len(self.runs), self.runs.step)

    @property
    def compiled(self) -> Policy:
        """The policy, which is not one in plain Python."""
        assert isinstance(self.policy, Policy)
        return self.policy


@dataclass(frozen=True)
class Played:
    """What became of a task: its runs, their rewards [run, time point], and the processor's seconds that they took."""

    name: str
    runs: Sequence[int]
    rewards: Array
    seconds: float


def play(task: Task, points: Array, watch: Watch | None = None) -> Played:
    """Play a task through to the last time point; when told to stop, only those of its runs that were finished."""
    together = played_together(task, points, watch)
    if together is not None:
        return together
    walk_run = _python_runs(task) if isinstance(task.policy, own.PythonPolicy) else _compiled_runs(task)
    rewards = np.empty((task.count, len(points)))
    started = time.thread_time()
    seconds = 0.0
    finished = 0
    stopped = False

    def watched(steps: int) -> bool:
        nonlocal stopped
        stopped = watch is not None and watch(steps)
        return stopped

    for i in range(task.count):
        if stopped or not walk_run(i, points, rewards[i], watched):
            break
        finished += 1
        seconds = time.thread_time() - started
    return Played(task.name, task.runs[:finished], rewards[:finished], seconds)


def played_together(task: Task, points: Array, watch: Watch | None = None) -> Played | None:
    """:func:`play` with all runs side by side; None where they must be played one by one, or are faster so.

    If a reward is not in [0, 1], the result is None too: :func:`play` then finds the step.
    """
    if task.delays is not None or task.count < FEWEST or task.count * int(points[-1]) < WORTH:
        return None
    if isinstance(task.policy, own.PythonPolicy) or isinstance(task.adversary, Function):
        return None  # a user's function may be plain Python, and might notice in which order it is called
    with COMPILING:
        found = side_by_side(task.compiled, task.adversary, task.count)
    if found is None:
        return None
    rows = fresh_rows(task.compiled, task.keys())
    rewards = np.empty((task.count, len(points)))
    started = time.thread_time()

    def watched(steps: int) -> bool:
        return watch is not None and watch(task.count * steps)

    status = _sliced(found.start(rows), points, rewards, watched)
    if status < 0:
        return None
    seconds = time.thread_time() - started
    finished = task.count if status == FINISHED else 0
    return Played(task.name, task.runs[:finished], rewards[:finished], seconds)


WalkRun = Callable[[int, Array, Array, Callable[[int], bool]], bool]
"""``walk_run(i, points, sums, between)`` plays run i of a task; False if it was told to stop before its end."""


def _compiled_runs(task: Task) -> WalkRun:
    policy = task.compiled
    run = prepared(policy, task.adversary, task.delays is not None)
    rows = fresh_rows(policy, task.keys())

    def walk_run(i: int, points: Array, sums: Array, between: Callable[[int], bool]) -> bool:
        calendar = None if task.delays is None else Calendar(policy, task.delays, task.missing)
        return walk(run, policy, task.adversary, rows[i], points, sums, between, calendar)

    return walk_run


def _python_runs(task: Task) -> WalkRun:
    assert isinstance(task.policy, own.PythonPolicy)
    policy, adversary = task.policy, task.adversary
    with COMPILING:
        _ = adversary.unchecked

    def walk_run(i: int, points: Array, sums: Array, between: Callable[[int], bool]) -> bool:
        seed = own.run_seed(task.seed, task.name, task.runs[i])
        with own.alone(seed):
            if between(0):
                return False
            _ = adversary.spec  # a file that was cut short is noticed here
            player = policy.player(adversary.arms, int(points[-1]), seed)
            if task.delays is not None:
                if not player.by_arm:
                    needs = "rewards that come late need update(arm, reward), and it has update(reward)"
                    raise BadArgument(f"policy {task.name!r} is told too little: {needs}")
                mailbox = Mailbox(player.update, task.delays, task.missing, task.keys()[i])
                player = player._replace(update=mailbox)
            return own.walk(task.name, player, adversary, points, sums, refusal, between)

    return walk_run


def prepared(policy: Policy, adversary: Adversary, delayed: bool = False) -> Callable[..., int]:
    """The compiled loop that plays this policy; whatever else must be compiled or laid out is, too."""
    with COMPILING:
        _ = linked(policy), adversary.spec, adversary.address
        return loop_with_delays(policy) if delayed else loop(policy)


class Calendar:
    """The pending tickets of one run: the arrays of :func:`hlmc.engine.delayed.run_delayed`."""

    def __init__(self, policy: Policy, delays: Delays, missing: float) -> None:
        low, high = policy.scale
        counts = None if isinstance(policy.missing, str) else (policy.missing - low) / (high - low)
        # A ticket that waits for W decisions has expired.
        places = min(delays.longest + 1, policy.pending)
        self._law = delays.packed(missing, counts)
        self._lists = np.full(3 * places, -1, np.int64)
        self._tickets = np.zeros((places, ticket_words(int(policy.program[LEVELS]))))
        self._paid = np.zeros(places)
        arrays = (self._lists, self._tickets, self._paid)
        self._pending, pending_at = address_table([places, *map(address_of, arrays)])
        self.arguments = [address_of(self._law), pending_at]


def walk(
    run: Callable[..., int],
    policy: Policy,
    adversary: Adversary,
    row: Array,
    points: Array,
    sums: Array,
    between: Callable[[int], bool] | None = None,
    calendar: Calendar | None = None,
) -> bool:
    """Play from a fresh row to the last point, noting in ``sums`` what was earned; False when told to stop before.

    The steps are taken a slice at a time. A slice leaves in the row all that the next one needs, so that the cuts,
    which depend on the clock, leave no trace in the result.
    """
    program, learner = linked(policy).address, address_of(row)
    rule = [adversary.address, address_of(adversary.spec)]
    notes = notes_for(policy)
    if calendar is None:
        passed = [program, program, learner, learner, address_of(notes), *rule]
    else:
        passed = [program, learner, address_of(notes), *rule, *calendar.arguments]

    def steps(stops: Array, partial: Array) -> int:
        return run(*passed, address_of(stops), address_of(partial), len(stops))

    status = _sliced(steps, points, sums[None], between)
    if status < 0:
        raise refusal(adversary, -status - 1)
    return status == FINISHED


def _sliced(
    run: Callable[[Array, Array], int], points: Array, sums: Array, between: Callable[[int], bool] | None
) -> int:
    """Play to the last point, a slice at a time; FINISHED, STOPPED by ``between``, or -(t + 1).

    ``run(stops, partial)`` plays until each of the stops and notes in ``partial`` [run, stop + 1] what was earned.
    """
    t, noted, length = 0, 0, SHORTEST
    before = np.zeros(len(sums))
    while noted < len(points):
        until = min(t + length, int(points[-1]))
        upto = int(np.searchsorted(points, until, side="right"))
        stops = np.append(points[noted:upto], until).astype(np.float64)
        partial = np.empty((len(sums), len(stops) + 1))
        partial[:, -1] = before
        began = time.monotonic()
        status = run(stops, partial.reshape(-1))
        if status < 0:
            return status
        sums[:, noted:upto] = partial[:, :-2]
        noted, before = upto, partial[:, -1]
        if between is not None and between(until - t) and noted < len(points):
            return STOPPED
        if time.monotonic() - began < BREATH / 2:
            length = min(2 * length, LONGEST)
        t = until
    return FINISHED


_SHOWN_ARMS = 10**5
"""Among so many arms a wrong reward is looked for, to show it."""


def refusal(adversary: Adversary, step: int) -> BadReward:
    """The error for a reward that is not in [0, 1]."""
    if adversary.failure is not None:
        failed = f"{type(adversary.failure).__name__}: {adversary.failure}"
        return BadReward(f"{adversary!r} failed at step {step}: {failed}")
    paid = adversary.rewards(step, step + 1, 0, min(adversary.arms, _SHOWN_ARMS))[0]
    wrong = np.flatnonzero(~((paid >= 0.0) & (paid <= 1.0)))
    example = f": {float(paid[wrong[0]])!r} for arm {wrong[0]}" if wrong.size else ""
    return BadReward(f"{adversary!r} paid something that is not a number in [0, 1] at step {step}{example}")
