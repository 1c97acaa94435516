"""An agent's turn on a device: what it learns of the last round and chooses for the next.

What an agent holds from one round to the next lies together with its neighbours', so that a warp reads and writes it in
few transactions:

=================  ================================================================================================
*registers*        :data:`REGISTERS` words in working precision: the control words of its last level, that is, the
                   slot chosen, its probability, and the routine's two scalars. The SUM word is unused there and
                   stores the arm chosen, or the first arm of the group where slots are neighbouring arms.
*workspace*        the statistics of its last level (:mod:`hlmc.targets.cuda.workspace`), in working precision
*epoch reward*     one float64: what it earned in this epoch
=================  ================================================================================================

Its row, in float64, is written only when an epoch begins or ends. An agent's words are read and written by the thread
that plays it and by no other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import (
    ARMS,
    AT,
    BASE,
    CHANCE,
    CHILD,
    CHILDREN,
    CONTROL,
    FIELDS,
    LEVEL_CONTROL,
    LEVELS,
    RECORD,
    SCALARS,
    SUM,
)
from hlmc.engine.linker import Kernel, constant, substitute, substitute_where_used
from hlmc.engine.primitives import call_arm_of, noinline
from hlmc.engine.records import Level
from hlmc.engine.routines import routine_select, routine_update
from hlmc.engine.step import needs_rescale
from hlmc.games.turn import Agent, TurnHooks, take_turn
from hlmc.targets.cuda.arithmetic import leaf_substitutions, single, single_unit
from hlmc.targets.cuda.dispatch import calls_of
from hlmc.targets.cuda.shape import Shape
from hlmc.targets.cuda.workspace import WorkspaceKernels, workspace_kernels
from hlmc.targets.cuda.workspace import load as load_workspace
from hlmc.targets.cuda.workspace import rescale as rescale_workspace
from hlmc.targets.cuda.workspace import store as store_workspace

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

REGISTERS = LEVEL_CONTROL
"""Words of an agent's registers."""
HELD_ARM = SUM
"""Where in them the arm lies."""


@dataclass(frozen=True)
class AgentShape:
    """What policies must share for their agents to be played by one piece of machine code.

    Parameters
    ----------
    shape
        The shape of the policy; agents take one step at a time, so its stride is 1.
    levels
        How many levels the policy has.
    record
        Where the record of the last level lies in the program; 0 if that changes with time.
    count
        How many arms every group has; 0 if groups differ.
    """

    shape: Shape
    levels: int
    record: int
    count: int

    @classmethod
    def of(cls, policy: Policy) -> AgentShape:
        """The shape of a policy's agents."""
        shape = replace(Shape.of(policy), stride=1)
        header, *records = policy.program.reshape(-1, FIELDS)
        levels = int(header[LEVELS])
        record = FIELDS * levels if len(records) == levels else 0  # a single stage
        if not shape.structure.full_groups:
            return cls(shape, levels, record, 0)
        children = np.array(records)[:, CHILDREN].astype(int).reshape(-1, levels)
        even = all(math.prod(stage) == int(header[ARMS]) and stage[-1] == shape.slots for stage in children)
        return cls(shape, levels, record, shape.slots if even else 0)


# --- What is known of all agents of a shape, as constants


@kernel
def level_count() -> int:
    """Hook: the number of levels."""
    return 1


@kernel
def record_start() -> int:
    """Hook: where the record of the last level lies."""
    return FIELDS


@kernel
def full_count() -> int:
    """Hook: the number of slots of a full group."""
    return 1


@kernel
def workspace_start() -> int:
    """Hook: where in the workspace the statistics begin."""
    return 0


@kernel
def fixed_levels(program: Array) -> int:
    """``levels_of`` as a constant."""
    return level_count()


@kernel
def fixed_record(program: Array, row: Array) -> int:
    """``record_of`` as a constant: the row is not read."""
    return record_start()


@kernel
def fixed_count(row: Array) -> int:
    """``count_of`` as a constant: the row is not read."""
    return full_count()


@kernel
def fixed_stats(program: Array, level: int) -> int:
    """``stats_at``: the workspace holds one level."""
    return workspace_start()


@kernel
def first_word(program: Array, level: int) -> int:
    """``registers_at`` and ``reward_at``: registers hold one level, and the epoch reward is one word."""
    return 0


# --- The arm chosen


@kernel
def contiguous_held_arm(row: Array, registers: Array, slot: int) -> int:
    """``held_arm`` where slots are neighbouring arms: the registers hold the first arm of the group."""
    return int(registers[HELD_ARM]) + slot


