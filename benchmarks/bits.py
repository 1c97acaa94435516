"""Regret of policies in equal bytes, played in C on all cores: the tables of docs/bits.md.

    python benchmarks/bits.py plan FOLDER [EXPERIMENT ...]          # the experiments of docs/bits.md
    python benchmarks/bits.py write FOLDER ARMS HORIZON RUNS NAME=POLICY ...
    python benchmarks/bits.py play FOLDER [--cores N] [--seconds S]
    python benchmarks/bits.py check FOLDER
    python benchmarks/bits.py table FOLDER
    python benchmarks/bits.py plot FOLDER FILE
    python benchmarks/bits.py plot-bytes FOLDER FILE                # regret against bytes
    python benchmarks/bits.py speed                                 # a step with 64 bits and with 12

``write`` exports the policies (``policy.to_c``) and the adversaries of the arena, catalogue and held out, as C, and the
adversaries' numbers as data, to a folder; ``plan`` writes several such folders into one. ``play`` compiles and plays
them on N cores, and starts nothing after S seconds; the same call again plays what is left. It needs no more than
Python and a C compiler, so that the folder can be played on another machine: ``python3 FOLDER/bits.py play FOLDER``.
Every run is a sequence of rewards of its own, on which all policies are played. ``played.csv`` has one line for each
run of a policy. ``table`` prints weak regret, mean and 95 % interval, and ratios to the first policy; above 1,000
arms, mean rewards. A policy is written as in Python: ``few="TsallisINF(100, bits=12)"``; K and T stand for the arms and
the horizon, ``flat`` for ``flat_tsallis.c``. ``check`` plays 20,000 steps of each case with the policies as exported
and as in ``bits_lanes.txt``, in which they are played, and fails if a reward differs.

The best fixed arm is found in two passes: the rewards of all arms at about 150,000 steps drawn at random, one of each
stretch of equal length, then all rewards of those arms whose mean was within 0.008 of the best. An arm of fixed mean
that is best and is left out would have to be off by six standard deviations.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAIN = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
{includes}
{prototypes}
static double spec[1 << 20], about[{judged} + 1];
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}
/* CASE SPEC T KEY POLICIES, a bit each: what the best fixed arm earns, then reward and ns a step of each policy. */
int main(int argc, char **argv)
{{
    if (argc < 6) return 1;
    int number = atoi(argv[1]);
    uint64_t wanted = strtoull(argv[5], NULL, 10);
    int64_t T = atoll(argv[3]);
    uint64_t key = strtoull(argv[4], NULL, 10), z;
    FILE *file = fopen(argv[2], "rb");
    if (!file || fread(spec, 8, sizeof spec / 8, file) == 0) return 1;
    double (*rule)(const double *, int64_t, int64_t) = NULL;
{rules}
    int64_t stride = T / 150000 > 1 ? T / 150000 : 1;
    double best = 0.0, most = 0.0;
    for (int64_t arm = 0; arm < {judged}; arm++) {{
        about[arm] = 0.0;
        for (int64_t t = 0, j = 0; t + stride <= T; t += stride, j++) {{
            z = ((uint64_t)j + 1) * 0x9E3779B97F4A7C15u;
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
            about[arm] += rule(spec, t + (int64_t)((z >> 33) % (uint64_t)stride), arm);
        }}
        about[arm] *= (double)stride;
        if (about[arm] > most) most = about[arm];
    }}
    for (int64_t arm = 0; arm < {judged}; arm++) {{
        if (about[arm] < most - 0.008 * (double)T) continue;
        double total = 0.0;
        for (int64_t t = 0; t < T; t++) total += rule(spec, t, arm);
        if (total > best) best = total;
    }}
    printf("%.6f", best);
{plays}
    printf("\\n");
    return 0;
}}
"""

