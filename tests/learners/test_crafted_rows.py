"""No row and no program that the gate accepts leads a kernel out of its memory, to no arm, or to no probability."""

import ctypes
import hashlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import crafted
import hlmc
from fleets import played
from hlmc import policies
from hlmc.engine import ftrl
from hlmc.engine.layout import (
    ARM,
    ARMS,
    AT,
    BASE,
    CHANCE,
    CHILD,
    CHILDREN,
    CONTROL,
    COUNT,
    DOUBLING,
    FIELDS,
    HORIZON,
    LENGTH,
    LEVELS,
    MEMORY,
    PROBABILITY,
    RECORD,
    SCALARS,
    SIZE,
    SUBLENGTH,
    SUM,
    WORDS,
)
from hlmc.engine.soundness import check_program
from hlmc.engine.step import select
from hlmc.engine.structures.champion import CHALLENGE, CRISIS, DOUBT, TURN
from hlmc.errors import BadArgument
from hlmc.learners import gate
from hlmc.learners.learner import Learner
from hlmc.targets import JIT
from hlmc.targets.interpreter import LinkedProgram

Change = Callable[[np.ndarray, int, int], None]
"""Changes a row, given where the statistics and the control words of its last level begin."""

# --- True rows

PAID_BY: tuple[Callable[[int, np.ndarray], np.ndarray], ...] = (
    lambda t, arms: np.zeros(len(arms)),
    lambda t, arms: np.ones(len(arms)),
    lambda t, arms: (t + arms) % 2.0,
    lambda t, arms: np.where((arms == 0) == (t // 30 % 2 == 0), 1.0, 0.0),
    lambda t, arms: (t * 7919 + arms % 1009 * 104729) * 1299721 % 1000003 / 1000002,
)


@pytest.mark.parametrize("policy", policies.EXAMPLES, ids=repr)
def test_true_rows_are_always_accepted(policy: hlmc.Policy) -> None:
    """At every step, before and after the reward, whatever is paid."""
    seeds, steps = (8, 130) if JIT else (1, 10)
    for reward in PAID_BY:
        fleet = policy.fleet(seeds, seed=4)
        for t in range(min(steps, policy.limit or steps)):
            arms = fleet.select()
            assert gate.first_unsound(policy, fleet.state) == seeds
            fleet.update(reward(t, arms))
            assert gate.first_unsound(policy, fleet.state) == seeds


@pytest.mark.interpreted
@pytest.mark.parametrize(("loss", "digest"), [(1e60, "6aa79119cee351c4"), (1e80, "be6ca23c1127d677")])
def test_losses_that_no_word_can_tell_from_their_normaliser(loss: float, digest: str) -> None:
    """Infinities come up on the way and are not used: compiled and interpreted, without a warning, the same row."""
    policy = hlmc.TsallisINF(arms=4)
    learner = policy.start(seed=3)
    for _ in range(5):
        learner.update(float(learner.select() % 2))
    row = learner.state.copy()
    at, control = (int(policy.program[int(row[RECORD]) + field]) for field in (AT, CONTROL))
    row[at : at + 3] = -1.0, -loss, 0.25
    row[control + SCALARS] = -loss - 1e-15 * loss
    learner = Learner(policy, row)
    for t in range(40):
        learner.select()
        learner.update(float(t % 2))
    assert np.isfinite(learner.state[1:]).all()
    assert hashlib.blake2b(learner.state.tobytes(), digest_size=8).hexdigest() == digest


# --- Absurd rows


def word(place: int, value: float) -> Change:
    """Set a word of the header."""
    return lambda row, at, control: row.__setitem__(place, value)


def control(place: int, value: float) -> Change:
    """Set a control word of the last level."""
    return lambda row, at, control: row.__setitem__(control + place, value)


def statistic(place: int, value: float) -> Change:
    """Set a statistic of the last level."""
    return lambda row, at, control: row.__setitem__(at + place, value)


def top(place: int, value: float) -> Change:
    """Set a control word of the top level of two."""
    return lambda row, at, control: row.__setitem__(control - 5 + place, value)


EXP3 = hlmc.EXP3(arms=10, horizon=1000)
EXP3_TREE = hlmc.EXP3(arms=600, horizon=1000)
EXP3S = hlmc.EXP3S(arms=10, horizon=1000, switches=2)
EXP3S_TREE = hlmc.EXP3S(arms=600, horizon=1000, switches=2)
EXP3P = hlmc.EXP3P(arms=10, horizon=1000)
EXP3LOSS = hlmc.EXP3Loss(arms=10, horizon=1000)
EXP3M = hlmc.EXP3M(arms=17, memory=4)
UCB1 = hlmc.UCB1(arms=10)
TSALLIS = hlmc.TsallisINF(arms=10)
HLMC = hlmc.HLMC(arms=17, groups=(4, 5), horizon=300, epochs=(10, 30))
CHAMPION = hlmc.Champion(arms=30, memory=12, horizon=500)

ABSURD: dict[str, tuple[hlmc.Policy, Change]] = {
    "probability 0": (EXP3, word(PROBABILITY, 0.0)),
    "probability 2": (EXP3, word(PROBABILITY, 2.0)),
    "chance 0": (EXP3, control(CHANCE, 0.0)),
    "chance too small": (EXP3, control(CHANCE, 1e-300)),
    "chance too small for a loss": (EXP3LOSS, control(CHANCE, 1e-300)),
    "chance of a loss 0": (TSALLIS, control(CHANCE, 5e-324)),
    "chance of the level above": (HLMC, top(CHANCE, -1.0)),
    "sum of rewards above": (HLMC, top(SUM, -1e300)),
    "sum of rewards": (HLMC, control(SUM, 1e300)),
    "weight 0": (EXP3, statistic(3, 0.0)),
    "weight denormal": (EXP3, statistic(3, 5e-324)),
    "no logarithm": (EXP3, statistic(3, -1.0)),
    "weight too large": (EXP3, statistic(3, 1e300)),
    "sum of weights 0": (EXP3, control(SCALARS, 0.0)),
    "sum of weights negative": (EXP3, control(SCALARS, -10.0)),
    "sum of weights too large": (EXP3, control(SCALARS, 1e9)),
    "log-odds": (EXP3_TREE, statistic(3, 1e308)),
    "log-odds of EXP3.S": (EXP3S_TREE, statistic(3, -1e290)),
    "EXP3.S: v 0": (EXP3S, statistic(3, 0.0)),
    "EXP3.S: sum 0": (EXP3S, control(SCALARS, 0.0)),
    "EXP3.S: B negative": (EXP3S, control(SCALARS + 1, -1.0)),
    "EXP3.S: B huge": (EXP3S, control(SCALARS + 1, 1e308)),
    "EXP3.P: above the highest": (EXP3P, statistic(3, 1e9)),
    "EXP3.P: highest above all": (EXP3P, control(SCALARS, 1e9)),
    "EXP3.P: sum 0": (EXP3P, control(SCALARS + 1, 0.0)),
    "EXP3-M: gamma 0": (EXP3M, control(SCALARS + 1, 0.0)),
    "EXP3-M: gamma 2": (EXP3M, control(SCALARS + 1, 2.0)),
    "EXP3-M: plays negative": (EXP3M, statistic(5, -1.0)),
    "UCB1: never played": (UCB1, statistic(13, 0.0)),
    "UCB1: more earned than played": (UCB1, statistic(3, 1e9)),
    "UCB1: negative": (UCB1, statistic(3, -1e9)),
    "Tsallis: normaliser beside the losses": (TSALLIS, control(SCALARS, 1.0)),
    "Tsallis: normaliser far off": (TSALLIS, control(SCALARS, -1e300)),
    "Tsallis: rate 0": (TSALLIS, control(SCALARS + 1, 0.0)),
    "Tsallis: rate huge": (TSALLIS, control(SCALARS + 1, 1e300)),
    "Tsallis: loss huge": (TSALLIS, statistic(3, 1e200)),
    "champion: normaliser": (CHAMPION, control(SCALARS, 0.0)),
    "champion: baseline": (CHAMPION, control(SCALARS + 1, 5.0)),
    "champion: normaliser above": (CHAMPION, top(SCALARS, 0.0)),
    "champion: baseline above": (CHAMPION, top(SCALARS + 1, -7.0)),
    "champion: chance above": (CHAMPION, top(CHANCE, 1e-300)),
    "champion: doubt 0": (CHAMPION, word(DOUBT, 0.0)),
    "champion: doubt 0.7": (CHAMPION, word(DOUBT, 0.7)),
    "champion: turn": (CHAMPION, word(TURN, -1.0)),
    "champion: crisis": (CHAMPION, word(CRISIS, 0.5)),
    "champion: challenge": (CHAMPION, word(CHALLENGE, -1.0)),
}


@pytest.mark.parametrize("name", ABSURD)
def test_finite_but_absurd_words_are_refused(name: str) -> None:
    policy, change = ABSURD[name]
    row = played(policy, 35, waiting=True).state.copy()
    Learner(policy, row)
    record = policy.program.reshape(-1, FIELDS)[len(policy.routines_used)]
    change(row, int(record[AT]), int(record[CONTROL]))
    with pytest.raises(BadArgument, match="row must be a state of a learner"):
        Learner(policy, row)


@pytest.mark.interpreted
@pytest.mark.parametrize("child", [-1, 4])
def test_a_group_that_is_not_there_is_refused_whatever_else_says_that_it_is(child: int) -> None:
    """Else arms from -5 on would be played: all words that follow from the group are as if it were there."""
    row = played(HLMC, 5).state.copy()
    assert row[BASE] == 5 * row[int(HLMC.program[FIELDS + CONTROL]) + CHILD]
    row[int(HLMC.program[FIELDS + CONTROL]) + CHILD] = child
    row[BASE], row[COUNT] = 5 * child, min(5, HLMC.arms - 5 * child)
    with pytest.raises(BadArgument, match="row must be a state of a learner"):
        Learner(HLMC, row)


def test_ucb1_awaits_the_slot_whose_turn_it_is() -> None:
    """Else a slot could be left out of the first round, and its index divide by 0 plays."""
    row = played(UCB1, 4, waiting=True).state.copy()
    start = int(UCB1.program[FIELDS + CONTROL])
    row[start + CHILD] = row[2] = 7.0
    with pytest.raises(BadArgument, match="row must be a state of a learner"):
        Learner(UCB1, row)


# --- Programs

FLAWED: dict[str, tuple[hlmc.Policy, int, int, float]] = {
    "no arms": (HLMC, 0, ARMS, 0.0),
    "more arms": (HLMC, 0, ARMS, 50.0),
    "levels": (HLMC, 0, LEVELS, 3.0),
    "a stage without records": (EXP3, 0, DOUBLING, 10.0),
    "a horizon without stages": (hlmc.EXP3(10, None), 0, HORIZON, 2.0**53),
    "fewer words": (HLMC, 0, WORDS, 10.0),
    "words that are none": (HLMC, 0, WORDS, math.nan),
    "statistics elsewhere": (HLMC, 2, AT, 0.0),
    "statistics between words": (HLMC, 2, AT, 23.5),
    "control words elsewhere": (HLMC, 1, CONTROL, 1e6),
    "a child of no arms": (HLMC, 1, SIZE, 0.0),
    "a child of few arms": (HLMC, 1, SIZE, 2.0),
    "slots of several arms": (HLMC, 2, SIZE, 2.0),
    "a choice of no steps": (HLMC, 1, LENGTH, 0.0),
    "choices that do not nest": (HLMC, 2, LENGTH, 7.0),
    "few children": (HLMC, 1, CHILDREN, 2.0),
    "few phases": (EXP3M, 0, SUBLENGTH, 1.0),
    "more memory than arms": (EXP3M, 0, MEMORY, 18.0),
    "more memory than words": (EXP3M, 0, MEMORY, 6.0),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("name", FLAWED)
def test_flawed_programs_are_refused(name: str) -> None:
    policy, record, word, value = FLAWED[name]
    table = policy.program.reshape(-1, FIELDS).copy()
    rooms = [routine.words for routine in policy.routines_used]
    check_program(table, policy.structure, rooms)
    table[record, word] = value
    with pytest.raises(BadArgument, match="program"):
        check_program(table, policy.structure, rooms)


# --- Probabilities


@pytest.mark.interpreted
def test_no_loss_is_so_large_that_its_slot_has_probability_0() -> None:
    slot, chance = ftrl.ftrl_draw(np.array([0.0, 1e200]), 0, 3, 2.0, -4.0, 0.6, 1.0 - 2.0**-53)
    assert slot == 2
    assert chance > 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("chance", [1e-14, 1e-17, 1e-20, 1e-79])
def test_a_loss_over_the_least_chance_leaves_a_row_that_is_accepted(chance: float) -> None:
    """Slot 0 has no word, so its loss is taken from all others and from the normaliser, and rounds them."""
    policy = hlmc.TsallisINF(3)
    row = played(policy, 20, waiting=True).state.copy()
    control = int(policy.program[int(row[RECORD]) + CONTROL])
    row[ARM] = row[control + CHILD] = 0.0
    row[control + CHANCE] = chance
    learner = Learner(policy, row)
    for _ in range(3):
        learner.update(0.0)
        assert gate.first_unsound(policy, learner.state[None, :].copy()) == 1
        learner.select()


@pytest.mark.interpreted
def test_a_product_of_many_chances_is_no_0() -> None:
    """Seen through a structure and a routine that choose what is next to impossible."""
    program = HLMC.program.copy().view(LinkedProgram)

    def rare(program: LinkedProgram, level: int, row: np.ndarray, at: int, n: int, control: int, *_: float) -> None:
        row[control + CHILD], row[control + CHANCE] = 0.0, 1e-300

    program.structure = SimpleNamespace(begin=lambda program, row, t: 1e-300)  # type: ignore[assignment]
    program.routines = (SimpleNamespace(select=rare),) * 2  # type: ignore[assignment]
    row = played(HLMC, 30).state.copy()  # the next step begins an epoch
    with np.errstate(over="ignore"):
        assert select(program, row) >= 0
    assert 0.0 < row[PROBABILITY] < 1e-300


# --- Crafted rows and programs


@pytest.mark.parametrize(("jit", "count"), [(True, 3000), (False, 120)], ids=["native", "interpreter"])
def test_crafted_rows_and_programs_are_refused_or_harmless(jit: bool, count: int) -> None:
    """``python tests/crafted.py COUNT`` is the long form."""
    found, texts = crafted.attacked(crafted.SHORT, count, math.inf, jit)
    assert texts == []
    assert found[crafted.REFUSED] + found[crafted.HARMLESS] == sum(found.values()) == count
    assert found[crafted.REFUSED] > count // 10
    assert found[crafted.HARMLESS] > count // 10


def test_crafted_rows_whose_arms_come_and_go_are_refused_or_harmless() -> None:
    found, texts = crafted.attacked(crafted.DYNAMIC, 1500, math.inf, True)
    assert texts == []
    assert min(found[crafted.REFUSED], found[crafted.HARMLESS]) > 100


def test_crafted_rows_of_a_champion_of_three_levels_are_refused_or_harmless() -> None:
    """Found so: one that had drawn a group that is next to impossible stated 0 for its choice, and divided by it."""
    here = crafted.stage(hlmc.Champion(arms=100, memory=14, horizon=400, switches=2), at_end=True)
    found = {crafted.tried(random.Random(f"1 {trial}"), here) for trial in range(2000)}
    assert found == {crafted.HARMLESS, crafted.REFUSED}


def python(code: str, jit: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HLMC_JIT": "1" if jit else "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_without_the_checks_of_the_routines_crafted_rows_do_harm() -> None:
    """The same trials find something when there is something to find: here, or by a kernel that never ends."""
    with tempfile.NamedTemporaryFile() as note:
        note.write(bytes(8))
        note.flush()
        code = f"""
import math, numpy as np, resource, crafted
from hlmc.engine.primitives import CHECK
from hlmc.engine.routines import level_check
all_finite = crafted.callback(level_check, CHECK).address
crafted.gate.checks_of = lambda policy: np.array([all_finite] * len(policy.routines_used), np.int64)
used = math.ceil(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
resource.setrlimit(resource.RLIMIT_CPU, (used + 8, used + 8))
crafted.work(crafted.SHORT, 1, 1000, math.inf, {note.name!r})
"""
        done = python(code, jit=True)
    if done.returncode == 0:
        assert set(json.loads(done.stdout)["found"]) & set(crafted.HARM)
    else:
        assert done.returncode in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGSEGV), done.stderr


@pytest.mark.parametrize(("at_end", "place"), [(True, 5), (False, -1)])
def test_guard_pages_end_a_process_that_leaves_its_words(at_end: bool, place: int) -> None:
    code = (
        f"import crafted, ctypes; run = crafted.Guarded(5).words(5, {at_end}); run[:] = 1.0; "
        f"print(ctypes.c_double.from_address(run.ctypes.data + 8 * {place}).value)"
    )
    assert python(code, jit=False).returncode == -signal.SIGSEGV
    inside = code.replace(f"* {place}", f"* {4 if at_end else 0}")
    assert python(inside, jit=False).stdout == "1.0\n"


@pytest.mark.parametrize("place", [-1, 5])
def test_checked_words_have_no_other_index(place: int) -> None:
    run = np.zeros(5).view(crafted.Checked)
    with pytest.raises(IndexError):
        run[place]
    with pytest.raises(IndexError):
        run[place] = 1.0
    with pytest.raises(IndexError):
        run[place : place + 1]
    assert ctypes.sizeof(ctypes.c_double) * len(run[2:]) == 24
