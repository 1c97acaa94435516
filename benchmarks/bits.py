"""Regret of policies in equal bytes, played in C on all cores: the tables of docs/bits.md.

    python benchmarks/bits.py write FOLDER ARMS HORIZON RUNS NAME=POLICY ...
    python benchmarks/bits.py play FOLDER [CASE ...]
    python benchmarks/bits.py table FOLDER

``write`` exports the policies (``policy.to_c``) and the adversaries of the arena, catalogue and held out, as C, and the
adversaries' numbers as data. ``play`` compiles and plays them: every run is a sequence of rewards of its own, on which
all policies are played; the best fixed arm is found by adding up all rewards of all arms. It needs no more than Python
and a C compiler, so that the folder can be played on another machine. ``table`` prints weak regret, mean and 95 %
interval, and ratios to the first policy. A policy is written as in Python: ``few="TsallisINF(100, bits=12)"``; K and T
stand for the arms and the horizon.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MAIN = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{includes}
{prototypes}
static double spec[1 << 22];
int main(int argc, char **argv)
{{
    int number = atoi(argv[1]);
    int64_t T = atoll(argv[3]);
    uint64_t key = strtoull(argv[4], NULL, 10);
    FILE *file = fopen(argv[2], "rb");
    if (argc < 5 || !file || fread(spec, 8, sizeof spec / 8, file) == 0) return 1;
    double (*rule)(const double *, int64_t, int64_t) = NULL;
{rules}
    double best = 0.0;
    for (int64_t arm = 0; arm < {judged}; arm++) {{
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

JUDGED = 1000
"""Of more arms the best is not looked for, and what is earned is shown in place of regret."""

PLAY = """    {{
        static {name}_learner learner;
        {name}_start(&learner, key + {salt}u);
        double earned = 0.0;
        for (int64_t t = 0; t < T; t++) {{
            int64_t arm = {name}_select(&learner);
            double reward = rule(spec, t, arm);
            earned += reward;
            {name}_update(&learner, reward);
        }}
        printf(" %.6f", earned);
    }}
