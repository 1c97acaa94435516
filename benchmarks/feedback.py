"""What late and missing rewards cost: regret against delay, the shop, and the time of ask and tell.

``python benchmarks/feedback.py regret``   every adversary of the catalogue, K = 100, M = 20, T = 10^6
``python benchmarks/feedback.py shop``     K = 10^5, M = 640, T = 10^7, 30 % of the rewards missing
``python benchmarks/feedback.py silence``  what ``missing`` does when silence is the answer
``python benchmarks/feedback.py speed``    ask and tell against select and update, measured side by side
``python benchmarks/feedback.py draw FOLDER``  the figures of the pages, from the files that these have written

``--runs``, ``--horizon`` and ``--out`` (a folder for the results as JSON) change the defaults.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from hlmc import delays
from hlmc.adversaries.base import Adversary
from hlmc.arenas.cases import CASES
from hlmc.evaluation import best_fixed
from hlmc.simulation.runs import Task, play

K, M = 100, 20
DRAWN = ("Needle", "UniformMeans", "LateBloomer")
WANTED = (
    "HLMC, d = 0",
    "HLMC, d = 10",
    "HLMC, d = 100",
    "HLMC, d = 100, told",
    "Champion, d = 100",
    "Champion, d = 100, told",
    "Champion, d = 1000, told",
)
HALVED = ("Needle", "Decoy", "UniformMeans", "Alternating")
"""On these Champion, told of a delay of 1,000, is to have at most half of HLMC's regret."""


def interval(values: np.ndarray) -> tuple[float, float]:
    """The mean, and the half width of its 95 % interval."""
    return float(values.mean()), float(1.96 * values.std(ddof=1) / math.sqrt(len(values)))


def late(d: int) -> delays.Delays:
    """Uniform from 0 to 2 d."""
    return delays.Uniform(0, 2 * d)


def earned(
    policy: hlmc.Policy,
    adversary: Adversary,
    horizon: int,
    run: int,
    law: delays.Delays | None,
    missing: float = 0.0,
) -> float:
    """What one run earns."""
    played = play(Task("x", policy, adversary, run, range(1), law, missing), np.array([horizon]))
    return float(played.rewards[0, -1])


def contenders(horizon: int, case: str) -> dict[str, tuple[hlmc.Policy, int]]:
    """Policies by name, with the mean delay that they meet: all of them for the figure, else those of the goals."""
    field: dict[str, tuple[hlmc.Policy, int]] = {}
    for name, make in (("HLMC", hlmc.HLMC), ("Champion", hlmc.Champion)):
        for d in (0, 10, 100, 1000):
            field[f"{name}, d = {d}"] = make(arms=K, memory=M, horizon=horizon, pending=2 * d + 1), d
            if d:
                told = make(arms=K, memory=M, horizon=horizon, pending=2 * d + 1, delay=d)
                field[f"{name}, d = {d}, told"] = told, d
    return field if case in DRAWN else {name: each for name, each in field.items() if name in WANTED}


