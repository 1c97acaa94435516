"""Which code for the losses of Tsallis-INF in b bits? A study of grids, on adversaries used for nothing else.

    python studies/bits.py [horizon] [runs]

A code k of 0 .. 2^b - 1 stands for the loss A_k = s g(k / 2^b) above a moving base; s is a multiple of 2 / eta_t that
doubles when t quadruples. All grids share the update of ``hlmc.engine.codes``: stochastic rounding of the played slot,
the base moved seldom. The table is weak regret over that of 64-bit losses, mean of the runs.
"""

from __future__ import annotations

import sys

import numba
import numpy as np

Array = np.ndarray


def grid(kind: str, levels: int) -> Array:
    """g(0), ..., g(levels - 1), increasing from 0, in units of the scale s = 2 / eta."""
    y = np.arange(levels) / levels
    if kind.startswith("linear"):  # up to so many s
        return np.linspace(0.0, float(kind.split()[1]), levels, endpoint=False)
    if kind == "logarithmic":  # from s / 64 to 2^20 s, relative spacing constant
        return np.asarray((np.exp(y * np.log(64.0 * 2.0**20)) - 1.0) / 64.0)
    if kind == "minifloat":  # 4 bits of exponent with a linear range below s / 16
        half = levels // 16
        e, m = np.divmod(np.arange(levels), half)
        return np.where(e == 0, m / half, (1.0 + m / half) * 2.0 ** (e - 1.0)) / 16.0
    power, share = {
        "quadratic": (1.0, 1.0),
        "quadratic 1/2": (1.0, 0.5),
        "quartic": (2.0, 1.0),
        "quartic 1/2": (2.0, 0.5),
        "quartic 1/4": (2.0, 0.25),
        "sextic 1/2": (3.0, 0.5),
    }[kind]
    spaced: Array = share * ((1.0 - y) ** -power - 1.0)
    return spaced


GRIDS = (
    "linear 32",
    "linear 256",
    "logarithmic",
    "minifloat",
    "quadratic",
    "quadratic 1/2",
    "quartic",
    "quartic 1/2",
    "quartic 1/4",
    "sextic 1/2",
)


@numba.njit(cache=True)
def coded(g: Array, s: float, value: float) -> int:
    """A code by stochastic rounding; values beyond the ends are cut off."""
    y = value / s
    if y <= 0.0:
        return 0
    top = len(g) - 1
    if y >= g[top]:
        return top
    k = np.searchsorted(g, y, side="right") - 1
    return int(k) + 1 if np.random.random() < (y - g[k]) / (g[k + 1] - g[k]) else int(k)  # noqa: NPY002


@numba.njit(cache=True)
def reward_of(kind: int, table: Array, t: int, arm: int) -> float:
    if kind == 0:  # Bernoulli
        return 1.0 if np.random.random() < table[0, arm] else 0.0  # noqa: NPY002
    if kind == 1:  # the means of row 0 until a third of the time, then row 1
        row = 0 if t < table[2, 0] else 1
        return 1.0 if np.random.random() < table[row, arm] else 0.0  # noqa: NPY002
    return float(table[0, arm])  # always the mean


