"""Calls on lanes: kernels are written into their callers' places, primitives have forms of their own.

A kernel is written anew at every place that it is called from, because its arguments may be uniform at one place and
wide at another. LLVM would inline these functions in any case.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from hlmc.engine import primitives, step
from hlmc.engine.kernel import is_primitive
from hlmc.targets.native.wide.expressions import Frame, Kernel
from hlmc.targets.native.wide.statements import Statements, source_of
from hlmc.targets.native.wide.values import BIT, BITS, BOOL, DOUBLE, INT, REAL, RUN, WORD, Value, same


class Writer(Statements):
    """Writes a kernel, with everything that it calls, where an LLVM builder stands."""

    def call(self, kernel: Kernel, arguments: list[Value], node: Any = None) -> Any:
        """Write a kernel here; its result, a tuple of several, or None.

        Two kernels of :mod:`hlmc.engine.step` mean something else on lanes: ``common(x)`` is a number that all lanes
        have in common, so it is uniform; ``refused(reward)`` is true in all lanes if it is in one.
        """
        if kernel is step.common:
            return self.lane(arguments[0], 0)
        if is_primitive(kernel):
            return self._primitive(kernel, arguments, node)
        result = self._inlined(kernel, arguments, node)
        if kernel is step.refused and result.wide:
            return Value(BOOL, self.any(self.masked(self.mask, result.ir)))
        return result

    def _inlined(self, kernel: Kernel, arguments: list[Value], node: Any) -> Any:
        """The body of a kernel. Its parameters are variables, and so are its results (:meth:`_return`)."""
        above = self.frames[-1].path if self.frames else ()
        path = (above, kernel.__name__, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        frame = Frame(path, source_of(kernel), self.region, self.builder.append_basic_block("after"))
        names = [argument.arg for argument in frame.source.tree.args.args]
        for name, value in zip(names, arguments, strict=True):
            if value.kind == RUN:
                frame.runs[name] = value
            else:
                self.assign((path, name), value)
        if path in self.facts.diverging:
            frame.gone = self.slot((path, "gone"), self.mask_type)
            self.builder.store(same(self.mask_type, 0), frame.gone)
        mask, loops = self.mask, self.loops
        self.frames.append(frame)
        self.loops = []
        self.block(frame.source.tree.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(frame.exit)
        self.builder.position_at_end(frame.exit)
        self.frames.pop()
        self.mask, self.loops = mask, loops
        if frame.results < 0:
            return None
        if frame.results == 0:
            return self.variable((path, 0), node)
        return tuple(self.variable((path, k), node) for k in range(frame.results))

    # --- Primitives

    def _primitive(self, kernel: Kernel, arguments: list[Value], node: Any) -> Any:
        if kernel is primitives.bits:
            return self.load(arguments[0], arguments[1], BITS)
        if kernel is primitives.put_bits:
            return self.store(*arguments)
        if kernel is primitives.offset:
            run, at = arguments
            if at.wide:
                raise self.refuse(node, "a run that begins elsewhere in every lane")
            return Value(RUN, self.builder.gep(run.ir, [self.word_offset(run, at.ir)]), run.wide)
        if kernel is primitives.noalias:
            return arguments[0]
        if kernel is primitives.noinline:
            return None
        if kernel in (primitives.power_of_two, primitives.exponent, primitives.floor_log2):
            return self._binary(kernel, arguments[0])
        if kernel is primitives.call_reward:
            return self._rewards(*arguments)
        raise self.refuse(node, f"{kernel.__name__} has no form for several lanes")

    def _binary(self, kernel: Kernel, x: Value) -> Value:
        """Powers of two and exponents, as in :mod:`hlmc.targets.native.lowering`."""
        builder, kind = self.builder, self.type_of(INT, x.wide)
        if kernel is primitives.power_of_two:
            biased = builder.shl(builder.add(x.ir, same(kind, 1023)), same(kind, 52))
            return Value(REAL, builder.bitcast(biased, self.type_of(REAL, x.wide)), x.wide)
        if kernel is primitives.exponent:
            high = builder.lshr(builder.bitcast(x.ir, kind), same(kind, 52))
            return Value(INT, builder.sub(builder.and_(high, same(kind, 0x7FF)), same(kind, 1022)), x.wide)
        if x.wide:
            raise self.refuse(None, "floor_log2 of a number that differs between lanes")
        return Value(INT, builder.sub(same(kind, 63), builder.ctlz(x.ir, ir.Constant(BIT, 1))))

    def _rewards(self, pair: Value, spec: Value, t: Value, arm: Value) -> Value:
        """Ask the adversary for the rewards of all lanes' arms.

        ``pair`` is the address of two addresses: that of a function of ``hlmc.targets.native.many.REWARDS``, which
        is called once for all lanes, and that of the adversary's own function, which it is handed.
        """
        builder = self.builder
        arms = self.slot("arms", self.type_of(INT, True))
        paid = self.slot("paid", self.type_of(REAL, True))
        builder.store(self.spread(arm).ir, arms)
        functions = builder.inttoptr(pair.ir, WORD.as_pointer())
        wide, one = (builder.load(builder.gep(functions, [ir.Constant(WORD, k)])) for k in (0, 1))
        words = DOUBLE.as_pointer()
        kind = ir.FunctionType(WORD, [words, WORD, WORD, words, words])
        called = builder.inttoptr(wide, kind.as_pointer())
        builder.call(called, [spec.ir, one, t.ir, builder.bitcast(arms, words), builder.bitcast(paid, words)])
        return Value(REAL, builder.load(paid), True)
