"""How many words a learner takes, and how long a step by hand: ``python benchmarks/core.py``.

Times are the least of several repetitions, beside those of two empty methods, so that what Python itself costs can be
told from what the learner costs.
"""

from __future__ import annotations

import timeit

import hlmc
from hlmc.planning import deepest

STEPS = 20_000
HORIZON = 10**9


class Empty:
    """Two methods that do nothing."""

    def select(self) -> int:
        return 0

    def update(self, reward: float) -> None:
        return None


def nanoseconds(learner: hlmc.Learner | Empty, reward: float) -> float:
    """The least time of a select and an update."""

    def step() -> None:
        learner.select()
        learner.update(reward)

    return min(timeit.repeat(step, number=STEPS, repeat=7)) / STEPS * 1e9


def main() -> None:
    print("words: statistics + control")
    print(f"{'K':>6} {'D = 1':>22} {'D = 2':>14} {'D = 3':>12} {'deepest':>18}")
    for power in (2, 4, 6, 9):
        arms = 10**power
        cells = []
        for depth in (1, 2, 3, deepest(arms)):
            words = hlmc.HLMC(arms=arms, levels=depth, horizon=HORIZON).words
            cells.append(f"{words.statistics} + {words.control}")
        cells[3] += f" (D = {deepest(arms)})"
        print(f"10^{power:<3} {cells[0]:>22} {cells[1]:>14} {cells[2]:>12} {cells[3]:>18}")
    least = hlmc.HLMC(arms=10**9, memory=96, horizon=HORIZON)
    print(f"10^9 in 96 words: {least.plan.groups}, {least.words.statistics} + {least.words.control}")
    print("\nselect + update by hand, nanoseconds (reward 0, reward 1)")
    rows = {
        "empty methods": Empty(),
        "EXP3, K = 100": hlmc.EXP3(arms=100, horizon=HORIZON).start(),
        "HLMC, K = 100, 20 words": hlmc.HLMC(arms=100, memory=20, horizon=HORIZON).start(),
        "Champion, K = 100, 20 words": hlmc.Champion(arms=100, memory=20, horizon=HORIZON).start(),
        "HLMC, K = 10^9, 2 levels": hlmc.HLMC(arms=10**9, levels=2, horizon=HORIZON).start(),
        "HLMC, K = 10^9, 96 words": least.start(),
    }
    for name, learner in rows.items():
        print(f"{name:30} {nanoseconds(learner, 0.0):8.0f} {nanoseconds(learner, 1.0):8.0f}")


if __name__ == "__main__":
    main()
