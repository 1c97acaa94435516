"""The engine's primitives in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlmc.engine import primitives
from hlmc.engine.layout import KEY
from hlmc.targets.c.types import SUM, Type, Value

if TYPE_CHECKING:
    from hlmc.targets.c.expressions import Expressions
    from hlmc.targets.c.unit import Unit

Kernel = Callable[..., Any]
Lowering = Callable[["Unit", list[Value], "Expressions"], Value]

HELPERS = {
    "bits": "/* The raw 64 bits of a word. */\n"
    "static uint64_t {name}({run}run, {whole} at)\n"
    "{{\n    uint64_t bits;\n    memcpy(&bits, &run[at], sizeof bits);\n    return bits;\n}}",
    "put_bits": "/* Set the raw 64 bits of a word. */\n"
    "static void {name}({real} *run, {whole} at, uint64_t bits)\n"
    "{{\n    memcpy(&run[at], &bits, sizeof bits);\n}}",
    "exponent": "/* The binary exponent e of a positive number: x = m 2^e with m in [1/2, 1). */\n"
    "static {whole} {name}(double x)\n"
    "{{\n    uint64_t bits;\n    memcpy(&bits, &x, sizeof bits);\n"
    "    return ({whole})((bits >> 52) & 0x7FF) - 1022;\n}}",
    "power_of_two": "/* 2^k for -1022 <= k <= 1023. */\n"
    "static double {name}({whole} k)\n"
    "{{\n    const uint64_t bits = (uint64_t)(k + 1023) << 52;\n    double power;\n"
    "    memcpy(&power, &bits, sizeof power);\n    return power;\n}}",
    "bits_single": "/* The 64 bits of the key: its lower half is the first word, its upper half the last. */\n"
    "static uint64_t {name}({run}run)\n"
    "{{\n    return run[0].total | (uint64_t)run[{PREFIX}_WORDS - 1].total << 32;\n}}",
    "exponent_single": "/* The binary exponent e of a positive number: x = m 2^e with m in [1/2, 1). */\n"
    "static {whole} {name}(float x)\n"
    "{{\n    uint32_t bits;\n    memcpy(&bits, &x, sizeof bits);\n"
    "    return ({whole})((bits >> 23) & 0xFF) - 126;\n}}",
    "power_of_two_single": "/* 2^k for -126 <= k <= 127. */\n"
    "static float {name}({whole} k)\n"
    "{{\n    const uint32_t bits = (uint32_t)(k + 127) << 23;\n    float power;\n"
    "    memcpy(&power, &bits, sizeof power);\n    return power;\n}}",
    "floor_log2": "/* The place of the highest set bit of a positive whole number. */\n"
    "static {whole} {name}({whole} x)\n"
    "{{\n    {whole} place = 0;\n"
    "    for ({whole} step = (({whole})sizeof x) * 4; step > 0; step /= 2) {{\n"
    "        if (x >> step > 0) {{\n            x >>= step;\n            place += step;\n        }}\n    }}\n"
    "    return place;\n}}",
}


def _same(unit: Unit, values: list[Value], translator: Expressions) -> Value:
    return values[0]


def _offset(unit: Unit, values: list[Value], translator: Expressions) -> Value:
    run, at = values
    return replace(run, text=f"{run.text} + {at.within(SUM + 1)}", binds=SUM, type=Type.RUN)


def _row_of(unit: Unit, values: list[Value], translator: Expressions) -> Value:
    run, i, width = values
    return replace(run, text=f"{run.text} + {i.within(SUM + 2)} * {width.within(SUM + 2)}", binds=SUM)


def _nothing(unit: Unit, values: list[Value], translator: Expressions) -> Value:
    return Value("", Type.NONE)


def _helper(name: str, result: Type) -> Lowering:
    def lower(unit: Unit, values: list[Value], translator: Expressions) -> Value:
        own = f"{name}_single" if unit.numbers.single and f"{name}_single" in HELPERS else name
        return Value(f"{unit.helper(own)}({', '.join(value.text for value in values)})", result)

    return lower


def _bits(unit: Unit, values: list[Value], translator: Expressions) -> Value:
    if not unit.numbers.single:
        return Value(f"{unit.helper('bits')}({', '.join(value.text for value in values)})", Type.BITS)
    if values[1].number != KEY:
        raise translator.source.refuse(translator.source.tree, "raw bits of a word of 32 bits that is not the key")
    return Value(f"{unit.helper('bits_single')}({values[0].text})", Type.BITS)


ROLES: dict[Kernel, str] = {
    primitives.call_begin: "begin",
    primitives.call_end: "end",
    primitives.call_arm_of: "arm_of",
    primitives.call_start: "start",
    primitives.call_select: "select",
    primitives.call_update: "update",
    primitives.call_check: "check",
}
"""Calls through a program's table, and whose they are."""


def _put_bits(unit: Unit, values: list[Value], translator: Expressions) -> Value:
    if unit.numbers.single:
        raise translator.source.refuse(translator.source.tree, "raw bits of a word of 32 bits")
    translator.writes(values[0])
    return Value(f"{unit.helper('put_bits')}({', '.join(value.text for value in values)})", Type.NONE)


LOWERED: dict[Kernel, Lowering] = {
    primitives.words: _same,
    primitives.offset: _offset,
    primitives.noalias: _same,
    primitives.noinline: _nothing,
    primitives.prefetch: _nothing,
    primitives.row_of: _row_of,
    primitives.bits: _bits,
    primitives.put_bits: _put_bits,
    primitives.floor_log2: _helper("floor_log2", Type.INT),
    primitives.exponent: _helper("exponent", Type.INT),
    primitives.power_of_two: _helper("power_of_two", Type.REAL),
}
