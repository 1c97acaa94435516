"""A game as machine code sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlmc.device.target import SIMULATED
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.games.board import call_observe, call_pay
from hlmc.games.board import instead as instead_here
from hlmc.games.board import put_back as put_back_here

Array = np.ndarray

first = rest = unbound
WHICH = 0


@kernel
def _paid(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> Any:
    if which == WHICH:
        return first(spec, state, t, counts, arm)
    return rest(which, spec, state, t, counts, arm)


@kernel
def _nothing_paid(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    return 0.0


@kernel
def _observed(which: int, spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    first(spec, state, t, counts, payoffs)


@kernel
def _left_alone(run: Array, at: int, x: float) -> None:
    pass


@dataclass(frozen=True)
class Rules:
    """A game as machine code sees it: its kernels, not its numbers."""

    pay: Callable[..., float]
    observe: Callable[..., None]
    facts: tuple[Callable[..., float], ...]

    def meanings(self) -> dict[Callable[..., Any], Any]:
        """What calls of the game mean: "pay" has the address 0, the facts follow."""
        paid: Callable[..., Any] = _nothing_paid
        for which, called in reversed(list(enumerate((self.pay, *self.facts)))):
            paid = specialised(_paid, f"paid_{which}", WHICH=which, first=called, rest=paid)
        return {
            call_pay: paid,
            call_observe: specialised(_observed, "observed", first=self.observe),
            instead_here: _instead(),
            put_back_here: _left_alone,
        }


class _Altered:
    """The simulator's run of words with another number in one place."""

    def __init__(self, run: Array, at: int, x: float) -> None:
        self._known = run, at, x

    def __getitem__(self, i: int) -> float:
        run, at, x = self._known
        return x if i == at else float(run[i])


def _instead() -> Any:
    if SIMULATED:
        return _Altered
    from hlmc.device import gates

    return gates.instead
