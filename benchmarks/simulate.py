"""How fast the simulator is, beside a hand-written C loop and beside other libraries.

    python benchmarks/simulate.py              # everything, a few minutes
    python benchmarks/simulate.py --quick      # a tenth of the steps, no other libraries
    python benchmarks/simulate.py loop cores   # some of the parts
    python benchmarks/simulate.py loop large --quick --beside OLD   # and the checkout OLD, in the same run

What is compared is measured in turn, several times, in one go, and the least of each counts: another process that
keeps the machine busy for a while then disturbs both alike. Loops are timed in processor time. Compilation is not part
of it, except in `start`, which is about just that. A C compiler (gcc) is needed for `loop`; `peers` installs
SMPyBandits and pymab into virtual environments of their own, outside the repository.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import hlmc
from hlmc.simulation.runs import Task, play, played_together

HERE = Path(__file__).resolve().parent
TRAP = hlmc.adversaries.BlockTrap(arms=100, memory=20)
REPEAT = 7

PEERS = {
    "SMPyBandits": (
        ["SMPyBandits", "numpy<2", "scipy<1.14", "pandas<3", "tqdm"],  # it asks for names that newer ones dropped
        """
from SMPyBandits.Policies import Exp3
policy = Exp3(100, gamma=0.0048)
policy.startGame()
def step(reward):
    policy.getReward(policy.choice(), reward)
""",
        300,
        "71",
    ),
    "pymab": (
        ["pymab"],
        """
import numpy
from pymab.policies import EXP3Policy
policy = EXP3Policy(n_arms=100, gamma=0.0048)
policy.reset()
rng = numpy.random.default_rng(0)
def step(reward):
    policy.update(action=policy.select_action(rng=rng), reward=reward)
""",
        50,
        "5.7 to 61",
    ),
}
TIMING = """
import time
for i in range(500):
    step(float(i % 3 == 0))
least = 1e9
for _ in range(5):
    began = time.process_time()
    for i in range(2000):
        step(float(i % 3 == 0))
    least = min(least, (time.process_time() - began) / 2000)
print(1e9 * least)
"""


def say(text: str, value: str, aim: str = "") -> None:
    print(f"{text:<62} {value:>14}   {aim}", flush=True)


def nanoseconds(policy: hlmc.Policy, T: int, run: int = 0, faced: hlmc.adversaries.Adversary = TRAP) -> float:
    """Processor time a step of one run, on one core."""
    return 1e9 * play(Task("it", policy, faced, 0, range(run, run + 1)), np.array([T])).seconds / T


class Beside:
    """Another version of the library, in a process of its own that is asked for one run at a time."""

    CODE = """
import sys
import numpy as np
import hlmc
from hlmc.simulation.runs import Task, play
class Names(dict):
    def __missing__(self, name):
        return getattr(hlmc, name, None) or getattr(hlmc.adversaries, name)
for line in sys.stdin:
    policy, faced, T, run = line.split(" | ")
    task = Task("it", eval(policy, {}, Names()), eval(faced, {}, Names()), 0, range(int(run), int(run) + 1))
    print(1e9 * play(task, np.array([int(T)])).seconds / int(T), flush=True)
