"""What LLVM must be told so that blocks can wait for one another, and so that a game's counts can be asked "what if".

Importing this module needs numba-cuda; the simulator has no use for it.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.cudadecl import registry as typing_registry
from numba.cuda.cudaimpl import registry as lowering_registry
from numba.cuda.datamodel import models
from numba.cuda.extending import intrinsic
from numba.cuda.models import register_model
from numba.cuda.typing.templates import AbstractTemplate, signature

from hlmc.device.pointers import Run

_INT = ir.IntType(32)
_WORD = ir.IntType(64)


def _assembled(text: str, constraints: str, result: Any) -> Any:
    """An instruction on the address of a gate."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function = ir.FunctionType(result, [_WORD])
        found = builder.asm(function, text, constraints, [args[0]], True)
        return context.get_dummy_value() if isinstance(result, ir.VoidType) else found

    return generate


@intrinsic
def arrive(typingctx: Any, gate: Any) -> Any:
    """Count oneself in; how many came before."""
    return types.int32(types.int64), _assembled("atom.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}", _INT)


@intrinsic
def look(typingctx: Any, gate: Any) -> Any:
    """The number at an address as it is now, whatever has been read there before."""
    return types.int32(types.int64), _assembled("ld.volatile.global.u32 $0, [$1];", "=r,l,~{memory}", _INT)


@intrinsic
def open_gate(typingctx: Any, gate: Any) -> Any:
    """Nobody is there any more, and everybody may go on."""
    text = "{ .reg .u32 %old; st.volatile.global.u32 [$0], 0; membar.gl; atom.global.add.u32 %old, [$0+4], 1; }"
    return types.void(types.int64), _assembled(text, "l,~{memory}", ir.VoidType())


class Altered(types.Type):
    """A run of words with another number in one place."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(f"Altered({run})")


@register_model(Altered)
class _AlteredModel(models.StructModel):
    def __init__(self, manager: Any, altered: Altered) -> None:
        members = [("run", altered.run), ("at", types.int64), ("x", altered.run.dtype)]
        super().__init__(manager, altered, members)


@intrinsic
def instead(typingctx: Any, run: Any, at: Any, x: Any) -> Any:
    """The run with ``x`` in place ``at``; nothing is written."""
    altered = Altered(run)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        from numba.cuda import cgutils

        made = cgutils.create_struct_proxy(altered)(context, builder)
        made.run, made.at, made.x = args
        return made._getvalue()

    return altered(run, types.int64, run.dtype), generate


@typing_registry.register_global(operator.getitem)
class _Read(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        altered, at = args
        if isinstance(altered, Altered) and isinstance(at, types.Integer):
            return signature(altered.run.dtype, altered, types.int64)
        return None


@lowering_registry.lower(operator.getitem, Altered, types.Integer)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    from numba.cuda import cgutils

    altered = sig.args[0]
    made = cgutils.create_struct_proxy(altered)(context, builder, value=args[0])
    get = signature(altered.run.dtype, altered.run, types.int64)
    there = context.get_function(operator.getitem, get)(builder, (made.run, args[1]))
    return builder.select(builder.icmp_signed("==", args[1], made.at), made.x, there)
