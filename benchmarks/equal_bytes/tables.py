"""Tables of what was played, in Markdown."""

from __future__ import annotations

import math
from pathlib import Path

from equal_bytes.experiments import experiments
from equal_bytes.results import difference_and_half, mean_and_half, quantile, ratio_and_half, read, regrets


def regret_row(values: dict[str, dict[int, float]], unit: float) -> str:
    """A line of a table of regret: means, ratios to the first policy, differences to it for other numbers of bits."""
    first, *others = values
    base = values[first]
    mean, error = mean_and_half(base.values())
    cells = [str(max(map(len, values.values()))), f"{mean:,.0f} ± {error:,.0f}"]
    for name in others:
        found = values[name]
        own, half = mean_and_half(found.values())
        cells.append(f"{own:,.0f} ± {half:,.0f}" if found else "")
        ratio, wide = ratio_and_half(base, found) if found else (math.nan, math.nan)
        if not found or mean <= 2 * error:
            cells.append("")  # a regret that may be 0 is no unit
        elif name.endswith("bits"):
            cells.append(f"**{ratio:.2f}** ± {wide:.2f}")
        else:
            cells.append("below 0" if ratio < 0 else f"{ratio:.3g}" if ratio < 10 else f"{ratio:,.0f}")
        if name.endswith("bits"):
            cells.append("{:+.3f} ± {:.3f}".format(*difference_and_half(base, found, unit)))
    return " | ".join(cells)


def table(folder: Path) -> None:
    """Print what was played, as tables in Markdown."""
    told = experiments(folder)
    for place, rows in read(folder).items():
        one = told[place]
        names = list(one["policies"])
        print(f"\n{place}: K = {one['arms']:,}, T = {one['horizon']:,}")
        for name, text in one["policies"].items():
            ns = [float(row["ns"]) for row in rows if row["policy"] == name]
            mean = sum(ns) / max(1, len(ns))
            print(f"- {name}: {text}, {8 * one['words'][name]:,} bytes of statistics, {mean:.0f} ns a step")
        if place.startswith("bytes"):
            continue
        many = bool(one["best"])
        unit = math.sqrt(one["arms"] * one["horizon"])
        title = {name: f"{name}: {8 * one['words'][name]:,} bytes" for name in names}
        heads = [title[names[0]]]
        for name in names[1:]:
            heads += [title[name]] if many else [title[name], "ratio"] + ["difference / √(KT)"] * name.endswith("bits")
        print("\n| adversary | runs | " + " | ".join(heads) + " |")
        print("| --- " * (2 + len(heads)) + "|")
        for case in one["cases"]:
            values = dict(zip(names, regrets(rows, case, names, rewards=many), strict=True))
            if not any(values.values()):
                continue
            if many:
                cells = [
                    "{:.3f} ± {:.3f}".format(*mean_and_half(each.values())) if each else "" for each in values.values()
                ]
                print(f"| {case} | {max(map(len, values.values()))} | " + " | ".join(cells) + " |")
            else:
                print(f"| {case} | {regret_row(values, unit)} |")
        if place == "tails":
            print("\n| adversary | policy | runs | 10 % | median | 90 % | 99 % | mean |\n" + "| --- " * 8 + "|")
            for case in one["cases"]:
                for name, found in zip(names, regrets(rows, case, names), strict=True):
                    parts = [f"{quantile(found.values(), part):,.0f}" for part in (0.1, 0.5, 0.9, 0.99)]
                    mean, half = mean_and_half(found.values())
                    print(f"| {case} | {name} | {len(found)} | {' | '.join(parts)} | {mean:,.0f} ± {half:,.0f} |")
