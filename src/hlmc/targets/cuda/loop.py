"""The launch that simulates: one learner per thread, each against the adversary, in the engine's loop over the steps.

Between two restarts of the last level's routine a thread works on its workspace (:mod:`hlmc.targets.cuda.workspace`).
Everything else, the clocks and the levels above, stays in its row, in float64 and in the layout that the processor
uses, and is touched once per epoch. Workspaces are kept as they are from one launch to the next, so nothing depends on
where a run is cut, if the cuts are multiples of :data:`CHECKED_EVERY` or time points.

Most groups have the same number of arms. For that number there is a copy of the loop in which it is a constant: the
compiler unrolls every loop over the slots, and the draw has no branch left. Where weights only grow, a second copy does
not ask of each weight whether it is one (:func:`hlmc.engine.weights.pieces_clean`), and where restarts are rare it
takes four steps at a time. ``docs/device.md`` has a profile of the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from hlmc.engine import weights
from hlmc.engine.hooks import LoopHooks
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import FOREVER
from hlmc.engine.linker import Kernel, constant, substitute, substitute_where_used
from hlmc.engine.primitives import call_arm_of, call_reward, noinline
from hlmc.engine.records import Level, Run
from hlmc.engine.step import last_level, run, stretch
from hlmc.targets.cuda.arithmetic import always_true, leaf_substitutions, loop_hooks
from hlmc.targets.cuda.code import Code, Layout, code
from hlmc.targets.cuda.dispatch import calls_of
from hlmc.targets.cuda.ftrl import one_path
from hlmc.targets.cuda.primitives import (
    block,
    fetch,
    keep,
    own_view,
    program_view,
    row_view,
    stored_view,
    thread,
    words_from,
    workspace_view,
)
from hlmc.targets.cuda.shape import Shape
from hlmc.targets.cuda.workspace import workspace_kernels

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary

Array = np.ndarray
Words: TypeAlias = Any
Numbers: TypeAlias = Any
"""Fields of a launch record: runs of float64, and of numbers in the precision of workspaces."""

CHECKED_EVERY = 256
"""Cutting a run at a multiple of so many steps changes no number; itself a multiple of every stride."""


# --- Stretches: which copy of the loop takes the next steps


@kernel
def clean_stretch(
    run: Run, level: Level, t: int, pause: int, a: float, b: float, total: float
) -> tuple[int, int, float, float, float, float]:
    """Hook: :func:`hlmc.engine.step.stretch` for a full group of weights alone, ``clean_stride`` steps at a time."""
    return t, 0, 1.0, a, b, total


@kernel
def full_count() -> int:
    """Hook: the number of slots of a full group."""
    return 1


@kernel
def clean_stride() -> int:
    """Hook: steps that :func:`clean_stretch` takes without asking how many are left."""
    return 1


@kernel
def check_interval() -> int:
    """Hook: whether a workspace is clean is asked again at multiples of so many steps. Default: never."""
    return FOREVER


@kernel
def is_clean(workspace: Array, at: int, n: int) -> bool:
    """Hook: whether all words are weights and none is a logarithm. Default: nothing is known of them."""
    return False


@kernel
def stretch_by_count(
    run: Run, level: Level, t: int, pause: int, a: float, b: float, total: float
) -> tuple[int, int, float, float, float, float]:
    """:func:`hlmc.engine.step.stretch` by the copy that fits the group; may stop before ``pause``.

    Arguments and results are those of :func:`hlmc.engine.step.stretch`: the row and the workspace belong to this
    thread, the programs and the adversary's numbers are read only. Not inlined: the loop gets registers of its own,
    and what surrounds it (epochs, time points) does not take any away.

    Strides begin at multiples of ``clean_stride``, and whether a workspace is clean is asked at multiples of
    ``check_interval``. Both depend on t alone, which is why a cut there changes no number. A time point elsewhere can
    change last digits.
    """
    noinline()
    full = full_count()
    if level.n != full:
        return stretch(run, level, t, pause, a, b, total)
    group = Level(level.program, level.record, level.row, level.at, full)
    if is_clean(level.row, level.at, full):
        if t % clean_stride() == 0 and pause - t >= clean_stride():
            return clean_stretch(run, group, t, pause, a, b, total)
        pause = min(pause, t - t % clean_stride() + clean_stride())
    else:
        pause = min(pause, t - t % check_interval() + check_interval())
    return stretch(run, group, t, pause, a, b, total)


@kernel
def always_contiguous(program: Array) -> bool:
    """Instead of ``contiguous``, for structures whose slots are neighbouring arms."""
    return True


@kernel
def never_contiguous(program: Array) -> bool:
    """Instead of ``contiguous``, for the other structures."""
    return False


# --- The arms of the slots, where these are not neighbours: a table at the end of the workspace


@kernel
def arms_start() -> int:
    """Hook: where in the workspace the table begins."""
    return 0


@kernel
def look_arms_up(program: Array, row: Array, notes: Array, n: int) -> None:
    """``start_arms`` for all slots at once: the 32 threads of a warp begin their epochs together, but draw one by one
    what none of them would know yet.
    """
    for slot in range(n):
        notes[arms_start() + slot] = call_arm_of(program, row, slot)


@kernel
def arm_in_table(program: Array, row: Array, notes: Array, slot: int) -> int:
    """``slot_arm`` of a table that is complete."""
    return int(notes[arms_start() + slot])


@kernel
def no_arms(program: Array, row: Array, notes: Array, n: int) -> None:
    """``start_arms`` where there is no table."""


@kernel
def arm_each_time(program: Array, row: Array, notes: Array, slot: int) -> int:
    """``slot_arm`` where there is no table."""
    return call_arm_of(program, row, slot)


# --- The adversary. Its kernels are substituted last, because nothing may be replaced within them: what an adversary
# --- pays must not depend on the precision in which learners learn.


@kernel
def adversary_rule(spec: Array, t: int, arm: int) -> float:
    """Hook: the adversary's ``rule``."""
    return 0.0