@kernel
def contiguous_take_arm(program: Array, row: Array, registers: Array, slot: int) -> int:
    """``take_arm`` where slots are neighbouring arms: nothing is written."""
    return int(registers[HELD_ARM]) + slot


@kernel
def held_arm(row: Array, registers: Array, slot: int) -> int:
    """``held_arm`` otherwise: the registers hold the arm."""
    return int(registers[HELD_ARM])


@kernel
def take_arm(program: Array, row: Array, registers: Array, slot: int) -> Any:
    """``take_arm`` otherwise: ask the structure, and keep the arm in the registers."""
    arm = call_arm_of(program, row, slot)
    registers[HELD_ARM] = arm
    return arm


# --- Epochs


@kernel
def no_epoch_begins(row: Array, t: int) -> bool:
    """``epoch_begins`` in a turn in the middle of an epoch."""
    return False


@kernel
def no_credit(totals: Array, i: int, payoffs: Array, arm: int) -> None:
    """``credit``: what was earned in this epoch is added to the totals when it ends."""


@kernel
def load_agent(program: Array, row: Array, workspace: Array, registers: Array, epoch_reward: Array) -> None:
    """An epoch has begun: set registers, workspace and epoch reward to what ``begin`` left in the row.

    Not inlined: once per epoch, and it would take registers from every turn.
    """
    noinline()
    level = int(row[RECORD])
    control = int(program[level + CONTROL])
    load_workspace(program, row, int(program[level + AT]), workspace)
    registers[CHILD] = 0.0
    registers[CHANCE] = 1.0
    registers[HELD_ARM] = row[BASE]
    registers[SCALARS] = row[control + SCALARS]
    registers[SCALARS + 1] = row[control + SCALARS + 1]
    epoch_reward[0] = row[control + SUM]


@kernel
def store_agent(
    program: Array,
    row: Array,
    level: int,
    workspace: Array,
    registers: Array,
    epoch_reward: Array,
    totals: Array,
    i: int,
) -> None:
    """An epoch ends: write registers, workspace and epoch reward to the row, as ``end`` expects them.

    The epoch reward is added to ``totals[i]`` and becomes 0, so that their sum is always what the agent has earned.
    """
    noinline()
    control = int(program[level + CONTROL])
    row[control + CHILD] = registers[CHILD]
    row[control + CHANCE] = registers[CHANCE]
    row[control + SCALARS] = store_workspace(program, row, int(program[level + AT]), workspace, registers[SCALARS])
    row[control + SCALARS + 1] = registers[SCALARS + 1]
    row[control + SUM] = epoch_reward[0]
    totals[i] += epoch_reward[0]
    epoch_reward[0] = 0.0


@kernel
def rescale(program: Array, row: Array, level: int, workspace: Array, registers: Array) -> None:
    """Rescale the workspace, and with it the routine's first scalar, the sum of the weights.

    The row is read for the number of arms; not inlined, because it is rarely needed.
    """
    noinline()
    registers[SCALARS] = rescale_workspace(row, workspace, registers[SCALARS])


# --- Groups that differ in size: most are full, and for these there is a copy of the routine with constant loops


