"""Kernels as one file of C++ that a device, or a host, compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlmc.targets.cuda.unit import device_unit

BLOCK = 128
"""Threads per block."""

HEADER = Path(__file__).with_name("device.cuh")


@dataclass(frozen=True)
class Layout:
    """How a launch holds its learners.

    ``precision`` is that of the workspaces. ``shared``: they lie in shared memory while a launch runs. ``registers``
    is the most that a thread may use, ``block`` the number of threads per block.
    """

    precision: str
    shared: bool
    registers: int
    block: int = BLOCK


@dataclass(frozen=True)
class Code:
    """A translation unit: its text, the names of its entry points, and what it was made for."""

    text: str
    entries: tuple[str, ...]
    layout: Layout


def code(layout: Layout, entries: Mapping[str, Callable[..., Any]], pieces: int = 0, words: int = 0) -> Code:
    """A file with these entry points.

    Parameters
    ----------
    layout
        How learners are held.
    entries
        Kernels that take one record, by the names under which they are launched.
    pieces, words
        Of a workspace: the sums of pieces, and all of its words.
    """
    unit = device_unit(layout.precision)
    for name, kernel in entries.items():
        unit.launched(name, kernel)
    defined = {
        "BLOCK": layout.block,
        "WORD": "float" if layout.precision == "float32" else "double",
        "SHARED": int(layout.shared),
        "PIECES": pieces,
        "WORDS": words,
    }
    parts = [
        "".join(f"#define DEVICE_{name} {value}\n" for name, value in defined.items()),  # a host's header follows
        HEADER.read_text(encoding="utf-8"),
        unit.text(),
        "".join(f"{entry}\n" for entry in unit.entries),
    ]
    return Code("\n".join(parts), tuple(entries), layout)
