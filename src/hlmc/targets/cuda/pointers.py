"""Runs of words in a device's memory: pointers with a stride, and what else LLVM must be told.

Neighbouring threads should find the same word of their learners at neighbouring addresses, because a warp then reads
them in one transaction. So word ``i`` of a run lies ``i * stride`` numbers after its first one. The stride is part of
the run's type, and kernels, which say ``row[i]``, need not know of it.

A strided Numba array would do the same with strides that are values: registers to hold them and a 64-bit
multiplication per access. Importing this module needs numba-cuda; the simulator has no use for it.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.cudadecl import registry as typing_registry
from numba.cuda.cudaimpl import registry as lowering_registry
from numba.cuda.datamodel import models
from numba.cuda.extending import intrinsic
from numba.cuda.models import register_model
from numba.cuda.typing.templates import AbstractTemplate, signature

GLOBAL = 1
SHARED = 3

_LLVM = {"float64": ir.DoubleType(), "float32": ir.FloatType()}
_WORD = ir.IntType(64)


class Run(types.Type):
    """A run of numbers: its first address is the value, everything else is part of the type.

    Parameters
    ----------
    kind
        ``"float64"`` or ``"float32"``.
    stride
        Distance from one word to the next, in numbers.
    space
        The address space: :data:`GLOBAL` or :data:`SHARED`.
    constant
        Nobody writes there while a launch runs, so what was read once need not be read again.
    alias
        An alias class: no word of one class is ever a word of another; the words of class "" may be any.
    """

    def __init__(self, kind: str, stride: int, space: int, constant: bool = False, alias: str = "") -> None:
        self.kind = kind
        self.stride = stride
        self.space = space
        self.constant = constant
        self.alias = alias
        super().__init__(f"Run({kind}, {stride}, {space}, {constant}, {alias})")

    @property
    def dtype(self) -> Any:
        """Numba's type of a word."""
        return getattr(types, self.kind)

    @property
    def llvm(self) -> Any:
        """LLVM's type of a word."""
        return _LLVM[self.kind]

    def aliasing(self, alias: str) -> Run:
        """The same words in an alias class."""
        return Run(self.kind, self.stride, self.space, self.constant, alias)


@register_model(Run)
class _RunModel(models.PrimitiveModel):
    """In LLVM a run is a pointer to its first word."""

    def __init__(self, manager: Any, run: Run) -> None:
        super().__init__(manager, run, ir.PointerType(run.llvm, run.space))


@typing_registry.register_global(operator.getitem)
class _Read(AbstractTemplate):
    """``run[i]`` is a word."""

    def generic(self, args: Any, kws: Any) -> Any:
        run, at = args
        if isinstance(run, Run) and isinstance(at, types.Integer):
            return signature(run.dtype, run, types.int64)
        return None


@typing_registry.register_global(operator.setitem)
class _Write(AbstractTemplate):
    """``run[i] = x`` converts x to the kind of a word."""

    def generic(self, args: Any, kws: Any) -> Any:
        run, at, _ = args
        if isinstance(run, Run) and isinstance(at, types.Integer):
            return signature(types.none, run, types.int64, run.dtype)
        return None


def _place(builder: Any, run: Run, base: Any, at: Any) -> Any:
    """The address of word ``at`` of the run that begins at ``base``.

    Counted in bytes, because one instruction (IMAD) then does all of it.
    """
    if run.space == SHARED:  # its addresses have 32 bits
        at = builder.trunc(at, ir.IntType(32))
    size = {"float64": 8, "float32": 4}[run.kind]
    start = builder.bitcast(base, ir.PointerType(ir.IntType(8), run.space))
    place = builder.gep(start, [builder.mul(at, ir.Constant(at.type, run.stride * size))])
    return builder.bitcast(place, base.type)


def _load(builder: Any, run: Run, place: Any) -> Any:
    """Load a word, with what LLVM may assume of it."""
    value = _tagged(builder, run, builder.load(place))
    if run.constant:
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _tagged(builder: Any, run: Run, access: Any) -> Any:
    """Mark a load or store with its alias class, as C compilers mark those of different types (TBAA)."""
    if run.alias:
        note = builder.module.add_metadata
        alias = note([run.alias, note(["hlmc"]), ir.Constant(_WORD, 0)])
        access.set_metadata("tbaa", note([alias, alias, ir.Constant(_WORD, 0)]))
    return access


@lowering_registry.lower(operator.getitem, Run, types.Integer)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    run = sig.args[0]
    return _load(builder, run, _place(builder, run, *args))


