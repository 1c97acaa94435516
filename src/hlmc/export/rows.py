"""The two forms of a row in C: Python's own, of 64-bit words, and one of 32-bit words.

A form knows its words as C declares, begins and reads them, how a row of Python's becomes one, and who plays the
vectors of the exported test.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hlmc.engine.layout import ARM, KEY, PROBABILITY, TIME
from hlmc.export import single
from hlmc.export.vectors import Vectors, vectors

if TYPE_CHECKING:
    from hlmc.policies.base import Policy
    from hlmc.targets.c.unit import Unit

Array = np.ndarray


class RowFormat(Protocol):
    """How a row is laid out in C."""

    def fresh(self, key: int) -> Array:
        """The words, as unsigned integers, of a learner with this key that has not begun."""

    def of_python(self, row: Array) -> Array:
        """The words, as unsigned integers, of a row of Python's."""

    def texts(self, name: str) -> dict[str, object]:
        """What the templates say of it."""

    def played(self, begins: Array) -> Vectors:
        """What a learner does from these words on."""


class DoubleRow:
    """Python's row: 64-bit words."""

    def __init__(self, policy: Policy, unit: Unit) -> None:
        self._policy, self._unit = policy, unit

    def fresh(self, key: int) -> Array:
        row = np.zeros(self._policy.words.total)
        row[ARM], row[PROBABILITY] = -1.0, 1.0
        words = row.view(np.uint64)
        words[KEY] = key
        return words

    def of_python(self, row: Array) -> Array:
        return np.array(row, np.float64).view(np.uint64)

    def texts(self, name: str) -> dict[str, object]:
        whole = self._unit.numbers.whole
        union = f"typedef union {{\n    double real;\n    {whole} whole;\n}} {name}_number;"
        return {
            "number": f"/* A number of the program. */\n{union}\n\n" if self._unit.typed else "",
            "row": template("row.h", {}).rstrip(),
            "word": "double",
            "word_bits": 64,
            "put_key": "memcpy(&learner->words[0], &key, sizeof key);",
            "arm_word": f"learner->words[{ARM}] = -1.0;",
            "probability_word": f"learner->words[{PROBABILITY}]",
            "time_word": f"learner->words[{TIME}]",
        }

    def played(self, begins: Array) -> Vectors:
        return vectors(self._policy, begins.view(np.float64))


class SingleRow:
    """A row of 32-bit words (:mod:`hlmc.export.single`)."""

    def __init__(self, policy: Policy, unit: Unit) -> None:
        assert unit.own is not None
        assert unit.program is not None
        self._policy, self._program, self._units = policy, unit.program, unit.own.units

    def fresh(self, key: int) -> Array:
        return single.fresh(self._policy, key, self._units)

    def of_python(self, row: Array) -> Array:
        return single.of_python(self._policy, np.array(row, np.float64), self._program, self._units)

    def texts(self, name: str) -> dict[str, object]:
        last = f"{name.upper()}_WORDS - 1"
        return {
            "number": "",
            "row": template("row_single.h", {"name": name, "units": f"{self._units:.0f}"}).rstrip(),
            "word": f"{name}_word",
            "word_bits": 32,
            "put_key": "learner->words[0].total = (uint32_t)key;\n"
            f"    learner->words[{last}].total = (uint32_t)(key >> 32);",
            "arm_word": f"learner->words[{ARM}].whole = -1;",
            "probability_word": f"learner->words[{PROBABILITY}].real",
            "time_word": f"learner->words[{TIME}].whole",
        }

    def played(self, begins: Array) -> Vectors:
        return single.played(self._policy, begins, self._program, self._units)


def template(file: str, values: Mapping[str, object]) -> str:
    """A template, filled in."""
    text = resources.files("hlmc.export").joinpath("templates", file).read_text(encoding="utf-8")
    return Template(text).substitute(values)


def row_format(policy: Policy, unit: Unit) -> RowFormat:
    """The form of the rows of a translation unit."""
    return DoubleRow(policy, unit) if unit.own is None else SingleRow(policy, unit)
