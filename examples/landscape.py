"""The regret of two-level HLMC over its epoch length and its learning rate, with the theorem's choice marked.

Every point of the map is a policy of its own, played a thousand times. On a GPU thousands of them are played at once,
since they differ only in parameters.

    python examples/landscape.py --device cuda                  # 64 x 64 points, 1,000 runs of 10^6 steps each
    python examples/landscape.py                                # 12 x 12 points, 8 runs of 10^5 steps, on the processor
    python examples/landscape.py --adversary Needle --out needle.png
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import hlmc
from hlmc import plotting, routines

ARMS, MEMORY = 100, 20
SIDE = 10  # groups, and arms in each


def rates(horizon: int, length: int, factor: float) -> tuple[float, float]:
    """Theorem 1's learning rates for epochs of this length, times a factor."""
    choices = -(-horizon // length), length
    above, below = (min(1.0, factor * np.sqrt(SIDE * np.log(SIDE) / (2 * s))) for s in choices)
    return float(above), float(below)


def policy(horizon: int, length: int, factor: float) -> hlmc.HLMC:
    """HLMC with epochs of this length and learning rates away from the theorem's by this factor."""
    above, below = rates(horizon, length, factor)
    levels = (routines.EXP3(gamma=above), routines.EXP3(gamma=below))
    return hlmc.HLMC(ARMS, memory=MEMORY, horizon=horizon, epochs=(-(-horizon // length), length), routines=levels)


def edges(centres) -> np.ndarray:
    """The edges of cells that are even on a logarithmic axis."""
    logs = np.log(np.asarray(centres, dtype=float))
    middles = (logs[1:] + logs[:-1]) / 2
    return np.exp(np.concatenate([[2 * logs[0] - middles[0]], middles, [2 * logs[-1] - middles[-1]]]))


def draw(lengths, factors, regret, horizon, title, path) -> None:
    """A map of the regret with its lowest point and the theorem's."""
    from matplotlib.patheffects import withStroke

    with plotting.style():
        figure = plotting.figure()
        figure.set_size_inches(7.2, 5.2)
        ax = figure.subplots()
        share = regret / horizon
        mesh = ax.pcolormesh(edges(lengths), edges(factors), share, cmap="viridis", rasterized=True)
        lines = ax.contour(lengths, factors, share, levels=8, colors="white", linewidths=0.6, alpha=0.8)
        ax.clabel(lines, lines.levels[::2], fontsize=7, fmt="%.3g")
        best = np.unravel_index(np.argmin(regret), regret.shape)
        theorem = hlmc.HLMC(ARMS, memory=MEMORY, horizon=horizon).plan.lengths[0]
        ax.plot(theorem, 1.0, marker="o", color="white", markeredgecolor="black", markersize=9, linestyle="none")
        ax.plot(lengths[best[1]], factors[best[0]], marker="*", color="white", markeredgecolor="black", markersize=14)
        for x, y, text in (
            (theorem, 1.0, "Theorem 1"),
            (lengths[best[1]], factors[best[0]], f"least: {share[best]:.3f} per step"),
        ):
            left = x > np.sqrt(lengths[0] * lengths[-1])
            ax.annotate(
                text,
                (x, y),
                xytext=(-10 if left else 10, 8),
                textcoords="offset points",
                ha="right" if left else "left",
                color="white",
                fontsize=9,
                fontweight="bold",
                path_effects=[withStroke(linewidth=2, foreground="black")],
            )
        ax.set(xscale="log", yscale="log", xlabel="steps in an epoch", ylabel="learning rates over the theorem's")
        ax.set_title(title, loc="left")
        figure.colorbar(mesh, ax=ax, label="weak regret per step")
        plotting.save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--size", type=int, help="points on a side (64 on a GPU, 12 on the processor)")
    parser.add_argument("--runs", type=int, help="runs of each point (1000, 8)")
    parser.add_argument("--horizon", type=int, help="steps (1000000, 100000)")
    parser.add_argument("--adversary", default="BlockTrap", help="one of hlmc.adversaries that needs only arms=")
    parser.add_argument("--out", default="landscape.png", help="the picture")
    options = parser.parse_args()
    large = options.device == "cuda"
    size = options.size or (64 if large else 12)
    runs = options.runs or (1000 if large else 8)
    horizon = options.horizon or (10**6 if large else 10**5)
    lengths = np.unique(np.geomspace(10, horizon / 10, size).round().astype(int))
    factors = np.geomspace(1 / 16, 16, size)
    policies = {f"{f:.4f} {n}": policy(horizon, int(n), float(f)) for f in factors for n in lengths}
    adversary = getattr(hlmc.adversaries, options.adversary)(arms=ARMS)
    began = time.perf_counter()
    found = hlmc.estimate(policies, adversary, horizon, runs=runs, points=[horizon], device=options.device)
    seconds = time.perf_counter() - began
    regret = found.regret()["mean"].values.reshape(len(factors), len(lengths))
    steps = len(policies) * runs * horizon
    print(f"{len(policies):,} policies, {runs:,} runs of {horizon:,} steps each: {steps:.3g} steps in {seconds:.1f} s")
    theorem = hlmc.HLMC(ARMS, memory=MEMORY, horizon=horizon).plan.lengths[0]
    nearest = regret[np.abs(np.log(factors)).argmin(), np.abs(np.log(lengths / theorem)).argmin()]
    print(f"regret per step: {nearest / horizon:.4f} near the theorem's choice, {regret.min() / horizon:.4f} at best")
    draw(lengths, factors, regret, horizon, f"{adversary!r}, T = {horizon:,}, {runs:,} runs per point", options.out)
    print(f"drawn: {options.out}")


if __name__ == "__main__":
    try:
        main()
    except (hlmc.errors.HLMCError, ImportError) as error:
        sys.exit(f"{error}")
