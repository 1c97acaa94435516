"""Spectrum access under jamming (Fig. 6): a thousand agents share twenty channels, of which one is clear."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hlmc import HLMC, UCBM, Policy, derive_seed, games, plotting
from hlmc.errors import BadArgument
from hlmc.files import write_whole
from hlmc.paper.claims import Claim, fact, less, mean
from hlmc.paper.drawing import line
from hlmc.paper.experiment import Picture, Results, Settings, Table
from hlmc.paper.tables import number, plus_minus
from hlmc.simulation import Reporter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "spectrum"
TITLE = "Spectrum access under jamming"
SOURCE = "Fig. 6"
TEXT = """\
1000 agents, K = 20 channels, M = 10. One channel is clear and pays 10, shared evenly by the agents on it; a jammed one
pays 1 to an agent that is alone on it and 0 to several. The clear channel changes at the start of every phase. The
paper gives neither the horizon nor the length of the phases: here the phases double, as in experiment 1, starting with
h0 b0 = 3 × 120 steps. All agents follow the same policy. Together they earn at most 10 + 19 per step, which is 0.029
per agent. They earn 0.010 per agent whenever some agent is on the clear channel and no agent is alone on another."""

AGENTS, K, M = 1000, 20, 10
FULL_HORIZON = 22_680
"""The end of the sixth phase: 360 (2^6 - 1)."""
UCB, SHUFFLED = "UCB-M", "UCB-M shuffled"


@dataclass(frozen=True)
class GamePart:
    """A game in which all agents follow one policy, for each policy; every finished run is a file in the store."""

    key: str
    title: str
    policies: Mapping[str, Policy]
    game: games.Spectrum
    horizon: int
    runs: int
    points: tuple[int, ...]
    cost: float = 200.0

    @property
    def work(self) -> float:
        """Approximate time on one core, in seconds."""
        return 1e-9 * self.cost * self.horizon * self.runs * len(self.policies) * self.game.agents

    def play(
        self, settings: Settings, jobs: int | None, store: Path, report: Reporter, name: str
    ) -> dict[str, list[games.GameResult]]:
        """Play the runs that are not in the store; the results of the runs of each policy."""
        self._agree(settings, store)
        share = self.work / (self.runs * len(self.policies))

        def play(policy: str, run: int, path: Path) -> games.GameResult:
            with report.part(name, share, self.horizon) as told:
                if path.exists():
                    return games.load_result(path)
                seed, points = derive_seed(settings.seed, run), list(self.points)
                population = {policy: self.policies[policy]}
                result = games.play(population, self.game, self.horizon, 1, seed, points=points, progress=told)
                result.save(path)
                return result

        workers = ThreadPoolExecutor(jobs or os.cpu_count())
        try:
            played = {
                policy: [
                    workers.submit(play, policy, run, store / f"policy{place}-{run:04d}.parquet")
                    for run in range(self.runs)
                ]
                for place, policy in enumerate(self.policies)
            }
            return {policy: [each.result() for each in runs] for policy, runs in played.items()}
        finally:
            workers.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, runs that have begun end by themselves

    def _agree(self, settings: Settings, store: Path) -> None:
        """Raise an error if a folder holds runs of another experiment."""
        path = store / "_experiment.json"
        ours = {
            "game": repr(self.game),
            "policies": {name: repr(policy) for name, policy in self.policies.items()},
            "horizon": self.horizon,
            "seed": settings.seed,
        }
        if path.exists():
            try:
                theirs = json.loads(path.read_text())
            except ValueError:
                theirs = None
            if theirs != ours:
                raise BadArgument(f"{store} holds another experiment; omit --resume, or give another --out")
        store.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(ours, indent=1).encode())

    def code(self, settings: Settings) -> str:
        """The experiment as Python code."""
        policies = "".join(f'    "{name}": hlmc.{policy!r},\n' for name, policy in self.policies.items())
        return (
            f"policies = {{\n{policies}}}\n"
            f"game = hlmc.games.Spectrum(agents={self.game.agents}, channels={self.game.channels})\n"
            "results = {\n"
            f"    (name, run): hlmc.games.play({{name: policy}}, game, {self.horizon}, runs=1, "
            f"seed=hlmc.derive_seed({settings.seed}, run))\n"
            f"    for name, policy in policies.items() for run in range({self.runs})\n"
            "}\n"
        )


def parts(settings: Settings) -> list[GamePart]:
    """One game for each policy."""
    T = settings.scaled(FULL_HORIZON, least=100)
    return [
        GamePart(
            "all",
            f"T = {T:,}, phases that double",
            {
                "HLMC": HLMC(arms=K, groups=(4, 5), horizon=T),
                UCB: UCBM(arms=K, memory=M, shuffle=False),
                SHUFFLED: UCBM(arms=K, memory=M),
            },
            games.Spectrum(agents=AGENTS, channels=K),
            T,
            settings.runs,
            tuple(int(t) for t in np.unique(np.rint(np.arange(1, 101) * T / 100).astype(np.int64)) if t > 0),
        )
    ]


def _rewards(runs: list[games.GameResult]) -> np.ndarray:
    """Mean reward per agent per step up to each time, [run, time]."""
    return np.concatenate([run.mean_reward().isel(policy=0).transpose("run", "time").values for run in runs])


def _share(runs: list[games.GameResult], name: str) -> np.ndarray:
    return np.array([float(run.share(name).isel(policy=0, run=0, time=-1)) for run in runs])


def claims(results: Results, settings: Settings) -> list[Claim]:
    """The claims about Fig. 6."""
    played = results["all"]
    reward = {name: _rewards(runs)[:, -1] for name, runs in played.items()}
    advantage = (
        "“The simulation result again demonstrates the advantage of HLMC against UCB-M.” (average reward per agent)"
    )
    reading = "Our choice of horizon and phases; “more than two agents” is read as two or more (reading 12)."
    most = (10 + K - 1) / AGENTS
    highest = max(float(values.max()) for values in reward.values())
    return [
        less(
            f"HLMC above {name}", advantage, (name, reward[name]), ("HLMC", reward["HLMC"]), show=lambda x: f"{x:.6f}"
        ).read(reading)
        for name in (UCB, SHUFFLED)
    ] + [
        fact(
            "No reward above the maximum",
            "A check of the game; not a claim of the paper.",
            highest <= most,
            f"the highest mean reward is {highest:.5f}; the maximum is {most}",
        )
    ]


def tables(results: Results, settings: Settings) -> list[Table]:
    """A table of reward, fairness and collisions."""
    (part,) = parts(settings)
    rows = []
    for name, runs in results["all"].items():
        fair = np.array([float(run.fairness().isel(policy=0, run=0, time=-1)) for run in runs])
        rows.append(
            (
                name,
                f"{part.policies[name].words.statistics}",
                plus_minus(mean(_rewards(runs)[:, -1] * 1000), 3),
                f"{_share(runs, 'clear').mean():.3f}",
                f"{_share(runs, 'collision').mean():.3f}",
                f"{fair.mean():.3f}",
                number(float(np.mean([run.nanoseconds for run in runs]))),
            )
        )
    head = (
        "policy",
        "words",
        "1000 × reward per agent per step",
        "on the clear channel",
        "in collisions",
        "Jain's index",
        "ns per choice",
    )
    return [Table(part.title, head, tuple(rows), "Fractions are of all choices of all agents.")]


def pictures(results: Results, settings: Settings) -> list[Picture]:
    """Reward per agent against time: cumulative and in windows."""
    return [
        Picture(f"{NAME}-{'window' if window else 'average'}", text, partial(_draw, results["all"], window))
        for window, text in (
            (False, "Mean reward per agent per step up to each time. Bands: 95 % intervals over the runs."),
            (True, "The same in windows of a hundredth of the horizon, which shows changes of the clear channel."),
        )
    ]


def _draw(played: dict[str, list[games.GameResult]], window: bool) -> Figure:
    looks = plotting.looks(played)
    with plotting.style():
        figure = plotting.figure(7.4, 4.0)
        ax = figure.subplots()
        for name, runs in played.items():
            rewards = [run.mean_reward(window).isel(policy=0).transpose("run", "time") for run in runs]
            times = rewards[0]["time"].values
            line(ax, times, np.concatenate([each.values for each in rewards]), name, looks[name])
        ax.set_xlabel("steps")
        ax.set_ylabel("mean reward per agent per step")
        ax.set_xlim(left=0.0)
        ax.set_ylim(bottom=0.0)
        plotting.short_ticks(ax.xaxis)
        plotting.legend(ax)
        plotting.title(ax, f"{'Recent' if window else 'Mean'} reward of {AGENTS:,} agents under jamming")
    return figure
