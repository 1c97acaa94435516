"""Exported learners: their speed beside Python's, their size, and whether every machine computes the same rows.

    python benchmarks/export.py                    # everything, about five minutes
    python benchmarks/export.py pair wasm sizes    # some of the parts
    python benchmarks/export.py rows --steps 1e8   # steps over all policies and targets
    python benchmarks/export.py single --runs 16   # regret in single precision beside double precision

What is compared is measured in turn, several times, in one go, and the least of each counts. Needed: gcc; node for
`wasm` and `rows`; arm-none-eabi-gcc and qemu-system-arm for `sizes` and `instructions`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import re
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import hlmc
from hlmc.engine.layout import ARM
from hlmc.export import CSource
from hlmc.export.generic import generic_source
from hlmc.export.javascript import save as save_javascript
from hlmc.export.sizes import M4
from hlmc.learners.learner import Learner
from hlmc.policies import EXAMPLES
from hlmc.simulation.runs import prepared, walk
from hlmc.streams import keys
from hlmc.targets.c import Table, Unit
from hlmc.targets.c.types import Type

REPEAT = 7
FLAGS = ["-std=c99", "-O2", "-ffp-contract=off"]
RADIO = Path(__file__).resolve().parent.parent / "examples" / "radio"
BOTH = {
    "HLMC": hlmc.HLMC(arms=100, memory=20, horizon=10**7),
    "Champion": hlmc.Champion(arms=100, memory=20, horizon=10**7),
}

LOOP = r"""
#include "{name}.h"
/* Steps of a learner that is paid by this rule; the same rule is Python's and JavaScript's. */
void {name}_play({name}_learner *learner, int64_t from, int64_t to);
void {name}_play({name}_learner *learner, int64_t from, int64_t to)
{{
    for (int64_t t = from; t < to; t++) {{
        const int64_t arm = {name}_select(learner);
        (void){name}_update(learner, 0.25 * (double)((7 * t + 3 * arm) % 5));
    }}
}}
/* Steps of a learner that is paid these rewards, whatever it plays. */
void {name}_paid({name}_learner *learner, const double *rewards, int64_t count);
void {name}_paid({name}_learner *learner, const double *rewards, int64_t count)
{{
    for (int64_t t = 0; t < count; t++) {{
        (void){name}_select(learner);
        (void){name}_update(learner, rewards[t]);
    }}
}}
"""
SCRIPT = """
import {{ load }} from "./hlmc.js";
import {{ readFileSync, writeFileSync }} from "node:fs";
const learner = await load(JSON.parse(readFileSync("program.json")));
let least = Infinity, t = 0;
for (let i = 0; i < {repeat}; i++) {{
    const began = process.cpuUsage().user;  // microseconds of the processor: others may be busy, too
    for (const stop = t + {steps}; t < stop; t++) learner.update(0.25 * ((7 * t + 3 * learner.select()) % 5));
    least = Math.min(least, process.cpuUsage().user - began);
}}
writeFileSync("row.bin", learner.state);
console.log(1e3 * least / {steps});
"""


def rule(t: int, arm: int) -> float:
    """What is paid."""
    return 0.25 * ((7 * t + 3 * arm) % 5)


def say(text: str, value: str, aim: str = "") -> None:
    print(f"{text:<66} {value:>16}   {aim}", flush=True)


def built(folder: Path, source: CSource) -> ctypes.CDLL:
    """A library of an exported learner, with the loop."""
    name = source.name
    (folder / f"{name}.h").write_text(source.header)
    (folder / f"{name}.c").write_text(source.source)
    (folder / f"{name}_loop.c").write_text(LOOP.format(name=name))
    # Two files: the loop calls the functions as any program would.
    command = ["gcc", *FLAGS, "-shared", "-fPIC", f"{name}.c", f"{name}_loop.c", "-o", f"{name}.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / f"{name}.so"))


def played(code: ctypes.CDLL, name: str, row: np.ndarray, first: int, last: int) -> float:
    """Play some steps on a row; seconds."""
    function = getattr(code, f"{name}_play")
    function.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    began = time.thread_time()
    function(row.ctypes.data, first, last)
    return time.thread_time() - began


def paid_in_c(code: ctypes.CDLL, name: str, row: np.ndarray, rewards: np.ndarray) -> float:
    """Play on a row with given rewards; seconds."""
    function = getattr(code, f"{name}_paid")
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    began = time.thread_time()
    function(row.ctypes.data, rewards.ctypes.data, len(rewards))
    return time.thread_time() - began


def live(learner: Learner, rewards: np.ndarray) -> float:
    """The same by hand from Python; seconds. The loop itself is not counted."""
    select, update = learner.select, learner.update
    paid = rewards.tolist()
    began = time.thread_time()
    for reward in paid:
        select()
        update(reward)
    taken = time.thread_time() - began
    began = time.thread_time()
    for _ in paid:
        pass
    return taken - (time.thread_time() - began)


def pair(folder: Path) -> None:
    """A select and an update in C, beside the live pair from Python."""
    for (name, policy), aim in zip(BOTH.items(), (0.15, 0.3), strict=True):
        code = built(folder, policy.to_c(name.lower()))
        learner, row = policy.start(), policy.start().state.copy()
        drawn = (np.random.default_rng(1).random((REPEAT, 30_000)) < 0.5).astype(float)
        c, python = [], []
        for rewards in drawn:
            c.append(paid_in_c(code, name.lower(), row, rewards) / len(rewards))
            python.append(live(learner, rewards) / len(rewards))
        assert row.tobytes() == learner.state.tobytes()
        say(f"{name}: select + update from Python", f"{1e9 * min(python):.0f} ns")
        say("    in C, gcc -O2", f"{1e9 * min(c):.0f} ns")
        say("    ratio", f"{min(c) / min(python):.3f}", f"at most {aim}")


def wasm(folder: Path) -> None:
    """Steps a second in Node, beside C."""
    for name, policy in BOTH.items():
        code = built(folder, policy.to_c(f"w{name.lower()}"))
        row = policy.start().state.copy()
        c = min(played(code, f"w{name.lower()}", row, 10**5 * i, 10**5 * (i + 1)) / 10**5 for i in range(REPEAT))
        node = 1e-9 * in_node(folder / name, policy, REPEAT, 10**5)
        say(f"{name}: C, gcc -O2", f"{1e-6 / c:.1f}e6 steps/s")
        say("    WebAssembly in Node, all policies in one module", f"{1e-6 / node:.1f}e6 steps/s")
        say("    speed relative to C", f"{c / node:.2f}", "at least 0.5")


def in_node(folder: Path, policy: hlmc.Policy, repeat: int, steps: int) -> float:
    """Nanoseconds a step; the row is left in row.bin."""
    save_javascript(folder, policy)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "time.js").write_text(SCRIPT.format(repeat=repeat, steps=steps))
    done = subprocess.run(["node", "time.js"], cwd=folder, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout))


def row_bytes(source: CSource) -> int:
    """The RAM of a learner: what the header says of its row."""
    found = re.search(r"learner: (\d+) bytes", source.header)
    assert found is not None
    return int(found[1])


def sizes(folder: Path) -> None:
    """Code, constants and stack by the compilers that are here, in both precisions."""
    for (name, policy), aim in zip(BOTH.items(), (4096, 7168), strict=True):
        for precision in ("float64", "float32"):
            source = policy.to_c(precision=precision)
            ram = row_bytes(source)
            for line in source.readme.splitlines():
                if line.startswith("| Cortex"):
                    machine, code, constants, stack = (cell.strip() for cell in line.strip("|").split("|"))
                    limit = f"at most {aim}" if "M4" in machine else ""
                    say(f"{name}, {precision}, {machine}: code", f"{code} bytes", limit)
                    say(f"    constants {constants}, stack {stack}; RAM: the row", f"{ram} bytes")


SMALL = {
    "EXP3, D = 1": (hlmc.EXP3(20, horizon=10**6), None),
    "HLMC, D = 2, groups of 5 x 4": (hlmc.HLMC(20, memory=10, horizon=10**6), None),
    "HLMC, D = 3, groups of 3 x 3 x 3": (hlmc.HLMC(20, levels=3, horizon=10**6), None),
    "Champion, memory 10": (hlmc.Champion(20, memory=10, horizon=10**6), None),
    "HLMC, D = 2, unknown horizon": (hlmc.HLMC(20, memory=10), None),
    "the same, --steps 1e6": (hlmc.HLMC(20, memory=10), 10**6),
}


def table(folder: Path) -> None:
    """The table of docs/embedded.md: 20 arms, 10^6 steps, on a Cortex-M4 and an M7 in both precisions."""
    print(
        "| policy | precision | RAM (row) | M4 code | M4 constants | M4 stack | M4 instructions | M7 code | M7 stack |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (policy, steps) in SMALL.items():
        for precision in ("float64", "float32"):
            source = policy.to_c("small", steps, precision)
            ram = row_bytes(source)
            found = [line.split("|")[2:5] for line in source.readme.splitlines() if line.startswith("| Cortex")]
            (code, constants, stack), (code_7, _, stack_7) = ([f"{int(cell):,}" for cell in line] for line in found)
            taken = [counted(folder, source, precision, steps) for steps in (2000, 12_000)]
            step = f"{(taken[1] - taken[0]) / 10_000:,.0f}"
            row = (name, precision, ram, code, constants, stack, step, code_7, stack_7)
            print("|", " | ".join(map(str, row)), "|", flush=True)


COUNT = r"""
#include "{name}.h"
void say(const char *text);
static {name}_learner learner;
int main(void)
{{
    {name}_start(&learner, {NAME}_SEED_0);
    for (int32_t t = 0; t < {steps}; t++) {{
        const int32_t arm = {name}_select(&learner);
        if ({name}_update(&learner, 0.25{f} * ({real})((7 * t + 3 * arm) % 5)) != 0) return 1;
    }}
    return 0;
}}
"""


def instructions(folder: Path) -> None:
    """Instructions per step on a Cortex-M4 under QEMU, which counts one nanosecond for each, in both precisions."""
    for name, policy in BOTH.items():
        per_step = []
        for precision in ("float64", "float32"):
            source = policy.to_c(name.lower(), precision=precision)
            taken = [counted(folder, source, precision, steps) for steps in (2000, 12_000)]
            per_step.append((taken[1] - taken[0]) / 10_000)
            say(f"{name}: instructions per step on a Cortex-M4, {precision}", f"{per_step[-1]:,.0f}")
        say("    fewer by", f"{per_step[0] / per_step[1]:.1f} x", "at least 4")


def counted(folder: Path, source: CSource, precision: str, steps: int) -> float:
    """Instructions of an image from start to end: the virtual clock at its last word."""
    name = source.name
    (folder / f"{name}.h").write_text(source.header)
    (folder / f"{name}.c").write_text(source.source)
    real, suffix = ("float", "f") if precision == "float32" else ("double", "")
    text = COUNT.format(name=name, NAME=name.upper(), steps=steps, real=real, f=suffix)
    (folder / "main.c").write_text(text)
    startup = (RADIO / "startup.c").read_text().replace("finish(main());", "finish_timed(main());")
    startup = startup.replace("void reset(void)\n{", TIMED + "void reset(void)\n{", 1)
    (folder / "startup.c").write_text(startup)
    link = ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections"]
    files = ["main.c", f"{name}.c", "startup.c"]
    command = ["arm-none-eabi-gcc", *M4, "-std=gnu99", "-Os", "-ffp-contract=off", *link, "-T", str(RADIO / "board.ld")]
    subprocess.run([*command, *files, "-o", "image.elf", "-lm"], cwd=folder, check=True)
    emulator = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"]
    options = ["-icount", "shift=0,sleep=off", "-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [*emulator, *options, "-kernel", "image.elf"], cwd=folder, capture_output=True, text=True, check=True
    )
    return 40.0 * int(done.stderr.split()[-1])  # ticks of 25 MHz


SINGLE_POLICIES = {
    "HLMC, D = 2": lambda horizon: hlmc.HLMC(100, memory=20, horizon=horizon),
    "HLMC, D = 3": lambda horizon: hlmc.HLMC(100, levels=3, horizon=horizon),
    "HLMC of Tsallis-INF": lambda horizon: hlmc.HLMC(100, memory=20, horizon=horizon, routines="tsallis-inf"),
    "Champion": lambda horizon: hlmc.Champion(100, memory=20, horizon=horizon),
    "EXP3": lambda horizon: hlmc.EXP3(100, horizon=horizon),
    "Tsallis-INF": lambda horizon: hlmc.TsallisINF(100),
}
SINGLE_ADVERSARIES = {
    "one good arm": hlmc.adversaries.OneGoodArm(arms=100, arm=42, seed=1),
    "uniform means": hlmc.adversaries.UniformMeans(arms=100, seed=1),
    "trap": hlmc.adversaries.BlockTrap(arms=100, memory=20),
    "sawtooth": hlmc.adversaries.Sawtooth(arms=100, seed=1),
}
PAY = r"""
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
{unit}
double {name}_pay(const double *spec, int64_t t, int64_t arm)
{{
    return {pay}(spec, t, arm);
}}
double {name}_best(const double *spec, int64_t steps, int64_t arms)
{{
    double best = 0;
    for (int64_t arm = 0; arm < arms; arm++) {{
        double earned = 0;
        for (int64_t t = 0; t < steps; t++) earned += {pay}(spec, t, arm);
        best = earned > best ? earned : best;
    }}
    return best;
}}
"""
EARN = r"""
#include "{name}.h"
double {adversary}_pay(const double *spec, int64_t t, int64_t arm);
double {name}_{adversary}(const double *spec, uint64_t key, int64_t steps)
{{
    {name}_learner learner;
    double earned = 0;
    {name}_start(&learner, key);
    for (int64_t t = 0; t < steps; t++) {{
        const int32_t arm = {name}_select(&learner);
        const double reward = {adversary}_pay(spec, t, arm);
        earned += reward;
        if ({name}_update(&learner, ({real})reward) != 0) return -1;
    }}
    return earned;
}}
"""


def single(folder: Path, horizon: int = 10**6, runs: int = 8) -> None:
    """Regret in single precision over that in double precision, with the same random numbers; all in C."""
    files = []
    for i, adversary in enumerate(SINGLE_ADVERSARIES.values()):
        unit = Unit(f"a{i}", Table({}, {}), frozenset({"pay", "best"}))
        pay = unit.entry(adversary.rule, Type.RUN, Type.INT, Type.INT).name
        (folder / f"a{i}.c").write_text(PAY.format(unit=unit.text(), name=f"a{i}", pay=pay))
        files.append(f"a{i}.c")
    for j, make in enumerate(SINGLE_POLICIES.values()):
        for precision, real in (("float64", "double"), ("float32", "float")):
            source = make(horizon).to_c(f"p{j}_{real}", steps=horizon, precision=precision)
            (folder / f"{source.name}.h").write_text(source.header)
            (folder / f"{source.name}.c").write_text(source.source)
            loops = [
                EARN.format(name=source.name, adversary=f"a{i}", real=real) for i in range(len(SINGLE_ADVERSARIES))
            ]
            (folder / f"{source.name}_loop.c").write_text("".join(loops))
            files += [f"{source.name}.c", f"{source.name}_loop.c"]
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", *files, "-o", "single.so", "-lm"], cwd=folder, check=True)
    code = ctypes.CDLL(str(folder / "single.so"))

    def earned(name: str, adversary: hlmc.adversaries.Adversary, *numbers: int) -> float:
        function = getattr(code, name)
        function.restype = ctypes.c_double
        kinds = [ctypes.c_int64 if name.endswith("best") else ctypes.c_uint64, ctypes.c_int64]
        function.argtypes = [ctypes.c_void_p, *kinds]
        return float(function(adversary.spec.ctypes.data, *numbers))

    for i, (paying, adversary) in enumerate(SINGLE_ADVERSARIES.items()):
        best = earned(f"a{i}_best", adversary, horizon, adversary.arms)
        for j, name in enumerate(SINGLE_POLICIES):
            means, errors = [], []
            for real in ("double", "float"):
                regrets = best - np.array(
                    [earned(f"p{j}_{real}_a{i}", adversary, int(key), horizon) for key in keys(5, 0, runs)]
                )
                means.append(regrets.mean())
                errors.append(regrets.std(ddof=1) / runs**0.5)
            double, narrow = (f"{mean:,.0f} +- {error:,.0f}" for mean, error in zip(means, errors, strict=True))
            say(f"{name}, {paying}: float64 {double}, float32 {narrow}", f"{means[1] / means[0]:.4f}")


TIMED = r"""
/* The counter of the board runs at 25 MHz: one tick is 40 instructions. It is read and written in decimal. */
static void finish_timed(int status)
{
    uint32_t ticks = *(volatile uint32_t *)0x40028018;
    char digits[12];
    int at = 11;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + ticks % 10);
        ticks /= 10;
    } while (ticks > 0);
    say(&digits[at]);
    finish(status);
}

