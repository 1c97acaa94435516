"""The playground of the documentation: the WebAssembly module, its data, and the folder that a browser opens.

    python scripts/playground.py FOLDER       # assemble it; open FOLDER/index.html, or serve the folder
    python scripts/playground.py --compile    # compile docs/playground/playground.wasm; needs clang and wasm-ld

The module holds the simulator's own loop (:func:`hlmc.engine.step.run`) over all policies, with the rules of some
adversaries compiled into it. A browser has no planner: :func:`data` writes out the programs of every choice that the
page offers, and the numbers of every adversary for :data:`SEEDS` seeds. So nothing is implemented twice, and a run in
the page is the run of ``hlmc.simulate`` that the page prints.

Beside the module lies a record of the code that it was compiled from, which a test compares with the kernels.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

import hlmc
from hlmc.adversaries.base import Adversary
from hlmc.adversaries.bernoulli import bernoulli_mean
from hlmc.adversaries.chance import fork
from hlmc.adversaries.late_bloomer import BLOOM
from hlmc.adversaries.piecewise_stationary import CHANGE, SEGMENT, segment_of
from hlmc.engine import layout
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import AT, CONTROL, FIELDS, FOREVER, LEVELS, RECORD, ROUTINE
from hlmc.engine.linker import Kernel, constant, relink, substitute
from hlmc.engine.loops import THROUGH_TABLE
from hlmc.engine.primitives import bits, call_select, offset, words
from hlmc.engine.step import arm_of, reward_of, run
from hlmc.engine.stream import unit
from hlmc.engine.structures import CATALOGUE as STRUCTURES
from hlmc.errors import BadArgument
from hlmc.export.generic import code_digest, generic_unit
from hlmc.policies.base import Policy
from hlmc.streams import derive_seed, keys
from hlmc.targets.c.types import Type
from hlmc.versions import VERSION

Array = np.ndarray

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "docs" / "playground"
CHART = ROOT / "src" / "hlmc" / "serve" / "page" / "chart.js"
"""The chart, which the page of hlmc serve shows too."""
PAGE = ("index.html", "style.css", "engine.js", "draw.js", "story.js", "app.js")

# --- What the page offers

ARMS = (16, 36, 100, 1000, 10_000)
MEMORY = (8, 12, 20, 64, 200)
HORIZON = (10**4, 10**5, 10**6, 10**7)
SEEDS = 16
"""Seeds 0 .. SEEDS - 1: hashing a seed is Python's affair, so keys are written out."""

POLICIES: dict[str, Callable[[int, int, int], Policy]] = {
    "HLMC": lambda K, M, T: hlmc.HLMC(arms=K, memory=M, horizon=T),
    "Champion": lambda K, M, T: hlmc.Champion(arms=K, memory=M, horizon=T),
    "Champion, 12 bits": lambda K, M, T: hlmc.Champion(arms=K, memory=M, horizon=T, bits=12),
    "UCB-M": lambda K, M, T: hlmc.UCBM(arms=K, memory=M),
    "UCB-M in order": lambda K, M, T: hlmc.UCBM(arms=K, memory=M, shuffle=False),
    "EXP3-M": lambda K, M, T: hlmc.EXP3M(arms=K, memory=M),
    "EXP3": lambda K, M, T: hlmc.EXP3(arms=K, horizon=T),
    "Tsallis-INF": lambda K, M, T: hlmc.TsallisINF(arms=K),
    "Tsallis-INF, 12 bits": lambda K, M, T: hlmc.TsallisINF(arms=K, bits=12),
    "UCB1": lambda K, M, T: hlmc.UCB1(arms=K),
    "Uniform": lambda K, M, T: hlmc.Uniform(arms=K),
}
"""Every policy of the page: how it is made for K arms, M words and T steps."""

# --- Its adversaries. ``spec`` is the number of an adversary, then its own words; the rules read the latter.

NUMBER = 0
"""The first word of a spec in the page; the adversary's own words follow."""


