"""Write an experiment to a folder: policies and adversaries as C, and the adversaries' numbers as data."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from equal_bytes.experiments import FLAT, JUDGED, PLAN, TUNING, Experiment

HERE = Path(__file__).parent

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


def in_lanes(source: str, name: str, words: int) -> str:
    """Exported C with the functions of bits_lanes.txt in place of its own."""
    _, *parts = HERE.with_name("bits_lanes.txt").read_text().split("\n@ ")
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
            source = HERE.with_name("flat_tsallis.c").read_text()
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


def plan(folder: Path, names: list[str]) -> None:
    """Write the experiments of docs/research/bits.md, and the script that plays them, with its parts."""
    for name in names or PLAN:
        write(folder / name, PLAN[name])
    shutil.copy(HERE.with_name("bits.py"), folder)
    shutil.copytree(HERE, folder / HERE.name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
