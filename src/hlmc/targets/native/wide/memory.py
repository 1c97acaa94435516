"""Words and variables: loads, stores and assignments in the active lanes.

**Words.** A run is shared by all lanes, or interleaved: word k of lane l lies at ``k * lanes + l``. At a uniform place
an interleaved run is read and written as one vector. At a wide place every lane's word has an address of its own; the
words are collected one by one.

**Variables.** A variable has a slot in memory, of which LLVM makes a register. An assignment under a mask leaves the
other lanes' values as they are, but only where that can matter: if the variable is also used where more lanes are
active. A variable that lives within one region is assigned in all lanes, and can then stay uniform.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from hlmc.targets.native.wide.facts import Facts
from hlmc.targets.native.wide.masks import Masks
from hlmc.targets.native.wide.values import BITS, BOOL, DOUBLE, INT, REAL, SCALAR, WORD, Value, same

_ASSIGNABLE = ({REAL, INT}, {REAL, BOOL}, {INT, BOOL}, {INT, BITS})
"""Kinds of which one can be assigned to a variable of the other."""


class Memory(Masks):
    """Writes accesses to words and variables. The builder stands in the entry block, which gets the variables' slots.

    Parameters
    ----------
    builder, facts
        As for :class:`hlmc.targets.native.wide.masks.Masks`.
    body
        The block that the function's code begins with, after the entry block.
    """

    def __init__(self, builder: Any, body: Any, facts: Facts) -> None:
        super().__init__(builder, facts)
        self._entry = builder.block
        self._slots: dict[Any, Any] = {}
        builder.position_at_end(body)

    # --- Words

    def load(self, run: Value, at: Value, kind: str = REAL) -> Value:
        """The word of a run at a place."""
        if not at.wide:
            pointer = self._pointer(run, self.word_offset(run, at.ir), self.type_of(kind, run.wide))
            return Value(kind, self.builder.load(pointer, align=8), run.wide)
        pointers = self._pointers(run, at, SCALAR[kind])
        return self.together([Value(kind, self.builder.load(each)) for each in pointers])

    def store(self, run: Value, at: Value, value: Value) -> None:
        """Write a word in the active lanes."""
        if not run.wide:
            raise self.refuse(None, "words that all learners share are written")
        kind = BITS if value.kind == BITS else REAL
        number = self.spread(self.converted(value, kind)).ir
        if not at.wide:
            pointer = self._pointer(run, self.word_offset(run, at.ir), self.type_of(kind, True))
            if self.mask is not None:
                number = self.builder.select(self.mask, number, self.builder.load(pointer, align=8))
            self.builder.store(number, pointer, align=8)
            return
        pointers = self._pointers(run, at, SCALAR[kind])
        if self.mask is not None:
            # Every lane has words of its own, so a lane that is not active can write back what it finds.
            old = self.together([Value(kind, self.builder.load(each)) for each in pointers])
            number = self.builder.select(self.mask, number, old.ir)
        for k, pointer in enumerate(pointers):
            self.builder.store(self.element(number, k), pointer)

    def word_offset(self, run: Value, at: Any) -> Any:
        """How many words after the first word of a run its word ``at`` lies; of an interleaved run, that of lane 0."""
        return self.builder.mul(at, ir.Constant(WORD, self.lanes)) if run.wide else at

    def _pointer(self, run: Value, offset: Any, kind: Any) -> Any:
        """The address of a word, or of the words of all lanes, as an LLVM type."""
        pointer = self.builder.gep(run.ir, [offset])
        return self.builder.bitcast(pointer, kind.as_pointer()) if kind != DOUBLE else pointer

    def _pointers(self, run: Value, at: Value, kind: Any) -> list[Any]:
        """The address of each lane's word at a wide place.

        What a lane that is not active has computed may be no place of the run, so word 0 stands in for it.
        """
        place, places = at.ir, self.type_of(INT, True)
        if self.mask is not None:
            place = self.builder.select(self.mask, place, same(places, 0))
        if run.wide:
            place = self.builder.mul(place, same(places, self.lanes))
            place = self.builder.add(place, ir.Constant(places, list(range(self.lanes))))
        offsets = [self.element(place, k) for k in range(self.lanes)]
        return [self._pointer(run, each, kind) for each in offsets]

    # --- Variables

    def slot(self, key: Any, kind: Any) -> Any:
        """The place in memory of a variable of an LLVM type, 0 at first. Made in the entry block when first wanted."""
        found = self._slots.get((key, str(kind)))
        if found is None:
            with self.builder.goto_block(self._entry):
                found = self.builder.alloca(kind)
                self.builder.store(same(kind, 0), found)
            self._slots[key, str(kind)] = found
        return found

    def assign(self, key: Any, value: Value, masked: bool = False) -> None:
        """Assign to a variable in the active lanes; ``masked``: some lanes that look at it later may not be active."""
        facts = self.facts
        facts.learn_kind(key, value.kind)
        facts.used_in(key, self.region)
        masked = masked or facts.partial(key, self.region)
        if value.wide or masked:
            facts.add(facts.wide, key)
        kind, wide = facts.kind[key], key in facts.wide
        if kind != value.kind and {kind, value.kind} not in _ASSIGNABLE:
            raise self.refuse(None, f"a {value.kind} is assigned to a {kind}")
        value = self.converted(value, kind)
        slot = self.slot(key, self.type_of(kind, wide))
        number = self.spread(value).ir if wide else value.ir
        if masked and self.mask is not None:
            number = self.builder.select(self.mask, number, self.builder.load(slot))
        self.builder.store(number, slot)

    def variable(self, key: Any, node: ast.AST | None) -> Value:
        """The value of a variable."""
        facts = self.facts
        if key not in facts.kind:
            raise self.refuse(node, f"{key[1]} has no value yet")
        facts.used_in(key, self.region)
        kind, wide = facts.kind[key], key in facts.wide
        return Value(kind, self.builder.load(self.slot(key, self.type_of(kind, wide))), wide)