@kernel
def never_changes(own: Array, t: int) -> tuple[int, int]:
    """``phase_at`` of expected rewards that stay as they are."""
    return 0, FOREVER


@kernel
def segment_until(own: Array, t: int) -> tuple[int, int]:
    """``phase_at`` of piecewise stationary means: interval j of so many steps has one change."""
    length = int(own[SEGMENT])
    segment = segment_of(own, t)  # so many changes have been by step t
    return segment, segment * length + int(unit(fork(bits(own, CHANGE), segment)) * length)


@kernel
def bloom_until(own: Array, t: int) -> tuple[int, int]:
    """``phase_at`` of the late bloomer."""
    if t < int(own[BLOOM]):
        return 0, int(own[BLOOM])
    return 1, FOREVER


class Enemy(NamedTuple):
    """An adversary of the page.

    Parameters
    ----------
    make
        How it is made for K arms, M words, T steps and a seed; None: the visitor sets its means.
    rule, mean
        Kernels ``(own, t, arm)``: its reward, and the reward that is to be expected.
    phase_at
        A kernel ``(own, t)``: which means hold at step t, and the first step after t at which others may.
    """

    make: Callable[[int, int, int, int], Adversary] | None
    rule: Kernel
    mean: Kernel
    phase_at: Kernel

    @classmethod
    def of(
        cls, kind: type[Adversary], make: Callable[[int, int, int, int], Adversary], phase_at: Kernel | None = None
    ) -> Enemy:
        """An adversary of the library, with the rules of its class. Default of ``phase_at``: also as its class says."""
        known = kind.piecewise[0] if kind.piecewise else never_changes
        return cls(make, kind.rule, kind.mean_rule or kind.rule, phase_at or known)


