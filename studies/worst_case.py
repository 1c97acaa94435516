"""Search for reward sequences, fixed in advance, on which Champion earns much less than HLMC.

    python studies/worst_case.py                                # K = 100 and 30, T = 10^5: 3,200 evaluations each
    python studies/worst_case.py --old BEFORE/src               # the same search against another checkout's Champion
    python studies/worst_case.py --stretch 10                   # and the worst ones stretched to T = 10^6
    python studies/worst_case.py --options memory=14 --evaluations 800
    python studies/worst_case.py --options switches=3           # also bits=12, horizon=None, delay=200

An adversary is a table: two or three classes of arms, two to four pieces of time, a level for each class and piece,
and noise (none, uniform, or coins). The score is how much more HLMC earns than Champion, per step. Hill climbing goes
on from the best of some random tables, and starts again where it has not improved for a while. The winners of a noisy
search are lucky, so the worst ten are measured again with fresh seeds: that is the figure that counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from levels import Levels

import hlmc

RANDOM = 200  # random tables before a climb
PATIENCE = 250  # evaluations without an improvement after which it starts again
CLIMBS = 4  # at least so many climbs: none takes more than this part of the evaluations


@dataclass(frozen=True)
class Candidate:
    """A table in shares of the horizon."""

    ends: tuple[float, ...]
    table: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]
    noise: float  # below 0: coins

    def adversary(self, arms: int, horizon: int, seed: int) -> Levels:
        ends = tuple(round(end * horizon) for end in self.ends)
        return Levels(arms, ends, self.table, self.sizes, max(0.0, self.noise), self.noise < 0.0, seed)

    def shown(self) -> str:
        pieces = [", ".join(f"{level:.2f}" for level in levels) for levels in self.table]
        ends = ", ".join(f"{end:.3f}" for end in self.ends)
        noise = "coins" if self.noise < 0 else f"noise {self.noise:.2f}" if self.noise else "no noise"
        return f"classes of {', '.join(map(str, self.sizes))} and the others; {' / '.join(pieces)}; at {ends}; {noise}"


def drawn(dice: np.random.Generator, arms: int) -> Candidate:
    """A random table."""
    pieces, classes = int(dice.integers(2, 5)), int(dice.integers(2, 4))
    ends = tuple(np.sort(dice.uniform(0.0, 1.0, pieces - 1)).tolist())
    # Half of the tables are near one level, as gaps that are hard to see are small.
    scale = 1.0 if dice.random() < 0.5 else 10.0 ** dice.uniform(-1.7, -0.3)
    drawn = dice.uniform() + scale * dice.uniform(-1.0, 1.0, (pieces, classes))
    table = tuple(tuple(row) for row in np.clip(drawn, 0.0, 1.0).tolist())
    sizes = tuple(round((arms / 3) ** dice.uniform()) for _ in range(classes - 1))
    return Candidate(ends, table, sizes, float(dice.choice([-1.0, 0.0, dice.uniform(0.0, 0.4)])))


def moved(dice: np.random.Generator, arms: int, one: Candidate) -> Candidate:
    """A table near another."""
    step = float(dice.choice([0.02, 0.1, 0.3]))
    kind = dice.random()
    if kind < 0.6:
        table = np.array(one.table)
        where = dice.random(table.shape) < dice.choice([0.15, 0.5])
        table = np.clip(table + where * dice.normal(0.0, step, table.shape), 0.0, 1.0)
        return replace(one, table=tuple(tuple(row) for row in table.tolist()))
    if kind < 0.85:
        ends = np.clip(np.array(one.ends) + dice.normal(0.0, step, len(one.ends)), 0.0, 0.99)
        return replace(one, ends=tuple(np.sort(ends).tolist()))
    if kind < 0.93:
        sizes = tuple(max(1, min(arms // 3, round(size * 2.0 ** dice.normal()))) for size in one.sizes)
        return replace(one, sizes=sizes)
    return replace(one, noise=float(dice.choice([-1.0, 0.0, dice.uniform(0.0, 0.4)])))


class Contest:
    """How much more HLMC earns than Champion."""

    def __init__(self, arms: int, horizon: int, options: dict[str, int | None], runs: int) -> None:
        self.arms, self.horizon, self.runs, self.evaluations = arms, horizon, runs, 0
        options = {"memory": None, "horizon": horizon, **options}
        self.delay = options.pop("delay", None)
        if self.delay:
            options |= {"pending": self.delay + 1, "delay": self.delay}
        known = {name: options[name] for name in ("memory", "horizon", "pending", "delay") if name in options}
        if known.pop("memory") is None:
            known["levels"] = 2
        else:
            known["memory"] = options["memory"]
        self.policies = {"Champion": hlmc.Champion(arms, **options), "HLMC": hlmc.HLMC(arms, **known)}

    def more(self, candidate: Candidate, seed: int, runs: int = 0) -> np.ndarray:
        """For every run, the rewards of HLMC less those of Champion, per step."""
        runs = runs or self.runs
        result = hlmc.simulate(
            self.policies,
            candidate.adversary(self.arms, self.horizon, seed),
            horizon=self.horizon,
            runs=runs,
            seed=seed,
            points=1,
            delays=self.delay,
            progress=False,
        )
        rewards = result.data.reward.values[:, :, -1]
        return (rewards[1] - rewards[0]) / self.horizon  # type: ignore[no-any-return]

    def score(self, candidate: Candidate, seed: int) -> float:
        self.evaluations += 1
        return float(self.more(candidate, seed).mean())


def search(contest: Contest, evaluations: int, seed: int) -> list[tuple[float, Candidate]]:
    """The best of every climb and what it passed, best first."""
    dice = np.random.default_rng(seed)
    seen: list[tuple[float, Candidate]] = []
    climbs = 0
    while contest.evaluations < evaluations:
        climbs += 1
        found = [(contest.score(one, seed), one) for one in (drawn(dice, contest.arms) for _ in range(RANDOM))]
        best, at = max(found, key=lambda pair: pair[0])
        seen.append((best, at))
        last = contest.evaluations
        end = min(evaluations, climbs * evaluations // CLIMBS)
        while contest.evaluations < end and contest.evaluations - last < PATIENCE:
            one = moved(dice, contest.arms, at)
            score = contest.score(one, int(dice.integers(2**31)))
            if score > best:
                # Once more: the better of two noisy scores is lucky.
                score = (score + contest.score(one, int(dice.integers(2**31)))) / 2.0
                if score > best:
                    if score > best + 0.001:
                        last = contest.evaluations
                    best, at = score, one
                    seen.append((best, at))
        print(f"  climb {climbs}: {best:.4f} after {contest.evaluations:,} evaluations", flush=True)
    return sorted(seen, key=lambda pair: -pair[0])


def worst(found: list[tuple[float, Candidate]], count: int) -> list[Candidate]:
    """The first ones that are not nearly the same."""
    chosen: list[Candidate] = []
    for _, one in found:
        if all(_apart(one, other) for other in chosen):
            chosen.append(one)
        if len(chosen) == count:
            break
    return chosen


def _apart(one: Candidate, other: Candidate) -> bool:
    if (len(one.ends), one.sizes, one.noise < 0.0) != (len(other.ends), other.sizes, other.noise < 0.0):
        return True
    return float(np.abs(np.array(one.table) - np.array(other.table)).max()) > 0.03


def measured(contest: Contest, candidates: list[Candidate], environments: int, runs: int) -> None:
    """The worst ones again: mean and standard error over environments, each with seeds of its own."""
    rows = []
    for candidate in candidates:
        means = [contest.more(candidate, 10**6 + e, runs).mean() for e in range(environments)]
        rows.append((np.mean(means), np.std(means, ddof=1) / np.sqrt(environments), candidate))
    for mean, error, candidate in sorted(rows, key=lambda row: -row[0]):
        print(f"  {mean:.4f} +- {error:.4f}  {candidate.shown()}", flush=True)


def parsed(text: str) -> tuple[str, int | None]:
    name, _, value = text.partition("=")
    return name, None if value == "None" else int(value)


def main() -> None:
    parser = argparse.ArgumentParser(description="Search for adversaries on which Champion is worse than HLMC.")
    parser.add_argument("--arms", type=int, nargs="+", default=[100, 30])
    parser.add_argument("--horizon", type=lambda text: int(float(text)), default=10**5)
    parser.add_argument("--evaluations", type=int, default=3200)
    parser.add_argument("--runs", type=int, default=8, help="of each policy in an evaluation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", type=parsed, nargs="*", default=[], help="of Champion, such as switches=3")
    parser.add_argument("--stretch", type=int, default=1, help="also measure the worst with so many times the horizon")
    parser.add_argument("--old", default="", metavar="SRC", help="the src folder of the checkout to search in")
    parser.add_argument("--save", default="", metavar="FILE", help="keep the worst tables")
    parser.add_argument("--load", default="", metavar="FILE", help="measure these and search for none")
    options = parser.parse_args()
    if options.old:
        call = [sys.executable, __file__, *sys.argv[1:], "--old", ""]
        sys.exit(subprocess.run(call, env=os.environ | {"PYTHONPATH": options.old}).returncode)
    kept = json.loads(Path(options.load).read_text()) if options.load else {}
    for arms in options.arms:
        contest = Contest(arms, options.horizon, dict(options.options), options.runs)
        print(f"{contest.policies['Champion']!r}, T = {options.horizon:,}", flush=True)
        began = time.perf_counter()
        if options.load:
            chosen = [
                Candidate(tuple(ends), tuple(map(tuple, table)), tuple(sizes), noise)
                for ends, table, sizes, noise in kept[str(arms)]
            ]
        else:
            chosen = worst(search(contest, options.evaluations, options.seed), 10)
            kept[str(arms)] = [[one.ends, one.table, one.sizes, one.noise] for one in chosen]
        print(
            f"  {contest.evaluations:,} evaluations, {time.perf_counter() - began:.0f} s. 64 fresh seeds:", flush=True
        )
        measured(contest, chosen, 8, 8)
        if options.stretch > 1:
            print(f"  T = {options.stretch * options.horizon:,}:", flush=True)
            longer = Contest(arms, options.stretch * options.horizon, dict(options.options), options.runs)
            measured(longer, chosen, 4, 8)
    if options.save:
        Path(options.save).write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