PLAY = """    if (wanted & {bit}) {{
        static {name}_learner learner;
        {name}_start(&learner, key + {salt}u);
        double earned = 0.0, began = now();
        for (int64_t t = 0; t < T; t++) {{
            int64_t arm = {name}_select(&learner);
            double reward = rule(spec, t, arm);
            earned += reward;
            {name}_update(&learner, reward);
        }}
        printf(" %.6f %.2f", earned, (now() - began) / (double)T);
    }}
"""

LANES = """typedef double {name}_four __attribute__((vector_size(32)));
typedef int64_t {name}_truths __attribute__((vector_size(32)));
static double {name}_notes[{notes}], {name}_kept[{notes}], {name}_of[4], {name}_sums[3];
static int64_t {name}_base;
static inline int {name}_is(int64_t at, int64_t n, double c, double d)
{{
    return {name}_of[0] == (double)at && {name}_of[1] == (double)n && {name}_of[2] == c && {name}_of[3] == d;
}}
static inline void {name}_keep(int64_t at, int64_t n, double c, double d, double s0, double s1, double s2)
{{
    {name}_of[0] = (double)at, {name}_of[1] = (double)n, {name}_of[2] = c, {name}_of[3] = d;
    {name}_sums[0] = s0, {name}_sums[1] = s1, {name}_sums[2] = s2;
}}
static inline {name}_four {name}_pick({name}_truths where, {name}_four a, {name}_four b)
{{
    return ({name}_four)((where & ({name}_truths)a) | (~where & ({name}_truths)b));
}}
"""

JUDGED = 1000
"""Of more arms the best is not looked for, and what is earned is shown in place of regret."""

FLAT = "flat"
"""Stands for flat_tsallis.c in place of a policy."""

HUNDRED = {
    "64 bits": "TsallisINF(K)",
    "12 bits": "TsallisINF(K, bits=12)",
    "HLMC": "HLMC(K, memory=20, horizon=T)",
    "Champion": "Champion(K, memory=20, horizon=T)",
}

RADIO = {
    "64 bits": "TsallisINF(K)",
    "32 bits": "TsallisINF(K, bits=32)",
    "12 bits": "TsallisINF(K, bits=12)",
    "HLMC": "HLMC(K, memory=10, horizon=T)",
    "Champion": "Champion(K, memory=10, horizon=T)",
}

MANY = {
    "all words": FLAT,
    "few bits": "Champion(K, memory=640, horizon=T, bits='auto')",
    "100 groups": "Split(K, horizon=T, bits=10, count=100)",
    "Champion": "Champion(K, memory=640, horizon=T)",
    "HLMC": "HLMC(K, memory=640, horizon=T)",
    "UCB-M": "UCBM(K, memory=320)",
}

TUNING = {
    "0.9 in 0.5": lambda K, seed: {"arms": K, "arm": seed * 7919 % K, "high": 0.9, "low": 0.5, "seed": seed},
    "0.7 in 0.2": lambda K, seed: {"arms": K, "arm": seed * 7919 % K, "high": 0.7, "low": 0.2, "seed": seed},
}
"""Arguments of OneGoodArm on which splits of K = 10^5 arms are compared, with the held-out ``ramp``."""

WORDS = {
    100: (14, 20, 28, 40, 56, 80, 100),
    1000: (20, 32, 64, 128, 256, 512, 1000),
    10**5: (34, 64, 128, 320, 640, 1600, 4000, 10**4, 25000, 10**5),
}
"""By the number of arms, words of statistics from 2 log2 K to K."""


def by_bytes(K: int) -> dict[str, str]:
    """HLMC and Champion, with 64 bits and with few, in more and more words; and Tsallis-INF with all arms."""
    kinds = {"": "", " bits": ", bits='auto'"}
    return {
        f"{cls}{kind} {M}": f"{cls}(K, memory={M}, horizon=T{more})"
        for cls in ("HLMC", "Champion")
        for kind, more in kinds.items()
        for M in WORDS[K]
    } | {f"Tsallis-INF {K}": "TsallisINF(K)" if K <= JUDGED else FLAT}


REPORTED = ("Needle", "UniformMeans")
"""Of 10^5 arms and in the plots against bytes: the adversaries on which nothing was chosen."""

