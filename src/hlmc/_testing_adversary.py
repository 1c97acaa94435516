"""What every adversary must hold to, as a function that users can run on their own."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from itertools import islice, pairwise
from typing import Any

import numpy as np

from hlmc import adversaries
from hlmc.adversaries.base import STEPS, Adversary
from hlmc.errors import shown

Array = np.ndarray

_EVERY_ARM = 1024  # up to so many arms, all of them are looked at
_CHANGES = 200


def check_adversary(adversary: Adversary, samples: int = 200, seed: int = 0) -> None:
    """Check that an adversary satisfies the contract of adversaries; an AssertionError names what it violates.

    Rewards are finite numbers in [0, 1]; they are the same in any order, asked for singly or together, and
    from a pickled copy; the copy is equal and has the same hash; the printed form makes an equal one
    (unless it holds a ``<``, which says that it can't); nothing can be assigned; steps and arms that do not
    exist are refused; and :meth:`Adversary.changes`, where it gives any, lists all and no others
    vain, and rewards repeat as :attr:`Adversary.repeats` says, as far as samples can tell.

    Parameters
    ----------
    adversary
        The one to check. A class of your own must be one that pickle can find: defined in a module.
    samples
        How many (step, arm) pairs are drawn.
    seed
        Which ones are drawn.

    Examples
    --------
    >>> check_adversary(adversaries.BlockTrap(arms=10**9, memory=20))
    """
    _check_shape(adversary)
    steps, arms = _places(adversary, samples, np.random.default_rng(seed))
    found = _rewards(adversary, steps, arms)
    _check_values(adversary, steps, arms, found)
    _check_order(adversary, steps, arms, found)
    _check_copy(adversary, steps, arms, found)
    _check_repr(adversary)
    _check_refusals(adversary)
    _check_changes(adversary, arms)
    _check_repeats(adversary, steps, arms, found)


def _hold(kept: bool, promise: str) -> None:
    """An assertion that ``python -O`` does not remove."""
    if not kept:
        raise AssertionError(promise)


def _end(adversary: Adversary) -> int:
    return STEPS if adversary.length is None else adversary.length


def _places(adversary: Adversary, samples: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Steps and arms to look at: the first, the last, and some of every order of magnitude in between."""
    end = _end(adversary)
    steps = [0, 1, 2, end // 2, end - 2, end - 1]
    steps += [int(end**share) - 1 for share in random.random(samples)]
    arms = [0, adversary.arms - 1, *random.integers(0, adversary.arms, samples + 4).tolist()]
    return np.clip(np.array(steps), 0, end - 1), np.array(arms)


def _rewards(adversary: Adversary, steps: Array, arms: Array) -> Array:
    pairs = zip(steps.tolist(), arms.tolist(), strict=True)
    return np.array([adversary.reward(t, arm) for t, arm in pairs])


def _check_shape(adversary: Adversary) -> None:
    _hold(isinstance(adversary, Adversary), f"{adversary!r} is no Adversary")
    _hold(type(adversary.arms) is int, f"arms must be an int, not {shown(adversary.arms)}")
    _hold(adversary.arms >= 1, f"arms must be at least 1, not {adversary.arms}")
    length = adversary.length
    _hold(
        length is None or (type(length) is int and length >= 1),
        f"length must be None or an int, not {shown(length)}",
    )
    spec = adversary.spec
    sound = spec.dtype == np.float64 and spec.ndim == 1 and spec.size > 0
    _hold(sound and spec.flags.c_contiguous, "spec must be a contiguous array of float64 with one dimension")
    _hold(adversary.spec is spec, "spec must be made once: its address is in use")


def _check_values(adversary: Adversary, steps: Array, arms: Array, found: Array) -> None:
    wrong = ~((found >= 0.0) & (found <= 1.0))
    if wrong.any():
        place = wrong.argmax()
        raise AssertionError(f"reward({steps[place]}, {arms[place]}) is {found[place]}, which is no number in [0, 1]")


def _check_order(adversary: Adversary, steps: Array, arms: Array, found: Array) -> None:
    again = _rewards(adversary, steps[::-1], arms[::-1])[::-1]
    _hold(np.array_equal(again, found), "rewards must not depend on the order in which they are asked for")
    first = int(steps[-1])
    last = min(first + 3, _end(adversary))
    low, high = max(0, int(arms[-1]) - 3), min(adversary.arms, int(arms[-1]) + 3)
    block = adversary.rewards(first, last, low, high)
    single = [[adversary.reward(t, arm) for arm in range(low, high)] for t in range(first, last)]
    _hold(np.array_equal(block, single), "rewards() and reward() must agree")


def _check_copy(adversary: Adversary, steps: Array, arms: Array, found: Array) -> None:
    copy = pickle.loads(pickle.dumps(adversary))  # noqa: S301 (what was written here a moment ago)
    _hold(copy == adversary, "a pickled copy must be equal")
    _hold(hash(copy) == hash(adversary), "a pickled copy must have the same hash")
    _hold(adversary != object(), "an adversary must not equal something else")
    _hold(np.array_equal(_rewards(copy, steps, arms), found), "a pickled copy must pay the same rewards")
    name = fields(adversary)[0].name  # type: ignore[arg-type]
    try:
        setattr(adversary, name, getattr(adversary, name))
    except FrozenInstanceError:
        return
    raise AssertionError("an adversary must be frozen: declare it with @dataclass(frozen=True, repr=False)")


def _check_repr(adversary: Adversary) -> None:
    printed = repr(adversary)
    if "<" in printed:
        return
    names: dict[str, Any] = {**vars(sys.modules[type(adversary).__module__]), **vars(adversaries)}
    names[type(adversary).__name__] = type(adversary)
    for field in fields(adversary):  # type: ignore[arg-type]
        value = getattr(adversary, field.name)
        if callable(value):
            names[getattr(value, "__name__", "")] = value
    _hold(eval(printed, names) == adversary, f"{printed} does not make an equal adversary")


def _check_refusals(adversary: Adversary) -> None:
    bad: list[tuple[Any, Any]] = [
        (-1, 0),
        (0, -1),
        (0, adversary.arms),
        (_end(adversary), 0),
        (0.5, 0),
        (math.nan, 0),
    ]
    for t, arm in bad:
        try:
            adversary.reward(t, arm)
        except (ValueError, TypeError):
            continue
        raise AssertionError(f"reward({t}, {arm}) does not exist and must be refused")


def _check_repeats(adversary: Adversary, steps: Array, arms: Array, found: Array) -> None:
    period = adversary.repeats
    if period is None:
        return
    _hold(type(period) is int and period >= 1, f"repeats must be None or an int of at least 1, not {shown(period)}")
    same = _rewards(adversary, steps % period, arms) == found
    if not same.all():
        place = same.argmin()
        _hold(False, f"rewards must repeat after {period} steps, and do not at step {steps[place]}, arm {arms[place]}")


def _check_changes(adversary: Adversary, arms: Array) -> None:
    horizon = min(_end(adversary), 10**9)
    changes = adversary.changes(horizon)
    if changes is None:
        return
    every = adversary.arms <= _EVERY_ARM
    points = list(islice(changes, _CHANGES))
    _hold(all(type(t) is int for t in points), "changes must be ints")
    _hold(points == sorted(set(points)), "changes must be in order, each once")
    _hold(all(0 < t < horizon for t in points), "changes must lie strictly between 0 and the horizon")
    ends = [0, *points] + ([horizon] if len(points) < _CHANGES else [])
    before: Array | None = None
    for start, stop in pairwise(ends):
        now = _seen(adversary, start, arms, every)
        for t in _within(start, stop):
            _hold(
                np.array_equal(_seen(adversary, t, arms, every), now),
                f"a reward changes between steps {start} and {t}, and changes() does not say so",
            )
        if every and before is not None:
            _hold(
                not np.array_equal(before, now),
                f"no reward changes at step {start}, though changes() says so",
            )
        before = now
    _hold(not list(adversary.changes(1) or ()), "there is no change before step 1")
    shorter = [t for t in points if t < horizon // 2]
    _hold(
        list(islice(_some(adversary.changes(horizon // 2)), len(shorter))) == shorter,
        "changes before a step must not depend on the horizon",
    )


def _some(changes: Iterator[int] | None) -> Iterator[int]:
    return iter(()) if changes is None else changes


def _within(start: int, stop: int) -> list[int]:
    """The ends of a stretch of steps, and some steps between."""
    return sorted({start + (stop - 1 - start) * part // 7 for part in range(8)} | {min(start + 1, stop - 1)})


def _seen(adversary: Adversary, t: int, arms: Array, every: bool) -> Array:
    if every:
        return adversary.rewards(t, t + 1).ravel()
    return _rewards(adversary, np.full(20, t), arms[:20])
