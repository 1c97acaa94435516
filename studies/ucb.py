"""How many bits for UCB1's counts and for its means? A study on adversaries used for nothing else.

    python studies/ucb.py [horizon] [runs]

A count is a Morris counter: code k stands for ((1 + a)^k - 1) / a and goes up with the probability that adds 1 on
average; ``a`` is such that the last code stands for 2^40. A mean is a whole number of 1 / (2^m - 1), rounded at random.
The table is the regret over that of UCB1 with exact counts and means, mean of the runs.
"""

from __future__ import annotations

import sys

import numba
import numpy as np
from bits import Array, adversaries, best, reward_of


def base(bits: int, most: float = 2.0**40) -> float:
    """a of a Morris counter whose last code stands for ``most``."""
    low, high = 1e-12, 64.0
    for _ in range(200):
        a = np.sqrt(low * high)
        # ln of 1 + a most, against that of the last code
        low, high = (a, high) if (2**bits - 1) * np.log1p(a) < np.log1p(a * most) else (low, a)
    return float(a)


@numba.njit(cache=True)
def play(kind: int, table: Array, n: int, T: int, a: float, steps: float, seed: int) -> float:
    """Expected reward of the arms that UCB1 plays. a = 0: exact counts; steps = 0: exact means."""
    np.random.seed(seed)  # noqa: NPY002
    mean = np.zeros(n)
    count = np.zeros(n)
    code = np.zeros(n)
    root = np.zeros(n)
    earned = 0.0
    for t in range(T):
        i = t
        if t >= n:
            spread = np.sqrt(2.0 * np.log(t + 1.0))
            i = 0
            top = -1.0
            for j in range(n):
                index = mean[j] + spread * root[j]
                if index > top:
                    i = j
                    top = index
        reward = reward_of(kind, table, t, i)
        earned += table[1 if kind == 1 and t >= table[2, 0] else 0, i]
        value = mean[i] + (reward - mean[i]) / (count[i] + 1.0)
        if steps > 0.0:
            scaled = value * steps
            low = np.floor(scaled)
            value = (low + (1.0 if np.random.random() < scaled - low else 0.0)) / steps  # noqa: NPY002
        mean[i] = value
        if a == 0.0:
            count[i] += 1.0
        elif np.random.random() * (1.0 + a) ** code[i] < 1.0:  # noqa: NPY002
            code[i] += 1.0
            count[i] = ((1.0 + a) ** code[i] - 1.0) / a
        root[i] = 1.0 / np.sqrt(count[i])
    return earned


def main() -> None:
    T = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**5
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    known = adversaries(T)
    print(f"T = {T}, {runs} runs; regret with 64 bits, then the ratio to it")
    print(f"{'count':>5} {'mean':>5} " + " ".join(f"{name:>13}" for name in known))
    exact: dict[str, float] = {}
    for count, mean in [(64, 64), (6, 6), (6, 10), (8, 8), (8, 64), (6, 18), (8, 16), (12, 12), (8, 24), (16, 16)]:
        a = 0.0 if count == 64 else base(count)
        steps = 0.0 if mean == 64 else 2.0**mean - 1.0
        lost = {}
        for name, (kind, table) in known.items():
            n = table.shape[1]
            lost[name] = best(kind, table, T) - np.mean([play(kind, table, n, T, a, steps, r) for r in range(runs)])
        exact = exact or lost
        first = exact is lost
        cells = " ".join(f"{lost[name]:13.0f}" if first else f"{lost[name] / exact[name]:13.2f}" for name in known)
        print(f"{count:>5} {mean:>5} {cells}", flush=True)


if __name__ == "__main__":
    main()