@kernel
def adversary_phase_at(spec: Array, t: int) -> tuple[int, int]:
    """Hook: the first kernel of its ``piecewise``."""
    return 0, FOREVER


@kernel
def adversary_reward_of(spec: Array, state: int, arm: int) -> float:
    """Hook: the second one."""
    return 0.0


@kernel
def narrow_reward_of(spec: Array, state: int, arm: int) -> float:
    """Hook: the same in single precision."""
    return 0.0


@kernel
def direct_reward(address: Any, spec: Array, t: int, arm: int) -> float:
    """``call_reward``; there is no address."""
    return adversary_rule(spec, t, arm)


@kernel
def piecewise_phase_at(reward_at: Any, spec: Array, t: int) -> tuple[int, int]:
    """``phase_at`` of a piecewise constant adversary, which is then asked once per phase."""
    return adversary_phase_at(spec, t)


@kernel
def piecewise_reward_of(reward_at: Any, spec: Array, state: int, t: int, arm: int) -> float:
    """``reward_of`` of a piecewise constant adversary."""
    return adversary_reward_of(spec, state, arm)


@kernel
def narrow_learned_reward(spec: Array, state: int, arm: int, reward: float) -> Any:
    """``learned_reward`` computed in single precision: cheaper than the conversion of a float64."""
    return np.float32(narrow_reward_of(spec, state, arm))


# --- The launch


class Launch(NamedTuple):
    """What a launch is given: arrays on the device and sizes, 8 bytes each (:mod:`hlmc.targets.cuda.device`).

    A field's annotation is the C++ type of the run of words. B is the number of blocks, L that of threads per block; a
    thread without a learner touches nothing. A thread writes only its own words of ``rows``, ``workspaces``, ``sums``
    and ``carried``, and 1 to ``flag``.
    """

    programs: Words
    """[policy, program_words] float64."""
    own_programs: Numbers
    """The same in the precision of the workspaces."""
    blocks: Words
    """[B, 3] float64: the numbers of the block's program and spec, and how many of its threads have a learner."""
    rows: Words
    """[B, row_words, L] float64: the learners."""
    workspaces: Numbers
    """[B, workspace_words, L] in working precision: their workspaces between launches."""
    specs: Words
    """[environment, spec_words] float64: the numbers of the adversaries, which have one rule."""
    sums: Words
    """[B, sum_words, L] float64: what was earned in all by each of the stops."""
    carried: Words
    """[B, 1, L] float64: what was earned before the last restart; -(t + 1) if step t paid something not in [0, 1]."""
    flag: Words
    """[1] float64: 1 if there was such a reward."""
    stops: Words
    """[stop_count] float64, increasing: the times at which ``sums`` are noted. The last one ends the launch."""
    spec_words: int
    """Words of a spec."""
    program_words: int
    """Words of a program."""
    row_words: int
    """Words of a row."""
    workspace_words: int
    """Words of a workspace."""
    sum_words: int
    """Words of a learner's sums: more than ``stop_count``, because the loop needs one for itself."""
    stop_count: int
    """How many stops this launch has."""


@kernel
def run_learner(
    program_at: Any,
    own_at: Any,
    row_at: Any,
    workspace_at: Any,
    notes_at: Any,
    reward_at: Any,
    spec_at: Any,
    stops_at: Any,
    sums_at: Any,
    count: int,
) -> int:
    """Hook: :func:`hlmc.engine.step.run` for learners of one shape."""
    return 0


