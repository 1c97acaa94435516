"""One agent's turn: learn from the last round, choose for the next; and what a GPU replaces in it.

Hooks say where an agent keeps what it holds from one pass to the next. On the processor all of it lies in the agent's
row. A GPU keeps it together, in the precision asked for, and touches the row only when an epoch begins or ends: the
*registers* (the control words of the last level), the *workspace* (its statistics) and the *epoch reward*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hlmc.engine import arithmetic, routines, step, stream
from hlmc.engine.arithmetic import working
from hlmc.engine.hooks import Hook, Hooks
from hlmc.engine.kernel import kernel, record
from hlmc.engine.layout import (
    ARM,
    AT,
    BEGAN,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    KEY,
    LEVELS,
    RECORD,
    SCALARS,
    SUM,
    UNTIL,
)
from hlmc.engine.primitives import bits, call_begin, call_end
from hlmc.engine.records import Level
from hlmc.engine.routines import routine_select, routine_update
from hlmc.engine.step import arm_of, needs_rescale
from hlmc.engine.stream import increment, number, unit

Array = np.ndarray


@kernel
def record_of(program: Array, row: Array) -> int:
    """Where the record of the routine over the arms lies in the program."""
    return int(row[RECORD])


@kernel
def count_of(row: Array) -> int:
    """How many arms are in play."""
    return int(row[COUNT])


@kernel
def epoch_begins(row: Array, t: int) -> bool:
    """Whether an epoch ends before round t, and another begins with it."""
    return t == int(row[UNTIL])


@kernel
def levels_of(program: Array) -> int:
    """How many levels a policy has."""
    return int(program[LEVELS])


@kernel
def registers_at(program: Array, level: int) -> int:
    """Where in the registers the control words of the last level begin."""
    return int(program[level + CONTROL])


@kernel
def reward_at(program: Array, level: int) -> int:
    """Where in the words of the epoch reward it lies."""
    return int(program[level + CONTROL]) + SUM


@kernel
def stats_at(program: Array, level: int) -> int:
    """Where in the workspace the statistics of the last level begin."""
    return int(program[level + AT])


@kernel
def held_arm(row: Array, registers: Array, slot: int) -> int:
    """The arm chosen in the last pass."""
    return int(row[ARM])


@kernel
def take_arm(program: Array, row: Array, registers: Array, slot: int) -> int:
    """The arm that a slot stands for, from now on the arm chosen."""
    arm = arm_of(program, row, slot)
    row[ARM] = arm
    return arm


@kernel
def credit(totals: Array, i: int, payoffs: Array, arm: int) -> None:
    """Add to what an agent has earned."""
    totals[i] += payoffs[arm]


@kernel
def load_agent(program: Array, row: Array, workspace: Array, registers: Array, epoch_reward: Array) -> None:
    """An epoch has begun: load what the row says of the last level."""


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
    """An epoch ends: bring the row up to date."""


@kernel
def rescale(program: Array, row: Array, level: int, workspace: Array, registers: Array) -> None:
    """Rescale a workspace whose statistics have grown or shrunk too far."""


@record
class Agent(NamedTuple):
    """The words of one agent's turn. On the processor all but the programs and ``totals`` are its row.

    All but the programs are read and written by its own thread alone.
    """

    program: Array
    """The policy's program, float64; read only, shared by the group."""
    own: Array
    """The same in working precision."""
    row: Array
    """The agent's row, float64."""
    workspace: Array
    """Its workspace, in working precision."""
    registers: Array
    """Its registers, in working precision."""
    epoch_reward: Array
    """float64: what it earned in this epoch."""
    totals: Array
    """[agent] float64: what every agent has earned; on a GPU [1], what this one earned in the epochs before."""