@numba.njit(cache=True)
def play(kind: int, table: Array, n: int, T: int, g: Array, exact: bool, seed: int) -> float:
    """Expected reward of the arms played by Tsallis-INF (reduced variance) with losses on the grid, or exact ones."""
    np.random.seed(seed)  # noqa: NPY002
    code = np.zeros(n, np.int64)
    A = np.zeros(n)
    v = np.zeros(n)
    s = 0.5
    x = -0.5 * np.sqrt(n)
    earned = 0.0
    guard = 0.125
    for t in range(T):
        eta = 4.0 / np.sqrt(t + 1.0)
        scale = 2.0 / eta
        for _ in range(60):
            total = 0.0
            slope = 0.0
            least = A[0]
            for j in range(n):
                r = scale / (A[j] - x)
                total += r * r
                slope += r * r * r
                least = min(least, A[j])
            moved = min(x - (total - 1.0) / (eta * slope), least - scale)
            if n * (total - 1.0) ** 2 < 1e-8 or moved == x:
                x = moved
                break
            x = moved
        u = np.random.random()  # noqa: NPY002
        i = 0
        p = (scale / (A[0] - x)) ** 2
        u -= p
        while u >= 0.0 and i < n - 1:
            i += 1
            p = (scale / (A[i] - x)) ** 2
            u -= p
        reward = reward_of(kind, table, t, i)
        earned += table[1 if kind == 1 and t >= table[2, 0] else 0, i]
        loss = 1.0 - reward
        near = p >= eta * eta
        value = A[i] + (loss - 0.5 if near else loss) / p
        if exact:
            shift = x + scale
            for j in range(n):
                tiny = (scale / (A[j] - x)) ** 2 < eta * eta
                A[j] = (value if j == i else A[j]) - (0.5 if tiny else 0.0) - shift
            x -= shift
            continue
        # Slots of small probability lose 1/2 a step: all at once, seldom.
        batch = max(1.0, (t + 1) / 256.0)
        due = np.random.random() * batch < 1.0  # noqa: NPY002
        grown = s
        if (t + 2) & (t + 1) == 0:
            e = int(np.log2(t + 2.0))
            if e % 2 == 0:
                grown = 0.5 * 2.0 ** (e // 2)
        if due or value < 0.0 or min(value, x + scale) > 2.0 * guard * s or grown != s:
            least = np.inf
            for j in range(n):
                tiny = due and (scale / (A[j] - x)) ** 2 < eta * eta
                v[j] = (value if j == i else A[j]) - (0.5 * batch if tiny else 0.0)
                least = min(least, v[j])
            shift = guard * grown - least
            for j in range(n):
                code[j] = coded(g, grown, v[j] + shift)
                A[j] = grown * g[code[j]]
            s = grown
            x = min(x + shift, A.min() - scale)
        else:
            code[i] = coded(g, s, value)
            A[i] = s * g[code[i]]
    return earned


def adversaries(T: int, seed: int = 5) -> dict[str, tuple[int, Array]]:
    rng = np.random.default_rng(seed)
    return {
        "beta means": (0, rng.beta(2, 5, 100)[None]),
        "0.56 in 0.5": (0, np.where(np.arange(100) == 37, 0.56, 0.5)[None]),
        "rare 4% in 1%": (0, np.where(np.arange(100) == 61, 0.04, 0.01)[None]),
        "fixed pays": (2, np.where(np.arange(100) == 61, 0.9, np.linspace(0, 0.8, 100))[None]),
        "two, H^-1/4": (0, np.array([[0.5 + T**-0.25, 0.5]])),
        "ten, .9": (0, np.where(np.arange(10) == 3, 0.9, 0.88)[None]),
        "two, .6": (0, np.array([[0.6, 0.58]])),
    }


def _turn(T: int) -> Array:
    table = np.zeros((3, 20))
    table[0] = np.where(np.arange(20) == 4, 0.7, 0.4)
    table[1] = np.where(np.arange(20) == 15, 0.95, np.where(np.arange(20) == 4, 0.3, 0.4))
    table[2, 0] = T / 3
    return table


def best(kind: int, table: Array, T: int) -> float:
    if kind == 1:
        change = int(np.ceil(table[2, 0]))
        return float((change * table[0] + (T - change) * table[1]).max())
    return float(T * table[0].max())


def main() -> None:
    T = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**5
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    # Third argument: the widths; fourth: the grids, in part of their names.
    widths = [int(b) for b in sys.argv[3].split(",")] if len(sys.argv) > 3 else [6, 8, 10, 12]
    known = adversaries(T)
    print(f"T = {T}, {runs} runs; weak regret in 64 bits, then the ratio to it")
    print(f"{'grid':>14} {'bits':>4} " + " ".join(f"{name:>13}" for name in known))
    exact = {}
    for name, (kind, table) in known.items():
        n = table.shape[1]
        top = best(kind, table, T)
        exact[name] = top - np.mean([play(kind, table, n, T, np.zeros(2), True, r) for r in range(runs)])
    print(f"{'64 bits':>14} {64:>4} " + " ".join(f"{exact[name]:13.0f}" for name in known), flush=True)
    for b in widths:
        for each in (
            name for name in GRIDS if len(sys.argv) < 5 or any(part in name for part in sys.argv[4].split(","))
        ):
            g = grid(each, 2**b)
            cells = []
            for name, (kind, table) in known.items():
                n = table.shape[1]
                top = best(kind, table, T)
                lost = top - np.mean([play(kind, table, n, T, g, False, r) for r in range(runs)])
                cells.append(f"{lost / exact[name]:13.2f}")
            print(f"{each:>14} {b:>4} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