@lowering_registry.lower(operator.setitem, Run, types.Integer, types.Any)
def _write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    run = sig.args[0]
    _tagged(builder, run, builder.store(args[2], _place(builder, run, args[0], args[1])))


@cache
def run_at(kind: str, stride: int, space: int = GLOBAL, constant: bool = False) -> Any:
    """An intrinsic from an address to the run that begins there; see :class:`Run`."""
    run = Run(kind, stride, space, constant)

    @intrinsic
    def at(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            address = args[0]
            if space == SHARED:
                address = builder.trunc(address, ir.IntType(32))
            return builder.inttoptr(address, ir.PointerType(run.llvm, space))

        return run(types.int64), generate

    return at


@intrinsic
def bits(typingctx: Any, run: Any, at: Any) -> Any:
    """The raw bits of a 64-bit word, without a conversion."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = builder.bitcast(_place(builder, run, *args), ir.PointerType(_WORD, run.space))
        return _load(builder, run, place)

    return types.uint64(run, types.int64), generate


@intrinsic
def put_bits(typingctx: Any, run: Any, at: Any, value: Any) -> Any:
    """Set the raw bits of a 64-bit word, without a conversion."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = builder.bitcast(_place(builder, run, args[0], args[1]), ir.PointerType(_WORD, run.space))
        _tagged(builder, run, builder.store(args[2], place))
        return context.get_dummy_value()

    return types.void(run, types.int64, types.uint64), generate


@intrinsic
def offset(typingctx: Any, run: Any, at: Any) -> Any:
    """The run that begins ``at`` words further on; its words are never reached through :func:`noalias`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _place(builder, run, *args)

    return run.aliasing("statistics")(run, types.int64), generate


@intrinsic
def noalias(typingctx: Any, run: Any) -> Any:
    """The same run, for words in it that are never reached through :func:`offset`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return args[0]

    return run.aliasing("sums")(run), generate


def loader(kind: str) -> Any:
    """An intrinsic that reads a number of another kind than a word, at any address, as a float64."""
    stored = {"float64": ir.DoubleType(), "float32": ir.FloatType(), "uint8": ir.IntType(8)}[kind]

    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            value = builder.load(builder.inttoptr(args[0], ir.PointerType(stored, GLOBAL)))
            if kind == "uint8":
                return builder.uitofp(value, ir.DoubleType())
            return value if kind == "float64" else builder.fpext(value, ir.DoubleType())

        return types.float64(types.int64), generate

    return load


@intrinsic
def shared_base(typingctx: Any) -> Any:
    """The address at which the dynamic shared memory begins that the launch has asked for."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = "hlmc_workspace"
        module = builder.module
        if name in module.globals:
            start = module.globals[name]
        else:
            start = ir.GlobalVariable(module, ir.ArrayType(ir.FloatType(), 0), name, SHARED)
            start.linkage = "external"
            start.align = 16
        return builder.zext(builder.ptrtoint(start, ir.IntType(32)), _WORD)

    return types.int64(), generate


# --- Counts with one entry changed


class Overlay(types.Type):
    """A run of words that reads as another number at one place: (run, place, number) in registers."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(f"Overlay({run})")


@register_model(Overlay)
class _OverlayModel(models.StructModel):
    """In LLVM an overlay is a struct."""

    def __init__(self, manager: Any, overlaid: Overlay) -> None:
        members = [("run", overlaid.run), ("at", types.int64), ("x", overlaid.run.dtype)]
        super().__init__(manager, overlaid, members)


@intrinsic
def overlay(typingctx: Any, run: Any, at: Any, x: Any) -> Any:
    """The run with ``x`` at place ``at``; nothing is written."""
    overlaid = Overlay(run)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = cgutils.create_struct_proxy(overlaid)(context, builder)
        made.run, made.at, made.x = args
        return made._getvalue()

    return overlaid(run, types.int64, run.dtype), generate


@typing_registry.register_global(operator.getitem)
class _ReadOverlay(AbstractTemplate):
    """``overlay[i]`` is a word."""

    def generic(self, args: Any, kws: Any) -> Any:
        overlaid, at = args
        if isinstance(overlaid, Overlay) and isinstance(at, types.Integer):
            return signature(overlaid.run.dtype, overlaid, types.int64)
        return None


@lowering_registry.lower(operator.getitem, Overlay, types.Integer)
def _read_overlay(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Read the word and select: no branch."""
    overlaid = sig.args[0]
    made = cgutils.create_struct_proxy(overlaid)(context, builder, value=args[0])
    there = _load(builder, overlaid.run, _place(builder, overlaid.run, made.run, args[1]))
    return builder.select(builder.icmp_signed("==", args[1], made.at), made.x, there)
