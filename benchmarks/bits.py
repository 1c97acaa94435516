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
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
static double {name}_notes[{notes}];
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
    **{f"{L} groups": f"Split(K, horizon=T, bits=10, count={L})" for L in (100, 64, 45)},
    "Champion": "Champion(K, memory=640, horizon=T)",
    "HLMC": "HLMC(K, memory=640, horizon=T)",
    "UCB-M": "UCBM(K, memory=320)",
}

TUNING = {
    "0.9 in 0.5": lambda K, seed: {"arms": K, "arm": seed * 7919 % K, "high": 0.9, "low": 0.5, "seed": seed},
    "0.7 in 0.2": lambda K, seed: {"arms": K, "arm": seed * 7919 % K, "high": 0.7, "low": 0.2, "seed": seed},
}
"""Arguments of OneGoodArm on which the number of groups of K = 10^5 arms was chosen, with the held-out ``ramp``."""

WORDS = {
    100: (14, 20, 28, 40, 56, 80, 100),
    1000: (20, 32, 64, 128, 256, 512, 1000),
    10**5: (34, 64, 128, 320, 640, 1600, 4000, 10**4, 25000, 10**5),
}
"""By the number of arms, words of statistics from 2 log2 K to K."""


MOST_CODED = 4000
"""The most words of codes for 10^5 arms: with more, a run takes many minutes."""


def by_bytes(K: int) -> dict[str, str]:
    """HLMC and Champion, with 64 bits and with few, in more and more words; and Tsallis-INF with all arms."""
    kinds = {"": "", " bits": ", bits='auto'"}
    return {
        f"{cls}{kind} {M}": f"{cls}(K, memory={M}, horizon=T{more})"
        for cls in ("HLMC", "Champion")
        for kind, more in kinds.items()
        for M in WORDS[K]
        if not kind or K <= JUDGED or M <= MOST_CODED
    } | {f"Tsallis-INF {K}": "TsallisINF(K)" if K <= JUDGED else FLAT}


REPORTED = ("Needle", "UniformMeans")
"""Of 10^5 arms: the adversaries on which nothing was chosen. On the others only the champions are played."""

PLAN: dict[str, tuple[int, int, int, dict[str, str], tuple[str, ...]]] = {
    "many": (10**5, 10**7, 3, MANY, ("Needle", "UniformMeans", "ramp", *TUNING)),
    "short": (100, 10**6, 32, HUNDRED, ()),
    "radio": (20, 10**6, 32, RADIO, ()),
    "long": (100, 10**7, 32, HUNDRED, ()),
    "bytes-100": (100, 10**6, 8, by_bytes(100), REPORTED),
    "bytes-1000": (1000, 10**6, 8, by_bytes(1000), REPORTED),
    "bytes-100000": (10**5, 10**6, 2, by_bytes(10**5), REPORTED),
}
"""Arms, horizon, runs, policies and adversaries (none: all) of each experiment, in the order of play."""

FEW = {"HLMC": 8, "Champion": 8}
"""Policies that are played in so many runs only where T = 10^7."""


def in_lanes(source: str, name: str, words: int) -> str:
    """Exported C with the functions of bits_lanes.txt in place of its own."""
    _, *parts = Path(__file__).with_name("bits_lanes.txt").read_text().split("\n@ ")
    source = source.replace("\n/* ", f"\n{LANES.format(name=name, notes=16 * words + 4)}\n/* ", 1)
    for part in parts:
        head, body = part.split("\n", 1)
        function, *after = head.split()
        body = body.rstrip().replace("P__", f"{name.upper()}_").replace("P_", f"{name}_")
        found = re.search(rf"^static [^;{{]*\b{name}_{function}\([^{{]*\)\n{{\n(.*?)\n}}\n", source, re.M | re.S)
        if found:
            kept = f"{found[1]}\n" if after else ""
            source = f"{source[: found.start(1)]}{kept}{body}{source[found.end(1) :]}"
    return source


