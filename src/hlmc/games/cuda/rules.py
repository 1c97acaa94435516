"""A game's own kernels on a device: called directly, and with counts that need not be written to.

On a processor the referee asks "what would this arm pay with one agent more" by changing the count, asking, and
changing it back. On a device many threads read the same counts at once, so the question is asked of an overlay
(:func:`hlmc.targets.cuda.primitives.overlay`), and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, constant, substitute
from hlmc.games.board import call_observe, call_pay
from hlmc.games.referee import instead, put_back
from hlmc.targets.cuda.primitives import overlay

Array = np.ndarray


@kernel
def this_number() -> int:
    """Hook: the number of the function that a link of the chain calls; 0 is ``pay``, facts follow."""
    return 0


@kernel
def this_pay(spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """Hook: the game's ``pay`` or one of its facts."""
    return 0.0


@kernel
def other_pay(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """Hook: the rest of the chain."""
    return 0.0


@kernel
def no_pay(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """The end of the chain, which is never reached."""
    return 0.0


@kernel
def pay_link(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """``call_pay`` for one function more; the "address" is a number."""
    if which == this_number():
        return this_pay(spec, state, t, counts, arm)
    return other_pay(which, spec, state, t, counts, arm)


@kernel
def game_observe(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Hook: the game's ``observe``."""


@kernel
def direct_observe(address: int, spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """``call_observe``; there is no address."""
    game_observe(spec, state, t, counts, payoffs)


@kernel
def keep(run: Array, at: int, x: float) -> None:
    """``put_back``: nothing was written."""


@dataclass(frozen=True)
class Rules:
    """A game as a key for compiled code: its kernels, not its numbers."""

    pay: Callable[..., float]
    observe: Callable[..., None]
    facts: tuple[Callable[..., float], ...]

    def substitutions(self) -> dict[Kernel, Kernel]:
        """What the board's calls of the game mean, ready to be substituted."""
        chain: Kernel = no_pay
        for which, called in reversed(list(enumerate((self.pay, *self.facts)))):
            chain = substitute(pay_link, {this_number: constant(which), this_pay: called, other_pay: chain})
        return {
            call_pay: chain,
            call_observe: substitute(direct_observe, {game_observe: self.observe}),
            instead: overlay,
            put_back: keep,
        }