_OF = hlmc.adversaries
ADVERSARIES: dict[str, Enemy] = {
    "You": Enemy(None, bernoulli_mean, bernoulli_mean, never_changes),
    "Needle": Enemy.of(_OF.Needle, lambda K, M, T, seed: _OF.Needle(arms=K, seed=seed)),
    "Decoy": Enemy.of(_OF.Decoy, lambda K, M, T, seed: _OF.Decoy(arms=K, seed=seed)),
    "UniformMeans": Enemy.of(_OF.UniformMeans, lambda K, M, T, seed: _OF.UniformMeans(arms=K, seed=seed)),
    "PiecewiseStationary": Enemy.of(
        _OF.PiecewiseStationary,
        lambda K, M, T, seed: _OF.PiecewiseStationary(arms=K, segment=T // 10, seed=seed),
        segment_until,
    ),
    "LateBloomer": Enemy.of(
        _OF.LateBloomer, lambda K, M, T, seed: _OF.LateBloomer(arms=K, bloom=T // 4, seed=seed), bloom_until
    ),
    "BlockTrap": Enemy.of(_OF.BlockTrap, lambda K, M, T, seed: _OF.BlockTrap(arms=K, memory=M)),
    "Alternating": Enemy.of(_OF.Alternating, lambda K, M, T, seed: _OF.Alternating(arms=K, memory=M)),
    "Shifting": Enemy.of(_OF.Shifting, lambda K, M, T, seed: _OF.Shifting(arms=K, horizon=T)),
}
"""Every adversary of the page, in the order of their numbers; the first one is the visitor."""


# --- Chains: kernels that find an adversary's rule by the number in the spec, one link for each row of the table

# What a link calls: its own number, the rule of that adversary, and for the others the next link.
_this: Kernel = constant(0)
_rule: Kernel = bernoulli_mean
_others: Kernel = bernoulli_mean


@kernel
def _rule_link(spec: Array, t: int, arm: int) -> float:
    """The rule of one adversary; of another, what the next link says."""
    if int(spec[NUMBER]) == _this():
        return _rule(offset(spec, 1), t, arm)  # type: ignore[no-any-return]
    return _others(spec, t, arm)  # type: ignore[no-any-return]


@kernel
def _phase_link(spec: Array, t: int) -> tuple[int, int]:
    """The ``phase_at`` of one adversary; of another, what the next link says."""
    if int(spec[NUMBER]) == _this():
        return _rule(offset(spec, 1), t)  # type: ignore[no-any-return]
    return _others(spec, t)  # type: ignore[no-any-return]


def _chain(name: str, link: Kernel, rules: list[Kernel], end: Kernel) -> Kernel:
    """The first link of a chain with these rules. Its end is never called, because all numbers are listed."""
    found = end
    for number, rule in reversed(list(enumerate(rules))):
        found = relink(link, {"_this": constant(number), "_rule": rule, "_others": found}, f"{name}_{number}")
    return found


reward = _chain("reward", _rule_link, [each.rule for each in ADVERSARIES.values()], bernoulli_mean)
"""``reward(spec, t, arm)``: the reward of an arm at step t."""
expected = _chain("expected", _rule_link, [each.mean for each in ADVERSARIES.values()], bernoulli_mean)
"""``expected(spec, t, arm)``: the expected reward of an arm at step t."""
phase_at = _chain("phase_at", _phase_link, [each.phase_at for each in ADVERSARIES.values()], never_changes)
"""``phase_at(spec, t)``: which expected rewards hold, and the first step after t at which others may."""


# --- The kernels that the page calls


@kernel
def paid(reward_at: Address, spec: Array, state: int, t: int, arm: int) -> float:
    """The reward of an arm at step t. Counts the plays of each arm at ``reward_at``, where the loop has a function."""
    plays = words(reward_at)
    plays[arm] += 1.0
    return reward(spec, t, arm)  # type: ignore[no-any-return]


@kernel
def judged(spec_at: Address, sums_at: Address, arms: int, first: int, last: int) -> float:
    """Add the expected rewards of steps first .. last - 1 to the sums of all arms; the largest sum.

    It is what ``hlmc.evaluation.benchmark(adversary, [last], "pseudo")`` gives if nothing before ``first`` is missing.
    """
    spec = words(spec_at)
    sums = words(sums_at)
    t = first
    while t < last:
        _, end = phase_at(spec, t)
        until = min(last, end)
        for arm in range(arms):
            sums[arm] += float(until - t) * expected(spec, t, arm)
        t = until
    best = sums[0]
    for arm in range(1, arms):
        best = max(best, sums[arm])
    return best  # type: ignore[no-any-return]


@kernel
def expectations(spec_at: Address, out_at: Address, arms: int, t: int) -> None:
    """The expected rewards of all arms at step t."""
    spec = words(spec_at)
    out = words(out_at)
    for arm in range(arms):
        out[arm] = expected(spec, t, arm)


@kernel
def chosen_by(program_at: Address, row_at: Address, d: int, n: int, tau: int, u: float) -> None:
    """Let level d choose among its n children by the number u; the row, a copy, then has the child and its chance."""
    program = words(program_at)
    row = words(row_at)
    level = int(row[RECORD]) - FIELDS * (int(program[LEVELS]) - 1 - d)
    control = int(program[level + CONTROL])
    call_select(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, tau, u)


@kernel
def place(program_at: Address, row_at: Address, slot: int) -> int:
    """The arm that a slot of the last level stands for."""
    return arm_of(words(program_at), words(row_at), slot)


# --- The module

EXPORTS = ("play_start", "play_run", "play_judge", "play_means", "play_probe", "play_arm", "__heap_base")

TEMPLATE = Template("""/* The playground of hlmc $version: the simulator's loop, and the adversaries of the page. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

$unit

void play_start(double *row, int32_t words, uint64_t key)
{
    for (int32_t j = 0; j < words; j++) {
        row[j] = 0.0;
    }
    memcpy(&row[0], &key, sizeof key);
    row[$arm] = -1.0;
    row[$probability] = 1.0;
}

int32_t play_run(const double *program, double *row, double *notes, double *plays, const double *spec,
                 const double *stops, double *sums, int32_t count)
{
    return $run(program, program, row, row, notes, plays, spec, stops, sums, count) < 0 ? -1 : 0;
}

double play_judge(const double *spec, double *sums, int32_t arms, double first, double last)
{
    return $judge(spec, sums, arms, (int64_t)first, (int64_t)last);
}

void play_means(const double *spec, double *out, int32_t arms, double t)
{
    $means(spec, out, arms, (int64_t)t);
}

void play_probe(const double *program, double *row, int32_t d, int32_t n, double tau, double u)
{
    $probe(program, row, d, n, (int64_t)tau, u);
}

int32_t play_arm(const double *program, double *row, int32_t slot)
{
    return (int32_t)$place(program, row, slot);
}
""")


@cache
def source() -> str:
    """The C of the module."""
    unit = generic_unit("play", ("start", "run", "judge", "means", "probe", "arm"))
    run_ = unit.entry(substitute(run, {**THROUGH_TABLE, reward_of: paid}), *[Type.RUN] * 9, Type.INT)
    judge_ = unit.entry(judged, Type.RUN, Type.RUN, Type.INT, Type.INT, Type.INT)
    means_ = unit.entry(expectations, Type.RUN, Type.RUN, Type.INT, Type.INT)
    probe_ = unit.entry(chosen_by, Type.RUN, Type.RUN, Type.INT, Type.INT, Type.INT, Type.REAL)
    place_ = unit.entry(place, Type.RUN, Type.RUN, Type.INT)
    return TEMPLATE.substitute(
        version=VERSION,
        unit=unit.text(),
        arm=layout.ARM,
        probability=layout.PROBABILITY,
        run=run_.name,
        judge=judge_.name,
        means=means_.name,
        probe=probe_.name,
        place=place_.name,
    )


def _wasm() -> Any:
    """The script that compiles modules."""
    spec = importlib.util.spec_from_file_location("hlmc_scripts_wasm", Path(__file__).with_name("wasm.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_module() -> None:
    """Write the module and its record."""
    wasm = _wasm()
    text = source()
    flags = ["-O2", *wasm.FLAGS]
    (PLACE / "playground.wasm").write_bytes(wasm.compiled(text, EXPORTS, flags))
    record = {"code": code_digest(text), "compiler": wasm.compiler(), "flags": flags}
    (PLACE / "playground.wasm.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"{PLACE / 'playground.wasm'}: {(PLACE / 'playground.wasm').stat().st_size:,} bytes")


# --- The data


def _number(x: float) -> float | int:
    return int(x) if x == int(x) else x


def _cut(table: Array) -> Array:
    """The records of a program that are reached within the longest horizon of the page."""
    if table[0, layout.SUBLENGTH] == 0:
        return table
    steps = table[0, layout.SUBPHASES] * table[0, layout.SUBLENGTH]
    records = 1
    while steps * (2**records - 1) < HORIZON[-1]:
        records += 1
    return table[: 1 + records]


def _program(policy: Policy) -> dict[str, Any]:
    """A program as the page reads it: the numbers that are not 0, and where they are."""
    table = _cut(policy.program.reshape(-1, FIELDS))
    flat = table.reshape(-1)
    at = np.flatnonzero(flat)
    return {
        "call": repr(policy),
        "statistics": policy.words.statistics,
        "words": policy.words.total,
        "length": len(flat),
        "at": at.tolist(),
        "numbers": [_number(x) for x in flat[at].tolist()],
    }


class _Pool:
    """Values that are stored once and known by their number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._known: dict[str, int] = {}

    def put(self, value: Any) -> int:
        """The number of a value."""
        text = json.dumps(value)
        if text not in self._known:
            self._known[text] = len(self.values)
            self.values.append(value)
        return self._known[text]


def _spec(number: int, adversary: Adversary) -> str:
    """The words of an adversary, its number in front, as base64: keys are raw bits."""
    return base64.b64encode(np.concatenate([[float(number)], adversary.spec]).astype("<f8").tobytes()).decode()


def _described(word: layout.Word) -> list[str]:
    return [word.name, word.meaning]


def data() -> dict[str, Any]:
    """All that the page knows of policies, adversaries and rows.

    ``programs`` of a policy has one entry for each (K, M, T) in this order: a number in ``pool``, or why there is none.
    ``specs`` of an adversary has one for each (K, M, T, seed).
    """
    pool, specs, calls = _Pool(), _Pool(), _Pool()
    policies = []
    for name, make in POLICIES.items():
        entries: list[int | str] = []
        for K in ARMS:
            for M in MEMORY:
                for T in HORIZON:
                    try:
                        entries.append(pool.put(_program(make(K, M, T))))
                    except BadArgument as error:
                        entries.append(str(error))
        own = [f"{int(keys(derive_seed(seed, name), 0, 1)[0]):x}" for seed in range(SEEDS)]
        # Whether M decides anything: entries go by K, then M, then T.
        bounded = entries[:: len(HORIZON)] != [
            entries[i] for i in range(0, len(entries), len(HORIZON) * len(MEMORY)) for _ in MEMORY
        ]
        policies.append({"name": name, "bounded": bounded, "programs": entries, "keys": own})
    adversaries = []
    for number, (name, enemy) in enumerate(ADVERSARIES.items()):
        of_seed: list[list[int]] = []
        if enemy.make is not None:
            made = [enemy.make(K, M, T, seed) for K in ARMS for M in MEMORY for T in HORIZON for seed in range(SEEDS)]
            of_seed = [[specs.put(_spec(number, each)), calls.put(repr(each))] for each in made]
        adversaries.append({"name": name, "specs": of_seed})
    constants = {
        name: getattr(layout, name)
        for name in (
            "STRUCTURE",
            "WIDTH",
            "LEVELS",
            "KIND",
            "CHILDREN",
            "SIZE",
            "LENGTH",
            "SPAN",
            "CONTROL",
            "AT",
            "FIELDS",
            "KEY",
            "TIME",
            "BEGAN",
            "UNTIL",
            "BASE",
            "COUNT",
            "RECORD",
            "CHILD",
            "CHANCE",
            "SUM",
            "COMMON",
        )
    }
    return {
        "version": VERSION,
        "arms": ARMS,
        "memory": MEMORY,
        "horizon": HORIZON,
        "seeds": SEEDS,
        "policies": policies,
        "adversaries": adversaries,
        "pool": pool.values,
        "specs": specs.values,
        "calls": calls.values,
        "layout": constants,
        "row": [_described(word) for word in layout.ROW],
        "control": [_described(word) for word in layout.CONTROL_WORDS],
        "structures": [
            each and {"name": each.name, "header": [_described(word) for word in each.header]} for each in STRUCTURES
        ],
    }


def assemble(folder: str | Path) -> list[Path]:
    """Write the playground to a folder that works by itself, offline, also opened as a file; the paths."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(CHART, place / CHART.name)
    for name in PAGE:
        shutil.copyfile(PLACE / name, place / name)
    module = base64.b64encode((PLACE / "playground.wasm").read_bytes()).decode()
    content = json.dumps(data(), separators=(",", ":"), allow_nan=False)
    # A script, because a page that is opened as a file may not fetch.
    (place / "data.js").write_text(f'const DATA = {content};\nconst MODULE = "{module}";\n', encoding="utf-8")
    return [place / name for name in (*PAGE, CHART.name, "data.js")]


def main() -> None:
    """Compile the module or assemble the folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", help="where to write the playground")
    parser.add_argument("--compile", action="store_true", help="compile the module anew")
    arguments = parser.parse_args()
    if arguments.compile:
        compile_module()
    if arguments.folder:
        for path in assemble(arguments.folder):
            print(f"{path}: {path.stat().st_size:,} bytes")
    if not (arguments.compile or arguments.folder):
        parser.error("give a folder, or --compile")


if __name__ == "__main__":
    main()
