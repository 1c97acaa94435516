"""One C module for all policies, with the program as data: what the WebAssembly module is compiled from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from string import Template

from hlmc.engine.layout import ARM, PROBABILITY
from hlmc.engine.routines import level_kernels
from hlmc.engine.scale import update_scaled
from hlmc.engine.step import select
from hlmc.engine.structures import CATALOGUE as STRUCTURES
from hlmc.export.source import PUBLIC
from hlmc.routines import CATALOGUE as ROUTINES
from hlmc.routines import CODED as CODED_FORMS
from hlmc.routines import Custom
from hlmc.targets.c.types import Type
from hlmc.targets.c.unit import CODED, Table, Unit
from hlmc.versions import VERSION


def generic_unit(name: str, reserved: Iterable[str]) -> Unit:
    """A translation unit in which calls through a program lead to the routines and structures of the catalogues.

    ``reserved``: names, without the prefix, that its template uses.
    """
    routines = {kind: cls for kind, cls in enumerate(ROUTINES) if cls is not Custom}
    routines |= {CODED + kind: CODED_FORMS[cls] for kind, cls in routines.items() if cls in CODED_FORMS}
    table = Table(
        {
            number: {role: getattr(structure, role) for role in ("begin", "end", "arm_of")}
            for number, structure in enumerate(STRUCTURES)
        },
        {kind: level_kernels(cls.kernels)._asdict() for kind, cls in routines.items()},
        by_kind=True,
    )
    unit = Unit(name, table, frozenset(reserved))
    for kind, cls in routines.items():
        for role, kernel in table.routines[kind].items():
            form = "coded_" if kind >= CODED else ""
            unit.prefer(kernel, f"level_{role}_{form}{cls.name}".replace("-", "_"))
    return unit


@cache
def generic_source(name: str = "hlmc") -> str:
    """The text of the module.

    ``NAME_start(row, words, key)``, ``NAME_select(program, row)`` and ``NAME_update(program, row, reward)`` take the
    program and the row of any policy whose structure and routines are in the catalogues.

    >>> "double hlmc_select(const double *program, double *row);" in generic_source()
    True
    """
    unit = generic_unit(name, PUBLIC)
    chosen = unit.entry(select, Type.RUN, Type.RUN)
    learned = unit.entry(update_scaled, Type.RUN, Type.RUN, Type.REAL)
    text = resources.files("hlmc.export").joinpath("templates", "generic.c").read_text(encoding="utf-8")
    return Template(text).substitute(
        name=name,
        version=VERSION,
        unit=unit.text(),
        select=chosen.name,
        update=learned.name,
        arm_at=ARM,
        probability_at=PROBABILITY,
    )


def code_digest(text: str) -> str:
    """A digest of C code, whatever its comments and its layout.

    >>> code_digest("int a;  /* one */") == code_digest("int a;") != code_digest("int b;")
    True
    """
    code = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()