GOALS = ("Needle", "Decoy", "UniformMeans", "Alternating")
"""Where the regret of HLMC is asked for at T = 10^7."""


@dataclass(frozen=True)
class Experiment:
    """What is played: every policy in every run against every adversary, but for ``fewer``.

    Attributes
    ----------
    arms, horizon, runs
        K, T, and the sequences of rewards of each adversary.
    policies
        By name, as in Python.
    cases
        The adversaries; none: all of the catalogue and all held-out ones.
    fewer
        By the name of a policy: in how many runs it is played, and against which adversaries (none: all).
    """

    arms: int
    horizon: int
    runs: int
    policies: dict[str, str]
    cases: tuple[str, ...] = ()
    fewer: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)


TWO = {name: HUNDRED[name] for name in ("64 bits", "12 bits")}

SLOW = {"HLMC bits 4000": (2, ()), **{f"HLMC bits {M}": (0, ()) for M in (10**4, 25000, 10**5)}}
"""EXP3 of few bits over most of 10^5 arms: 0.07 ms a step, and 0.3 to 1 ms, which is too long to be played."""

PLAN = {
    "long": Experiment(100, 10**7, 32, HUNDRED, fewer={"HLMC": (32, GOALS), "Champion": (8, GOALS)}),
    "short": Experiment(100, 10**6, 32, HUNDRED),
    "many": Experiment(
        10**5,
        10**7,
        3,
        MANY,
        (*REPORTED, "ramp", *TUNING),
        fewer={name: (3, REPORTED) for name in MANY if name not in ("few bits", "100 groups")},
    ),
    "bytes-100": Experiment(100, 10**6, 8, by_bytes(100), REPORTED),
    "bytes-1000": Experiment(1000, 10**6, 8, by_bytes(1000), REPORTED),
    "bytes-100000": Experiment(10**5, 10**6, 8, by_bytes(10**5), REPORTED, fewer=SLOW),
    "tails": Experiment(100, 10**6, 1024, TWO, ("antiphase", "clumps", "bursts")),
    "radio": Experiment(20, 10**6, 32, RADIO),
}
"""The experiments of docs/bits.md, in the order of play."""


def in_lanes(source: str, name: str, words: int) -> str:
    """Exported C with the functions of bits_lanes.txt in place of its own."""
    _, *parts = Path(__file__).with_name("bits_lanes.txt").read_text().split("\n@ ")
    source = source.replace("\n/* ", f"\n{LANES.format(name=name, notes=16 * words + 4)}\n/* ", 1)
    for part in parts:
        head, body = part.split("\n", 1)
        function, *where = head.split()
        body = body.rstrip().replace("P__", f"{name.upper()}_").replace("P_", f"{name}_")
        found = re.search(rf"^static [^;{{]*\b{name}_{function}\([^{{]*\)\n{{\n(.*?)\n}}\n", source, re.M | re.S)
        if found:
            own = {"before": f"{body}\n{found[1]}", "after": f"{found[1]}\n{body}"}
            source = f"{source[: found.start(1)]}{own[where[0]] if where else body}{source[found.end(1) :]}"
    return source