"""


def write(folder: Path, arms: int, horizon: int, runs: int, policies: dict[str, str]) -> None:
    """Export policies and adversaries."""
    import hlmc

    if importlib.util.find_spec("pandas") is None:
        # The cases need no more than NumPy; what the arena's front does is not needed here.
        bare = types.ModuleType("hlmc.arenas")
        bare.__path__ = [str(Path(hlmc.__file__).parent / "arenas")]
        sys.modules["hlmc.arenas"] = bare
    from hlmc.arenas.cases import CASES
    from hlmc.arenas.held_out import HELD_OUT
    from hlmc.export.source import OWN
    from hlmc.policies import CATALOGUE
    from hlmc.targets.c import OutsideDialect, Table, Unit
    from hlmc.targets.c.types import Type

    folder.mkdir(parents=True, exist_ok=True)
    known = {"T": horizon, "K": arms} | CATALOGUE
    made = {name: eval(text, known) for name, text in policies.items()}
    for i, policy in enumerate(made.values()):
        exported = policy.to_c(name=f"p{i}")
        (folder / f"p{i}.h").write_text(exported.header)
        (folder / f"p{i}.c").write_text(exported.source)
    cases, rules, prototypes = [], [], []
    for case in (*CASES.values(), *HELD_OUT.values()):
        first = case.make(arms, 20, horizon, 0)
        if first is None:
            continue
        number = len(cases)
        unit = Unit(f"a{number}", Table({}, {}), frozenset(["rule"]), OWN)
        try:
            rule = unit.entry(first.rule, Type.RUN, Type.INT, Type.INT)
        except OutsideDialect as problem:
            print(f"left out: {case.name} ({problem})")
            continue
        head = f"double a{number}_rule(const double *spec, int64_t t, int64_t arm)"
        includes = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n"
        body = f"{includes}\n{unit.text()}\n\n{head}\n{{\n    return {rule.name}(spec, t, arm);\n}}\n"
        (folder / f"a{number}.c").write_text(body)
        prototypes.append(f"{head};")
        rules.append(f"    if (number == {number}) rule = a{number}_rule;")
        cases.append(case.name)
        for run in range(runs):
            adversary = case.make(arms, 20, horizon, 1000 + run)
            (folder / f"a{number}_{run}.spec").write_bytes(adversary.spec.tobytes())
    names = [f"p{i}" for i in range(len(made))]
    text = MAIN.format(
        includes="\n".join(f'#include "{name}.h"' for name in names),
        prototypes="\n".join(prototypes),
        rules="\n".join(rules),
        plays="".join(PLAY.format(name=name, salt=977 * i) for i, name in enumerate(names)),
        judged=arms if arms <= JUDGED else 0,
    )
    (folder / "main.c").write_text(text)
    words = {name: policy.words.statistics for name, policy in made.items()}
    told = {"arms": arms, "horizon": horizon, "runs": runs, "cases": cases, "policies": policies, "words": words}
    (folder / "told.json").write_text(json.dumps(told))


def play(folder: Path, chosen: list[str]) -> None:
    """Compile and play; one line of JSON a run."""
    told = json.loads((folder / "told.json").read_text())
    options = ["-O2", "-march=native", "-ffp-contract=off", "-std=c99"]
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    subprocess.run(["cc", *options, "-o", str(folder / "play"), *sources, "-lm"], check=True)
    tasks = [
        (number, case, run)
        for run in range(told["runs"])
        for number, case in enumerate(told["cases"])
        if not chosen or case in chosen
    ]

    def one(task: tuple[int, str, int]) -> dict[str, object]:
        number, case, run = task
        spec = folder / f"a{number}_{run}.spec"
        command = [str(folder / "play"), str(number), str(spec), str(told["horizon"]), str(7919 * (run + 1) << 20)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        best, *earned = map(float, done.stdout.split())
        return {"case": case, "run": run, "best": best, "earned": earned}

    with ThreadPoolExecutor(os.cpu_count()) as workers, (folder / "played.jsonl").open("a") as file:
        for found in workers.map(one, tasks):
            file.write(json.dumps(found) + "\n")
            file.flush()


def table(folder: Path) -> None:
    """Print what was played."""
    import numpy as np

    told = json.loads((folder / "told.json").read_text())
    names = list(told["policies"])
    played = [json.loads(line) for line in (folder / "played.jsonl").read_text().splitlines()]
    print(f"K = {told['arms']}, T = {told['horizon']:,}; words: {told['words']}")
    print(f"{'case':20} {'runs':>4} " + " ".join(f"{name:>21}" for name in names))
    for case in told["cases"]:
        some = [each for each in played if each["case"] == case]
        if told["arms"] > JUDGED:
            earned = np.array([each["earned"] for each in some]) / told["horizon"]
            print(f"{case:20} {len(some):4} " + " ".join(f"{mean:21.4f}" for mean in earned.mean(axis=0)))
            continue
        regrets = np.array([np.subtract(each["best"], each["earned"]) for each in some])
        if not len(regrets):
            continue
        cells = []
        for i in range(len(names)):
            mean, half = regrets[:, i].mean(), 1.96 * regrets[:, i].std(ddof=1) / np.sqrt(len(regrets))
            cells.append(f"{mean:9.0f} ±{half:5.0f} {mean / regrets[:, 0].mean():4.2f}")
        print(f"{case:20} {len(regrets):4} " + " ".join(f"{cell:>21}" for cell in cells))


if __name__ == "__main__":
    verb, place, *rest = sys.argv[1:]
    if verb == "write":
        write(Path(place), *(int(float(x)) for x in rest[:3]), dict(text.split("=", 1) for text in rest[3:]))
    elif verb == "play":
        play(Path(place), rest)
    else:
        table(Path(place))
