"""Rows and programs crafted to lead a kernel astray: whatever the gate accepts must play arms, and nothing but those.

``test_crafted_rows.py`` has the short form. The long form is ``python tests/crafted.py COUNT [SECONDS]``: COUNT crafted
rows and programs per structure, within so many seconds in all, and a table of what came of them.

Rows that the gate accepts are played on for :data:`BY_HAND` steps by select and update and for :data:`IN_LOOP` steps in
the loop, in processes of their own, in two ways. *native*: compiled, with the row and the linked program in memory of
their own between pages that nobody may touch, at the very end of it in one half of the trials and at the very start in
the other; an access outside ends the process. *interpreter*: with arrays that check every index, some hundred times
slower, so it has a share of :data:`INTERPRETED` of the trials.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hlmc
from hlmc import routines
from hlmc.engine import codes, weights
from hlmc.engine.coded_weights import shares_total
from hlmc.engine.ftrl import normaliser
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARM,
    AT,
    BEGAN,
    CHANCE,
    CHILDREN,
    CONTROL,
    COUNT,
    FIELDS,
    KEY,
    LEVEL_CONTROL,
    PARAMETERS,
    PROBABILITY,
    RECORD,
    SCALARS,
    TIME,
    WIDTH,
)
from hlmc.engine.primitives import REWARD, words
from hlmc.engine.records import Codes, Level
from hlmc.engine.soundness import check_program, checker
from hlmc.engine.step import select, update
from hlmc.engine.structures import CATALOGUE
from hlmc.engine.structures.contest import contest_rate
from hlmc.errors import BadArgument
from hlmc.learners import gate
from hlmc.learners.arms import NamedLearner
from hlmc.learners.learner import fresh_rows
from hlmc.streams import keys
from hlmc.targets import JIT, address_of, callback, entry, linked, loop, notes_for
from hlmc.targets.interpreter import LinkedProgram

BY_HAND, IN_LOOP = 50, 200
INTERPRETED = 1 / 500
PROGRAMS = 0.1  # of the trials are crafted programs

POLICIES: dict[str, tuple[hlmc.Policy, ...]] = {
    "tree": (
        hlmc.HLMC(arms=17, groups=(4, 5), horizon=300, epochs=(10, 30)),
        hlmc.HLMC(arms=31, levels=5, horizon=200, routines=("exp3s", "ucb1", "exp3-loss", "tsallis-inf", "exp3p")),
        hlmc.HLMC(arms=23, levels=2, switches="unknown"),
        hlmc.EXP3(arms=10, horizon=1000),
        hlmc.EXP3(arms=600, horizon=1000, gamma=0.5),
        hlmc.EXP3P(arms=10, horizon=1000, delta=0.01),
        hlmc.EXP3S(arms=10, horizon=1000, switches=2),
        hlmc.EXP3S(arms=600, horizon=1000, alpha=0.01),
        hlmc.EXP3Loss(arms=10, horizon=1000),
        hlmc.EXP3Loss(arms=600, horizon=1000),
        hlmc.EXP3IX(arms=10, horizon=1000, eta=1e10),
        hlmc.TsallisINF(arms=10),
        hlmc.TsallisINF(arms=10, estimator="importance-weighted"),
        hlmc.UCB1(arms=10),
        hlmc.Thompson(arms=10),
        hlmc.EpsilonGreedy(arms=10),
        hlmc.Uniform(arms=10),
        hlmc.HLMC(arms=17, groups=(4, 5), horizon=300, epochs=(10, 30), routines=("tsallis-inf", "ucb1"), dynamic=True),
        hlmc.EXP3(arms=10, horizon=1000, dynamic=True),
        hlmc.TsallisINF(arms=10, bits=12),
        hlmc.TsallisINF(arms=600, estimator="importance-weighted", bits=32),
        hlmc.EXP3(arms=10, horizon=1000, bits=9),
        hlmc.UCB1(arms=10, bits=5),
        hlmc.EXP3IX(arms=10, horizon=1000, eta=1e10, bits=20),
        hlmc.HLMC(arms=31, levels=3, horizon=200, routines=("exp3", "exp3-loss", "tsallis-inf"), bits=(11, 64, 6)),
    ),
    "block rotation": (
        hlmc.UCBM(arms=17, memory=4),
        hlmc.UCBM(arms=17, memory=4, shuffle=False, ties="first", fill="wrap"),
        hlmc.EXP3M(arms=17, memory=4),
    ),
    "champion": (
        hlmc.Champion(arms=30, memory=12, horizon=500),
        hlmc.Champion(arms=23),
        hlmc.Champion(arms=100, memory=14, horizon=400, switches=2),
        hlmc.Champion(arms=5, memory=9, horizon=100),
        hlmc.Champion(arms=30, memory=12, horizon=500, dynamic=True),
        hlmc.Champion(arms=9, memory=9, dynamic=True),
    ),
    "coded champion": (
        hlmc.Champion(arms=30, memory=12, horizon=500, bits=10),
        hlmc.Champion(arms=400, memory=7, bits=6),
    ),
}
"""By structure, policies that lead to every kernel of the structure and to every routine."""

SHORT = (("tree", 1), ("tree", 0), ("block rotation", 0), ("block rotation", 2), ("champion", 2))
"""Those of the short form, which compile in a few seconds."""
DYNAMIC = (("tree", 15), ("champion", 4))
"""Those whose arms come and go."""

Which = Sequence[tuple[str, int]]
"""Which of the policies."""

assert set(POLICIES) == {structure.name for structure in CATALOGUE if structure is not None}

# What can come of a trial. Everything from ARM_OUTSIDE on is harm.
REFUSED, HARMLESS, ARM_OUTSIDE, BAD_PROBABILITY, BAD_NUMBER, RAISED, CRASHED = (
    "refused",
    "harmless",
    "arm outside",
    "bad probability",
    "not a number",
    "raised",
    "crashed",
)
HARM = (ARM_OUTSIDE, BAD_PROBABILITY, BAD_NUMBER, RAISED, CRASHED)


# --- Crafting

SPECIAL = (
    *(0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 1.5, -2.0, 7.0, 19.0, 64.0, 512.0),
    *(2.0**31, 2.0**53 - 1, 2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, 2.0**64, -(2.0**53), -(2.0**63)),
    *(math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e-100, 1e-80, 1e-17, 1e-9),
    *(1e9, 1e16, 1e100, 1e290, 1e300, 1.7e308, -1e16, -1e100, -1e290, -1.7e308),
    *(-49.0, -51.0, -600.0, -601.0, math.exp(-600.0), 2.0**-300, 2.0**500, 2.0**511, 1.0 - 2.0**-53),
)


def crafted_row(dice: random.Random, policy: hlmc.Policy, sources: list[np.ndarray]) -> np.ndarray:
    """A true row of the policy with some words changed: to anything, or to what a gate might just accept."""
    row = dice.choice(sources).copy()
    with np.errstate(all="ignore"):
        (stretch if dice.random() < 0.25 else damage)(dice, policy, row, sources)
    if dice.random() < 0.1:
        row.view(np.uint64)[KEY] = dice.choice((0, 1, 2**63, 2**64 - 1, 0x7FF8 << 48, dice.getrandbits(64)))
    return row


def damage(dice: random.Random, policy: hlmc.Policy, row: np.ndarray, sources: list[np.ndarray]) -> None:
    """Change some words to anything, header and control words most of all."""
    header = policy.structure.header_words
    statistics = header + LEVEL_CONTROL * len(policy.routines_used)
    places = [range(1, header), range(header, statistics), range(statistics, len(row)), range(1, len(row))]
    near = (policy.arms - 1, policy.arms, policy.arms + 1, len(row), len(row) - 1, FIELDS, 2 * FIELDS)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        among = dice.choices(places, (5, 5, 4, 1))[0]
        if not among:
            continue
        at = dice.choice(among)
        kind = dice.randrange(12)
        if kind < 3:
            row[at] = dice.choice(SPECIAL)
        elif kind == 3:
            row[at] = dice.choice(near)
        elif kind == 4:
            row[at] = struct.unpack("<d", dice.randbytes(8))[0]
        elif kind == 5:
            row[at] += dice.choice((-20.0, -2.0, -1.0, 1.0, 2.0, 20.0))
        elif kind == 6:
            row[at] *= 10.0 ** dice.uniform(-30.0, 30.0)
        elif kind == 7:
            row[at] *= dice.uniform(-2.0, 2.0)
        elif kind == 8:
            other = dice.choice(among)
            row[at], row[other] = row[other], row[at]
        elif kind == 9:
            row[at:] = np.roll(row[at:], dice.choice((-1, 1)))
        elif kind == 10:
            row[at] = dice.choice(sources)[at]
        else:
            row[list(among)] = dice.choice(SPECIAL)


def stretch(dice: random.Random, policy: hlmc.Policy, row: np.ndarray, sources: list[np.ndarray]) -> None:
    """Give a level statistics of any size, with scalars and a chance that go with them."""
    program, levels = policy.program, len(policy.routines_used)
    d = dice.randrange(levels)
    level = max(int(row[RECORD]) - FIELDS * (levels - 1 - d), FIELDS)
    at, control = int(program[level + AT]), int(program[level + CONTROL])
    n = int(row[COUNT]) if d == levels - 1 else int(program[level + CHILDREN])
    routine = policy.routines_used[d]
    if n < 2:
        return
    widest = 10.0 ** dice.choice((1, 3, 20, 80, 100, 200, 290))
    sizes = [dice.choice((0.0, 1.0, dice.random(), widest ** dice.uniform(-1.0, 1.0), widest)) for _ in range(n)]
    if isinstance(routine, routines.CodedRoutine):
        stretch_codes(dice, routine, program, level, row, at, control, n)
    elif isinstance(routine, (routines.UCB1, routines.Thompson, routines.EpsilonGreedy)):
        plays = [max(1.0, dice.choice((x, 1.0, 2.0, 2.0**53))) for x in sizes]
        row[at : at + 2 * n] = [*(played * dice.choice((0.0, 0.5, 1.0)) for played in plays), *plays]
    elif isinstance(routine, (routines.TsallisINF, routines.Contest)):
        row[at : at + n - 1] = [dice.choice((-1.0, 1.0)) * x for x in sizes[1:]]
        tau = int(row[TIME] - row[BEGAN])
        eta = (
            row[control + SCALARS + 1]
            if isinstance(routine, routines.TsallisINF)
            else contest_rate(program, level, tau)
        )
        if eta > 0.0:
            row[control + SCALARS] = normaliser(row, at, n, eta, -1.0)
    elif isinstance(routine, routines.EXP3P):
        row[at : at + n] = sizes
        row[control + SCALARS : control + SCALARS + 2] = max(sizes), dice.choice((1.0, float(n)))
    elif n > weights.SCAN:
        row[at : at + n - 1] = [dice.choice((-1.0, 1.0)) * x for x in sizes[1:]]
    elif not isinstance(routine, routines.Uniform):
        heavy = [min(x, 2.0**508 / n) or math.exp(-600.0) for x in sizes]
        words = [x if dice.random() < 0.8 else -50.0 - y for x, y in zip(heavy, sizes, strict=True)]
        row[at : at + n] = heavy if isinstance(routine, routines.EXP3S) else words
        row[control + SCALARS] = sum(x for x in words if x > 0.0) * dice.choice((1.0, 0.01, 100.0))
        if isinstance(routine, routines.EXP3S):
            row[control + SCALARS + 1] = dice.choice((0.0, min(widest, 2.0**500), 5e-324))
    if dice.random() < 0.3:
        row[control + CHANCE] = 10.0 ** dice.uniform(-310.0, 1.0)


def stretch_codes(
    dice: random.Random,
    routine: routines.CodedRoutine,
    program: np.ndarray,
    level: int,
    row: np.ndarray,
    at: int,
    control: int,
    n: int,
) -> None:
    """Any codes, with scalars that go with them."""
    most = 2**routine.bits - 1
    for j in range(n):
        codes.put_code(row, at, routine.bits, j, dice.choice((0, 1, most, most - 1, dice.randint(0, most))))
    tau = int(row[TIME] - row[BEGAN])
    if isinstance(routine.plain, routines.Contest):
        eta, s = contest_rate(program, level, tau), 2.0 / contest_rate(program, level, 0)
    elif isinstance(routine.plain, routines.TsallisINF):
        rate = program[level + PARAMETERS]
        eta, s = rate / math.sqrt(tau + 1.0), codes.scale_at(2.0 / rate, tau)
    else:
        rate = program[level + PARAMETERS + (1 if isinstance(routine.plain, routines.EXP3) else 0)]
        row[control + SCALARS] = shares_total(Level(program, level, row, at, n), rate)
        return
    least = codes.distance_of(codes.largest_weight(Codes(row, row, at, n, routine.bits, 2.0**-routine.bits)), s)
    row[control + SCALARS] = least - dice.uniform(1.5, 2.2 * math.sqrt(n)) / eta


def crafted_program(dice: random.Random, policy: hlmc.Policy) -> np.ndarray:
    """A true program with some words changed, of those that are not a routine's parameters."""
    table = policy.program.reshape(-1, FIELDS).copy()
    rows = min(len(table), 1 + 3 * len(policy.routines_used))
    for _ in range(dice.choice((1, 1, 2, 3))):
        i = dice.choice((0, dice.randrange(rows), len(table) - 1))
        j = dice.randrange(FIELDS if i == 0 else PARAMETERS)
        kind = dice.randrange(4)
        if kind == 0:
            table[i, j] = dice.choice(SPECIAL)
        elif kind == 1:
            table[i, j] += dice.choice((-20.0, -5.0, -1.0, 1.0, 5.0, 20.0))
        elif kind == 2:
            table[i, j] = table[dice.randrange(rows), j]
        else:
            table[i, j] *= dice.choice((0.5, 2.0, 3.0))
    return table.reshape(-1)


