"""A policy's program as constant data of a C file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hlmc.checks import whole
from hlmc.engine.layout import CONTINUED, DOUBLING, FIELDS, HEADER, HORIZON, LEVEL, LEVELS, SPAN, WHOLE, program_words
from hlmc.targets.c.types import literal
from hlmc.targets.c.unit import Unit

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray


def cut(policy: Policy, steps: int | None) -> Array:
    """The program without the stages that begin after so many steps. Rows are the same as long as a learner runs."""
    table: Array = policy.program
    first = int(table[DOUBLING])
    if steps is None or (first < 0 and first != CONTINUED):
        return table
    needed = whole("steps", steps, 1)
    span = int(table[FIELDS + SPAN])
    stages, end = 1, span
    while end < needed and FIELDS * (1 + stages * int(table[LEVELS])) < len(table):
        end += span << stages
        stages += 1
    table = table[: FIELDS * (1 + stages * int(table[LEVELS]))].copy()
    table[HORIZON] = min(float(end), table[HORIZON])
    return table


def program_text(table: Array, unit: Unit) -> str:
    """The program: a header and a record per level, with the names of their words."""
    name = unit.prefix
    lines = [
        "/* The program: what the policy says, as numbers. A header, then one record per level",
        " * (and per stage, where a learner goes on).",
        " */",
        f"static const {unit.number_type} {name}_program[{len(table)}] = {{",
    ]
    levels = int(table[LEVELS])
    kinds = [word.holds for word in program_words(len(table))]
    for i, record in enumerate(table.reshape(-1, FIELDS)):
        used = int(np.flatnonzero(record)[-1]) + 1 if record.any() else 1
        title = "header" if i == 0 else f"stage {(i - 1) // levels}, level {(i - 1) % levels}"
        if i < 1 + levels:
            names = [word.name or "unused" for word in (HEADER if i == 0 else LEVEL)][:used]
            title += ": " + ", ".join(names)
        lines += listed(f"/* {title} */".split(), "    ")
        values = [_number(x, kind, unit) for x, kind in zip(record[:used].tolist(), kinds[FIELDS * i :], strict=False)]
        lines += listed([f"[{i * FIELDS}] =", *(f"{value}," for value in values)], "    ")
    return "\n".join([*lines, "};"])


def _number(x: float, kind: str, unit: Unit) -> str:
    whole = unit.typed and kind == WHOLE
    text = literal(int(x) if whole else x, unit.numbers).text
    return f"{{.{'whole' if whole else 'real'} = {text}}}" if unit.typed else text


def listed(parts: Iterable[str], indent: str) -> list[str]:
    """Parts on lines of at most 116 characters."""
    lines = [indent]
    for part in parts:
        if len(lines[-1]) + len(part) > 115 and lines[-1].strip():
            lines.append(indent + "    ")
        lines[-1] += part + " "
    return [line.rstrip() for line in lines]