@kernel
def take_turn(agent: Agent, i: int, payoffs: Array, seen: Array, t: int, learn: int, choose: int) -> int:
    """Learn from round t - 1, choose for round t: the arm, or -1 where nothing is chosen.

    The same as :func:`hlmc.engine.step.update`, then :func:`hlmc.engine.step.select`. The clock is the game's: all
    agents of a run are at the same time.

    Parameters
    ----------
    agent, i
        The agent's words, and its place in ``agent.totals``.
    payoffs, seen
        [arm] what each arm paid in the last round, in the game's units and as a reward in [0, 1].
    t, learn, choose
        The round to choose for; whether there is a round to learn from, and one to choose for.
    """
    program, row, workspace, registers = agent.program, agent.row, agent.workspace, agent.registers
    epoch_reward = agent.epoch_reward
    fresh = epoch_begins(row, t)
    key = bits(row, KEY)
    if learn:
        # Everything that is needed is asked for before anything is written: memory answers all of it at once.
        level = record_of(program, row)
        n = count_of(row)
        control = registers_at(program, level)
        earned_at = reward_at(program, level)
        earned = epoch_reward[earned_at]
        slot = int(registers[control + CHILD])
        chance = registers[control + CHANCE]
        a = registers[control + SCALARS]
        b = registers[control + SCALARS + 1]
        tau = t - 1 - int(row[BEGAN])
        arm = held_arm(row, registers, slot)
        gain = seen[arm]
        credit(agent.totals, i, payoffs, arm)
        epoch_reward[earned_at] = earned + gain
        if n > 1:
            place = stats_at(program, level)
            a, b = routine_update(Level(agent.own, level, workspace, place, n), a, b, tau, slot, chance, working(gain))
            registers[control + SCALARS] = a
            registers[control + SCALARS + 1] = b
        if fresh:
            store_agent(program, row, level, workspace, registers, epoch_reward, agent.totals, i)
            call_end(program, row, t)
        elif needs_rescale(a):
            rescale(program, row, level, workspace, registers)
    if not choose:
        return -1
    if fresh:
        call_begin(program, row, t)
        load_agent(program, row, workspace, registers, epoch_reward)
    slot = 0
    n = count_of(row)
    if n > 1:
        level = record_of(program, row)
        control = registers_at(program, level)
        a = registers[control + SCALARS]
        b = registers[control + SCALARS + 1]
        place = stats_at(program, level)
        tau = t - int(row[BEGAN])
        u = unit(number(key, increment(key), t, levels_of(program) - 1))
        slot, chance = routine_select(Level(agent.own, level, workspace, place, n), a, b, tau, u)
        registers[control + CHILD] = slot
        registers[control + CHANCE] = chance
    return take_arm(program, row, registers, slot)


@dataclass(frozen=True)
class TurnHooks(Hooks):
    """What a target may replace in an agent's turn (:func:`take_turn`)."""

    routine_select: Hook = routines.routine_select
    """The last level's choice."""
    routine_update: Hook = routines.routine_update
    """What the last level learns."""
    record_of: Hook = record_of
    """Where the record of the last level lies."""
    count_of: Hook = count_of
    """How many arms are in play."""
    epoch_begins: Hook = epoch_begins
    """Whether an epoch ends before this round."""
    levels_of: Hook = levels_of
    """How many levels a policy has."""
    registers_at: Hook = registers_at
    """Where the control words lie in the registers."""
    reward_at: Hook = reward_at
    """Where the epoch reward lies."""
    stats_at: Hook = stats_at
    """Where the statistics lie in the workspace."""
    held_arm: Hook = held_arm
    """The arm chosen in the last pass."""
    take_arm: Hook = take_arm
    """The arm of a slot."""
    credit: Hook = credit
    """Add to what an agent has earned."""
    load_agent: Hook = load_agent
    """Load what the row says when an epoch begins."""
    store_agent: Hook = store_agent
    """Bring the row up to date when an epoch ends."""
    needs_rescale: Hook = step.needs_rescale
    """Whether the workspace must be rescaled."""
    rescale: Hook = rescale
    """Rescale the workspace."""
    working: Hook = arithmetic.working
    """A float in the precision of the workspace."""
    unit: Hook = stream.unit
    """A number in [0, 1) from 64 random bits."""