# --- Playing


@kernel
def judge(spec: np.ndarray, t: int, arm: int) -> float:
    """A reward for an arm; for what is no arm (``spec[0]`` of them), none, which ends the loop."""
    if arm < 0 or arm >= int(spec[0]):
        return -1.0
    if spec[1] == 0.0:
        return 0.0
    if spec[1] == 1.0:
        return 1.0
    return float((t * 7 + (arm % 1009) * 3) % 11) / 10.0


@kernel
def play(program_at: Address, row_at: Address, spec_at: Address, steps: int) -> int:
    """Play steps by hand: 0, 1 for an arm outside, 2 for a bad probability, 3 for an update that was refused."""
    row = words(row_at)
    spec = words(spec_at)
    for _ in range(steps):
        t = int(row[TIME])
        arm = select(program_at, row_at)
        if arm == -1:
            return 0
        reward = judge(spec, t, arm)
        if reward < 0.0:
            return 1
        if not (0.0 < row[PROBABILITY] <= 1.0):
            return 2
        if update(program_at, row_at, reward) != 0:
            return 3
    return 0


class Guarded:
    """Words in memory of their own: on either side is a page that nobody may touch."""

    def __init__(self, count: int) -> None:
        page = mmap.PAGESIZE
        inner = -(-8 * max(count, 1) // page) * page
        self._memory = mmap.mmap(-1, inner + 2 * page)
        self._whole = np.frombuffer(self._memory, np.float64)
        self._begin, self._end = page // 8, (page + inner) // 8
        libc = ctypes.CDLL(None, use_errno=True)
        start = self._whole.ctypes.data
        for fence in (start, start + page + inner):
            assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0

    def words(self, count: int, at_end: bool) -> np.ndarray:
        """So many of them, up to the page after or from the page before on."""
        first = self._end - count if at_end else self._begin
        return self._whole[first : first + count]


class Checked(LinkedProgram):
    """Words for the interpreter: an index that is not one of them is an error, a negative one, too."""

    def _checked(self, at: Any) -> Any:
        if isinstance(at, slice):
            first, stop = at.start or 0, len(self) if at.stop is None else at.stop
            if not 0 <= first <= stop <= len(self):
                raise IndexError(f"words {at} of {len(self)}")
        elif not 0 <= int(at) < len(self):
            raise IndexError(f"word {at} of {len(self)}")
        return at

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(self._checked(at))

    def __setitem__(self, at: Any, value: Any) -> None:
        super().__setitem__(self._checked(at), value)


class Stage(NamedTuple):
    """A policy with the memory in which its crafted rows and programs are tried."""

    policy: hlmc.Policy
    row: np.ndarray
    program: np.ndarray  # the words of the program, after its table of addresses
    program_at: Any
    row_at: Any
    sources: list[np.ndarray]


def stage(policy: hlmc.Policy, at_end: bool) -> Stage:
    """Memory for a policy's row and linked program, between guard pages or with checked indices."""
    width = policy.words.total
    sources = [fresh_rows(policy, keys(1, 0, 1))[0]]
    for steps in (0, 1, 2, 9, 29, 30, 31, 60, 75, 120):
        learner = policy.start(seed=steps, arms=numbered(policy.arms, steps % 3) if policy.dynamic else None)
        for t in range(min(steps, (policy.limit or steps) - 1)):
            learner.update(float((t * 5 + learner.select()) % 4) / 3.0)
            if isinstance(learner, NamedLearner) and t % 3 == 0:
                come_or_go(learner.arms, t)
        sources.append(learner.state.copy())
        learner.select()
        sources.append(learner.state.copy())
    if JIT:
        original = linked(policy)._memory
        table = len(original) - len(policy.program)
        memory = Guarded(len(original)).words(len(original), at_end)
        memory[:] = original
        row = Guarded(width).words(width, at_end)
        return Stage(policy, row, memory[table:], memory.ctypes.data + 8 * table, row.ctypes.data, sources)
    original = linked(policy)
    program = policy.program.copy().view(Checked)
    program.structure, program.routines = original.structure, original.routines
    row = np.zeros(width).view(Checked)
    return Stage(policy, row, np.asarray(program), program, row, sources)


def numbered(capacity: int, idle: int) -> hlmc.Arms:
    """Arms that are called 0, 1, ..., and room for a few more."""
    arms = hlmc.Arms(capacity)
    arms.add(*range(capacity - idle))
    return arms


def come_or_go(arms: hlmc.Arms, t: int) -> None:
    """An arm comes, or one goes."""
    if len(arms) < arms.capacity and t % 2:
        arms.add(1000 + t)
    elif len(arms) > 1:
        arms.remove(list(arms)[t % len(arms)])


def sound(here: Stage) -> bool:
    """What the gate says of the row."""
    policy = here.policy
    check = entry(checker(policy.structure), "int64", *["int64"] * 6, release=True)
    checks = gate.checks_of(policy)
    rows = here.row_at if JIT else [here.row_at]
    with np.errstate(all="ignore"):
        return bool(check(here.program_at, address_of(checks), rows, len(here.row), 0, 1) == 1)


def outcome(here: Stage, spec: np.ndarray) -> str:
    """Play on from the row, by hand and in the loop."""
    by_hand = entry(play, "int64", *["int64"] * 4)
    status = by_hand(here.program_at, here.row_at, address_of(spec), BY_HAND)
    if status:
        return ARM_OUTSIDE if status == 1 else BAD_PROBABILITY
    time = here.row[TIME]
    stop = min(time + IN_LOOP, here.program[2])
    if here.row[ARM] < 0.0 and stop > time:
        stops, sums = np.array([stop]), np.zeros(2)
        notes = notes_for(here.policy, np.asarray(here.program))
        memory = (here.program_at, here.program_at, here.row_at, here.row_at, address_of(notes))
        who = (*memory, callback(judge, REWARD).address)
        if loop(here.policy)(*who, *map(address_of, (spec, stops, sums)), 1):
            return ARM_OUTSIDE
    if not 0.0 < here.row[PROBABILITY] <= 1.0:
        return BAD_PROBABILITY
    return HARMLESS if np.isfinite(np.asarray(here.row)[numbers_of(here.policy)]).all() else BAD_NUMBER


def numbers_of(policy: hlmc.Policy) -> np.ndarray:
    """Which words of a row are numbers: not the key, and no codes."""
    numbers = np.arange(policy.words.total) > 0
    levels = len(policy.routines_used)
    records = policy.program.reshape(-1, FIELDS)[1 : 1 + levels]
    ends = [*(int(record[AT]) for record in records[1:]), policy.words.total]
    for record, end in zip(records, ends, strict=True):
        if record[WIDTH] > 0:
            numbers[int(record[AT]) : end] = False
    return numbers


def tried(dice: random.Random, here: Stage) -> str:
    """Craft a row, or a program, and see what comes of it."""
    policy = here.policy
    spec = np.array([float(policy.arms), dice.choice((0.0, 1.0, 2.0))])
    if dice.random() >= PROGRAMS:
        here.row[:] = crafted_row(dice, policy, here.sources)
        return outcome(here, spec) if sound(here) else REFUSED
    program = crafted_program(dice, policy)
    try:
        with np.errstate(all="ignore"):
            check_program(program.reshape(-1, FIELDS), policy.structure, [each.words for each in policy.routines_used])
    except BadArgument:
        return REFUSED
    # The last of these words are filled in by the policy after the check.
    true = policy.program.copy()
    program.reshape(-1, FIELDS)[1:, [0, 7, 8]] = true.reshape(-1, FIELDS)[1:, [0, 7, 8]]
    program[[0, 12]] = true[[0, 12]]
    here.row[:] = here.sources[0]
    here.program[:] = program
    spec[0] = program[1]
    try:
        return outcome(here, spec) if program[5] <= len(here.row) else HARMLESS
    finally:
        here.program[:] = true


def work(which: Which, seed: int, count: int, seconds: float, note: str) -> None:
    """The work of a process: trials of these policies in turn, and the number of the trial that it is at in a file."""
    started = time.monotonic()
    found: Counter[str] = Counter()
    texts: list[str] = []
    with Path(note).open("r+b") as file, mmap.mmap(file.fileno(), 8) as at:
        stages = [stage(POLICIES[structure][i], at_end) for structure, i in which for at_end in (True, False)]
        for trial in range(count):
            at[:] = struct.pack("<q", trial)
            here = stages[trial % len(stages)]
            dice = random.Random(f"{seed} {trial}")
            try:
                result = tried(dice, here)
            except Exception as error:  # whatever it is, the kernel should not have raised it
                result = RAISED
                texts.append(f"{here.policy} {trial}: {type(error).__name__}: {error}")
            found[result] += 1
            if result in HARM:
                texts.append(f"{here.policy} {trial}: {result}")
            if time.monotonic() - started > seconds:
                break
    sys.stdout.write(json.dumps({"found": found, "texts": texts[:20]}) + "\n")


def attacked(which: Which, count: int, seconds: float, jit: bool, seed: int = 1) -> tuple[Counter[str], list[str]]:
    """Trials in a process of their own, begun anew with another seed where it has crashed."""
    found: Counter[str] = Counter()
    texts: list[str] = []
    until = time.monotonic() + seconds
    while sum(found.values()) < count and (left := until - time.monotonic()) > 0 and found[CRASHED] < 10:
        with tempfile.NamedTemporaryFile() as note:
            note.write(bytes(8))
            note.flush()
            arguments = (which, seed, count - sum(found.values()), left, note.name)
            command = [sys.executable, __file__, "--work", json.dumps(arguments)]
            environment = {**os.environ, "HLMC_JIT": "1" if jit else "0"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                answer = json.loads(done.stdout.splitlines()[-1])
                found.update(answer["found"])
                return found, texts + answer["texts"]
            (trial,) = struct.unpack("<q", Path(note.name).read_bytes())
            found.update({CRASHED: 1, "lost": trial})
            why = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            texts.append(f"seed {seed}, trial {trial} of {which}: crashed: {why[0]}")
            seed += 1
    return found, texts


def attack(count: int, seconds: float) -> Iterator[tuple[str, str, Counter[str], list[str]]]:
    """(structure, target, what came of how many trials, what was harmful) of all structures and both targets."""
    until = time.monotonic() + seconds
    parts = [(structure, jit) for structure in POLICIES for jit in (True, False)]
    for i, (structure, jit) in enumerate(parts):
        left = max(0.0, until - time.monotonic()) / (len(parts) - i)
        which = [(structure, k) for k in range(len(POLICIES[structure]))]
        found, texts = attacked(which, count if jit else math.ceil(count * INTERPRETED), left, jit)
        yield structure, "native" if jit else "interpreter", found, texts


def crafted_rows(count: int, seconds: float) -> tuple[int, int]:
    """``count`` crafted rows and programs per structure within so many seconds: the trials, and those with harm."""
    trials = harm = 0
    for _, _, found, _ in attack(count, seconds):
        trials += sum(found.values())
        harm += sum(found[kind] for kind in HARM)
    return trials, harm


def main(count: int, seconds: float) -> int:
    columns = ("trials", REFUSED, HARMLESS, *HARM)
    sys.stdout.write(f"{'structure':15} {'target':12}" + "".join(f"{name:>16}" for name in columns) + "\n")
    harmed = 0
    for structure, target, found, texts in attack(count, seconds):
        numbers = (sum(found.values()), *(found[name] for name in columns[1:]))
        sys.stdout.write(f"{structure:15} {target:12}" + "".join(f"{n:16,}" for n in numbers) + "\n")
        sys.stdout.writelines(f"  {text}\n" for text in texts)
        sys.stdout.flush()
        harmed += sum(found[kind] for kind in HARM)
    return min(harmed, 1)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        with contextlib.suppress(BrokenPipeError):
            work(*json.loads(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else math.inf))
