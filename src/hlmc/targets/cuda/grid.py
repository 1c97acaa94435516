"""How threads work together: they wait for one another, count in the same place, and the last to come does the rest.

Blocks that wait for other blocks must all be on the device at once. The launch of a kernel marked as cooperative is
refused where they are not, so nobody waits for ever. In the simulator, which runs one block after another, a run has
one block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.device.target import SIMULATED
from hlmc.engine.kernel import kernel, specialised

Array = np.ndarray

cuda: Any = None
arrive: Any = None
look: Any = None
open_gate: Any = None

NAP = 40  # nanoseconds between two looks


@kernel
def _wait() -> None:
    cuda.syncthreads()


@kernel
def _add(places: Array, at: int, x: int) -> None:
    cuda.atomic.add(places, at, x)


@kernel
def _take(places: Array, at: int) -> Any:
    return cuda.atomic.exch(places, at, 0)


@kernel
def _lower(places: Array, at: int, x: int) -> None:
    cuda.atomic.min(places, at, x)


@kernel
def _last_to_come(gates: int, run: int, workers: int, lane: int, note: Array) -> bool:
    """Whether all other blocks of the run are here already; where not, wait until they are and the last has let go."""
    cuda.syncthreads()
    if lane == 0:
        gate = gates + 8 * run
        before = look(gate + 4)
        cuda.threadfence()
        came = arrive(gate) + 1
        note[0] = 1 if came == workers else 0
        if came != workers:
            while look(gate + 4) == before:
                cuda.nanosleep(NAP)
        cuda.threadfence()
    cuda.syncthreads()
    return bool(note[0] == 1)


@kernel
def _let_go(gates: int, run: int, lane: int) -> None:
    """The last to come is done: on with the others."""
    cuda.syncthreads()
    if lane == 0:
        cuda.threadfence()
        open_gate(gates + 8 * run)
    cuda.syncthreads()


def together() -> dict[str, Any]:
    """What the names ``wait``, ``add``, ``take``, ``lower``, ``last_to_come`` and ``let_go`` mean."""
    if SIMULATED:
        return {
            "wait": _simulated_wait,
            "add": _simulated_add,
            "take": _simulated_take,
            "lower": _simulated_lower,
            "last_to_come": _simulated_last_to_come,
            "let_go": _simulated_let_go,
        }
    from numba import cuda

    from hlmc.device import gates

    known = {"cuda": cuda, "arrive": gates.arrive, "look": gates.look, "open_gate": gates.open_gate}
    kernels: dict[str, Callable[..., Any]] = {
        "wait": _wait,
        "add": _add,
        "take": _take,
        "lower": _lower,
        "last_to_come": _last_to_come,
        "let_go": _let_go,
    }
    return {name: specialised(each, name, **known) for name, each in kernels.items()}


# --- in the simulator, where a thread is one of the interpreter's

_one_at_a_time = threading.Lock()


def _simulated_wait() -> None:
    threading.current_thread().syncthreads()  # type: ignore[attr-defined]


def _simulated_add(places: Array, at: int, x: int) -> None:
    with _one_at_a_time:
        places[at] += x


def _simulated_take(places: Array, at: int) -> int:
    with _one_at_a_time:
        had = int(places[at])
        places[at] = 0
    return had


def _simulated_lower(places: Array, at: int, x: int) -> None:
    with _one_at_a_time:
        places[at] = min(int(places[at]), x)


def _simulated_last_to_come(gates: Array, run: int, workers: int, lane: int, note: Array) -> bool:
    _simulated_wait()
    return True


def _simulated_let_go(gates: Array, run: int, lane: int) -> None:
    _simulated_wait()
