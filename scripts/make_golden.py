"""Make src/hlmc/paper/golden.json: what each policy of the paper's figures earns at a small horizon, from many runs.

The committed file was made by

    python scripts/make_golden.py --runs 4000 --seed 20210

on the CPU. Make it again when a policy or an adversary is changed on purpose, and say why in the commit: a change that
moves a mean by more than chance is what tests/paper/test_golden.py is there to catch.
"""

from __future__ import annotations

import argparse
import json
import time

from hlmc.paper.golden import CASES, FILE, sample
from hlmc.streams import SCHEME


def main() -> None:
    """Play all cases and write the file."""
    parser = argparse.ArgumentParser(description="Make the golden values.")
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=20210)
    options = parser.parse_args()
    cases = {}
    for case in CASES:
        began = time.perf_counter()
        cases[case] = {name: list(kept) for name, kept in sample(case, options.runs, options.seed).items()}
        print(f"{case}: {time.perf_counter() - began:.0f} s", flush=True)
    made = f"python scripts/make_golden.py --runs {options.runs} --seed {options.seed}"
    columns = ["runs", "mean final reward", "standard deviation"]
    text = {"made by": made, "streams": SCHEME, "columns": columns, "cases": cases}
    FILE.write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
