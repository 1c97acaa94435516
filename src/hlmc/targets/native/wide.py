"""Kernels for several learners at a time: every number of a kernel becomes a vector with one element per learner.

:class:`Writer` writes a kernel, with everything that it calls, as LLVM code on vectors of ``LANES`` elements. The
kernel is the one that all other targets run: a *lane* of the vector computes what one learner would compute, with the
same operations in the same order, so it gets the same bits. This is how GPUs run scalar code (single program, multiple
data), and how the compiler ISPC does it for processors (M. Pharr and W. R. Mark, "ispc: A SPMD compiler for
high-performance CPU programming", 2012).

**Uniform and wide values.** A value that all lanes share (the program, the time, the number of slots) stays a scalar;
it is *uniform*. A value that differs is *wide*. An operation is wide if an operand is. A run of words is *interleaved*
if every lane has its own words: word k of lane l lies at ``k * LANES + l``. A word at a uniform place is then one
vector load, and a word at a wide place is collected lane by lane.

**Control flow.** Branches and loops on uniform conditions stay branches and loops. On a wide condition both branches
are executed, each under a *mask* of the lanes that take it: a variable changes, and a word is written, only in the
lanes of the mask. A wide loop runs until all of its lanes have left it. Where a mask can be empty and the branch is
long, it is skipped if the mask is empty.

**Regions.** The statements under one mask are a *region*; regions nest. A variable that is used only in one region and
those within it needs no mask when it is assigned there: the other lanes never look at it. Such a variable also stays
uniform if its values are.

**Walks.** Which variables are wide follows from the assignments, some of which come after uses. So the kernel is walked
through several times by the same code, which writes nothing until nothing new is found (:func:`known_facts`).

What the module cannot translate it refuses with :class:`NotWide`; then learners are played one by one.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from hlmc.engine import primitives, step
from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.engine.linker import callees
from hlmc.targets.c.reading import OutsideDialect, Source, read
from hlmc.targets.native.lowering import c_signature, llvm_types, of_arity
from hlmc.targets.native.many import LANES, NotWide

Kernel = Callable[..., Any]

REAL, INT, BITS, BOOL, RUN, NONE = "float", "int", "bits", "bool", "run", "none"
_DOUBLE, _WORD, _BIT, _BYTE = ir.DoubleType(), ir.IntType(64), ir.IntType(1), ir.IntType(LANES)
_SCALAR = {REAL: _DOUBLE, INT: _WORD, BITS: _WORD, BOOL: _BIT}
_MASK = ir.VectorType(_BIT, LANES)
_INDEX = ir.IntType(32)
_WALKS = 20  # more than enough: regions nest a few levels deep
_LONG = 80
"""A branch whose statements and callees have more nodes than this, or a loop, is skipped where no lane takes it."""


class Value(NamedTuple):
    """A number, or a run of words; ``wide``: one per lane, or interleaved."""

    kind: str
    ir: Any
    wide: bool = False


Region = tuple[Any, ...]
"""The path of masked branches and wide loops that leads to a statement, from the outermost."""


@dataclass
class Facts:
    """What is known of the variables and loops of a function before it is written.

    A key is the path of calls that leads to an inlined kernel, with a variable's name or a loop's place.
    """

    kind: dict[Any, str] = field(default_factory=dict)
    wide: set[Any] = field(default_factory=set)
    diverging: set[Any] = field(default_factory=set)
    """Loops that lanes leave at different times, and calls from which they return at different places."""
    home: dict[Any, Region] = field(default_factory=dict)
    """The innermost region that contains all uses of a variable, as the walks before have found it."""
    uses: dict[Any, Region] = field(default_factory=dict)
    """The same, as this walk finds it."""
    grown: bool = False

    def learn_kind(self, key: Any, kind: str) -> None:
        """A variable holds values of a kind; whole numbers become floats where both occur."""
        known = self.kind.get(key)
        if known is None or (known != kind and {known, kind} <= {REAL, INT, BOOL} and known != REAL):
            better = kind if known is None else REAL if REAL in (known, kind) else INT
            if better != known:
                self.kind[key] = better
                self.grown = True

    def add(self, known: set[Any], key: Any) -> None:
        """Add a key to ``wide`` or ``diverging``."""
        if key not in known:
            known.add(key)
            self.grown = True

    def used_in(self, key: Any, region: Region) -> None:
        """A variable is used in a region."""
        home = self.uses.get(key, region)
        shared = 0
        while shared < min(len(home), len(region)) and home[shared] == region[shared]:
            shared += 1
        self.uses[key] = home[:shared]

    def partial(self, key: Any, region: Region) -> bool:
        """Whether a variable is also used where more lanes are active than in a region."""
        home = self.home.get(key)
        return home is not None and len(home) < len(region) and region[: len(home)] == home


@dataclass
class Frame:
    """A kernel that is being written into its caller's place."""

    path: Any
    source: Source
    region: Region
    exit: Any
    runs: dict[str, Value] = field(default_factory=dict)
    results: int = -1
    gone: Any = None
    """Where the mask of the lanes lies that have returned, if lanes return at different places."""


