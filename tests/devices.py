"""Where the tests of a device run, and device code under the interpreter, with workspaces of either precision."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.linker import substitute_where_used
from hlmc.engine.primitives import function_address
from hlmc.games import board as layout
from hlmc.games.cuda.agents import REGISTERS, AgentShape, turn_chains
from hlmc.games.match import Board, game_key
from hlmc.games.referee import add_up, appraise, price, tally
from hlmc.games.runs import Task as GameTask
from hlmc.games.turn import Agent
from hlmc.learners.learner import fresh_rows
from hlmc.simulation.runs import Task
from hlmc.streams import derive_seed, keys
from hlmc.targets.cuda import arithmetic
from hlmc.targets.cuda.loop import loop_of
from hlmc.targets.cuda.shape import Shape

Array = np.ndarray

HOST = os.environ.get("HLMC_DEVICE_TESTS") != "1"
"""Whether a host plays in place of a GPU: exactly, and in small sizes."""


def _of_the_library(name: str) -> Callable[[Any], Any]:
    """A function of the C library in single precision, as device code on a host calls it."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return kernel(lambda x: np.float32(function(float(x))))


@kernel
def _whole(x):
    """Counters without end."""
    return int(x)


INTERPRETED = {
    arithmetic.exp2: _of_the_library("exp2f"),
    arithmetic.fast_exp: _of_the_library("expf"),
    arithmetic.library_log: _of_the_library("logf"),
    arithmetic.library_expm1: _of_the_library("expm1f"),
    arithmetic.library_log1p: _of_the_library("log1pf"),
    arithmetic.in_32_bits: _whole,
}
"""What stands for the device's own functions."""


def interpreted(task: Task, stops: Sequence[int], precision: str) -> tuple[Array, Array, Array]:
    """Play a task's runs by the interpreter, one call for each of the stops.

    Rows [run, word] and workspaces [run, word] then, and the rewards until each of the stops [run, stop].
    """
    shape = Shape.of(task.compiled)
    precision = shape.precision(precision)
    loop = substitute_where_used(loop_of(shape, task.adversary, precision), INTERPRETED)
    program = shape.program(task.compiled)
    spec = np.asarray(task.adversary.spec_in(lambda array: array.ctypes.data), dtype=np.float64)
    rows = fresh_rows(task.compiled, task.keys())
    workspaces = np.zeros((task.count, shape.loop_words), precision)
    rewards = np.zeros((task.count, len(stops)))
    for run, (row, workspace) in enumerate(zip(rows, workspaces, strict=True)):
        carried = 0.0
        for i, stop in enumerate(stops):
            sums = np.array([0.0, carried])
            given = (program, program.astype(precision), row, workspace, workspace, 0, spec)
            with np.errstate(all="ignore"):  # words wrap around
                assert loop(*given, np.array([float(stop)]), sums, 1) == 0
            rewards[run, i], carried = sums
    return rows, workspaces, rewards


def interpreted_game(task: GameTask, rounds: int, precision: str) -> tuple[Board, Array, list[Array]]:
    """Play a run of a game by the interpreter: the board, what every agent earned as learners see it, workspaces."""
    game, groups = task.game, task.groups
    shapes = [AgentShape.of(group.compiled) for group in groups]
    kinds = tuple(dict.fromkeys(shapes))
    turn = substitute_where_used(turn_chains(kinds, precision)[0], INTERPRETED)
    pay, observe, *facts = (function_address(each) for each in (game.pay, game.observe, *game.facts.values()))
    board = Board(game, [group.agents for group in groups], facts)
    words, spec = board.words, np.asarray(game.spec, dtype=np.float64)
    state = game.start(game_key(derive_seed(task.seed, task.run)))
    counts, payoffs, seen, members = (
        words[int(words[name]) :] for name in (layout.COUNTS, layout.PAYOFFS, layout.SEEN, layout.MEMBERS)
    )
    agents: list[tuple[int, int, Agent]] = []
    for g, (group, shape) in enumerate(zip(groups, shapes, strict=True)):
        program = shape.shape.program(group.compiled)
        everyone = keys(derive_seed(task.seed, group.name, task.run), 0, group.agents)
        for row in fresh_rows(group.compiled, everyone):
            own = [np.zeros(size, precision) for size in (shape.shape.workspace_words, REGISTERS)]
            agent = Agent(program, program.astype(precision), row, *own, np.zeros(1), np.zeros(1))
            agents.append((g, kinds.index(shape), agent))
    with np.errstate(all="ignore"):
        for t in range(rounds + 1):
            learn, choose = int(t > 0), int(t < rounds)
            chosen = np.zeros(len(groups) * game.arms)
            for g, kind, agent in agents:
                arm, _ = turn(kind, agent, seen, t, learn, choose)
                if choose:
                    chosen[g * game.arms + int(arm)] += 1
            if choose:
                layout.call_observe(observe, spec, state, t, counts, payoffs)
                members[: len(chosen)] = chosen
                for arm in range(game.arms):
                    tally(words, arm)
                for arm in range(game.arms):
                    assert price(words, spec, state, pay, t, arm)
                    appraise(words, spec, state, pay, t, arm)
                for item in range(len(groups) * (1 + len(facts))):
                    add_up(words, item)
    earned = np.array([agent.totals[0] + agent.epoch_reward[0] for _, _, agent in agents])
    return board, earned, [agent.workspace for _, _, agent in agents]