@kernel
def select_by_count(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """The routine's ``select``, twice: with n a constant where the group is full.

    A compiler that knows n has no loop left over the slots; the arguments are those of the routine.
    """
    if level.n == full_count():
        return routine_select(Level(level.program, level.record, level.row, level.at, full_count()), a, b, tau, u)
    return routine_select(level, a, b, tau, u)


@kernel
def update_by_count(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """The routine's ``update``, twice: with n a constant where the group is full."""
    if level.n == full_count():
        return routine_update(
            Level(level.program, level.record, level.row, level.at, full_count()), a, b, tau, slot, chance, reward
        )
    return routine_update(level, a, b, tau, slot, chance, reward)


# --- Agents of several shapes in one game: a chain of comparisons


@kernel
def this_kind() -> int:
    """Hook: the number of the shape that a link of the chain plays."""
    return 0


@kernel
def this_needs_rescale(a: float) -> bool:
    """Hook: whether a workspace of that shape must be rescaled, judged by the routine's first scalar."""
    return False


@kernel
def never_needs_rescale(a: float) -> bool:
    """``this_needs_rescale`` for a routine without weights. Every link replaces every hook, or an outer one would."""
    return False


@kernel
def other_turn(kind: int, agent: Agent, seen: Array, t: int, learn: int, choose: int) -> tuple[int, bool]:
    """Hook: the rest of the chain, or all of it."""
    return 0, False


@kernel
def no_turn(kind: int, agent: Agent, seen: Array, t: int, learn: int, choose: int) -> tuple[int, bool]:
    """The end of the chain, which is never reached."""
    return 0, False


@kernel
def turn_link(kind: int, agent: Agent, seen: Array, t: int, learn: int, choose: int) -> tuple[int, bool]:
    """The turn of an agent of shape number ``kind``: the arm, and whether its workspace must be rescaled now.

    Parameters
    ----------
    kind
        The agent's shape: all threads of a block have the same, so the comparison does not diverge.
    agent
        Its words.
    seen
        [arm] float64: what each arm paid in the last round, as learners see it; read only. Payoffs in the game's units
        are not needed, because :func:`no_credit` does not ask for them.
    t, learn, choose
        The round to choose for; whether (1 or 0) there is a round to learn from, and one to choose for.
    """
    if kind == this_kind():
        arm = take_turn(agent, 0, seen, seen, t, learn, choose)
        return arm, this_needs_rescale(agent.registers[SCALARS])
    return other_turn(kind, agent, seen, t, learn, choose)


# --- Putting it together


def turn_chains(shapes: tuple[AgentShape, ...], precision: str) -> tuple[Kernel, Kernel]:
    """The turns of agents of all shapes: at any time, and in the middle of everybody's epoch.

    Both take the arguments of :func:`turn_link`; ``kind`` is a place in ``shapes``.

    The second contains nothing of beginnings and endings, which would take registers. It does not rescale either, but
    says when that is needed; the next turn then is a full one.
    """
    full, short = no_turn, no_turn
    for kind in reversed(range(len(shapes))):
        turn, short_turn, needed = turns(shapes[kind], precision)
        which = {this_kind: constant(kind)}
        full = substitute(turn_link, {**which, take_turn: turn, other_turn: full})
        short = substitute(turn_link, {**which, take_turn: short_turn, other_turn: short, this_needs_rescale: needed})
    return full, short


def turns(agent: AgentShape, precision: str) -> tuple[Kernel, Kernel, Kernel]:
    """An agent's turn at any time and in the middle of an epoch, and whether a workspace must be rescaled.

    The third result looks at the routine's first scalar.

    Calls of the structure and of routines are made direct within a turn, for other shapes have other routines.
    """
    shape = agent.shape
    leaf = leaf_substitutions(shape, precision)
    held = workspace_kernels(shape, leaf, precision, forgets=False)
    turn = TurnHooks(**_routine(agent, leaf, precision), **_memory(agent, held, precision))
    short = replace(turn, epoch_begins=no_epoch_begins, needs_rescale=needs_rescale)
    calls = calls_of(shape)
    return (
        substitute_where_used(turn.into(take_turn), calls),
        substitute_where_used(short.into(take_turn), calls),
        held.needs_rescale if shape.pieces else never_needs_rescale,
    )


def _routine(agent: AgentShape, leaf: dict[Kernel, Kernel], precision: str) -> dict[str, Kernel]:
    """The hooks of the last level's routine: its kernels in working precision, by the size of the group."""
    shape = agent.shape
    select = substitute_where_used(shape.last.select, leaf, precision)
    update = substitute_where_used(shape.last.update, leaf, precision)
    if agent.count == 0 and shape.slots > 1:
        full = {full_count: constant(shape.slots)}
        select = substitute(select_by_count, {routine_select: select, **full})
        update = substitute(update_by_count, {routine_update: update, **full})
    return {"routine_select": select, "routine_update": update}


def _memory(agent: AgentShape, held: WorkspaceKernels, precision: str) -> dict[str, Kernel]:
    """The hooks that say where an agent's words lie and in what precision."""
    hooks: dict[str, Kernel] = {
        "levels_of": substitute(fixed_levels, {level_count: constant(agent.levels)}),
        "registers_at": first_word,
        "reward_at": first_word,
        "stats_at": substitute(fixed_stats, {workspace_start: held.stats_start}),
        "held_arm": held_arm,
        "take_arm": take_arm,
        "credit": no_credit,
        "load_agent": substitute(load_agent, {load_workspace: held.load}),
        "store_agent": substitute(store_agent, {store_workspace: held.store}),
    }
    if agent.shape.structure.contiguous:
        hooks |= {"held_arm": contiguous_held_arm, "take_arm": contiguous_take_arm}
    if agent.shape.pieces:
        hooks["needs_rescale"] = held.needs_rescale
        hooks["rescale"] = substitute(rescale, {rescale_workspace: held.rescale})
    if agent.record:
        hooks["record_of"] = substitute(fixed_record, {record_start: constant(agent.record)})
    if agent.count:
        hooks["count_of"] = substitute(fixed_count, {full_count: constant(agent.count)})
    if precision == "float32":
        hooks |= {"working": single, "unit": single_unit}
    return hooks
