"""Random interleavings of ask, tell, drop, save, load, crash, duplicate and forged tickets, against a plain reading.

    python scripts/interleavings.py 1000000 --seed 1

The learner and the reading that remembers everything (tests/reference_feedback.py) must agree after every step. About
half a millisecond per step.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
interleave = importlib.import_module("test_feedback").interleave

AT_A_TIME = 200


def main() -> None:
    """Take so many steps and say what tell answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    codes: Counter[str] = Counter()
    done = 0
    while done < options.steps:
        codes += interleave(dice, AT_A_TIME)
        done += AT_A_TIME
        if done % (100 * AT_A_TIME) == 0:
            print(f"{done:,} steps, {dict(codes)}", flush=True)
    print(f"{done:,} steps, no disagreement; tell answered {dict(codes)}")


if __name__ == "__main__":
    main()
