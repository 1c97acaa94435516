"""Plots of what was played."""

from __future__ import annotations

from pathlib import Path

from equal_bytes.experiments import REPORTED, WORDS, experiments, is_played
from equal_bytes.results import mean_and_half, ratio_and_half, read, regrets


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