@dataclass
class Loop:
    """A loop that is being written."""

    key: Any
    exit: Any
    live: Any = None
    """Where the mask of the lanes lies that have not left it, if lanes leave at different times."""


Write = Callable[["Writer", list[Any]], Any]
"""``write(writer, arguments)`` writes a function: it makes a kernel's arguments of the function's, calls
``writer.call(kernel, values)``, stores the results and returns the number that the function returns."""


def known_facts(kinds: list[Any], write: Write) -> Facts:
    """The facts about the function that ``write`` writes.

    With the homes of the variables given, walks add facts until there are no more. Then the homes are those which the
    last walk has found. They may be smaller than before, so the other facts are gathered anew.
    """
    facts = Facts()
    for _ in range(_WALKS):
        facts.wide, facts.diverging = set(), set()
        facts.grown = True
        while facts.grown:
            facts.grown, facts.uses = False, {}
            write(Writer(_Nowhere(), _Block(), facts), [_Nothing()] * len(kinds))
        if facts.home == facts.uses:
            return facts
        facts.home = facts.uses
    raise NotWide("the regions of the variables are not found")


class _Nothing:
    """A value in a walk that writes nothing."""

    type = None


class _Block:
    """A basic block in such a walk."""

    is_terminated = False


class _Nowhere:
    """A builder for walks that only gather facts."""

    def __init__(self) -> None:
        self.block = _Block()

    def append_basic_block(self, name: str) -> _Block:
        return _Block()

    def position_at_end(self, block: _Block) -> None:
        self.block = block

    @contextmanager
    def goto_block(self, block: _Block) -> Iterator[None]:
        yield

    def _end(self, *_: Any) -> None:
        self.block.is_terminated = True

    branch = cbranch = unreachable = _end

    def __getattr__(self, name: str) -> Callable[..., _Nothing]:
        return lambda *_, **__: _NOTHING


_NOTHING = _Nothing()


def caller(name: str, signature: tuple[str, ...], write: Write, refused: list[Exception]) -> Callable[..., Any]:
    """A Python function for Numba's compiler that calls the function of a C signature that ``write`` writes.

    What cannot be written is put into ``refused``, because the compiler makes an error of its own of every other.
    """
    kinds = llvm_types(signature)[1:]

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        try:
            facts = known_facts(kinds, write)
        except NotWide as error:
            refused.append(error)
            raise
        return builder.call(_written(builder.module, f"{name}.wide", kinds, write, facts), args)

    called = of_arity(len(signature) - 1, c_signature(signature), generate)
    names = ", ".join(f"a{k}" for k in range(len(signature) - 1))
    # Of a function without a module, Numba would keep all globals in the cache on disk, Python's builtins among them,
    # some of which a notebook replaces by what cannot be kept.
    made: dict[str, Any] = {"called": called, "__name__": __name__}
    exec(f"def {name}({names}):\n    return called({names})", made)  # noqa: S102
    return made[name]  # type: ignore[no-any-return]


def integer(number: int) -> Value:
    """A whole number that is known now."""
    return Value(INT, ir.Constant(_WORD, number))


def _written(module: Any, name: str, kinds: list[Any], write: Any, facts: Facts) -> Any:
    function = ir.Function(module, ir.FunctionType(_WORD, kinds), name)
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    body = function.append_basic_block("body")
    writer = Writer(builder, body, facts)
    result = write(writer, list(function.args))
    builder.ret(result)
    with builder.goto_block(function.entry_basic_block):
        builder.branch(body)
    return function


