"""Draw the picture of the first page: docs/figures/front.png.

    python studies/front.py

Mean reward per step of four policies with 100 arms against `Needle`; the script of the gallery shows the same.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

import hlmc
from hlmc import plotting

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "front.png"
T = 10**6
# What each policy is called elsewhere, which gives it its colour and line, and where its name ends.
PLACES = (
    ("Champion: 20 numbers", "Champion", 7e3, 0.70),
    ("EXP3: 100 numbers", "EXP3", 9e5, 0.58),
    ("HLMC: 20 numbers", "HLMC", 4.4e4, 0.452),
    ("random choice", "Uniform", 9e5, 0.325),
)


def main() -> None:
    policies: dict[str, hlmc.Policy] = {
        "Champion: 20 numbers": hlmc.Champion(arms=100, memory=20, horizon=T),
        "EXP3: 100 numbers": hlmc.EXP3(arms=100, horizon=T),
        "HLMC: 20 numbers": hlmc.HLMC(arms=100, memory=20, horizon=T),
        "random choice": hlmc.Uniform(arms=100),
    }
    needle = hlmc.adversaries.Needle(arms=100)
    result = hlmc.simulate(policies, needle, horizon=T, runs=24, points=("log", 200), progress=False)
    time = result.data["time"]
    mean = result.data["reward"].mean("run") / time
    with plotting.style():
        figure = plotting.figure(5.6, 3.9)
        ax = figure.subplots()
        ax.axhline(0.9, linestyle="--", color="0.6", linewidth=1)
        ax.text(110, 0.915, "best of 100 arms", color="0.4", fontsize=9)
        for name, known, x, y in PLACES:
            look = plotting.look(known).line() | {"marker": None, "linewidth": 2.2}
            ax.plot(time, mean.sel(policy=name), **look)
            label = name.replace(": ", "\n") if y > 0.5 else name
            ax.text(x, y, label, color=look["color"], fontsize=10, ha="right")
        ax.set(xscale="log", xlim=(100, T), ylim=(0.2, 1.0), xlabel="steps", ylabel="mean reward per step")
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=160)
    # The first page is to be small: a palette makes the picture a third as large.
    Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