def write(folder: Path, what: Experiment) -> None:
    """Export the policies and adversaries of an experiment. Of policies that are the same only the first is played."""
    from hlmc.adversaries import OneGoodArm
    from hlmc.arenas.cases import CASES, Case
    from hlmc.arenas.held_out import HELD_OUT
    from hlmc.policies import CATALOGUE, Champion
    from hlmc.targets.c import Table, Unit
    from hlmc.targets.c.types import Type

    folder.mkdir(parents=True, exist_ok=True)
    arms, horizon, runs, policies, only = what.arms, what.horizon, what.runs, what.policies, what.cases

    @dataclass(frozen=True, repr=False)
    class Split(Champion):
        """A champion with so many groups, whatever the planner would choose."""

        count: int = 1

        @property
        def groups_used(self) -> tuple[int, ...]:  # type: ignore[override]
            return self.count, -(-self.arms // self.count)

    known = {"T": horizon, "K": arms, "Split": Split} | CATALOGUE
    names: dict[int, str] = {}
    words: dict[str, int] = {}
    first_of: dict[str, str] = {}
    same: dict[str, str] = {}
    for i, (title, text) in enumerate(policies.items()):
        if text == FLAT:
            source = Path(__file__).with_name("flat_tsallis.c").read_text()
            (folder / "flat.h").write_text(source.replace("@ARMS@", str(arms)))
            names[i] = FLAT
            words[title] = arms - 1
            continue
        policy = eval(text, known)
        words[title] = policy.words.statistics
        same[title] = first_of.setdefault(f"{policy.plan.levels} {policy.structure.name}", title)
        if same[title] != title:
            continue
        exported = policy.to_c(name=f"p{i}")
        (folder / f"p{i}.h").write_text(exported.header)
        (folder / f"p{i}.c").write_text(in_lanes(exported.source, f"p{i}", policy.words.total))
        (folder / "plain").mkdir(exist_ok=True)
        (folder / "plain" / f"p{i}.c").write_text(exported.source.replace(f'"p{i}.h"', f'"../p{i}.h"'))
        names[i] = f"p{i}"
    judged = arms <= JUDGED and not folder.name.startswith("bytes")  # else the best arm is that of the best mean
    best: dict[str, list[float]] = {}
    cases, rules, prototypes = [], [], []
    tuning = [Case(name, lambda K, M, T, seed, make=make: OneGoodArm(**make(K, seed))) for name, make in TUNING.items()]
    for case in (*CASES.values(), *HELD_OUT.values(), *(tuning if only else [])):
        first = case.make(arms, 20, horizon, 0)
        if first is None or (only and case.name not in only):
            continue
        number = len(cases)
        unit = Unit(f"a{number}", Table({}, {}), frozenset(["rule"]))
        rule = unit.entry(first.rule, Type.RUN, Type.INT, Type.INT)
        head = f"double a{number}_rule(const double *spec, int64_t t, int64_t arm)"
        includes = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n"
        body = f"{includes}\n{unit.text()}\n\n{head}\n{{\n    return {rule.name}(spec, t, arm);\n}}\n"
        (folder / f"a{number}.c").write_text(body)
        prototypes.append(f"{head};")
        rules.append(f"    if (number == {number}) rule = a{number}_rule;")
        cases.append(case.name)
        for run in range(runs):
            adversary = case.make(arms, 20, horizon, 1000 + run)
            assert adversary is not None
            (folder / f"a{number}_{run}.spec").write_bytes(adversary.spec.tobytes())
            if not judged:
                best.setdefault(case.name, []).append(horizon * float(adversary.expected.rewards(0, 1).max()))
    text = MAIN.format(
        includes="\n".join(f'#include "{name}.h"' for name in names.values()),
        prototypes="\n".join(prototypes),
        rules="\n".join(rules),
        plays="".join(PLAY.format(name=name, bit=f"{1 << i}u", salt=977 * i) for i, name in names.items()),
        judged=arms if judged else 0,
    )
    (folder / "main.c").write_text(text)
    told = {"arms": arms, "horizon": horizon, "runs": runs, "cases": cases, "policies": policies}
    told |= {"words": words, "best": best, "same": same, "fewer": what.fewer}
    (folder / "told.json").write_text(json.dumps(told))


def experiments(folder: Path) -> dict[str, dict[str, Any]]:
    """What ``write`` or ``plan`` wrote to a folder, by the place within it."""
    found = {str(path.parent.relative_to(folder)): json.loads(path.read_text()) for path in folder.glob("**/told.json")}
    return dict(sorted(found.items(), key=lambda each: [*PLAN, each[0]].index(each[0])))


def build(folder: Path, name: str = "play", plain: bool = False) -> None:
    """Compile the C files of an experiment; ``plain``: with the policies as exported."""
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-std=gnu99", "-I", str(folder)]
    own = "plain/p*.c" if plain else "p*.c"
    sources = sorted([*folder.glob("a*.c"), *folder.glob("main.c"), *folder.glob(own)])
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as workers:
        objects = [f"{place}/{source.stem}.o" for source in sources]

        def one(source: Path, to: str) -> None:
            subprocess.run(["cc", *flags, "-c", "-o", to, str(source)], check=True)

        list(workers.map(one, sources, objects))
        subprocess.run(["cc", *flags, "-o", str(folder / name), *objects, "-lm"], check=True)


def check(folder: Path) -> None:
    """Compare the policies as exported with the same in lanes."""
    for place, told in experiments(folder).items():
        build(folder / place)
        build(folder / place, "plain/play", plain=True)
        for number, case in enumerate(told["cases"]):
            found = []
            mask = sum(1 << i for i, name in enumerate(told["policies"]) if is_played(told, name, case, 0))
            for program in ("play", "plain/play"):
                arguments = [str(number), str(folder / place / f"a{number}_0.spec"), "20000", "5", str(mask)]
                command = [str((folder / place / program).resolve()), *arguments]
                found.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1::2])
            if found[0] != found[1]:
                raise SystemExit(f"{place}, {case}: {found[0]} in lanes, {found[1]} as exported")
        print(f"{place}: the same rewards in {len(told['cases'])} cases")


