"""Compile src/hlmc/export/js/hlmc.wasm from the kernels: one module for all policies, with the program as data.

    python scripts/wasm.py          # compile it anew; needs clang and wasm-ld (Debian: clang, lld)

The module of the documentation's playground is made of the same kernels and is compiled along with it
(``scripts/playground.py --compile``).

Beside the module lies a record of the code that it was compiled from. A test compares the record with what the kernels
translate to, and fails when a kernel has changed and this script has not been run.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hlmc.export.generic import code_digest, generic_source

PLACE = Path(__file__).resolve().parent.parent / "src" / "hlmc" / "export" / "js"
EXPORTS = ("hlmc_start", "hlmc_select", "hlmc_update", "hlmc_ask", "hlmc_tell", "hlmc_admits", "__heap_base")

# WebAssembly has instructions for what the module needs of a C library.
SHIMS = {
    "math.h": "#define INFINITY __builtin_inff()\n"
    "static inline double sqrt(double x) { return __builtin_sqrt(x); }\n"
    "static inline double fabs(double x) { return __builtin_fabs(x); }\n"
    "static inline double floor(double x) { return __builtin_floor(x); }\n",
    "string.h": "#include <stddef.h>\n"
    "static inline void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }\n",
}
FLAGS = [
    "--target=wasm32",
    "-nostdlib",
    "-std=c99",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-ffreestanding",
    # C says nothing of a number that an integer cannot hold. Without this, a check stands before every conversion: 28 %
    # of the module. Browsers have had the instruction since 2021, Node since version 12.5.
    "-mnontrapping-fptoint",
    "-Wl,--no-entry",
    "-Wl,--strip-all",
    "-Wl,-z,stack-size=16384",
]
# A fifth smaller than with -O2 and as fast, but for statistics of a few bits.
SMALL = ["-Os", "-mllvm", "-inline-threshold=40", *FLAGS]


def compiled(text: str, functions: Sequence[str] = EXPORTS, flags: Sequence[str] = SMALL) -> bytes:
    """The module of a C file, with the names that it exports."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, shim in SHIMS.items():
            (place / name).write_text(shim, encoding="utf-8")
        (place / "hlmc.c").write_text(text, encoding="utf-8")
        exports = [f"-Wl,--export={name}" for name in functions]
        command = ["clang", *flags, *exports, "-isystem", ".", "-o", "hlmc.wasm", "hlmc.c"]
        subprocess.run(command, cwd=place, check=True)
        return (place / "hlmc.wasm").read_bytes()


def compiler() -> str:
    """The compiler and its version."""
    return subprocess.run(["clang", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def main() -> None:
    """Write the module and its record."""
    text = generic_source()
    module = compiled(text)
    (PLACE / "hlmc.wasm").write_bytes(module)
    record = {"code": code_digest(text), "compiler": compiler(), "flags": SMALL}
    (PLACE / "hlmc.wasm.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"{PLACE / 'hlmc.wasm'}: {len(module):,} bytes")
    import playground  # which imports this script

    playground.compile_module()


if __name__ == "__main__":
    main()