"""

    def __init__(self, folder: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(folder).resolve() / "src")}
        given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
        self._process = subprocess.Popen([sys.executable, "-c", self.CODE], **given)

    def nanoseconds(self, policy: hlmc.Policy, T: int, run: int, faced: hlmc.adversaries.Adversary) -> float:
        """Processor time a step, as :func:`nanoseconds`."""
        self._process.stdin.write(f"{policy!r} | {faced!r} | {T} | {run}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


class Reference:
    """The same by hand in C."""

    def __init__(self, folder: str) -> None:
        self._program = str(Path(folder, "reference"))
        build = ["gcc", "-O3", "-march=native", "-o", self._program, str(HERE / "reference.c"), "-lm"]
        subprocess.run(build, check=True)

    def nanoseconds(self, shape: list[object], run: int) -> float:
        out = subprocess.run([self._program, *map(str, shape), str(run)], check=True, capture_output=True, text=True)
        return float(out.stdout.split()[0])


def cases(T: int) -> list[tuple[str, hlmc.Policy, list[object], float]]:
    """What ``loop`` plays: its name, the policy, the arguments of the C program after the steps, and the most ratio."""
    hierarchy, exp3 = hlmc.HLMC(arms=100, memory=20, horizon=T), hlmc.EXP3(arms=100, horizon=T)
    top, rest = hierarchy.plan.levels
    gammas = [top.parameters["gamma"], rest.parameters["gamma"]]
    champion = hlmc.Champion(arms=100, memory=20, horizon=T)
    above = champion.plan.levels[0]
    return [
        ("two-level HLMC, M = 20", hierarchy, ["hlmc", top.children, top.length, *gammas], 1.25),
        ("EXP3", exp3, ["exp3", exp3.plan.levels[0].parameters["gamma"]], 1.25),
        ("Champion, M = 20", champion, ["champion", above.children, above.length, 0.005], 1.5),
        ("Tsallis-INF", hlmc.TsallisINF(arms=100), ["tsallis"], 1.5),
        ("UCB-M, M = 20", hlmc.UCBM(arms=100, memory=20), ["ucbm"], 1.75),
        (
            "two-level Tsallis-INF, M = 20",
            hlmc.HLMC(arms=100, memory=20, horizon=T, routines="tsallis-inf"),
            [],
            0.0,
        ),
    ]


def loop(T: int, beside: Beside | None = None) -> None:
    """One run, one core, beside C and, if there is one, another version."""
    with tempfile.TemporaryDirectory() as folder:
        reference = Reference(folder)
        for name, policy, (*what,), most in cases(T):
            for kind, faced in (("trap", TRAP), ("means", hlmc.adversaries.UniformMeans(arms=100))):
                nanoseconds(policy, 1000, 0, faced)
                taken: dict[str, list[float]] = {"ours": [], "before": [], "C": []}
                for i in range(REPEAT):
                    taken["ours"].append(nanoseconds(policy, T, i, faced))
                    if beside:
                        taken["before"].append(beside.nanoseconds(policy, T, i, faced))
                    if what:
                        taken["C"].append(reference.nanoseconds([what[0], kind, 100, 20, T, *what[1:]], i))
                least = {key: min(times) for key, times in taken.items() if times}
                text = ", ".join(f"{key} {value:.1f}" for key, value in least.items() if key != "ours")
                where = "experiment 1" if kind == "trap" else "uniform means"
                say(f"{name}, K = 100, {where}", f"{least['ours']:.1f} ns/step", text)
                if what:
                    say("    ratio to C", f"{least['ours'] / least['C']:.2f}", f"at most {most}")


def many(T: int) -> None:
    """32 runs side by side on one core, beside the same runs one by one: time per step and run."""
    aims = {"two-level HLMC, M = 20": "at most 12 ns", "EXP3": "at most 12 ns", "Champion, M = 20": "at most 25 ns"}
    points = np.array([T])
    for name, policy, *_ in cases(T):
        for kind, faced in (("experiment 1", TRAP), ("uniform means", hlmc.adversaries.UniformMeans(arms=100))):
            task = Task("it", policy, faced, 0, range(32))
            if played_together(task, points) is None:
                continue
            together, alone = [], []
            for i in range(3):
                found = played_together(task, points)
                together.append(1e9 * found.seconds / T / 32)
                alone.append(nanoseconds(policy, T, i, faced))
            ratio = min(together) / min(alone)
            text = f"{min(alone):.1f} one by one, ratio {ratio:.2f}   {aims.get(name, '')}".rstrip()
            say(f"{name}, K = 100, {kind}, 32 runs", f"{min(together):.1f} ns/step", text)


def large(T: int, beside: Beside | None = None) -> None:
    """10^5 arms in 640 words: groups of 317."""
    faced = hlmc.adversaries.UniformMeans(arms=10**5)
    for name, policy, most in (
        ("Champion", hlmc.Champion(arms=10**5, memory=640, horizon=10**7), 400),
        ("UCB-M", hlmc.UCBM(arms=10**5, memory=640), 500),
    ):
        nanoseconds(policy, 1000, 0, faced)
        ours, before = [], []
        for i in range(3):
            ours.append(nanoseconds(policy, T, i, faced))
            if beside:
                before.append(beside.nanoseconds(policy, T, i, faced))
        text = f"before {min(before):.0f}, at most {most}" if before else f"at most {most}"
        say(f"{name}, K = 10^5, M = 640, T = {T:,}", f"{min(ours):.0f} ns/step", text)


def live() -> None:
    """A step by hand: select and update of one learner."""
    learner = hlmc.Champion(arms=100, memory=20, horizon=10**8).start(seed=1)
    least = 1e9
    for _ in range(50):
        began = time.process_time()
        for _ in range(5000):
            learner.select()
            learner.update(0.5)
        least = min(least, (time.process_time() - began) / 5000)
    say("Champion, K = 100, M = 20: learner.select() and update()", f"{1e6 * least:.2f} us", "at most 0.5 us")


def routines(T: int) -> None:
    """A step of each routine over ten arms, beside one of EXP3 against the same adversary.

    In experiment 1 most rewards are 0, from which EXP3 in its gain form learns nothing: its cheapest case.
    """
    ours = {
        "EXP3": hlmc.EXP3(arms=10, horizon=T),
        "EXP3 on losses": hlmc.EXP3Loss(arms=10, horizon=T),
        "Tsallis-INF, importance-weighted": hlmc.TsallisINF(arms=10, estimator="importance-weighted"),
        "Tsallis-INF, reduced variance": hlmc.TsallisINF(arms=10),
    }
    adversaries = {
        "uniform means": hlmc.adversaries.UniformMeans(arms=10),
        "experiment 1": hlmc.adversaries.BlockTrap(arms=10, memory=4),
    }
    for where, faced in adversaries.items():
        taken = dict.fromkeys(ours, 1e9)
        for i in range(REPEAT):
            for name, policy in ours.items():
                taken[name] = min(taken[name], nanoseconds(policy, T, i, faced))
        for name, least in taken.items():
            ratio = least / taken["EXP3"]
            aim = "at most 4" if name.startswith("Tsallis") else ""
            say(f"{name}, 10 arms, {where}", f"{least:.1f} ns/step", f"{ratio:.2f} x EXP3   {aim}".rstrip())


def peers(T: int) -> None:
    """A round of EXP3 at K = 100."""
    ours = min(nanoseconds(hlmc.EXP3(arms=100, horizon=T), T, i) for i in range(3))
    for name, (packages, code, aim, published) in PEERS.items():
        theirs = _peer(name, packages, code)
        if theirs is None:
            say(f"{name}: cannot be installed here; published", f"{published} us/round", f"ours {ours:.1f} ns")
        else:
            say(f"{name}, EXP3, K = 100", f"{theirs / 1000:.1f} us/round", f"ours {ours:.1f} ns")
            say("    times faster", f"{theirs / ours:,.0f}", f"at least {aim}")


def _peer(name: str, packages: list[str], code: str) -> float | None:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hlmc" / "peers" / name
    python = cache / "bin" / "python"
    try:
        if not (cache / ".ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(cache)], check=True)
            install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *packages]
            subprocess.run(install, check=True, capture_output=True)
            (cache / ".ready").touch()
        done = subprocess.run([str(python), "-c", code + TIMING], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return float(done.stdout.split()[-1])


def cores(T: int) -> None:
    """Ten runs by one thread and by two, by the clock on the wall."""
    policy = {"HLMC": hlmc.HLMC(arms=100, memory=20, horizon=T)}
    taken: dict[int, list[float]] = {1: [], 2: []}
    busy: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(4):
        for threads, seconds in taken.items():
            with ThreadPoolExecutor(threads) as pool:
                began, before = time.perf_counter(), time.process_time()
                hlmc.simulate(policy, TRAP, runs=10, executor=pool, progress=False)
                seconds.append(time.perf_counter() - began)
                busy[threads].append(time.process_time() - before)
    say(f"ten runs of T = {T:,}, one thread", f"{min(taken[1]):.2f} s")
    say(
        "    two threads",
        f"{min(taken[2]):.2f} s",
        f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}",
    )
    say("    times faster", f"{min(taken[1]) / min(taken[2]):.2f}", "at least 1.8")
    # Where other processes take the cores, the clock says little; work that is not done twice shows in processor time.
    say("    processor time of one thread, and of two", f"{min(busy[1]):.2f}, {min(busy[2]):.2f} s")


def memory(T: int) -> None:
    """The most that a process with one long run ever holds."""
    code = f"""
