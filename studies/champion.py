"""The tables of research/champion.md: regret over that of the paper's HLMC, K = 100 arms and 20 words, 95 % intervals.

    python studies/champion.py                                 # 32 runs of 10^6 steps: about five minutes on one core
    python studies/champion.py --held-out --runs 8             # and on how many adversaries it is below EXP3
    python studies/champion.py --held-out --adversary bursts --runs 1024 --seed 2026
    python studies/champion.py --old ../before/src             # beside the Champion of another checkout
    python studies/champion.py --memory 14 --held-out          # three levels
    python studies/champion.py --policy "HLMC tsallis-rv"
    python studies/champion.py --set FIRM=-1                   # without rematches; DEVIATIONS=99: without crises

Every policy plays the same sequences of rewards. ``--policy`` takes the names of ``hlmc.arena.POLICIES``.
``--set`` gives constants of ``hlmc.engine.structures.champion`` other values, before anything is compiled.
``--held-out`` also prints the policy's regret less EXP3's, with the interval of the mean difference over the runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from typing import Any

ADVERSARIES = {
    "BlockTrap": "experiment 1",
    "Alternating": "experiment 2",
    "OneGoodArm": "one arm 0.55 among 0.5",
    "UniformMeans": "uniform means",
    "Needle": "needle",
    "Decoy": "decoy",
    "Sawtooth": "sawtooth",
    "LateBloomer": "late bloomer",
}
FULL = "EXP3"  # with memory for all arms


def measured(options: argparse.Namespace) -> list[dict[Any, Any]]:
    """The arena's rows, by the hlmc that this interpreter finds, and how much more regret than ``FULL`` each has."""
    import hlmc
    from hlmc.engine.structures import champion, champion_structure
    from hlmc.evaluation import t_interval

    for name, value in (text.split("=") for text in options.set):
        for module in (champion, champion_structure):
            if hasattr(module, name):
                setattr(module, name, type(getattr(module, name))(value))
    names = [*options.policy, FULL] if options.held_out else options.policy
    result = hlmc.arena(
        against=names,
        adversaries=options.adversary or (None if options.held_out else list(ADVERSARIES)),
        suite="held-out" if options.held_out else "catalogue",
        arms=100,
        memory=options.memory,
        horizons=options.horizon,
        runs=options.runs,
        seed=options.seed,
        kinds="weak",
        jobs=options.jobs,
        progress=False,
    )
    rows = result.data[result.data["kind"] == "weak"].to_dict("records")
    if options.held_out:
        regret = {at: own["weak"].to_numpy() for at, own in result.runs.groupby(["adversary", "policy"])}
        for row in rows:
            adversary = row["adversary"]
            row["more"] = list(t_interval(regret[adversary, row["policy"]] - regret[adversary, FULL]))
    return rows


def measured_by(source: str) -> list[dict[Any, Any]]:
    """The same by the hlmc of another checkout, which is not told of ``--old``."""
    call = [sys.executable, __file__, *sys.argv[1:], "--json", "--old", ""]
    environment = os.environ | {"PYTHONPATH": source}
    done = subprocess.run(call, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def cell(row: dict[Any, Any]) -> str:
    return f"{row['ratio']:.3f} ({row['ratio_low']:.3f} to {row['ratio_high']:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the champion's regret with that of HLMC and others.")
    parser.add_argument("--policy", action="append", default=[], help="default: Champion")
    parser.add_argument("--held-out", action="store_true", help="the adversaries that nothing was tuned on")
    parser.add_argument("--adversary", action="append", help="only this one; may be repeated")
    parser.add_argument("--old", default="", metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="constants of the rule")
    parser.add_argument("--memory", type=int, default=20, help="words; 14 are three levels (default: 20)")
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--horizon", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="the rows of the arena, for a program to read")
    options = parser.parse_args()
    options.policy = options.policy or ["Champion"]
    rows = measured(options)
    if options.json:
        print(json.dumps(rows))
        return
    tables = {name: {row["adversary"]: row for row in rows if row["policy"] == name} for name in ["HLMC", FULL]}
    columns = {name: {row["adversary"]: row for row in rows if row["policy"] == name} for name in options.policy}
    if options.old:
        before = measured_by(options.old)
        for name in options.policy:
            columns[f"{name}, old"] = {row["adversary"]: row for row in before if row["policy"] == name}
    heads = [head for name in columns for head in ([name, f"less {FULL}'s"] if options.held_out else [name])]
    heads += [FULL] if options.held_out else []
    print("| adversary | HLMC's regret |", " | ".join(heads), "|")
    print("|---|---|" + "---|" * len(heads))
    for adversary, base in tables["HLMC"].items():
        shown = ADVERSARIES.get(adversary, adversary)
        cells = [shown, f"{base['regret']:,.0f}"]
        for column in columns.values():
            cells.append(cell(column[adversary]))
            if options.held_out:
                cells.append("{:,.0f} ({:,.0f} to {:,.0f})".format(*column[adversary]["more"]))
        cells += [cell(tables[FULL][adversary])] if options.held_out else []
        print("|", " | ".join(cells), "|")
    for name, column in columns.items() if options.held_out else ():
        # Where HLMC's regret may be 0 or less, there is no ratio.
        worst = max((row["ratio"], adversary) for adversary, row in column.items() if not math.isnan(row["ratio"]))
        below = sum(row["regret"] < tables[FULL][adversary]["regret"] for adversary, row in column.items())
        print(
            f"{name}: worst ratio {worst[0]:.2f} ({worst[1]}), below {FULL} with all words on {below} of {len(column)}"
        )


if __name__ == "__main__":
    main()
