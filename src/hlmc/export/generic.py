"""One C module for all policies, with the program as data: what the WebAssembly module is compiled from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache

import numpy as np

from hlmc.engine.feedback import ask, tell
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import ARM, PROBABILITY, ROUTINE
from hlmc.engine.linker import Kernel, substitute_where_used
from hlmc.engine.primitives import call_check
from hlmc.engine.routines import level_check_kernel, level_kernels
from hlmc.engine.scale import scaled, update_scaled
from hlmc.engine.soundness import check_row, sound
from hlmc.engine.step import select
from hlmc.engine.structures import CATALOGUE as STRUCTURES
from hlmc.engine.structures.base import check_routine, no_late, no_note, weigh_slots
from hlmc.export.rows import template
from hlmc.export.source import PUBLIC
from hlmc.routines import CATALOGUE as ROUTINES
from hlmc.routines import Custom
from hlmc.targets.c.types import Type
from hlmc.targets.c.unit import CODED, Table, Unit
from hlmc.versions import VERSION

Array = np.ndarray


@kernel
def check_by_kind(program: Array, checks: Address, row: Array, level: int, n: int, tau: int, stands: bool) -> bool:
    """:func:`check_routine` without a list of addresses: what a call leads to, the level's record says."""
    if n < 2:
        return True
    return call_check(int(program[level + ROUTINE]), program, level, row, n, tau, 1 if stands else 0) == 1


def generic_unit(name: str, reserved: Iterable[str]) -> Unit:
    """A translation unit in which calls through a program lead to the routines and structures of the catalogues.

    ``reserved``: names, without the prefix, that its template uses.
    """
    every = {kind: cls for kind, cls in enumerate(ROUTINES) if cls is not Custom and cls.known_chance}
    routines = {kind: (cls.name, cls.kernels) for kind, cls in every.items()}
    routines |= {CODED + kind: (f"coded_{cls.name}", cls.coded) for kind, cls in every.items() if cls.coded is not None}
    table = Table(
        {
            number: {role: _own(getattr(structure, role)) for role in ("begin", "end", "arm_of", *HOOKS.values())}
            for number, structure in enumerate(STRUCTURES)
            if structure is not None
        },
        {
            kind: {**level_kernels(kernels)._asdict(), "check": level_check_kernel(kernels)}
            for kind, (_, kernels) in routines.items()
        },
        by_kind=True,
        hooks=HOOKS,
    )
    unit = Unit(name, table, frozenset(reserved))
    for kind, (form, _) in routines.items():
        for role, each in table.routines[kind].items():
            unit.prefer(each, f"level_{role}_{form}".replace("-", "_"))
    return unit


HOOKS: dict[Kernel, str] = {no_late: "late", no_note: "note", weigh_slots: "weigh", check_row: "check_row"}


def _own(kernel: Kernel) -> Kernel:
    return substitute_where_used(kernel, {check_routine: check_by_kind})


@cache
def generic_source(name: str = "hlmc") -> str:
    """The text of the module.

    ``NAME_start(row, words, key)``, ``NAME_select(program, row)`` and ``NAME_update(program, row, reward)`` take the
    program and the row of any policy whose structure and routines are in the catalogues. ``NAME_ask(program, row,
    identity, ticket)`` and ``NAME_tell(program, row, ticket, reward, learns)`` are for programs with a window.
    ``NAME_admits(program, row)`` is the gate for rows from outside (:mod:`hlmc.engine.soundness`).

    >>> "double hlmc_select(const double *program, double *row);" in generic_source()
    True
    """
    unit = generic_unit(name, (*PUBLIC, "admits"))
    chosen = unit.entry(select, Type.RUN, Type.RUN)
    learned = unit.entry(update_scaled, Type.RUN, Type.RUN, Type.REAL)
    share = unit.entry(scaled, Type.RUN, Type.REAL).name
    asking = unit.entry(ask, Type.RUN, Type.RUN, Type.INT, Type.RUN, Type.RUN)
    telling = unit.entry(tell, Type.RUN, Type.RUN, Type.RUN, Type.REAL, Type.INT)
    gate = unit.entry(sound, Type.RUN, Type.RUN, Type.RUN).name
    values = {
        "name": name,
        "version": VERSION,
        "unit": unit.text(),
        "select": chosen.name,
        "update": learned.name,
        "ask": asking.name,
        "tell": telling.name,
        "sound": gate,
        "share": share,
        "arm_at": ARM,
        "probability_at": PROBABILITY,
    }
    return template("generic.c", values)


def code_digest(text: str) -> str:
    """A digest of C code, whatever its comments and its layout.

    >>> code_digest("int a;  /* one */") == code_digest("int a;") != code_digest("int b;")
    True
    """
    code = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()