def regret(runs: int, horizon: int, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Weak regret of every contender against every adversary: mean and half width."""
    found: dict[str, Any] = {}
    for case in names or CASES:
        field = contenders(horizon, case)
        values: dict[str, list[float]] = {name: [] for name in field}
        for run in range(runs):
            adversary = CASES[case].make(K, M, horizon, 7 + run)
            assert adversary is not None
            best = best_fixed(adversary, [horizon], force=True)[0][-1]
            for name, (policy, d) in field.items():
                values[name].append(float(best - earned(policy, adversary, horizon, run, late(d))))
        found[case] = {name: interval(np.array(each)) for name, each in values.items()}
        base = found[case]["HLMC, d = 0"][0]
        shown = "  ".join(f"{name}: {mean / base:.3f}+-{half / base:.3f}" for name, (mean, half) in found[case].items())
        print(f"{case}: HLMC {base:,.0f};  {shown}", flush=True)
    return found


def goals(found: dict[str, Any]) -> None:
    """The figures that were to be reached, from the result of :func:`regret`."""

    def ratio(case: str, name: str, base: str) -> float:
        return float(found[case][name][0] / found[case][base][0])

    # Where HLMC earns more than the best arm, a ratio of regrets means nothing.
    losing = [case for case in found if found[case]["HLMC, d = 0"][0] > 0.0]
    for d, most, told in ((10, 1.03, ""), (100, 1.12, ""), (100, 1.12, ", told")):
        ratios = {case: ratio(case, f"HLMC, d = {d}{told}", "HLMC, d = 0") for case in losing}
        worst = max(ratios, key=lambda case: ratios[case])
        mean = np.mean(list(ratios.values()))
        print(f"HLMC, d = {d}{told}: mean {mean:.3f}, worst {ratios[worst]:.3f} ({worst}); goal {most}")
    for told in ("", ", told"):
        name = f"Champion, d = 100{told}"
        above = {
            case: ratio(case, name, "HLMC, d = 0")
            for case in found
            if found[case][name][0] >= found[case]["HLMC, d = 0"][0]
        }
        print(f"{name}: below HLMC without delay on {len(found) - len(above)} of {len(found)}; not on {above}")
    halves = {
        case: round(ratio(case, "Champion, d = 1000, told", "HLMC, d = 0"), 3) for case in HALVED if case in found
    }
    print(f"Champion, d = 1000, told, over HLMC without delay (goal 0.5): {halves}")


def shop(runs: int, horizon: int) -> dict[str, Any]:
    """Mean reward with so many decisions pending at a time, 30 % of them for ever."""
    arms, memory = 10**5, 640
    found: dict[str, Any] = {}
    for pending in (0, 1000, 10_000):
        for told in (False, True) if pending else (False,):
            values = []
            for run in range(runs):
                policy = hlmc.Champion(
                    arms=arms, memory=memory, horizon=horizon, pending=pending + 1, delay=pending if told else 0
                )
                adversary = hlmc.adversaries.UniformMeans(arms, seed=run)
                missing = 0.3 if pending else 0.0
                law = delays.Constant(pending)
                values.append(earned(policy, adversary, horizon, run, law, missing) / horizon)
            name = f"{pending} pending{', told' if told else ''}"
            found[name] = interval(np.array(values))
            part = found[name][0] / found["0 pending"][0]
            print(
                f"{name}: mean reward {found[name][0]:.4f}+-{found[name][1]:.4f}, {part:.3f} of it at once", flush=True
            )
    return found


def silence(runs: int, horizon: int) -> dict[str, Any]:
    """Clicks come within 200 decisions, no click is no message: mean reward, and for comparison when all are told."""
    found: dict[str, Any] = {}
    law = delays.Clicks(0, 200, wait=200)
    for name, make in (("HLMC", hlmc.HLMC), ("Champion", hlmc.Champion)):
        for missing in ("skip", 0.0, "told"):
            values = []
            for run in range(runs):
                adversary = hlmc.adversaries.UniformMeans(K, seed=run)
                counts = "skip" if missing == "told" else missing
                policy = make(arms=K, memory=M, horizon=horizon, pending=300, missing=counts)
                how = late(100) if missing == "told" else law
                values.append(earned(policy, adversary, horizon, run, how) / horizon)
            found[f"{name}, {missing}"] = interval(np.array(values))
            print(f"{name}, missing = {missing}: mean reward {found[f'{name}, {missing}'][0]:.4f}", flush=True)
    return found


def timed(*works: Callable[[], object], repeats: int = 15) -> list[float]:
    """Processor seconds of each, the least of some repeats, taken in turn."""
    best = [math.inf] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            began = time.thread_time()
            work()
            best[i] = min(best[i], time.thread_time() - began)
    return best


def speed() -> dict[str, Any]:
    """Nanoseconds of ask and tell, and of select and update, live, in fleets and in simulations."""
    found: dict[str, Any] = {}
    count = 20_000
    for name, make in (("HLMC", hlmc.HLMC), ("Champion", hlmc.Champion)):
        policy = make(arms=K, memory=M, horizon=10**9, pending=256)
        plain, asked = policy.start(1), policy.start(1)

        def selects(plain: hlmc.Learner = plain) -> None:
            for _ in range(count):
                plain.select()
                plain.update(0.5)

        def asks(asked: hlmc.Learner = asked) -> None:
            for _ in range(count):
                asked.tell(asked.ask(), 0.5)

        both = timed(selects, asks)
        found[f"{name} live"] = [1e9 * each / count for each in both]
        size = 100_000
        fleet, other = policy.fleet(size, seed=1), policy.fleet(size, seed=1)
        fleet.threads = other.threads = 1
        rewards = np.full(size, 0.5)

        def rounds(fleet: hlmc.Fleet = fleet, rewards: np.ndarray = rewards) -> None:
            fleet.select()
            fleet.update(rewards)

        def tickets(other: hlmc.Fleet = other, rewards: np.ndarray = rewards) -> None:
            other.tell(other.ask(), rewards)

        found[f"{name} fleet"] = [1e9 * each / size for each in timed(rounds, tickets)]
        adversary = hlmc.adversaries.UniformMeans(K, seed=1)
        steps = 10**6
        policy = make(arms=K, memory=M, horizon=steps, pending=256)

        works = [partial(earned, policy, adversary, steps, 1, law) for law in (None, late(100))]
        found[f"{name} simulation"] = [1e9 * each / steps for each in timed(*works, repeats=7)]
    for name, (before, after) in found.items():
        print(f"{name}: select and update {before:.0f} ns, ask and tell {after:.0f} ns, {after / before:.2f} times")
    return found


def draw(folder: Path) -> None:
    """Regret against delay, and what silence does."""
    import matplotlib.pyplot as plt

    found = json.loads((folder / "regret.json").read_text())
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
    colours = {"HLMC": "#3b6fb6", "Champion": "#c8553d"}
    for axis, case in zip(axes, DRAWN, strict=True):
        base = found[case]["HLMC, d = 0"][0]
        for name, colour in colours.items():
            for told, style in (("", "-"), (", told", "--")):
                at = [0, 10, 100, 1000]
                keys = [f"{name}, d = {d}{told if d else ''}" for d in at]
                means = np.array([found[case][key][0] for key in keys]) / base
                halves = np.array([found[case][key][1] for key in keys]) / base
                label = f"{name}{', delay= given' if told else ''}"
                axis.errorbar(
                    range(4), means, halves, color=colour, linestyle=style, marker="o", markersize=4, label=label
                )
        axis.set_title(case)
        axis.set_xticks(range(4), ["0", "10", "100", "1000"])
        axis.set_xlabel("mean delay in decisions")
        axis.axhline(0.0, color="#888888", linewidth=0.8)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("regret, HLMC without delay = 1")
    axes[0].legend(fontsize=8, loc="center left", bbox_to_anchor=(0.02, 0.42))
    figure.tight_layout()
    figure.savefig(folder / "feedback-delay.png", dpi=110)
    told = json.loads((folder / "silence.json").read_text())
    figure, axis = plt.subplots(figsize=(6, 3))
    labels = {"skip": 'missing="skip"', "0.0": "missing=0", "told": "zeros told"}
    for i, name in enumerate(("HLMC", "Champion")):
        for j, (key, label) in enumerate(labels.items()):
            mean, half = told[f"{name}, {key}"]
            colour = ["#999999", "#c8553d", "#3b6fb6"][j]
            axis.bar(i + 0.26 * (j - 1), mean, 0.24, yerr=half, color=colour, label=label if i == 0 else None)
    axis.set_xticks([0, 1], ["HLMC", "Champion"])
    axis.set_ylabel("mean reward")
    axis.set_title("Clicks come, silence does not")
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / "feedback-silence.png", dpi=110)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("regret", "shop", "silence", "speed", "draw"))
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--horizon", type=int)
    parser.add_argument("--cases", nargs="*", help="adversaries for regret (all)")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.part == "draw":
        draw(options.folder)
        return
    if options.part == "regret":
        found = regret(options.runs, options.horizon or 10**6, options.cases)
        goals(found)
    elif options.part == "shop":
        found = shop(options.runs, options.horizon or 10**7)
    elif options.part == "silence":
        found = silence(options.runs, options.horizon or 10**6)
    else:
        found = speed()
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{options.part}.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