import resource, hlmc
policy = hlmc.HLMC(arms=100, memory=20, horizon={T})
hlmc.simulate(policy, hlmc.adversaries.BlockTrap(arms=100, memory=20), runs=1, progress=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    say(
        f"a process with one run of T = {T:,} ({seconds:.0f} s), at most",
        f"{float(done.stdout):.0f} MB",
        "under 300 MB",
    )


def start() -> None:
    """From the start of the process to the first step of `hlmc simulate`, when its code was compiled before."""
    example = str(HERE.parent / "examples" / "trap.toml")
    code = f"""
import os, sys
import hlmc.simulation.runs as runs
runs.walk = lambda *_: os._exit(0)
from hlmc.cli import main
sys.exit(main(["simulate", {example!r}, "--jobs", "1"]))
"""
    full = [sys.executable, "-m", "hlmc.cli", "simulate", example, "--quiet"]
    subprocess.run(full, check=True)
    taken, busy = [], []
    for _ in range(5):
        began, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        taken.append(time.perf_counter() - began)
        busy.append(after.children_user + after.children_system - before.children_user - before.children_system)
    say("second start of hlmc simulate, until its first step", f"{min(taken):.2f} s", "under 2 s")
    say("    of these, processor time", f"{min(busy):.2f} s", f"load {os.getloadavg()[0]:.1f}")


def shifting(quick: bool) -> None:
    """The exact benchmark with switches, of which benchmarks/evaluation.py has more."""
    from evaluation import Noise, timed
    from hlmc.evaluation import best_switching

    best_switching(Noise(4), 100, 2)
    for T, K, most in ((10**6, 16, 1.0), (10**7, 100, 30.0)):
        T = T // 10 if quick else T
        text = f"best sequence, 10 switches, T = {T:,}, K = {K}"
        timed(text, lambda T=T, K=K: best_switching(Noise(K), T, 10, np.linspace(1, T, 200).astype(int)), most)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the simulator.")
    parts = ["loop", "many", "large", "live", "routines", "peers", "cores", "memory", "start", "shifting"]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(parts)}; default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps, no other libraries")
    parser.add_argument("--beside", metavar="FOLDER", help="another checkout, whose loop is measured in the same run")
    options = parser.parse_args()
    beside = Beside(options.beside) if options.beside else None
    if unknown := set(options.parts) - set(parts):
        parser.error(f"there is no part {unknown.pop()!r}; there are {', '.join(parts)}")
    cut = 10 if options.quick else 1
    for part in options.parts or [p for p in parts if p != "peers" or not options.quick]:
        print(f"-- {part}")
        match part:
            case "loop":
                loop(10**7 // cut, beside)
            case "many":
                many(10**6 // cut)
            case "large":
                large(10**6 // cut, beside)
            case "live":
                live()
            case "routines":
                routines(10**6 // cut)
            case "peers":
                peers(10**7 // cut)
            case "cores":
                cores(10**7 // cut)
            case "memory":
                memory(10**9 // cut)
            case "start":
                start()
            case "shifting":
                shifting(options.quick)


if __name__ == "__main__":
    main()