def write(folder: Path, arms: int, horizon: int, runs: int, policies: dict[str, str], only: tuple[str, ...]) -> None:
    """Export policies and adversaries."""
    from hlmc.adversaries import OneGoodArm
    from hlmc.arenas.cases import CASES, Case
    from hlmc.arenas.held_out import HELD_OUT
    from hlmc.policies import CATALOGUE, Champion
    from hlmc.targets.c import Table, Unit
    from hlmc.targets.c.types import Type

    folder.mkdir(parents=True, exist_ok=True)

    @dataclass(frozen=True, repr=False)
    class Split(Champion):
        """A champion with so many groups, whatever the planner would choose."""

        count: int = 1

        @property
        def groups_used(self) -> tuple[int, ...]:  # type: ignore[override]
            return self.count, -(-self.arms // self.count)

    known = {"T": horizon, "K": arms, "Split": Split} | CATALOGUE
    names, words = [], {}
    for i, (title, text) in enumerate(policies.items()):
        if text == FLAT:
            source = Path(__file__).with_name("flat_tsallis.c").read_text()
            (folder / "flat.h").write_text(source.replace("@ARMS@", str(arms)))
            names.append(FLAT)
            words[title] = arms - 1
            continue
        policy = eval(text, known)
        exported = policy.to_c(name=f"p{i}")
        (folder / f"p{i}.h").write_text(exported.header)
        (folder / f"p{i}.c").write_text(in_lanes(exported.source, f"p{i}", policy.words.total))
        (folder / "plain").mkdir(exist_ok=True)
        (folder / "plain" / f"p{i}.c").write_text(exported.source.replace(f'"p{i}.h"', f'"../p{i}.h"'))
        names.append(f"p{i}")
        words[title] = policy.words.statistics
    judged = arms <= JUDGED and not folder.name.startswith("bytes")
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
        includes="\n".join(f'#include "{name}.h"' for name in names),
        prototypes="\n".join(prototypes),
        rules="\n".join(rules),
        plays="".join(PLAY.format(name=name, bit=f"{1 << i}u", salt=977 * i) for i, name in enumerate(names)),
        judged=arms if judged else 0,
    )
    (folder / "main.c").write_text(text)
    told = {"arms": arms, "horizon": horizon, "runs": runs, "cases": cases, "policies": policies}
    told |= {"words": words, "best": best}
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
            for program in ("play", "plain/play"):
                arguments = [str(number), str(folder / place / f"a{number}_0.spec"), "20000", "5", str(2**64 - 1)]
                command = [str((folder / place / program).resolve()), *arguments]
                found.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1::2])
            if found[0] != found[1]:
                raise SystemExit(f"{place}, {case}: {found[0]} in lanes, {found[1]} as exported")
        print(f"{place}: the same rewards in {len(told['cases'])} cases")


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
                many = bool(told.get("best")) or told["arms"] > JUDGED
                wanted = [
                    (1 << i, name)
                    for i, name in enumerate(told["policies"])
                    if (place, case, run, name) not in done
                    and (many or told["horizon"] < 10**7 or run < FEW.get(name, run + 1))
                    and (case in REPORTED or place != "many" or "groups" in name)
                ]
                # Where no best arm is looked for, policies are played at the same time.
                parts = [[each] for each in wanted] if many else [wanted]
                tasks += [(place, number, case, run, part) for part in parts if part]
    for place in {task[0] for task in tasks}:
        build(folder / place)
    with file.open("a") as out, ThreadPoolExecutor(cores) as workers:
        if not done:
            out.write("experiment,arms,horizon,case,run,best,policy,words,earned,ns\n")

        def one(task: tuple[str, int, str, int, list[tuple[int, str]]]) -> str:
            place, number, case, run, wanted = task
            if time.monotonic() - began > seconds:
                return ""
            told = written[place]
            spec = folder / place / f"a{number}_{run}.spec"
            key = str(7919 * (run + 1) << 20)
            program = (folder / place / "play").resolve()
            command = [program, str(number), spec, str(told["horizon"]), key, str(sum(bit for bit, _ in wanted))]
            best, *rest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            best = told["best"][case][run] if case in told.get("best", {}) else best
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
        many = one["arms"] > JUDGED
        if place.startswith("bytes"):
            continue
        print("\n| adversary | runs | " + " | ".join(names) + " |")
        print("| --- " * (2 + len(names)) + "|")
        for case in one["cases"]:
            values = regrets(rows, case, names, rewards=many)
            if not any(values):
                continue
            base, error = mean_and_half(values[0].values())
            cells = []
            for i, found in enumerate(values):
                mean, half = mean_and_half(found.values())
                cell = f"{mean:.4f} ± {half:.4f}" if many else f"{mean:,.0f} ± {half:,.0f}"
                if i and not many and base > 2 * error and found:
                    cell += " ({:.3g} ± {:.2g})".format(*ratio_and_half(values[0], found))
                cells.append(cell)
            print(f"| {case} | {max(map(len, values))} | " + " | ".join(cells) + " |")