"""


def rows(folder: Path, steps: float) -> None:
    """Every policy: the row after many steps from Python, from C and from WebAssembly."""
    each = max(1000, math.ceil(steps / len(EXAMPLES) / 3))
    differing, total = 0, 0
    for i, example in enumerate(EXAMPLES):
        # Epochs that were given are for the horizon that was.
        longer = {"horizon": each, **({"epochs": None} if getattr(example, "epochs", None) else {})}
        policy = example if example.horizon is None else replace(example, **longer)  # type: ignore[arg-type]
        adversary = hlmc.adversaries.Function(policy.arms, rule)
        python = policy.start().state.copy()
        walk(prepared(policy, adversary), policy, adversary, python, np.array([each]), np.empty(1))
        c = policy.start().state.copy()
        played(built(folder, policy.to_c(f"r{i}")), f"r{i}", c, 0, each)
        in_node(folder / f"r{i}", policy, 1, each)
        node = np.fromfile(folder / f"r{i}" / "row.bin")
        # The loop leaves no arm behind, and C neither.
        assert python[ARM] == c[ARM] == -1.0
        differing += python.tobytes() != c.tobytes()
        differing += python.tobytes() != node.tobytes()
        total += 3 * each
    say(f"steps over {len(EXAMPLES)} policies in Python, C and WebAssembly", f"{total:,}")
    say("    rows that differ", f"{differing}", "0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {
        "pair": pair,
        "wasm": wasm,
        "sizes": sizes,
        "table": table,
        "instructions": instructions,
        "single": single,
        "rows": rows,
    }
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(parts)}; default: all")
    parser.add_argument("--steps", type=float, default=1e7, help="of `rows`, over all policies and targets")
    parser.add_argument("--horizon", type=float, default=1e6, help="of `single`")
    parser.add_argument("--runs", type=int, default=8, help="of `single`")
    options = parser.parse_args()
    unknown = set(options.parts) - set(parts)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}: {', '.join(parts)}")
    generic_source()
    with tempfile.TemporaryDirectory() as folder:
        for part in options.parts or parts:
            if part == "rows":
                rows(Path(folder), options.steps)
            elif part == "single":
                single(Path(folder), int(options.horizon), options.runs)
            else:
                parts[part](Path(folder))  # type: ignore[operator]


if __name__ == "__main__":
    main()
