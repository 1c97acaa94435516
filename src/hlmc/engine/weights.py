"""n positive weights in n words: draw in proportion to them, multiply one of them, at any range.

Exponential weights span any number of decades, more than a float64 has. Two stores, both exact to rounding:

*Scan* (n up to :data:`SCAN`). A word holds the weight itself, or, when the weight is too small for its sum with the
others to notice, its logarithm, which is then a number below :data:`TINY_LOG` and so is told apart by its sign.
A draw subtracts sums of eight, then single weights. The sum of all weights is kept, too.

*Tree* (larger n): :mod:`hlmc.engine.weight_tree`, odds at the boundaries between slots.

*Pieces*: the scan with the sums of its pieces of :data:`PIECE` weights kept as well, in the words before the first
one. They say nothing that the weights do not, so a learner's row has no room for them; where a learner works on a copy
of its statistics (on a device), a draw then costs n / PIECE + PIECE instead of n.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.arithmetic import counter, divide, exponential, logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import exponent, noalias, offset
from hlmc.engine.weight_tree import tree_draw, tree_multiply, tree_share

Array = np.ndarray

SCAN = 512
PIECE, PIECE_LOG = 4, 2
TINY_LOG = -600.0
LOG_ZERO = -math.inf  # a constant, so that it is narrowed with the others in single precision
_TINY = math.exp(TINY_LOG)
_HIGH, _LOW = 2.0**500, 2.0**-300
_STRAYED = 1024.0  # a sum of weights is within this factor of the weights
_LEAST_SURE_LOG = -50.0  # every word below this is a logarithm, whichever target has written it
GAIN_LOG = 2.0**54  # more than logarithms can reach in 2^53 steps that change them by at most 1
LOSS_LOG = 1e290  # ... or by at most 1e10 / _TINY
CODE = 1e-300
LOWEST_LOG = -1e7  # the least logarithm l for which CODE / -l is a positive number in either precision
BELOW_ONE = 1.0 - 2.0**-50  # of 1, so that rounding cannot reach it
SINGLE = {
    "CODE": 1e-30,
    "BELOW_ONE": 1.0 - 2.0**-20,
    "TINY_LOG": -60.0,
    "_TINY": math.exp(-60.0),
    "_HIGH": 2.0**60,
    "_LOW": 2.0**-40,
}


# Hooks: constants of the layout, and what a target computes otherwise.


@kernel
def scan_limit() -> int:
    """Up to so many weights are scanned; more are kept in a tree."""
    return SCAN


@kernel
def piece_size() -> int:
    """Weights of a piece."""
    return PIECE


@kernel
def piece_log() -> int:
    """The logarithm of :func:`piece_size`; more than two pieces have a power of two for their size."""
    return PIECE_LOG


@kernel
def worth_learning(gain: float) -> bool:
    """Whether a weight moves at all. Where neighbours wait for one another anyway, asking costs more than moving it."""
    return gain > 0.0


@kernel
def growth(rate: float, reward: float, chance: float) -> float:
    """What a reward multiplies a weight by."""
    return exponential(divide(rate * reward, chance))


@kernel
def weights_start(row: Array, at: int, n: int) -> float:
    """All weights 1; returns their sum."""
    fill = 1.0 if n <= scan_limit() else 0.0
    for j in range(at, at + n):
        row[j] = fill
    return float(n)


@kernel
def mixed_draw(row: Array, at: int, n: int, total: float, gamma: float, u: float) -> tuple[int, float]:
    """A slot by its weight, or with probability gamma any slot; and the probability of the slot drawn."""
    if u < gamma:
        slot = min(int(divide(u, gamma) * float(n)), n - 1)
    else:
        slot = weights_draw(row, at, n, total, divide(u - gamma, 1.0 - gamma))
    return slot, (1.0 - gamma) * weights_share(row, at, n, total, slot) + divide(gamma, float(n))


@kernel
def pure_draw(row: Array, at: int, n: int, total: float, u: float) -> tuple[int, float]:
    """A slot by its weight, and its probability.

    u = 0 draws the first slot that has any weight. Its share may be too small for a word; what is stated is not 0.
    """
    slot = weights_draw(row, at, n, total, u)
    return slot, max(weights_share(row, at, n, total, slot), _TINY)


@kernel
def weights_draw(row: Array, at: int, n: int, total: float, u: float) -> int:
    """A slot in proportion to its weight, from one uniform number u."""
    if n <= scan_limit():
        return _scan_draw(row, at, n, u * total)
    return tree_draw(row, at, n, u)


@kernel
def weights_share(row: Array, at: int, n: int, total: float, slot: int) -> float:
    """The weight of a slot over the sum of all."""
    if n <= scan_limit():
        w = row[at + slot]
        return (w if w >= 0.0 else exponential(w)) / total
    return tree_share(row, at, n, slot)


@kernel
def weights_multiply(row: Array, at: int, n: int, total: float, slot: int, x: float) -> float:
    """Multiply the weight of a slot by exp(x), x up to 300; returns the new sum (which only the scan needs)."""
    if n <= scan_limit():
        return _scan_multiply(row, at, n, total, slot, x)
    tree_multiply(row, at, n, slot, x)
    return total


@kernel
def weights_grow(
    row: Array, at: int, n: int, total: float, slot: int, rate: float, reward: float, chance: float
) -> float:
    """The same for exp(rate * reward / chance), which is at least 1."""
    return weights_multiply(row, at, n, total, slot, rate * reward / chance)


@kernel
def weights_change(row: Array, at: int, n: int, m: int, slot: int, total: float) -> float:
    """Make m of n weights, m at most :data:`SCAN` (``change`` of :class:`hlmc.engine.routines.RoutineKernels`).

    A fresh weight is the mean of the others. Returns the new sum.
    """
    if n < 2:
        return weights_start(row, at, m)
    if slot < 0:
        slot = -1 - slot
        if row[at + slot] >= total / float(n):
            return total
    if m < n:
        row[at + slot] = row[at + n - 1]
        return _scan_rescale(row, at, m)
    first = n
    others = n
    if m == n:
        row[at + slot] = LOG_ZERO  # counts nothing while the others are added up
        total = _scan_rescale(row, at, n)
        first = slot
        others = n - 1
    fresh = total / float(others)
    for j in range(at + first, at + (m if m > n else slot + 1)):
        row[j] = fresh
        total += fresh
    return total if total <= _HIGH else _scan_rescale(row, at, m)


@kernel
def weights_sound(row: Array, at: int, n: int, total: float, widest: float) -> bool:
    """Whether draws from these words, and products with them, stay within the slots and within a float64.

    A scan has weights of at least _TINY and logarithms, of which a device has some from -60 on. Their sum strays from
    ``total`` by rounding alone: over very many steps in single precision, by a factor. A draw that rounding or a wrong
    sum carries past the last weight takes the last one, so the factor matters only to the probability that it states.
    A tree has logarithms of odds. ``widest``: no logarithm is larger; products by exp(x) must not lead there either.
    """
    if n > scan_limit():
        largest = 0.0
        for j in range(at, at + n - 1):
            largest = max(largest, abs(row[j]))
        return largest <= widest
    added = 0.0
    for j in range(at, at + n):
        if not (row[j] >= 0.5 * _TINY or -widest <= row[j] <= _LEAST_SURE_LOG):
            return False
        added += _positive(row[j])
    return _LOW * _LOW < total < _HIGH * _STRAYED and added <= _STRAYED * total and total <= _STRAYED * added


@kernel
def _positive(w: float) -> float:
    """A weight as the sum counts it: a logarithm counts nothing."""
    return w if w > 0.0 else 0.0


@kernel
def _scan_draw(row: Array, at: int, n: int, x: float) -> int:
    """The slot at which the partial sums of the weights pass x."""
    slot = -1
    whole = n // 8 * 8
    for j in range(0, whole, 8):
        k = at + j
        w0 = _positive(row[k])
        w2 = _positive(row[k + 2])
        w4 = _positive(row[k + 4])
        w6 = _positive(row[k + 6])
        w01 = w0 + _positive(row[k + 1])
        w03 = w01 + (w2 + _positive(row[k + 3]))
        w45 = w4 + _positive(row[k + 5])
        w05 = w03 + w45
        block = w05 + (w6 + _positive(row[k + 7]))
        if x < block:
            # Counting the partial sums that x has passed takes no branch that could be mispredicted.
            slot = j + (x >= w0) + (x >= w01) + (x >= w01 + w2) + (x >= w03) + (x >= w03 + w4)
            slot = slot + (x >= w05) + (x >= w05 + w6)
            break
        x -= block
    if slot < 0:
        slot = whole
        partial = 0.0
        for last in range(at + whole, at + n):
            partial += _positive(row[last])
            slot += x >= partial
    # Rounding can carry x past the last weight that counts.
    if slot >= n or row[at + slot] <= 0.0:
        slot = min(slot, n - 1)
        while slot > 0 and row[at + slot] <= 0.0:
            slot -= 1
    return slot


@kernel
def _scan_multiply(row: Array, at: int, n: int, total: float, slot: int, x: float) -> float:
    """Multiply a weight or add to its logarithm; the new sum of the weights."""
    old: float = row[at + slot]
    if old > 0.0:
        new = old * exponential(x)
        if new >= _TINY:
            row[at + slot] = new
            after = total + (new - old)
            # What is taken away leaves its rounding behind: on its way down the sum is added up anew at every halving.
            if after <= _HIGH and (x >= 0.0 or (after > 0.0 and exponent(after) == exponent(total))):
                return after
        else:
            row[at + slot] = logarithm(old) + x
    else:
        log = old + x
        row[at + slot] = exponential(log) if log > TINY_LOG else log
    return _scan_rescale(row, at, n)


@kernel
def _scan_rescale(row: Array, at: int, n: int) -> float:
    """Add the weights up anew and, where they have grown or shrunk far, scale them to a sum near 1."""
    total = 0.0
    for j in range(at, at + n):
        total += _positive(row[j])
    if _LOW < total < _HIGH:
        return total
    top = LOG_ZERO
    for j in range(at, at + n):
        w = row[j]
        top = max(top, logarithm(w) if w > 0.0 else w)
    total = 0.0
    for j in range(at, at + n):
        w = row[j]
        log = (logarithm(w) if w > 0.0 else w) - top
        row[j] = exponential(log) if log > TINY_LOG else log
        total += _positive(row[j])
    return total


@kernel
def pieces_start(row: Array, at: int, n: int) -> None:
    """Lay out what :func:`weights_start` and the scan have left.

    A draw must not have to ask whether a word is a weight or a logarithm l. So -l becomes CODE / -l: positive, below
    every weight and so small that no sum notices.
    """
    for j in range(at, at + n):
        if row[j] < 0.0:
            row[j] = CODE / -max(row[j], LOWEST_LOG)
    # A draw adds up what lies after the last weight, too, such as a larger group's old logarithms.
    for j in range(at + n, at + piece_size() * ((n + piece_size() - 1) // piece_size())):
        if row[j] < 0.0:
            row[j] = 0.0
    for piece in range((n + piece_size() - 1) // piece_size()):
        _add_up(row, at, n, piece)


@kernel
def pieces_end(row: Array, at: int, n: int, total: float) -> float:
    """Leave to the scan what it would have made; the sum of the weights."""
    for j in range(at, at + n):
        if row[j] < _TINY:
            row[j] = -CODE / row[j]
    return _scan_rescale(row, at, n) if pieces_need_rescale(total) else total


@kernel
def pieces_need_rescale(total: float) -> bool:
    """Whether the weights have grown or shrunk so far that :func:`pieces_end` must scale them."""
    return not (_LOW < total <= _HIGH)


@kernel
def growing_pieces_need_rescale(total: float) -> bool:
    """The same for weights that only grow."""
    return total > _HIGH


@kernel
def _add_up(row: Array, at: int, n: int, piece: int) -> None:
    """Add up the weights of a piece."""
    total = 0.0
    for j in range(piece_size() * piece, min(piece_size() * (piece + 1), n)):
        total += row[at + j]
    noalias(row)[at - 1 - piece] = total


@kernel
def pieces_clean(row: Array, at: int, n: int) -> bool:
    """Whether all words are weights and none is a logarithm; growing, they stay so."""
    least = 1.0
    for j in range(at, at + n):
        least = min(least, row[j])
    return least >= _TINY


@kernel
def pieces_draw(row: Array, at: int, n: int, total: float, gamma: float, u: float) -> tuple[int, float]:
    """As :func:`mixed_draw`; no branch depends on what is drawn, up to a piece of words after the last is read."""
    scale = divide(1.0, 1.0 - gamma)
    run = offset(row, at)
    place = _pieces_place(row, at, n, (u * scale - gamma * scale) * total)
    if u < gamma:
        place = slot_count(u * divide(float(n) * BELOW_ONE, gamma))
    slot = counter(place)
    return slot, (1.0 - gamma) * divide(run[slot], total) + divide(gamma, float(n))


@kernel
def pieces_pure_draw(row: Array, at: int, n: int, total: float, u: float) -> tuple[int, float]:
    """As :func:`pure_draw`."""
    run = offset(row, at)
    slot = counter(_pieces_place(row, at, n, u * total))
    # What rounding has drawn, and the first slot that u = 0 draws, must be a weight.
    while slot > 0 and run[slot] < _TINY:
        slot = counter(slot - 1)
    while slot < n - 1 and run[slot] < _TINY:
        slot = counter(slot + 1)
    return slot, max(divide(run[slot], total), _TINY)


@kernel
def slot_count(x: float) -> float:
    """A number of slots, as :func:`_pieces_place` counts them; what it has after the point does not matter."""
    return counter(x)


@kernel
def passed(rest: float) -> float:
    """1 where what is left of a draw reaches beyond a weight, else 0."""
    return slot_count(1) if rest >= 0.0 else slot_count(0)


@kernel
def _pieces_place(row: Array, at: int, n: int, x: float) -> float:
    """How many weights the draw x passes: whole pieces first, then weights within the next."""
    sums = noalias(row)
    here = offset(row, at)
    rest = x
    if n <= 2 * piece_size():
        beyond = n > piece_size() and x >= sums[at - 1]  # conditional expressions: a select each, and no branch
        place = slot_count(piece_size()) if beyond else slot_count(0)
        here = offset(row, at + (piece_size() if beyond else 0))
        rest = x - sums[at - 1] if beyond else x
    else:
        start = counter(0)
        partial = 0.0
        for k in range((n - 1) // piece_size()):
            partial += sums[at - 1 - k]
            if x >= partial:
                start = counter(piece_size() * (k + 1))
                rest = x - partial
        place = slot_count(start)
        here = offset(row, at + start)
    for j in range(piece_size() - 1):
        rest -= here[j]
        place += passed(rest)
    return place if n % piece_size() == 0 else min(place, slot_count(n - 1))


@kernel
def pieces_grow(row: Array, at: int, n: int, total: float, slot: int, rate: float, gain: float, chance: float) -> float:
    """As :func:`weights_grow`, without ever scaling the weights. Where all only grow, the last sum is not read."""
    run = offset(row, at)
    old: float = run[slot]
    if is_weight(old):
        new = old * growth(rate, gain, chance)
    else:
        new = _weight(rate * gain / chance - divide(CODE, old))
    run[slot] = new
    more = new - old
    sums = noalias(row)
    if n <= 2 * piece_size():
        first = sums[at - 1]
        sums[at - 1] = first + more if slot < piece_size() else first
    else:
        sums[at - 1 - counter(slot >> piece_log())] += more
    return total + more


@kernel
def is_weight(word: float) -> bool:
    """Whether a word is a weight and not the code of a logarithm; where :func:`pieces_clean`, all are."""
    return word >= _TINY


@kernel
def pieces_multiply(row: Array, at: int, n: int, total: float, slot: int, x: float) -> float:
    """As :func:`weights_multiply`. What is taken away leaves its rounding behind: sums are added up anew."""
    old: float = row[at + slot]
    new = old * exponential(x)
    if old < _TINY:
        new = _weight(x - divide(CODE, old))
    elif new < _TINY:
        new = _weight(logarithm(old) + x)
    row[at + slot] = new
    _add_up(row, at, n, counter(slot >= piece_size()) if n <= 2 * piece_size() else counter(slot >> piece_log()))
    after = 0.0
    for piece in range((n + piece_size() - 1) // piece_size()):
        after += noalias(row)[at - 1 - piece]
    return after


@kernel
def _weight(log: float) -> float:
    """The weight of a logarithm, or the code of one that is too small."""
    return exponential(log) if log > TINY_LOG else divide(-CODE, max(log, LOWEST_LOG))