def plot(folder: Path, file: str) -> None:
    """Draw the ratios to the first policy, adversaries on which its regret is significantly above 0."""
    import matplotlib.pyplot as plt

    told = experiments(folder)
    played = {
        place: rows
        for place, rows in read(folder).items()
        if not told[place].get("best") and told[place]["arms"] <= JUDGED
    }
    figure, every = plt.subplots(1, len(played), figsize=(6.5 * len(played), 6.8), squeeze=False)
    for axes, (place, rows) in zip(every[0], played.items(), strict=True):
        one = told[place]
        names = list(one["policies"])
        ratios = {}
        for case in one["cases"]:
            values = regrets(rows, case, names)
            mean, half = mean_and_half(values[0].values())
            if mean > 2 * half:
                ratios[case] = [ratio_and_half(values[0], each) for each in values]
        cases = sorted(ratios, key=lambda case: ratios[case][-1][0])
        looks = {"HLMC": "C1s", "Champion": "C2^", "12 bits": "C0o"}
        for i in range(1, len(names)):
            colour, marker = looks.get(names[i], "C4D")[:2], looks.get(names[i], "C4D")[2]
            points = [(*ratios[case][i], y) for y, case in enumerate(cases) if ratios[case][i][0] > 0]
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
        axes.legend(fontsize=7, loc="lower right")
        axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def plot_bytes(folder: Path, file: str) -> None:
    """Draw regret against bytes of statistics, mean and 95 % interval of the runs: a row for each K."""
    import matplotlib.pyplot as plt

    told = {place: one for place, one in experiments(folder).items() if place.startswith("bytes")}
    played = read(folder)
    figure, every = plt.subplots(len(told), len(REPORTED), figsize=(11, 3.4 * len(told)), squeeze=False)
    styles = {"HLMC": ("C0", "o-"), "HLMC bits": ("C0", "o:"), "Champion": ("C3", "s-"), "Champion bits": ("C3", "s:")}
    styles |= {"Tsallis-INF": ("k", "D")}
    for row, (place, one) in zip(every, told.items(), strict=True):
        for axes, case in zip(row, REPORTED, strict=True):
            for kind, (colour, style) in styles.items():
                names = [name for name in one["policies"] if name.rsplit(" ", 1)[0] == kind]
                found = [mean_and_half(each.values()) for each in regrets(played[place], case, names)]
                across = [8 * one["words"][name] for name in names]
                up = [max(mean, 1.0) / one["horizon"] for mean, _ in found]
                error = [min(half, 0.9 * mean) / one["horizon"] for mean, half in found]
                label = f"{kind[:-5]}, few bits" if kind.endswith("bits") else f"{kind}, 64 bits"
                axes.errorbar(across, up, yerr=error, fmt=style, color=colour, markersize=4, label=label)
            axes.set(xscale="log", yscale="log", xlabel="bytes of statistics", ylabel="regret per step")
            axes.set_ylim(5e-4, 1.0)
            axes.xaxis.set_minor_formatter("")
            runs = f"{one['runs']} run{'s' * (one['runs'] > 1)}"
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
    for name in names or [name for name in PLAN if not name.startswith("bytes")]:
        write(folder / name, *PLAN[name])
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
        write(options.folder, arms, horizon, runs, dict(text.split("=", 1) for text in options.rest[3:]), ())
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
