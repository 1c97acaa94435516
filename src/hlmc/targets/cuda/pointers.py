"""Words on a device: runs of numbers whose neighbours lie a fixed distance apart, and what else LLVM must be told.

Threads that run side by side should find the same word of their learners side by side in memory. So word ``i`` of a
run lies ``i * stride`` numbers after its first one, and the kernels, which say ``row[i]``, need not know.
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

GLOBAL = 1
SHARED = 3

_LLVM = {"float64": ir.DoubleType(), "float32": ir.FloatType()}
_WORD = ir.IntType(64)


class Run(types.Type):
    """A run of numbers of one kind: where it begins is a value, how far apart they lie is part of the type."""

    def __init__(self, kind: str, stride: int, space: int, constant: bool = False, sort: str = "") -> None:
        self.kind = kind
        self.stride = stride
        self.space = space
        self.constant = constant
        self.sort = sort
        super().__init__(f"Run({kind}, {stride}, {space}, {constant}, {sort})")

    @property
    def dtype(self) -> Any:
        return getattr(types, self.kind)

    @property
    def llvm(self) -> Any:
        return _LLVM[self.kind]

    def of(self, sort: str) -> Run:
        """The same words, taken to be of one sort."""
        return Run(self.kind, self.stride, self.space, self.constant, sort)


@register_model(Run)
class _RunModel(models.PrimitiveModel):
    def __init__(self, manager: Any, run: Run) -> None:
        super().__init__(manager, run, ir.PointerType(run.llvm, run.space))


@typing_registry.register_global(operator.getitem)
class _Read(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        run, at = args
        if isinstance(run, Run) and isinstance(at, types.Integer):
            return signature(run.dtype, run, types.int64)
        return None


@typing_registry.register_global(operator.setitem)
class _Write(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        run, at, _ = args
        if isinstance(run, Run) and isinstance(at, types.Integer):
            return signature(types.none, run, types.int64, run.dtype)
        return None


def _place(builder: Any, run: Run, base: Any, at: Any) -> Any:
    """The address of word ``at``: counted in bytes, which one instruction then does."""
    if run.space == SHARED:  # its addresses have 32 bits
        at = builder.trunc(at, ir.IntType(32))
    size = {"float64": 8, "float32": 4}[run.kind]
    start = builder.bitcast(base, ir.PointerType(ir.IntType(8), run.space))
    place = builder.gep(start, [builder.mul(at, ir.Constant(at.type, run.stride * size))])
    return builder.bitcast(place, base.type)


def _load(builder: Any, run: Run, place: Any) -> Any:
    value = _tagged(builder, run, builder.load(place))
    if run.constant:  # nobody writes there: what was read once need not be read again
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _tagged(builder: Any, run: Run, access: Any) -> Any:
    """Tell LLVM that no word of one sort is ever one of another sort; those of no sort may be any."""
    if run.sort:
        note = builder.module.add_metadata
        sort = note([run.sort, note(["hlmc"]), ir.Constant(_WORD, 0)])
        access.set_metadata("tbaa", note([sort, sort, ir.Constant(_WORD, 0)]))
    return access


@lowering_registry.lower(operator.getitem, Run, types.Integer)
def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    run = sig.args[0]
    return _load(builder, run, _place(builder, run, *args))


@lowering_registry.lower(operator.setitem, Run, types.Integer, types.Any)
def _write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    run = sig.args[0]
    _tagged(builder, run, builder.store(args[2], _place(builder, run, args[0], args[1])))


def run_at(kind: str, stride: int, space: int = GLOBAL, constant: bool = False) -> Any:
    """A device function from an address to the run that begins there."""
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
    """The raw bits of a 64-bit word."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = builder.bitcast(_place(builder, run, *args), ir.PointerType(_WORD, run.space))
        return _load(builder, run, place)

    return types.uint64(run, types.int64), generate


@intrinsic
def offset(typingctx: Any, run: Any, at: Any) -> Any:
    """The run that begins ``at`` words further on; nobody else may reach its words through :func:`beside`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _place(builder, run, *args)

    return run.of("statistics")(run, types.int64), generate


@intrinsic
def beside(typingctx: Any, run: Any) -> Any:
    """The same run, for words in it that nobody reaches through :func:`offset`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return args[0]

    return run.of("sums")(run), generate


def loader(kind: str) -> Any:
    """A device function that reads a number of another kind than a word, at any address, as a float64."""
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
def shared_address(typingctx: Any) -> Any:
    """Where the shared memory begins that the launch has asked for."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = "hlmc_desk"
        module = builder.module
        if name in module.globals:
            start = module.globals[name]
        else:
            start = ir.GlobalVariable(module, ir.ArrayType(ir.FloatType(), 0), name, SHARED)
            start.linkage = "external"
            start.align = 16
        return builder.zext(builder.ptrtoint(start, ir.IntType(32)), _WORD)

    return types.int64(), generate


@intrinsic
def stay_apart(typingctx: Any) -> Any:
    """Keep the function that says this from being copied into those that call it, and their registers from it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.none(), generate
