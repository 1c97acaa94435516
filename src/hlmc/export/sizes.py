"""Flash, RAM and stack of an exported learner, by the compilers that are installed.

The stack is the deepest path through the functions' call graph, by the frames that the compiler states
(``-fstack-usage``). What the compiler's own helpers (arithmetic of doubles without hardware) take is not in it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
M7 = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
MACHINES = {
    "Cortex-M4": ("arm-none-eabi-gcc", M4),
    "Cortex-M7": ("arm-none-eabi-gcc", M7),
    "this machine": ("gcc", ()),
}
SECONDS = 60  # that a compiler may take


@dataclass(frozen=True)
class Sizes:
    """Bytes of code, of constant data and of stack."""

    code: int
    data: int
    stack: int


def measured(
    name: str,
    header: str,
    source: str,
    graph: Mapping[str, Sequence[str]],
    tops: Sequence[str],
    compiler: str,
    flags: Sequence[str],
) -> Sizes | None:
    """The sizes by one compiler with ``-Os``; None if it is not installed or fails."""
    if shutil.which(compiler) is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / f"{name}.h").write_text(header, encoding="utf-8")
        (place / f"{name}.c").write_text(source, encoding="utf-8")
        options = ["-std=c99", "-Os", "-ffp-contract=off", "-fstack-usage", "-c", f"{name}.c"]
        size = "arm-none-eabi-size" if compiler.startswith("arm") else "size"
        try:
            subprocess.run([compiler, *flags, *options], cwd=place, check=True, capture_output=True, timeout=SECONDS)
            command = [size, "-A", f"{name}.o"]
            listed = subprocess.run(
                command, cwd=place, check=True, capture_output=True, text=True, timeout=SECONDS
            ).stdout
            frames = _frames((place / f"{name}.su").read_text(encoding="utf-8"))
        except (subprocess.SubprocessError, OSError):
            return None
    sections = {line.split()[0]: int(line.split()[1]) for line in listed.splitlines() if re.match(r"\.\S+\s+\d", line)}
    code = sum(size for section, size in sections.items() if section.startswith(".text"))
    data = sum(size for section, size in sections.items() if section.startswith(".rodata"))
    public = [(f"{name}_{role}", [top]) for role, top in zip(("select", "update"), tops, strict=True)]
    whole = {**graph, **dict(public)}
    return Sizes(code, data, max(_depth(function, whole, frames) for function, _ in public))


def _frames(text: str) -> dict[str, int]:
    """Bytes of each function's frame, by its name without what the compiler has added to it."""
    frames: dict[str, int] = {}
    for line in text.splitlines():
        where, size, _ = line.split("\t")
        function = where.split(":")[-1].split(".")[0]
        frames[function] = max(frames.get(function, 0), int(size))
    return frames


def _depth(function: str, graph: Mapping[str, Sequence[str]], frames: Mapping[str, int]) -> int:
    return frames.get(function, 0) + max(
        (_depth(callee, graph, frames) for callee in graph.get(function, ())), default=0
    )


def table(name: str, header: str, source: str, graph: Mapping[str, Sequence[str]], tops: Sequence[str]) -> str:
    """Flash and stack as a table, by the compilers that are here; or how to get them."""
    rows = []
    for machine, (compiler, flags) in MACHINES.items():
        found = measured(name, header, source, graph, tops, compiler, flags)
        if found is not None:
            rows.append(f"| {machine}, {compiler} -Os | {found.code} | {found.data} | {found.stack} |")
    if not rows:
        return "No C compiler was found when this was exported; `make size` prints code and data for a Cortex-M4."
    head = [
        "Bytes; the C library's functions and the compiler's helpers for doubles are not included:",
        "",
        "| machine | code (flash) | constants (flash) | stack |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])
