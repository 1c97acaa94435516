"""A file of CUDA C++: every kernel once for every list of argument types, and how each thing is written there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hlmc.engine import primitives as engine
from hlmc.engine.linker import callees
from hlmc.targets.c.expressions import Translated
from hlmc.targets.c.reading import Source
from hlmc.targets.c.translator import _wrapped
from hlmc.targets.c.types import ATOM, Numbers, Type, Value, literal
from hlmc.targets.c.unit import Table, Unit, _plain_name
from hlmc.targets.cuda import arithmetic, primitives

Kernel = Callable[..., Any]
Argument = tuple[Type, str | None]
"""The type of an argument; of a run of words or a record, also its C++ type (device.cuh)."""

WORDS = {
    **dict.fromkeys(("Row", "Words", "Constants", "Overlay"), Type.REAL),
    **{"Ints": Type.SHORT, "Longs": Type.INT},
}
"""What the words of a run are. The words of other runs have the precision of the workspace."""

_SINGLE = Numbers("float")


def _call(name: str, result: Type) -> Callable[[list[Value]], Value]:
    """A call of a function of device.cuh."""
    return lambda values: Value(f"{name}({', '.join(value.text for value in values)})", result)


def _run(made: str | dict[str, str]) -> Callable[[list[Value]], Value]:
    """A run of words made of others; of which type, may depend on theirs."""

    def lower(values: list[Value]) -> Value:
        given = values[0].run or ""
        run = made if isinstance(made, str) else made.get(given, given)
        return Value(f"{run}{{{', '.join(value.text for value in values)}}}", Type.RUN, run=run)

    return lower


def _from(made: str, start: str) -> Callable[[list[Value]], Value]:
    """The run that begins at some word of another."""

    def lower(values: list[Value]) -> Value:
        text = start.format(*(value.within(ATOM) for value in values))
        return Value(f"{made}{{{values[0].text}, {text}}}", Type.RUN, run=made)

    return lower


def _same(values: list[Value]) -> Value:
    return values[0]


_BLOCKED = "{1} * {2} * DEVICE_BLOCK + {3}"

PRIMITIVES: dict[Kernel, Callable[[list[Value]], Value]] = {
    engine.words: _same,
    engine.offset: _run({"Workspace": "Statistics"}),
    engine.noalias: _run({"Workspace": "Sums"}),
    engine.noinline: lambda values: Value("", Type.NONE),
    engine.bits: _call("device_bits", Type.BITS),
    engine.put_bits: _call("device_put_bits", Type.NONE),
    engine.floor_log2: _call("device_floor_log2", Type.INT),
    engine.exponent: _call("device_exponent", Type.INT),
    engine.power_of_two: _call("device_power_of_two", Type.REAL),
    engine.load_float64: _call("device_load<double>", Type.REAL),
    engine.load_float32: _call("device_load<float>", Type.REAL),
    engine.load_uint8: _call("device_load<uint8_t>", Type.REAL),
    arithmetic.fast_exp: _call("device_fast_exp", Type.SINGLE),
    arithmetic.exp2: _call("exp2f", Type.SINGLE),
    arithmetic.library_log: _call("logf", Type.SINGLE),
    arithmetic.library_expm1: _call("expm1f", Type.SINGLE),
    arithmetic.library_log1p: _call("log1pf", Type.SINGLE),
    arithmetic.saturate: _call("device_saturate", Type.SINGLE),
    primitives.thread: _call("device_thread", Type.INT),
    primitives.block: _call("device_block", Type.INT),
    primitives.block_row: _call("device_block_row", Type.INT),
    primitives.blocks: _call("device_blocks", Type.INT),
    primitives.sync_threads: _call("device_sync", Type.NONE),
    primitives.atomic_add: _call("device_atomic_add", Type.NONE),
    primitives.atomic_take: _call("device_atomic_take", Type.SHORT),
    primitives.atomic_min: _call("device_atomic_min", Type.NONE),
    primitives.clear_count: _call("device_clear_count", Type.NONE),
    primitives.read_count: _call("device_read_count", Type.SHORT),
    primitives.increment_count: _call("device_increment_count", Type.NONE),
    primitives.put_note: _call("device_put_note", Type.NONE),
    primitives.read_note: _call("device_read_note", Type.SHORT),
    primitives.barrier_arrive: _call("device_arrive", Type.SHORT),
    primitives.barrier_releases: _call("device_releases", Type.SHORT),
    primitives.barrier_release: _call("device_release_barrier", Type.NONE),
    primitives.thread_fence: _call("device_fence", Type.NONE),
    primitives.pause: _call("device_pause", Type.NONE),
    primitives.overlay: _run("Overlay"),
    primitives.program_view: _from("Constants", "{1} * {2}"),
    primitives.own_view: _from("Own", "{1} * {2}"),
    primitives.row_view: _from("Row", _BLOCKED),
    primitives.stored_view: _from("Stored", _BLOCKED),
    primitives.workspace_view: _run("Workspace"),
    primitives.constants_view: _from("Constants", "0"),
    primitives.fetch: _call("device_fetch", Type.NONE),
    primitives.keep: _call("device_keep", Type.NONE),
    primitives.agent_words: _from("Row", "{1}"),
    primitives.agent_numbers: _from("Stored", "{1}"),
    primitives.words_from: _from("Words", "{1}"),
}
"""How primitives are written."""


@dataclass
class DeviceUnit(Unit):
    """The functions of one file; ``precision`` is that of workspaces."""

    precision: str = "float32"
    records: dict[str, dict[str, Argument]] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)

    def launched(self, name: str, kernel: Kernel) -> None:
        """An entry point of this name: a kernel that takes one record, by reference."""
        (hint,) = (hint for parameter, hint in kernel.__annotations__.items() if parameter != "return")
        record = kernel.__globals__[hint].__name__
        kinds = {field: each.__forward_arg__ for field, each in kernel.__globals__[hint].__annotations__.items()}
        self.records[record] = {
            field: (Type.INT, None) if kind == "int" else (Type.RUN, kind) for field, kind in kinds.items()
        }
        made = self.function(kernel, [(Type.RECORD, record)], None, ast.Pass())
        self.entries.append(f"DEVICE_ENTRY({name}, {record}, {made.name})")

    def struct_texts(self) -> list[str]:
        """The definitions of the structs."""
        texts = super().struct_texts()
        for name, record in self.records.items():
            fields = "".join(f"    {run or self.numbers.c(kind)} {field};\n" for field, (kind, run) in record.items())
            texts.append(f"struct {name} {{\n{fields}}};")
        return texts

    def word(self, run: Value, index: Value, node: ast.expr, source: Source) -> Value:
        """A word of a run."""
        working = Type.SINGLE if self.precision == "float32" else Type.REAL
        return Value(f"{run.within(ATOM)}[{index.text}]", WORDS.get(run.run or "", working))

    def form(self, kernel: Kernel, arguments: Sequence[Argument]) -> tuple[Kernel, tuple[Argument, ...]]:
        """A kernel and the types of its arguments."""
        return kernel, tuple(arguments)

    def translated(self, kernel: Kernel, arguments: Sequence[Argument]) -> Translated:
        """A kernel's function for arguments of these types."""
        from hlmc.targets.cuda.translator import DeviceTranslator

        return DeviceTranslator(self, kernel, arguments).translate()

    def signature(self, function: Translated, runs: dict[str, str] | None = None) -> str:
        """The head of a function's definition."""
        parts = [
            f"{self.typed_as(kind, (runs or {}).get(name))} {_plain_name(name)}" for name, kind in function.parameters
        ]
        result = self.struct(function.result) if isinstance(function.result, tuple) else self.numbers.c(function.result)
        return "\n".join(_wrapped(f"{result} {function.name}({', '.join(parts)})", ""))

    def typed_as(self, kind: Type, run: str | None) -> str:
        return f"const {run} &" if kind is Type.RECORD else run or self.numbers.c(kind)

    def qualifier(self, kernel: Kernel) -> str:
        """Inlined, unless the kernel says otherwise."""
        return "DEVICE_NOINLINE" if engine.noinline in callees(kernel).values() else "DEVICE_INLINE"

    def struct(self, parts: tuple[Type, ...]) -> str:
        """The struct that holds several results."""
        if parts not in self.structs:
            self.structs[parts] = f"{self.prefix}_{'_'.join(part.name.lower() for part in parts)}"
        return self.structs[parts]

    def constant(self, name: str, value: Any, kernel: Kernel) -> Value:
        """A global constant of a kernel's module, under its name."""
        known = self.literal_of(value)
        if name == "_VALUE":
            return known
        macro = base = f"{self.prefix}_{name.strip('_')}{'_F' if known.type is Type.SINGLE else ''}".upper()
        number = 2
        while macro in self._values and self._values[macro] != known.text:
            macro, number = f"{base}_{number}", number + 1
        self._values[macro] = known.text
        self.constants[macro] = known.within(ATOM)
        return Value(macro, known.type, ATOM, known.number)

    def literal_of(self, value: Any, narrow: bool = False) -> Value:
        """A number written out, in its own type."""
        if isinstance(value, np.uint64):
            return Value(f"UINT64_C({int(value):#x})" if value > 99 else f"UINT64_C({int(value)})", Type.BITS)
        if isinstance(value, np.float32) or (narrow and isinstance(value, float)):
            made = literal(float(value), _SINGLE)
            return Value(made.text, Type.SINGLE, made.binds, made.number)
        if isinstance(value, np.floating | np.integer):
            value = value.item()
        return literal(value, self.numbers)

    def helper(self, name: str) -> str:
        """A helper function, which device.cuh has for every type."""
        return f"device_{name.removesuffix('_int')}"

    def extreme(self, which: str, first: Value, second: Value) -> Value:
        """The lesser or the greater of two numbers of one type."""
        kind = self.numbers.c(first.type)  # type: ignore[arg-type]
        return Value(f"device_{which}<{kind}>({first.text}, {second.text})", first.type)

    def primitive(self, called: Kernel, values: list[Value], node: ast.Call, translator: Any) -> Value | None:
        """A call of a primitive, or None if it has no form here."""
        lowered = PRIMITIVES.get(called)
        return None if lowered is None else lowered(values)


def device_unit(precision: str) -> DeviceUnit:
    """An empty unit for workspaces of this precision."""
    return DeviceUnit("hlmc", Table({}, {}), precision=precision)