def is_played(told: dict[str, Any], name: str, case: str, run: int) -> bool:
    """Whether a policy is played in a run against an adversary."""
    most, cases = told["fewer"].get(name, (told["runs"], ()))
    return told["same"].get(name, name) == name and run < most and (not cases or case in cases)


def play(folder: Path, cores: int, seconds: float) -> None:
    """Compile and play what has not been played; one line of played.csv for each run of a policy."""
    began = time.monotonic()
    written = experiments(folder)
    file = folder / "played.csv"
    done = set()
    if file.exists():
        rows = csv.DictReader(file.read_text().splitlines())
        done = {(row["experiment"], row["case"], int(row["run"]), row["policy"]) for row in rows}
    tasks = []
    for place, told in written.items():
        for run in range(told["runs"]):
            for number, case in enumerate(told["cases"]):
                wanted = [
                    (1 << i, name)
                    for i, name in enumerate(told["policies"])
                    if (place, case, run, name) not in done and is_played(told, name, case, run)
                ]
                # Where no best arm is looked for, policies are played at the same time.
                parts = [[each] for each in wanted] if told["best"] else [wanted]
                tasks += [(place, number, case, run, part) for part in parts if part]
    compiling = {place: threading.Lock() for place in written}
    compiled: set[str] = set()
    with file.open("a") as out, ThreadPoolExecutor(cores) as workers:
        if not done:
            out.write("experiment,arms,horizon,case,run,best,policy,words,earned,ns\n")

        def one(task: tuple[str, int, str, int, list[tuple[int, str]]]) -> str:
            place, number, case, run, wanted = task
            if time.monotonic() - began > seconds:
                return ""
            with compiling[place]:
                if place not in compiled:
                    build(folder / place)
                    compiled.add(place)
            told = written[place]
            spec = folder / place / f"a{number}_{run}.spec"
            key = str(7919 * (run + 1) << 20)
            program = (folder / place / "play").resolve()
            command = [program, str(number), spec, str(told["horizon"]), key, str(sum(bit for bit, _ in wanted))]
            best, *rest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            best = told["best"][case][run] if told["best"] else best
            head = f"{place},{told['arms']},{told['horizon']},{case},{run},{best}"
            found = zip(wanted, rest[::2], rest[1::2], strict=True)
            return "".join(f"{head},{name},{told['words'][name]},{earned},{ns}\n" for (_, name), earned, ns in found)

        played = 0
        for lines in workers.map(one, tasks):
            played += bool(lines)
            out.write(lines)
            out.flush()
    print(f"{played} of {len(tasks)} tasks in {time.monotonic() - began:.0f} s", flush=True)