class Writer:
    """Writes statements where an LLVM builder stands."""

    def __init__(self, builder: Any, body: Any, facts: Facts) -> None:
        self.builder = builder
        self.facts = facts
        self._entry = builder.block
        self._slots: dict[Any, Any] = {}
        self._region: Region = ()
        self._mask: Any = None  # of the lanes that are active; None: all
        self._frames: list[Frame] = []
        self._loops: list[Loop] = []
        builder.position_at_end(body)

    # --- Vectors

    def spread(self, value: Value) -> Value:
        """A number in all lanes."""
        if value.wide:
            return value
        kind = ir.VectorType(_SCALAR[value.kind], LANES)
        if isinstance(value.ir, ir.Constant):
            return Value(value.kind, ir.Constant(kind, [value.ir] * LANES), True)
        undefined = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(undefined, value.ir, ir.Constant(_INDEX, 0))
        zeros = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
        return Value(value.kind, self.builder.shuffle_vector(one, undefined, zeros), True)

    def lane(self, value: Value, k: int) -> Value:
        """The number of one lane."""
        return (
            Value(value.kind, self.builder.extract_element(value.ir, ir.Constant(_INDEX, k))) if value.wide else value
        )

    def together(self, values: list[Value]) -> Value:
        """The numbers of all lanes."""
        kind = ir.VectorType(_SCALAR[values[0].kind], LANES)
        found = ir.Constant(kind, ir.Undefined)
        for k, value in enumerate(values):
            found = self.builder.insert_element(found, value.ir, ir.Constant(_INDEX, k))
        return Value(values[0].kind, found, True)

    def any(self, mask: Any) -> Any:
        """Whether any lane is in a mask."""
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(mask, _BYTE), ir.Constant(_BYTE, 0))

    def _and(self, mask: Any, other: Any) -> Any:
        return other if mask is None else self.builder.and_(mask, other)

    def _not(self, value: Any, wide: bool = True) -> Any:
        return self.builder.xor(value, ir.Constant(_MASK, [1] * LANES) if wide else ir.Constant(_BIT, 1))

    def _full(self) -> Any:
        return ir.Constant(_MASK, [1] * LANES) if self._mask is None else self._mask

    def _type(self, kind: str, wide: bool) -> Any:
        return ir.VectorType(_SCALAR[kind], LANES) if wide else _SCALAR[kind]

    # --- Conversions

    def converted(self, value: Value, kind: str) -> Value:
        """A number of another kind: bool to int to float, and whole numbers to and from raw bits."""
        if value.kind == kind:
            return value
        kind_of_ir = self._type(kind, value.wide)
        builder = self.builder
        if value.kind == BOOL and kind in (INT, BITS):
            return Value(kind, builder.zext(value.ir, kind_of_ir), value.wide)
        if {value.kind, kind} == {INT, BITS}:
            return Value(kind, value.ir, value.wide)
        if kind == REAL and value.kind in (INT, BOOL):
            number = self.converted(value, INT).ir
            return Value(kind, builder.sitofp(number, kind_of_ir), value.wide)
        if kind == REAL and value.kind == BITS:
            return Value(kind, builder.uitofp(value.ir, kind_of_ir), value.wide)
        if kind == INT and value.kind == REAL:
            return Value(kind, builder.fptosi(value.ir, kind_of_ir), value.wide)
        if kind == BOOL and value.kind in (INT, BITS):
            zero = ir.Constant(self._type(INT, value.wide), [0] * LANES if value.wide else 0)
            return Value(kind, builder.icmp_signed("!=", value.ir, zero), value.wide)
        if kind == BOOL and value.kind == REAL:
            zero = ir.Constant(self._type(REAL, value.wide), [0.0] * LANES if value.wide else 0.0)
            return Value(kind, builder.fcmp_unordered("!=", value.ir, zero), value.wide)
        raise self._refuse(None, f"a {value.kind} where a {kind} is needed")

    def alike(self, *values: Value) -> tuple[str, bool, list[Any]]:
        """Operands made alike: their kind, whether they are wide, and what they are in LLVM."""
        kinds = {value.kind for value in values}
        kind = next(each for each in (REAL, BITS, INT, BOOL) if each in kinds)
        wide = any(value.wide for value in values)
        found = [self.converted(value, kind) for value in values]
        return kind, wide, [(self.spread(value) if wide else value).ir for value in found]

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """``a if condition else b`` of two numbers that are known already."""
        kind, wide, (x, y) = self.alike(a, b)
        if condition.wide and not wide:
            x, y, wide = self.spread(Value(kind, x)).ir, self.spread(Value(kind, y)).ir, True
        return Value(kind, self.builder.select(condition.ir, x, y), wide)

    # --- Words

    def _word(self, run: Value, at: Any, of: Any = _DOUBLE) -> Any:
        pointer = self.builder.gep(run.ir, [at])
        return self.builder.bitcast(pointer, of.as_pointer()) if of != _DOUBLE else pointer

    def _scaled(self, run: Value, at: Any) -> Any:
        return self.builder.mul(at, ir.Constant(_WORD, LANES)) if run.wide else at

    def load(self, run: Value, at: Value, kind: str = REAL) -> Value:
        """The word of a run at a place."""
        builder, of = self.builder, _SCALAR[kind]
        if not at.wide:
            many = ir.VectorType(of, LANES) if run.wide else of
            return Value(kind, builder.load(self._word(run, self._scaled(run, at.ir), many), align=8), run.wide)
        return self.together([Value(kind, builder.load(each)) for each in self._places(run, at, of)])

    def store(self, run: Value, at: Value, value: Value) -> None:
        """Write a word in the active lanes."""
        if not run.wide:
            raise self._refuse(None, "words that all learners share are written")
        kind = BITS if value.kind == BITS else REAL
        number = self.spread(self.converted(value, kind)).ir
        of = _SCALAR[kind]
        if not at.wide:
            pointer = self._word(run, self._scaled(run, at.ir), ir.VectorType(of, LANES))
            if self._mask is not None:
                number = self.builder.select(self._mask, number, self.builder.load(pointer, align=8))
            self.builder.store(number, pointer, align=8)
            return
        places = self._places(run, at, of)
        if self._mask is not None:
            # Every lane has words of its own, so a lane that is not active can write back what it finds.
            old = self.together([Value(kind, self.builder.load(each)) for each in places])
            number = self.builder.select(self._mask, number, old.ir)
        for k, place in enumerate(places):
            self.builder.store(self.builder.extract_element(number, ir.Constant(_INDEX, k)), place)

    def _places(self, run: Value, at: Value, of: Any) -> list[Any]:
        """The address of each lane's word; of lanes that are not active, of word 0."""
        place, kind = at.ir, self._type(INT, True)
        if self._mask is not None:
            place = self.builder.select(self._mask, place, ir.Constant(kind, [0] * LANES))
        if run.wide:
            place = self.builder.mul(place, ir.Constant(kind, [LANES] * LANES))
            place = self.builder.add(place, ir.Constant(kind, list(range(LANES))))
        lanes = [self.builder.extract_element(place, ir.Constant(_INDEX, k)) for k in range(LANES)]
        return [self._word(run, each, of) for each in lanes]

    # --- Variables

    def _slot(self, key: Any, kind: Any) -> Any:
        """The place in memory of a variable; LLVM makes registers of them."""
        found = self._slots.get((key, str(kind)))
        if found is None:
            with self.builder.goto_block(self._entry):
                found = self.builder.alloca(kind)
                zero = [0] * LANES if isinstance(kind, ir.VectorType) else 0
                self.builder.store(ir.Constant(kind, zero), found)
            self._slots[key, str(kind)] = found
        return found

    def assign(self, key: Any, value: Value, masked: bool = False) -> None:
        """Assign to a variable in the active lanes; ``masked``: some lanes that look at it later may not be active."""
        facts = self.facts
        facts.learn_kind(key, value.kind)
        facts.used_in(key, self._region)
        masked = masked or facts.partial(key, self._region)
        if value.wide or masked:
            facts.add(facts.wide, key)
        kind, wide = facts.kind[key], key in facts.wide
        if {kind, value.kind} not in ({kind}, {REAL, INT}, {REAL, BOOL}, {INT, BOOL}, {INT, BITS}):
            raise self._refuse(None, f"a {value.kind} is assigned to a {kind}")
        if value.kind == REAL and kind != REAL:
            return  # this walk is discarded
        value = self.converted(value, kind)
        slot = self._slot(key, self._type(kind, wide))
        number = self.spread(value).ir if wide else value.ir
        if masked and self._mask is not None:
            number = self.builder.select(self._mask, number, self.builder.load(slot))
        self.builder.store(number, slot)

    def variable(self, key: Any, node: ast.AST) -> Value:
        """The value of a variable."""
        facts = self.facts
        if key not in facts.kind:
            raise self._refuse(node, f"{key[1]} has no value yet")
        facts.used_in(key, self._region)
        wide = key in facts.wide
        return Value(facts.kind[key], self.builder.load(self._slot(key, self._type(facts.kind[key], wide))), wide)

    # --- Calls

    def call(self, kernel: Kernel, arguments: list[Value], node: Any = None) -> Any:
        """Write a kernel here; its result, a tuple of several, or None."""
        if kernel is step.common:
            return self.lane(arguments[0], 0)
        if is_primitive(kernel):
            return self._primitive(kernel, arguments, node)
        above = self._frames[-1] if self._frames else None
        path = (
            above.path if above else (),
            kernel.__name__,
            getattr(node, "lineno", 0),
            getattr(node, "col_offset", 0),
        )
        found = Frame(path, _read(kernel), self._region, self.builder.append_basic_block("after"))
        names = [argument.arg for argument in found.source.tree.args.args]
        for name, value in zip(names, arguments, strict=True):
            if value.kind == RUN:
                found.runs[name] = value
            else:
                self.assign((path, name), value)
        if path in self.facts.diverging:
            found.gone = self._fresh((path, "gone"), [0] * LANES)
        mask, loops = self._mask, self._loops
        self._frames.append(found)
        self._loops = []
        self._block(found.source.tree.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(found.exit)
        self.builder.position_at_end(found.exit)
        self._frames.pop()
        self._mask, self._loops = mask, loops
        if found.results < 0:
            result: Any = None
        elif found.results == 0:
            result = self.variable((path, 0), node)
        else:
            result = tuple(self.variable((path, k), node) for k in range(found.results))
        if kernel is step.refused:
            return self._whether_any(result)
        return result

    def _whether_any(self, value: Value) -> Value:
        return Value(BOOL, self.any(self._and(self._mask, value.ir))) if value.wide else value

    def _fresh(self, key: Any, lanes: list[int]) -> Any:
        """A variable for a mask, set here."""
        slot = self._slot(key, _MASK)
        self.builder.store(ir.Constant(_MASK, lanes), slot)
        return slot

    def _primitive(self, kernel: Kernel, arguments: list[Value], node: Any) -> Any:
        builder = self.builder
        if kernel is primitives.bits:
            return self.load(arguments[0], arguments[1], BITS)
        if kernel is primitives.put_bits:
            return self.store(*arguments)
        if kernel is primitives.offset:
            run, at = arguments
            if at.wide:
                raise self._refuse(node, "a run that begins elsewhere in every lane")
            return Value(RUN, builder.gep(run.ir, [self._scaled(run, at.ir)]), run.wide)
        if kernel is primitives.noalias:
            return arguments[0]
        if kernel is primitives.noinline:
            return None
        if kernel in (primitives.power_of_two, primitives.exponent, primitives.floor_log2):
            return self._binary(kernel, arguments[0])
        if kernel is primitives.call_reward:
            return self._rewards(arguments)
        raise self._refuse(node, f"{kernel.__name__} has no form for several lanes")

    def _binary(self, kernel: Kernel, x: Value) -> Value:
        """Powers of two and exponents, as in :mod:`hlmc.targets.native.lowering`."""
        builder, kind = self.builder, self._type(INT, x.wide)

        def number(k: int) -> Any:
            return ir.Constant(kind, [k] * LANES if x.wide else k)

        if kernel is primitives.power_of_two:
            biased = builder.shl(builder.add(x.ir, number(1023)), number(52))
            return Value(REAL, builder.bitcast(biased, self._type(REAL, x.wide)), x.wide)
        if kernel is primitives.exponent:
            high = builder.lshr(builder.bitcast(x.ir, kind), number(52))
            return Value(INT, builder.sub(builder.and_(high, number(0x7FF)), number(1022)), x.wide)
        if x.wide:
            raise self._refuse(None, "floor_log2 of a number that differs between lanes")
        return Value(INT, builder.sub(number(63), builder.ctlz(x.ir, ir.Constant(_BIT, 1))))

    def _rewards(self, arguments: list[Value]) -> Value:
        """Ask the adversary for the rewards of all lanes' arms (:func:`hlmc.targets.native.many.call_rewards`)."""
        builder = self.builder
        pair, spec, t, arm = arguments
        arms = self._slot("arms", ir.VectorType(_WORD, LANES))
        paid = self._slot("paid", ir.VectorType(_DOUBLE, LANES))
        builder.store(self.spread(arm).ir, arms)
        functions = builder.inttoptr(pair.ir, _WORD.as_pointer())
        wide, one = (builder.load(builder.gep(functions, [ir.Constant(_WORD, k)])) for k in (0, 1))
        words = _DOUBLE.as_pointer()
        kind = ir.FunctionType(_WORD, [words, _WORD, _WORD, words, words])
        called = builder.inttoptr(wide, kind.as_pointer())
        builder.call(called, [spec.ir, one, t.ir, builder.bitcast(arms, words), builder.bitcast(paid, words)])
        return Value(REAL, builder.load(paid), True)

    # --- Statements

    def _refuse(self, node: ast.AST | None, what: str) -> NotWide:
        if not self._frames:
            return NotWide(what)
        source = self._frames[-1].source
        line = getattr(node, "lineno", source.tree.lineno)
        return NotWide(f"{source.kernel.__code__.co_filename}, line {line}: {what} (kernel {source.kernel.__name__})")

    def _block(self, body: list[ast.stmt]) -> None:
        """Write statements one after another."""
        for k, statement in enumerate(body):
            before = self._mask
            self._statement(statement)
            if self.builder.block.is_terminated:
                return
            if self._drops(statement):
                self._mask = self._remaining(before)
                if self._mask is not None and _long(body[k + 1 :], self._frames[-1].source):
                    self._rest(body[k + 1 :])
                    return

    def _rest(self, body: list[ast.stmt]) -> None:
        """Write what follows a statement at which lanes have left, skipped if all have."""
        rest, after = (self.builder.append_basic_block(name) for name in ("rest", "none"))
        self.builder.cbranch(self.any(self._mask), rest, after)
        self.builder.position_at_end(rest)
        self._block(body)
        if not self.builder.block.is_terminated:
            self.builder.branch(after)
        self.builder.position_at_end(after)

    def _drops(self, statement: ast.stmt) -> bool:
        """Whether lanes may have left the kernel or the loop within a statement, and others not."""
        kinds = {type(node) for node in ast.walk(statement)}
        frame = self._frames[-1]
        if ast.Return in kinds and frame.gone is not None:
            return True
        inner = isinstance(statement, ast.While | ast.For)
        return ast.Break in kinds and not inner and bool(self._loops) and self._loops[-1].live is not None

    def _remaining(self, mask: Any) -> Any:
        """The mask without the lanes that have left."""
        frame = self._frames[-1]
        if frame.gone is not None:
            mask = self._and(mask, self._not(self.builder.load(frame.gone)))
        if self._loops and self._loops[-1].live is not None:
            mask = self._and(mask, self.builder.load(self._loops[-1].live))
        return mask

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target]):
                self._to(target, self._value(node.value))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._to(target, self._value(value))
            case ast.AugAssign():
                old = self._value(ast.copy_location(_loaded(node.target), node))
                self._to(node.target, self._operation(node, node.op, old, self._number(node.value)))
            case ast.If():
                self._if(node)
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.Return():
                self._return(node)
            case ast.Break():
                self._break()
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call()):
                self._value(node.value)
            case _:
                raise self._refuse(node, f"{type(node).__name__} has no form for several lanes")

    def _to(self, target: ast.expr, value: Any) -> None:
        frame = self._frames[-1]
        match target:
            case ast.Tuple():
                for each, one in zip(target.elts, value, strict=True):
                    self._to(each, one)
            case ast.Name() if value.kind == RUN:
                if self._region != frame.region or frame.runs.get(target.id, value).wide != value.wide:
                    raise self._refuse(target, "a run that differs between lanes")
                frame.runs[target.id] = value
            case ast.Name():
                self.assign((frame.path, target.id), value)
            case ast.Subscript():
                self.store(self._value(target.value), self._number(target.slice), value)
            case _:
                raise self._refuse(target, f"an assignment to {type(target).__name__}")

    def _if(self, node: ast.If) -> None:
        condition = self._truth(node.test)
        if not condition.wide:
            self._uniform(condition.ir, lambda: self._block(node.body), lambda: self._block(node.orelse))
            return
        mask = self._mask
        source = self._frames[-1].source
        for number, body in enumerate((node.body, node.orelse)):
            if not body:
                continue
            taken = self._and(mask, self._not(condition.ir) if number else condition.ir)
            with self._under(taken, (self._frames[-1].path, node.lineno, node.col_offset, number)):
                self._guarded(partial(self._block, body), _long(body, source))
        self._mask = mask

    @contextmanager
    def _under(self, mask: Any, name: Any) -> Iterator[None]:
        """Statements in a region of their own."""
        before = self._mask, self._region
        self._mask, self._region = mask, (*self._region, name)
        yield
        self._mask, self._region = before

    def _guarded(self, write: Callable[[], None], skip: bool) -> None:
        """Write statements, skipped if no lane is active."""
        if not skip:
            write()
            return
        taken, after = (self.builder.append_basic_block(name) for name in ("taken", "skipped"))
        self.builder.cbranch(self.any(self._mask), taken, after)
        self.builder.position_at_end(taken)
        write()
        if not self.builder.block.is_terminated:
            self.builder.branch(after)
        self.builder.position_at_end(after)

    def _uniform(self, condition: Any, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """An ordinary branch."""
        blocks = [self.builder.append_basic_block(name) for name in ("then", "else", "then.after")]
        self.builder.cbranch(condition, blocks[0], blocks[1])
        mask, ended = self._mask, 0
        for block, write in zip(blocks, (then, otherwise), strict=False):
            self.builder.position_at_end(block)
            self._mask = mask
            write()
            if self.builder.block.is_terminated:
                ended += 1
            else:
                self.builder.branch(blocks[2])
        self._mask = mask
        self.builder.position_at_end(blocks[2])
        if ended == 2:
            self.builder.unreachable()

    def _return(self, node: ast.Return) -> None:
        frame = self._frames[-1]
        value = None if node.value is None else self._value(node.value)
        values = [] if value is None else list(value) if type(value) is tuple else [value]
        frame.results = -1 if value is None else len(values) if type(value) is tuple else 0
        diverges = self._region != frame.region
        region, self._region = self._region, frame.region
        for k, each in enumerate(values):
            self.assign((frame.path, k), each, masked=diverges or frame.gone is not None)
        self._region = region
        if not diverges:
            self.builder.branch(frame.exit)
            return
        self.facts.add(self.facts.diverging, frame.path)
        for loop in self._loops:
            self.facts.add(self.facts.diverging, loop.key)
        if frame.gone is not None:
            self.builder.store(self.builder.or_(self.builder.load(frame.gone), self._full()), frame.gone)

    def _break(self) -> None:
        loop = self._loops[-1]
        if loop.live is None and self._region == loop.key[1]:
            self.builder.branch(loop.exit)
            return
        self.facts.add(self.facts.diverging, loop.key)
        if loop.live is not None:
            left = self.builder.and_(self.builder.load(loop.live), self._not(self._full()))
            self.builder.store(left, loop.live)

    def _while(self, node: ast.While) -> None:
        self._loop(node, lambda: self._truth(node.test), lambda: None, lambda: None)

    def _for(self, node: ast.For) -> None:
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            raise self._refuse(node, "a loop over something else than a range")
        bounds = [self._number(each) for each in node.iter.args]
        first = bounds[0] if len(bounds) > 1 else Value(INT, ir.Constant(_WORD, 0))
        last = bounds[0] if len(bounds) == 1 else bounds[1]
        by = bounds[2] if len(bounds) > 2 else Value(INT, ir.Constant(_WORD, 1))
        if first.wide or by.wide:
            raise self._refuse(node, "a range that begins elsewhere in every lane")
        key = (self._frames[-1].path, (node.lineno, node.col_offset))
        place = self._slot(("for", *key), _WORD)
        self.builder.store(first.ir, place)

        target = (self._frames[-1].path, node.target.id)

        def at() -> Value:
            return Value(INT, self.builder.load(place))

        def advance() -> None:
            self.builder.store(self.builder.add(at().ir, by.ir), place)

        self._loop(node, lambda: self._compared(ast.Lt(), at(), last), lambda: self.assign(target, at()), advance)

    def _loop(
        self,
        node: ast.While | ast.For,
        again: Callable[[], Value],
        begin: Callable[[], None],
        advance: Callable[[], None],
    ) -> None:
        """A loop: ordinary, or one that lanes leave at different times.

        ``again`` writes its condition, ``begin`` and ``advance`` what each round begins and ends with.
        """
        builder, mask, region = self.builder, self._mask, self._region
        key = (self._frames[-1].path, region, node.lineno, node.col_offset)
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "inside", "left"))
        loop = Loop(key, after)
        diverges = key in self.facts.diverging
        if diverges:
            loop.live = self._slot(("live", key), _MASK)
            builder.store(self._full(), loop.live)
            self._region = (*region, key)
        builder.branch(head)
        builder.position_at_end(head)
        if diverges:
            self._mask = builder.load(loop.live)
        condition = again()
        if condition.wide:
            self.facts.add(self.facts.diverging, key)
        if diverges:
            going = self._mask if not condition.wide else builder.and_(self._mask, condition.ir)
            builder.store(going, loop.live)
            self._mask = going
            more = self.any(going)
            if not condition.wide:
                more = builder.and_(more, condition.ir)
        else:
            more = ir.Constant(_BIT, 1) if condition.wide else condition.ir
        builder.cbranch(more, inside, after)
        builder.position_at_end(inside)
        begin()
        self._loops.append(loop)
        self._block(node.body)
        self._loops.pop()
        if not builder.block.is_terminated:
            if diverges and self._frames[-1].gone is not None:
                gone = self._not(builder.load(self._frames[-1].gone))
                builder.store(builder.and_(builder.load(loop.live), gone), loop.live)
            advance()
            builder.branch(head)
        builder.position_at_end(after)
        self._mask, self._region = mask, region

    # --- Expressions

    def _number(self, node: ast.expr) -> Value:
        value = self._value(node)
        if not isinstance(value, Value) or value.kind in (RUN, NONE):
            raise self._refuse(node, "a number is needed")
        return value

    def _truth(self, node: ast.expr) -> Value:
        return self.converted(self._number(node), BOOL)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in ("inf", "pi"):
                return self._constant(node, getattr(math, name))
            case ast.BinOp():
                return self._operation(node, node.op, self._number(node.left), self._number(node.right))
            case ast.UnaryOp(op=ast.Not()):
                truth = self._truth(node.operand)
                return Value(BOOL, self._not(truth.ir, truth.wide), truth.wide)
            case ast.UnaryOp(op=ast.USub()):
                return self._negative(self._number(node.operand))
            case ast.BoolOp():
                return self._joined(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Subscript():
                return self.load(self._value(node.value), self.converted(self._number(node.slice), INT))
            case ast.Tuple():
                return tuple(self._value(each) for each in node.elts)
            case ast.Call():
                return self._called(node)
        raise self._refuse(node, f"{type(node).__name__} has no form for several lanes")

    def _constant(self, node: ast.expr, value: Any) -> Value:
        if isinstance(value, bool | np.bool_):
            return Value(BOOL, ir.Constant(_BIT, int(value)))
        if isinstance(value, np.uint64):
            return Value(BITS, ir.Constant(_WORD, int(value)))
        if isinstance(value, int):
            return Value(INT, ir.Constant(_WORD, value))
        if isinstance(value, float):
            return Value(REAL, ir.Constant(_DOUBLE, float(value)))
        raise self._refuse(node, f"a constant {value!r}")

    def _named(self, node: ast.expr, name: str) -> Value:
        frame = self._frames[-1]
        if name in frame.runs:
            return frame.runs[name]
        if (frame.path, name) in self.facts.kind:
            return self.variable((frame.path, name), node)
        if name in frame.source.names:
            return self._constant(node, frame.source.names[name])
        raise self._refuse(node, f"{name} has no value")

    def _operation(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        builder = self.builder
        if isinstance(op, ast.Div):
            left, right = self.converted(left, REAL), self.converted(right, REAL)
        if left.kind == right.kind == BOOL:
            left, right = self.converted(left, INT), self.converted(right, INT)
        kind, wide, (a, b) = self.alike(left, right)
        made = {
            (ast.Add, True): builder.fadd,
            (ast.Sub, True): builder.fsub,
            (ast.Mult, True): builder.fmul,
            (ast.Div, True): builder.fdiv,
            (ast.Add, False): builder.add,
            (ast.Sub, False): builder.sub,
            (ast.Mult, False): builder.mul,
            (ast.FloorDiv, False): builder.udiv if kind == BITS else builder.sdiv,
            (ast.Mod, False): builder.urem if kind == BITS else builder.srem,
            (ast.LShift, False): builder.shl,
            (ast.RShift, False): builder.lshr if kind == BITS else builder.ashr,
            (ast.BitAnd, False): builder.and_,
            (ast.BitOr, False): builder.or_,
            (ast.BitXor, False): builder.xor,
        }.get((type(op), kind == REAL))
        if made is None:
            raise self._refuse(node, f"{type(op).__name__} of a {left.kind} and a {right.kind}")
        return Value(kind, made(a, b), wide)

    def _negative(self, value: Value) -> Value:
        if value.kind == REAL:
            return Value(REAL, self.builder.fneg(value.ir), value.wide)
        number = self.converted(value, INT)
        return Value(INT, self.builder.neg(number.ir), number.wide)

    def _comparison(self, node: ast.Compare) -> Value:
        values = [self._number(each) for each in (node.left, *node.comparators)]
        found = [self._compared(op, *pair) for op, pair in zip(node.ops, pairwise(values), strict=True)]
        result = found[0]
        for each in found[1:]:
            _, wide, (a, b) = self.alike(result, each)
            result = Value(BOOL, self.builder.and_(a, b), wide)
        return result

    def _compared(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        sign = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}[type(op)]
        kind, wide, (a, b) = self.alike(left, right)
        if kind == REAL:
            compared = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        else:
            compared = self.builder.icmp_unsigned if kind in (BITS, BOOL) else self.builder.icmp_signed
        return Value(BOOL, compared(sign, a, b), wide)

    def _joined(self, node: ast.BoolOp) -> Value:
        """``and`` and ``or``. The later operands are computed in the lanes in which they matter."""
        both = isinstance(node.op, ast.And)
        found = self._truth(node.values[0])
        for k, each in enumerate(node.values[1:]):
            go_on = found.ir if both else self._not(found.ir, found.wide)
            if found.wide:
                with self._under(
                    self._and(self._mask, go_on), (self._frames[-1].path, node.lineno, node.col_offset, k)
                ):
                    other = self._truth(each)
                _, wide, (a, b) = self.alike(found, other)
                found = Value(BOOL, self.builder.and_(a, b) if both else self.builder.or_(a, b), wide)
            else:
                key = (self._frames[-1].path, ("join", k, node.lineno, node.col_offset))
                self.assign(key, found)
                self._uniform(go_on, partial(self._assign_truth, key, each), lambda: None)
                found = self.variable(key, node)
        return found

    def _assign_truth(self, key: Any, node: ast.expr) -> None:
        self.assign(key, self._truth(node))

    def _choice(self, node: ast.IfExp) -> Value:
        condition = self._truth(node.test)
        place = (node.lineno, node.col_offset)
        if condition.wide:
            path = self._frames[-1].path
            with self._under(self._and(self._mask, condition.ir), (path, *place, "then")):
                then = self._number(node.body)
            with self._under(self._and(self._mask, self._not(condition.ir)), (path, *place, "else")):
                otherwise = self._number(node.orelse)
            return self.select(condition, then, otherwise)
        key = (self._frames[-1].path, ("choice", *place))
        self._uniform(
            condition.ir,
            lambda: self.assign(key, self._number(node.body)),
            lambda: self.assign(key, self._number(node.orelse)),
        )
        return self.variable(key, node)

    def _called(self, node: ast.Call) -> Any:
        called = self._callee(node.func)
        if called is not None and is_kernel(called):
            return self.call(called, [self._value(each) for each in node.args], node)
        arguments = [self._number(each) for each in node.args]
        match ast.unparse(node.func):
            case "int":
                return self.converted(arguments[0], INT)
            case "float":
                return self.converted(arguments[0], REAL)
            case "bool":
                return self.converted(arguments[0], BOOL)
            case "np.uint64":
                return self.converted(arguments[0], BITS)
            case "abs":
                return self._absolute(arguments[0])
            case "min" | "max" as name:
                found = arguments[0]
                for each in arguments[1:]:
                    # As Python has it: of equal numbers the first.
                    better = self._compared(ast.Lt() if name == "min" else ast.Gt(), each, found)
                    found = self.select(better, each, found)
                return found
            case "math.sqrt" | "math.floor" as name:
                return self._intrinsic(name[5:], self.converted(arguments[0], REAL))
        raise self._refuse(node, f"a call of {ast.unparse(node.func)}")

    def _callee(self, function: ast.expr) -> Any:
        return self._frames[-1].source.names.get(function.id) if isinstance(function, ast.Name) else None

    def _intrinsic(self, name: str, value: Value) -> Value:
        """A function of one float that LLVM knows."""
        kind = self._type(REAL, value.wide)
        called = f"llvm.{name}.{f'v{LANES}' if value.wide else ''}f64"
        function: Any = None
        if not isinstance(self.builder, _Nowhere):
            module = self.builder.module
            function = module.globals.get(called) or ir.Function(module, ir.FunctionType(kind, [kind]), called)
        return Value(REAL, self.builder.call(function, [value.ir]), value.wide)

    def _absolute(self, value: Value) -> Value:
        if value.kind == REAL:
            return self._intrinsic("fabs", value)
        less = self._compared(ast.Lt(), value, Value(INT, ir.Constant(_WORD, 0)))
        return self.select(less, self._negative(value), value)


@cache
def _read(kernel: Kernel) -> Source:
    try:
        return read(kernel)
    except OutsideDialect as error:
        raise NotWide(str(error)) from None


def _loaded(target: ast.expr) -> ast.expr:
    """The target of ``+=`` as an operand."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    raise NotWide(f"{type(target).__name__} on the left of an operation")


def _long(body: list[ast.stmt], source: Source) -> bool:
    """Whether it is worth asking if any lane takes a branch."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    if any(isinstance(node, ast.While | ast.For) for node in nodes):
        return True
    called = [source.names.get(n.func.id) for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return len(nodes) + sum(_length(each) for each in called if is_kernel(each)) > _LONG


@cache
def _length(kernel: Kernel) -> int:
    """How many nodes a kernel has, with those that it calls; a loop counts as many."""
    if is_primitive(kernel):
        return 1
    tree = _read(kernel).tree
    nodes = sum(_LONG if isinstance(node, ast.While | ast.For) else 1 for node in ast.walk(tree))
    return nodes + sum(_length(each) for each in callees(kernel).values())
