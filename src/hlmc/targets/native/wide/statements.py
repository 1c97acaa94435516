"""The statements of a kernel on lanes: assignments, branches, loops, and lanes that leave early.

**Leaving early.** Where all active lanes ``break`` or ``return`` together, it is a jump. Where only some do, the others
go on, so it is noted in memory which have left: ``Loop.live`` has the lanes that are still in a loop, ``Frame.gone``
those that have returned from a kernel. The loop or the call is then *diverging*. After each statement in which lanes
may have left, they are taken out of the mask, and what follows is skipped if it is long and none is left.

**Diverging loops.** Such a loop goes on as long as any lane is in it. The lanes of ``live`` are its mask and it is a
region of its own, since what is assigned within must not change in lanes that have left.

It is found in a walk that a loop or a call diverges (:mod:`hlmc.targets.native.wide.facts`). That walk still writes it
as if it did not; nothing comes of it, as the walk writes nothing, and the next one knows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from llvmlite import ir

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.engine.linker import callees
from hlmc.targets.c.reading import OutsideDialect, Source, read
from hlmc.targets.native.refused import NotWide
from hlmc.targets.native.wide.expressions import Expressions, Kernel
from hlmc.targets.native.wide.facts import Facts, Region
from hlmc.targets.native.wide.values import BIT, INT, RUN, WORD, Value, integer

_LONG = 80
"""Statements are skipped where no lane is active if they and their callees have more nodes than this, or a loop."""


@dataclass
class Loop:
    """A loop that is being written.

    Parameters
    ----------
    key
        Its place in the kernel.
    region
        The region that it stands in.
    exit
        The block that follows it.
    live
        Where the mask of the lanes lies that have not left it, if it is diverging.
    """

    key: Any
    region: Region
    exit: Any
    live: Any = None


class Statements(Expressions):
    """Writes statements."""

    def __init__(self, builder: Any, body: Any, facts: Facts) -> None:
        super().__init__(builder, body, facts)
        self.loops: list[Loop] = []  # that are being written in the innermost kernel, from the outermost

    def block(self, body: list[ast.stmt]) -> None:
        """Write statements one after another."""
        for k, statement in enumerate(body):
            before = self.mask
            self._statement(statement)
            if self.builder.block.is_terminated:
                return
            if self._drops(statement):
                self.mask = self._remaining(before)
                rest = body[k + 1 :]
                if self.mask is not None and is_long(rest, self.frames[-1].source):
                    self.unless_empty(partial(self.block, rest))
                    return

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target]):
                self._to(target, self.value(node.value))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._to(target, self.value(value))
            case ast.AugAssign():
                old = self.value(ast.copy_location(_loaded(node.target), node))
                self._to(node.target, self.operation(node, node.op, old, self.number(node.value)))
            case ast.If():
                self._if(node)
            case ast.While():
                self._loop(node, lambda: self.truth(node.test), lambda: None, lambda: None)
            case ast.For():
                self._for(node)
            case ast.Return():
                self._return(node)
            case ast.Break():
                self._break()
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call()):
                self.value(node.value)
            case _:
                raise self.refuse(node, f"{type(node).__name__} has no form for several lanes")

    def _to(self, target: ast.expr, value: Any) -> None:
        """Assign a value, or each of a tuple of values."""
        frame = self.frames[-1]
        match target:
            case ast.Tuple():
                for each, one in zip(target.elts, value, strict=True):
                    self._to(each, one)
            case ast.Name() if value.kind == RUN:
                if self.region != frame.region or frame.runs.get(target.id, value).wide != value.wide:
                    raise self.refuse(target, "a run that differs between lanes")
                frame.runs[target.id] = value
            case ast.Name():
                self.assign((frame.path, target.id), value)
            case ast.Subscript():
                self.store(self.value(target.value), self.number(target.slice), value)
            case _:
                raise self.refuse(target, f"an assignment to {type(target).__name__}")

    def _if(self, node: ast.If) -> None:
        condition = self.truth(node.test)
        if not condition.wide:
            self.branch(condition.ir, lambda: self.block(node.body), lambda: self.block(node.orelse))
            return
        for number, body in enumerate((node.body, node.orelse)):
            if not body:
                continue
            taken = self.negated(condition.ir) if number else condition.ir
            with self.under(taken, self.place(node, number)):
                if is_long(body, self.frames[-1].source):
                    self.unless_empty(partial(self.block, body))
                else:
                    self.block(body)

    # --- Lanes that leave early

    def _drops(self, statement: ast.stmt) -> bool:
        """Whether lanes may have left the kernel or the loop within a statement, and others not."""
        kinds = {type(node) for node in ast.walk(statement)}
        if ast.Return in kinds and self.frames[-1].gone is not None:
            return True
        inner = isinstance(statement, ast.While | ast.For)  # its breaks leave the statement and not the loop around it
        return ast.Break in kinds and not inner and bool(self.loops) and self.loops[-1].live is not None

    def _remaining(self, mask: Any) -> Any:
        """The mask without the lanes that have left."""
        frame = self.frames[-1]
        if frame.gone is not None:
            mask = self.masked(mask, self.negated(self.builder.load(frame.gone)))
        if self.loops and self.loops[-1].live is not None:
            mask = self.masked(mask, self.builder.load(self.loops[-1].live))
        return mask

    def _return(self, node: ast.Return) -> None:
        """Put the results into variables of the call; jump to its end, or note that the active lanes have returned."""
        frame = self.frames[-1]
        value = None if node.value is None else self.value(node.value)
        values = [] if value is None else list(value) if type(value) is tuple else [value]
        frame.results = -1 if value is None else len(values) if type(value) is tuple else 0
        diverges = self.region != frame.region
        # The caller uses the results, so they belong to the region of the call.
        region, self.region = self.region, frame.region
        for k, each in enumerate(values):
            self.assign((frame.path, k), each, masked=diverges or frame.gone is not None)
        self.region = region
        if not diverges:
            self.builder.branch(frame.exit)
            return
        self.facts.add(self.facts.diverging, frame.path)
        for loop in self.loops:
            self.facts.add(self.facts.diverging, loop.key)
        if frame.gone is not None:
            self.builder.store(self.builder.or_(self.builder.load(frame.gone), self.full_mask()), frame.gone)

    def _break(self) -> None:
        """Jump to the end of the loop, or note that the active lanes have left it."""
        loop = self.loops[-1]
        if loop.live is None and self.region == loop.region:
            self.builder.branch(loop.exit)
            return
        self.facts.add(self.facts.diverging, loop.key)
        if loop.live is not None:
            left = self.builder.and_(self.builder.load(loop.live), self.negated(self.full_mask()))
            self.builder.store(left, loop.live)

    # --- Loops

    def _for(self, node: ast.For) -> None:
        """A loop over a range. Its counter is uniform: lanes may leave at different times, but begin together."""
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            raise self.refuse(node, "a loop over something else than a range")
        bounds = [self.number(each) for each in node.iter.args]
        first = bounds[0] if len(bounds) > 1 else integer(0)
        last = bounds[0] if len(bounds) == 1 else bounds[1]
        by = bounds[2] if len(bounds) > 2 else integer(1)
        if first.wide or by.wide:
            raise self.refuse(node, "a range that begins elsewhere in every lane")
        counter = self.slot(("for", self.place(node)), WORD)
        self.builder.store(first.ir, counter)
        target = (self.frames[-1].path, node.target.id)

        def at() -> Value:
            return Value(INT, self.builder.load(counter))

        def advance() -> None:
            self.builder.store(self.builder.add(at().ir, by.ir), counter)

        self._loop(node, lambda: self.compared(ast.Lt(), at(), last), lambda: self.assign(target, at()), advance)

    def _loop(
        self,
        node: ast.While | ast.For,
        again: Callable[[], Value],
        begin: Callable[[], None],
        advance: Callable[[], None],
    ) -> None:
        """A loop: ordinary, or diverging.

        ``again`` writes its condition, ``begin`` and ``advance`` what each round begins and ends with.
        """
        builder, mask, region = self.builder, self.mask, self.region
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "inside", "left"))
        loop = Loop(self.place(node), region, after)
        diverges = loop.key in self.facts.diverging
        if diverges:
            loop.live = self.slot(("live", loop.key), self.mask_type)
            builder.store(self.full_mask(), loop.live)
            self.region = (*region, loop.key)
        builder.branch(head)

        builder.position_at_end(head)
        if diverges:
            self.mask = builder.load(loop.live)
        condition = again()
        if condition.wide:
            self.facts.add(self.facts.diverging, loop.key)
        if diverges:
            going = builder.and_(self.mask, condition.ir) if condition.wide else self.mask
            builder.store(going, loop.live)
            self.mask = going
            more = self.any(going)
            if not condition.wide:
                more = builder.and_(more, condition.ir)
        else:
            # A wide condition here: nothing comes of this walk.
            more = ir.Constant(BIT, 1) if condition.wide else condition.ir
        builder.cbranch(more, inside, after)

        builder.position_at_end(inside)
        begin()
        self.loops.append(loop)
        self.block(node.body)
        self.loops.pop()
        if not builder.block.is_terminated:
            if diverges and self.frames[-1].gone is not None:
                # Lanes that have returned from the kernel have left the loop, too.
                gone = self.negated(builder.load(self.frames[-1].gone))
                builder.store(builder.and_(builder.load(loop.live), gone), loop.live)
            advance()
            builder.branch(head)

        builder.position_at_end(after)
        self.mask, self.region = mask, region


@cache
def source_of(kernel: Kernel) -> Source:
    """A kernel's syntax tree, and what its names mean."""
    try:
        return read(kernel)
    except OutsideDialect as error:
        raise NotWide(str(error)) from None


def is_long(body: list[ast.stmt], source: Source) -> bool:
    """Whether statements are long enough that it pays to ask first if any lane is active."""
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
    nodes = sum(_LONG if isinstance(node, ast.While | ast.For) else 1 for node in ast.walk(source_of(kernel).tree))
    return nodes + sum(_length(each) for each in callees(kernel).values())


def _loaded(target: ast.expr) -> ast.expr:
    """The target of ``+=`` as an operand."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    raise NotWide(f"{type(target).__name__} on the left of an operation")