@kernel
def play(launch: Launch) -> None:
    """Entry point: every thread takes its learner to the last of the stops.

    Grid: one block per L learners of one policy. Where workspaces lie in shared memory, a thread loads its own at the
    start and stores it at the end; no thread reads another's, so none waits.
    """
    here = block()
    lane = thread()
    if lane < int(launch.blocks[3 * here + 2]):
        number = int(launch.blocks[3 * here])
        environment = int(launch.blocks[3 * here + 1])
        count = launch.stop_count
        sums = row_view(launch.sums, here, launch.sum_words, lane)
        carried = row_view(launch.carried, here, 1, lane)
        sums[count] = carried[0]
        stored = stored_view(launch.workspaces, here, launch.workspace_words, lane)
        workspace = workspace_view(stored)
        fetch(workspace, stored)
        status = run_learner(
            program_view(launch.programs, number, launch.program_words),
            own_view(launch.own_programs, number, launch.program_words),
            row_view(launch.rows, here, launch.row_words, lane),
            workspace,
            workspace,
            0,
            program_view(launch.specs, environment, launch.spec_words),
            words_from(launch.stops, 0),
            sums,
            count,
        )
        carried[0] = sums[count]
        keep(workspace, stored)
        if status < 0:
            carried[0] = float(status)
            launch.flag[0] = 1.0


# --- Putting it together


def code_of(shape: Shape, adversary: Adversary, layout: Layout) -> Code:
    """The entry point ``play`` for learners of a shape against an adversary.

    It depends on the adversary's kernels (``rule``, ``piecewise``), on whether it is ``binary``, and on whether 32 bits
    hold the numbers of its arms; its other numbers come with ``Launch.specs``.
    """
    linked = substitute(play, {run_learner: loop_of(shape, adversary, layout.precision)})
    return code(layout, {"play": linked}, shape.pieces, shape.loop_words)


def loop_of(shape: Shape, adversary: Adversary, precision: str) -> Kernel:
    """:func:`hlmc.engine.step.run` for learners of a shape against an adversary, in three layers.

    1. The copies of the stretch, each with the last level's routine in working precision.
    2. The loop over the stretches with the same types of numbers.
    3. What works in float64 on every device: the structure with the levels above, and the adversary.

    The order matters, because a substitution reaches everything that is already in place: with the adversary in place
    first, the second layer would replace ``unit`` within it, and its coins would depend on the precision.
    """
    binary = adversary.binary
    leaf = leaf_substitutions(shape, precision, binary)
    held = workspace_kernels(shape, leaf, precision, shape.forgets)
    hooks: dict[str, Kernel] = {
        **loop_hooks(precision, adversary.arms, binary),
        "contiguous": always_contiguous if shape.structure.contiguous else never_contiguous,
        "needs_rescale": held.needs_rescale,
    }
    if precision == "float64" or adversary.arms <= 2**24:  # float32 holds the numbers of so many arms
        place = {arms_start: constant(shape.workspace_words)}
        hooks |= {"start_arms": substitute(look_arms_up, place), "slot_arm": substitute(arm_in_table, place)}
    else:
        hooks |= {"start_arms": no_arms, "slot_arm": arm_each_time}
    if adversary.piecewise is not None:
        hooks |= {"phase_at": piecewise_phase_at, "reward_of": piecewise_reward_of}
        if precision == "float32":
            hooks["learned_reward"] = narrow_learned_reward

    def stretch_of(stride: int, more: dict[Kernel, Kernel]) -> Kernel:
        replaced = {**leaf, **more}
        routine = {
            hook.__name__: substitute_where_used(function, replaced, precision)
            for hook, function in last_level(shape.last, memory=False).items()
        }
        return LoopHooks(**hooks, **routine, stride=constant(stride)).into(stretch)

    steps = stretch_of(1, {})
    if shape.slots > 1:
        by_count: dict[Kernel, Kernel] = {stretch: steps, clean_stretch: steps, full_count: constant(shape.slots)}
        if one_path(shape, precision):
            by_count[full_count] = constant(0)  # which no group has: none needs a copy of its own
        if shape.pieces and shape.only_grows:
            by_count[clean_stretch] = stretch_of(shape.stride, {weights.is_weight: always_true})
            by_count[is_clean] = substitute_where_used(weights.pieces_clean, leaf, precision)
            by_count[clean_stride] = constant(shape.stride)
            by_count[check_interval] = constant(CHECKED_EVERY)
        steps = substitute(stretch_by_count, by_count)
    workspace = {"load_stats": held.load_stats, "store_stats": held.store_stats}
    loop = LoopHooks(**hooks, **workspace, stretch=steps).into(run)
    return substitute_where_used(loop, {**calls_of(shape), **_adversary(adversary)})


def _adversary(adversary: Adversary) -> dict[Kernel, Kernel]:
    """The adversary's kernels in place of the hooks above."""
    kernels: dict[Kernel, Kernel] = {call_reward: direct_reward, adversary_rule: adversary.rule}
    if adversary.piecewise is not None:
        phase_at, reward_of = adversary.piecewise
        kernels |= {adversary_phase_at: phase_at, adversary_reward_of: reward_of}
        kernels[narrow_reward_of] = substitute_where_used(reward_of, {}, "float32")
    return kernels
