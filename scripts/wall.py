"""Draw the animation of the first page, docs/figures/wall-light.webp and wall-dark.webp, and the social card,
docs/_static/card.png.

    python scripts/wall.py

Two learners of 10,000 arms, played by hand for 10^7 steps against `UniformMeans`: each cell is a word of the learner's
row, darker for arms that it holds for better, and below are the mean rewards of the last stretch of steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

import hlmc

DOCS = Path(__file__).resolve().parent.parent / "docs"
FIGURES = DOCS / "figures"
K, M, T = 10_000, 200, 10**7
FRAMES = 12
SHADES = 3  # few shades make a small file
CELL, ACROSS = 4, 126  # pixels of a cell with its gap, and cells of a line of the wall
SIZE = (816, 440)
CARD = (1200, 630)  # what sites show for a link
LEFT, RIGHT, TOP, BOTTOM = 12, 544, 60, 394
THEMES = {
    "light": {"page": "#ffffff", "text": "#1c2330", "faint": "#5c6675", "EXP3": "#d55e00", "Champion": "#0072b2"},
    "dark": {"page": "#14181e", "text": "#e8ecf2", "faint": "#a0abba", "EXP3": "#ff8c42", "Champion": "#56b4e9"},
}


def shades(learner: hlmc.Learner) -> np.ndarray:
    """How dark each word is drawn, in [0, 1]: control words a half, statistics by how well they speak of their arm."""
    row, statistics = learner.state, learner.policy.words.statistics
    found = np.full(len(row), 0.5)
    values = row[-statistics:]
    if isinstance(learner.policy, hlmc.EXP3):
        found[-statistics:] = np.clip(values / values.max(), 0.0, 1.0)  # weights
    else:  # losses, as differences to one of them
        found[-statistics:] = 1.0 / (1.0 + np.abs(values) / (1.0 + np.abs(values).mean()))
    return 0.2 + 0.8 * found


def played(policy: hlmc.Policy, stops: np.ndarray, means: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """At each stop: the shades of the learner's words, and its mean reward since the stop before."""
    learner, draw = policy.start(seed=1), np.random.default_rng(1)
    found, time = [], 0
    for stop in stops:
        earned = 0.0
        for u in draw.random(stop - time):
            reward = float(u < means[learner.select()])
            learner.update(reward)
            earned += reward
        found.append((shades(learner), earned / (stop - time)))
        time = stop
    return found


def mixed(colour: str, page: str, shade: float) -> tuple[int, ...]:
    one, two = (np.array([int(each[i : i + 2], 16) for i in (1, 3, 5)]) for each in (colour, page))
    shade = round(SHADES * shade) / SHADES
    return tuple(int(x) for x in shade * one + (1 - shade) * two)


def frame(theme: dict[str, str], step: int, walls: dict[str, tuple[np.ndarray, float]], scale: int = 1) -> Image.Image:
    """One picture of the animation, ``scale`` times as large."""
    picture = Image.new("RGB", (SIZE[0] * scale, SIZE[1] * scale), theme["page"])
    draw = ImageDraw.Draw(picture)
    regular, bold = (font_manager.findfont(font_manager.FontProperties(weight=each)) for each in ("regular", "bold"))
    small, large = ImageFont.truetype(regular, 15 * scale), ImageFont.truetype(bold, 19 * scale)

    def text(x: int, y: int, words: str, colour: str, font: Any) -> None:
        draw.text((x * scale, y * scale), words, colour, font)

    def box(x: int, y: int, width: int, height: int, colour: Any) -> None:
        draw.rectangle((x * scale, y * scale, (x + width) * scale - 1, (y + height) * scale - 1), colour)

    for (name, (cells, mean)), left in zip(walls.items(), (LEFT, RIGHT), strict=True):
        across = ACROSS if name == "EXP3" else 15
        text(left, 8, f"{name}: {len(cells):,} numbers", theme[name], large)
        text(left, 32, "all that it stores for 10,000 arms", theme["faint"], small)
        for i, shade in enumerate(cells):
            x, y = left + CELL * (i % across), TOP + CELL * (i // across)
            box(x, y, CELL - 1, CELL - 1, mixed(theme[name], theme["page"], shade))
        text(left, BOTTOM, f"mean reward now {mean:.2f}", theme["text"], large)
        box(left, BOTTOM + 27, 231, 7, mixed(theme[name], theme["page"], 0.2))
        box(left, BOTTOM + 27, round(230 * mean) + 1, 7, theme[name])
    text(RIGHT, 200, f"step {step:,}", theme["text"], large)
    text(RIGHT, 228, "random choice: 0.50", theme["faint"], small)
    text(RIGHT, 250, "best arm: 1.00", theme["faint"], small)
    return picture


def card(theme: dict[str, str], walls: dict[str, tuple[np.ndarray, float]]) -> Image.Image:
    """The last frame, larger, under the name of the library."""
    picture = Image.new("RGB", CARD, theme["page"])
    height = CARD[1] - 112
    last = frame(theme, T, walls, 3).resize((round(SIZE[0] * height / SIZE[1]), height), Image.Resampling.LANCZOS)
    left = (CARD[0] - last.width) // 2
    picture.paste(last, (left, 100))
    bold = ImageFont.truetype(font_manager.findfont(font_manager.FontProperties(weight="bold")), 38)
    title = "hlmc: no-regret bandits in bounded memory"
    ImageDraw.Draw(picture).text((left + LEFT * height // SIZE[1], 36), title, theme["text"], bold)
    return picture.quantize(64)


def main() -> None:
    adversary = hlmc.adversaries.UniformMeans(arms=K, seed=1)
    means = np.array([adversary.expected.reward(0, arm) for arm in range(K)])
    stops = np.unique(np.geomspace(1000, T, FRAMES).astype(int))
    runs = {
        "EXP3": played(hlmc.EXP3(arms=K, horizon=T), stops, means),
        "Champion": played(hlmc.Champion(arms=K, memory=M, horizon=T), stops, means),
    }
    for name, theme in THEMES.items():
        frames = [frame(theme, stop, {policy: run[i] for policy, run in runs.items()}) for i, stop in enumerate(stops)]
        place = FIGURES / f"wall-{name}.webp"
        last = [500] * (len(frames) - 1) + [4000]
        lossless: dict[str, Any] = {"lossless": True, "quality": 100, "method": 6, "minimize_size": True}
        frames[0].save(place, save_all=True, append_images=frames[1:], duration=last, loop=0, **lossless)
        print(f"{place.name}: {place.stat().st_size:,} bytes")
        if name == "light":
            card(theme, {policy: run[-1] for policy, run in runs.items()}).save(
                DOCS / "_static" / "card.png", optimize=True
            )
        for policy, run in runs.items():
            print(f"  {policy}: mean reward of the last steps {run[-1][1]:.3f}")


if __name__ == "__main__":
    main()