def read(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The lines of played.csv by experiment."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader((folder / "played.csv").read_text().splitlines()):
        found.setdefault(row["experiment"], []).append(row)
    return found


def regrets(
    rows: list[dict[str, str]], case: str, names: Iterable[str], rewards: bool = False
) -> list[dict[int, float]]:
    """Weak regret of each policy, or its mean reward, by run. Without a best arm: regret to what it pays on average."""
    found: dict[str, dict[int, float]] = {name: {} for name in names}
    for row in rows:
        if row["case"] == case:
            best, earned = float(row["best"]), float(row["earned"])
            if row["policy"] in found:
                found[row["policy"]][int(row["run"])] = earned / float(row["horizon"]) if rewards else best - earned
    return list(found.values())


def mean_and_half(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval; of no values, not a number."""
    sample = list(values)
    n = len(sample)
    if n < 2:
        return (sample or [math.nan])[0], math.nan
    mean = sum(sample) / n
    return mean, 1.96 * math.sqrt(sum((value - mean) ** 2 for value in sample) / (n - 1) / n)


def ratio_and_half(first: dict[int, float], other: dict[int, float]) -> tuple[float, float]:
    """The ratio of the means over the runs that both have, and half its 95 % interval (delta method)."""
    runs = [run for run in first if run in other]
    a, b = sum(first[run] for run in runs), sum(other[run] for run in runs)
    _, half = mean_and_half((other[run] - b / a * first[run]) * len(runs) / a for run in runs)
    return b / a, half


def difference_and_half(first: dict[int, float], other: dict[int, float], unit: float) -> tuple[float, float]:
    """The mean difference over the runs that both have in a unit, and half its 95 % interval."""
    return mean_and_half((other[run] - first[run]) / unit for run in first if run in other)


def quantile(values: Iterable[float], part: float) -> float:
    """The value below which this part of the values lies; of no values, not a number."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)] if ordered else math.nan


def regret_row(values: dict[str, dict[int, float]], unit: float) -> str:
    """A line of a table of regret: means, ratios to the first policy, differences to it for other numbers of bits."""
    first, *others = values
    base = values[first]
    mean, error = mean_and_half(base.values())
    cells = [str(max(map(len, values.values()))), f"{mean:,.0f} ± {error:,.0f}"]
    for name in others:
        found = values[name]
        own, half = mean_and_half(found.values())
        cells.append(f"{own:,.0f} ± {half:,.0f}" if found else "")
        ratio, wide = ratio_and_half(base, found) if found else (math.nan, math.nan)
        if not found or mean <= 2 * error:
            cells.append("")  # a regret that may be 0 is no unit
        elif name.endswith("bits"):
            cells.append(f"**{ratio:.2f}** ± {wide:.2f}")
        else:
            cells.append("below 0" if ratio < 0 else f"{ratio:.3g}" if ratio < 10 else f"{ratio:,.0f}")
        if name.endswith("bits"):
            cells.append("{:+.3f} ± {:.3f}".format(*difference_and_half(base, found, unit)))
    return " | ".join(cells)


def table(folder: Path) -> None:
    """Print what was played, as tables in Markdown."""
    told = experiments(folder)
    for place, rows in read(folder).items():
        one = told[place]
        names = list(one["policies"])
        print(f"\n{place}: K = {one['arms']:,}, T = {one['horizon']:,}")
        for name, text in one["policies"].items():
            ns = [float(row["ns"]) for row in rows if row["policy"] == name]
            mean = sum(ns) / max(1, len(ns))
            print(f"- {name}: {text}, {8 * one['words'][name]:,} bytes of statistics, {mean:.0f} ns a step")
        if place.startswith("bytes"):
            continue
        many = bool(one["best"])
        unit = math.sqrt(one["arms"] * one["horizon"])
        title = {name: f"{name}: {8 * one['words'][name]:,} bytes" for name in names}
        heads = [title[names[0]]]
        for name in names[1:]:
            heads += [title[name]] if many else [title[name], "ratio"] + ["difference / √(KT)"] * name.endswith("bits")
        print("\n| adversary | runs | " + " | ".join(heads) + " |")
        print("| --- " * (2 + len(heads)) + "|")
        for case in one["cases"]:
            values = dict(zip(names, regrets(rows, case, names, rewards=many), strict=True))
            if not any(values.values()):
                continue
            if many:
                cells = [
                    "{:.3f} ± {:.3f}".format(*mean_and_half(each.values())) if each else "" for each in values.values()
                ]
                print(f"| {case} | {max(map(len, values.values()))} | " + " | ".join(cells) + " |")
            else:
                print(f"| {case} | {regret_row(values, unit)} |")
        if place == "tails":
            print("\n| adversary | policy | runs | 10 % | median | 90 % | 99 % | mean |\n" + "| --- " * 8 + "|")
            for case in one["cases"]:
                for name, found in zip(names, regrets(rows, case, names), strict=True):
                    parts = [f"{quantile(found.values(), part):,.0f}" for part in (0.1, 0.5, 0.9, 0.99)]
                    mean, half = mean_and_half(found.values())
                    print(f"| {case} | {name} | {len(found)} | {' | '.join(parts)} | {mean:,.0f} ± {half:,.0f} |")


def plot(folder: Path, file: str) -> None:
    """Draw the ratios to the first policy, adversaries on which its regret is significantly above 0."""
    import matplotlib.pyplot as plt

    told = experiments(folder)
    played = {place: rows for place, rows in read(folder).items() if not told[place]["best"] and place != "tails"}
    figure, every = plt.subplots(1, len(played), figsize=(6.5 * len(played), 6.8), squeeze=False)
    for axes, (place, rows) in zip(every[0], played.items(), strict=True):
        one = told[place]
        names = list(one["policies"])
        ratios = {}
        for case in one["cases"]:
            values = regrets(rows, case, names)
            mean, half = mean_and_half(values[0].values())
            if mean > 2 * half:
                ratios[case] = [ratio_and_half(values[0], each) if each else (-1.0, 0.0) for each in values]
        cases = sorted(ratios, key=lambda case: ratios[case][1][0])
        looks = {"HLMC": "C1s", "Champion": "C2^", "12 bits": "C0o"}
        for i in range(1, len(names)):
            colour, marker = looks.get(names[i], "C4D")[:2], looks.get(names[i], "C4D")[2]
            points = [(*ratios[case][i], y) for y, case in enumerate(cases) if ratios[case][i][0] > 0]
            if not points:
                continue
            label = f"{one['policies'][names[i]]}: {8 * one['words'][names[i]]} bytes"
            across, error, up = zip(*points, strict=True)
            bounded = [min(half, 0.9 * x) for x, half in zip(across, error, strict=True)]
            axes.errorbar(across, up, xerr=bounded, fmt=marker, color=colour, label=label, markersize=5, elinewidth=1)
        axes.set_yticks(range(len(cases)), cases, fontsize=8)
        axes.set_xscale("log")
        axes.axvline(1, color="0.6", linewidth=0.8)
        first = f"{one['policies'][names[0]]}, {8 * one['words'][names[0]]} bytes"
        axes.set_xlabel(f"weak regret divided by that of {first}")
        axes.set_title(f"K = {one['arms']}, T = {one['horizon']:,}, bytes of statistics", fontsize=10)
        axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08))
        axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def plot_bytes(folder: Path, file: str) -> None:
    """Draw regret against the bytes of statistics that are given, mean and 95 % interval of the runs: a row a K."""
    import matplotlib.pyplot as plt

    told = {place: one for place, one in experiments(folder).items() if place.startswith("bytes")}
    played = read(folder)
    figure, every = plt.subplots(len(told), len(REPORTED), figsize=(11, 3.4 * len(told)), squeeze=False)
    styles = {"HLMC": ("C0", "o-"), "HLMC bits": ("C0", "o:"), "Champion": ("C3", "s-"), "Champion bits": ("C3", "s:")}
    styles |= {"Tsallis-INF": ("k", "D")}
    for row, (place, one) in zip(every, told.items(), strict=True):
        for axes, case in zip(row, REPORTED, strict=True):
            regret = dict(zip(one["policies"], regrets(played[place], case, one["policies"]), strict=True))
            for kind, (colour, style) in styles.items():
                names = [name for name in one["policies"] if name.rsplit(" ", 1)[0] == kind]
                # Policies that are the same are played once.
                found = [mean_and_half(regret[one["same"].get(name, name)].values()) for name in names]
                across = [8 * int(name.rsplit(" ", 1)[1]) for name in names]
                up = [max(mean, 1.0) / one["horizon"] for mean, _ in found]
                error = [min(half, 0.9 * mean) / one["horizon"] for mean, half in found]
                label = f"{kind[:-5]}, few bits" if kind.endswith("bits") else f"{kind}, 64 bits"
                axes.errorbar(across, up, yerr=error, fmt=style, color=colour, markersize=4, label=label)
            axes.set(xscale="log", yscale="log", xlabel="memory given: bytes of statistics", ylabel="regret per step")
            axes.set_ylim(5e-4, 1.0)
            given = [8 * words for words in WORDS[one["arms"]]]
            axes.set_xticks(given[::2], [f"{size:,}" for size in given[::2]], fontsize=8)
            axes.set_xticks([], minor=True)
            counts = sorted({len(each) for name, each in regret.items() if is_played(one, name, case, 0)} - {0})
            runs = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else f"{counts[0]} runs"
            axes.set_title(f"{case}, K = {one['arms']:,}, T = {one['horizon']:,}, {runs}", fontsize=10)
            axes.axvline(8 * one["arms"], color="0.6", linewidth=0.8)
            axes.grid(alpha=0.25)
    every[-1][0].legend(fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def speed(times: int = 10, steps: int = 1_000_000) -> None:
    """Print nanoseconds a step in simulation, 64 and 12 bits in turns, the least of each, and their ratio."""
    import numpy as np

    import hlmc
    from hlmc.simulation.runs import Task
    from hlmc.simulation.runs import play as play_task

    adversary = hlmc.adversaries.UniformMeans(arms=100, seed=1)
    policies = {64: hlmc.TsallisINF(100), 12: hlmc.TsallisINF(100, bits=12)}
    least = dict.fromkeys(policies, math.inf)
    for _ in range(times + 1):  # the first compiles
        for bits, policy in policies.items():
            played = play_task(Task("", policy, adversary, 0, 0, 1), np.array([steps]))
            least[bits] = min(least[bits], 1e9 * played.seconds / steps)
    print(
        f"Tsallis-INF, K = 100: {least[64]:.0f} ns with 64 bits, {least[12]:.0f} with 12: {least[12] / least[64]:.2f}"
    )


def plan(folder: Path, names: list[str]) -> None:
    """Write the experiments of docs/bits.md, and this script."""
    for name in names or PLAN:
        write(folder / name, PLAN[name])
    shutil.copy(__file__, folder / "bits.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("plan", "write", "play", "check", "table", "plot", "plot-bytes", "speed"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bits"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    if options.verb == "plan":
        plan(options.folder, options.rest)
    elif options.verb == "write":
        arms, horizon, runs = (int(float(text)) for text in options.rest[:3])
        policies = dict(text.split("=", 1) for text in options.rest[3:])
        write(options.folder, Experiment(arms, horizon, runs, policies))
    elif options.verb == "play":
        play(options.folder, options.cores, options.seconds)
    elif options.verb == "speed":
        speed()
    elif options.verb == "check":
        check(options.folder)
    elif options.verb == "plot":
        plot(options.folder, options.rest[0])
    elif options.verb == "plot-bytes":
        plot_bytes(options.folder, options.rest[0])
    else:
        table(options.folder)


if __name__ == "__main__":
    sys.exit(main())
