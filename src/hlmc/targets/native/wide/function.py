"""A whole function on lanes: first its facts, then its code, then something that Numba can compile and call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from hlmc.targets.native.lowering import c_signature, llvm_types, of_arity
from hlmc.targets.native.refused import NotWide
from hlmc.targets.native.wide.calls import Writer
from hlmc.targets.native.wide.facts import Block, Facts, Nothing, Nowhere
from hlmc.targets.native.wide.values import WORD

_WALKS = 20  # more than enough: regions nest a few levels deep

Write = Callable[[Writer, list[Any]], Any]
"""``write(writer, arguments)`` writes a function: it makes a kernel's arguments of the function's, calls
``writer.call(kernel, values)``, stores the results and returns the number that the function returns."""


def caller(
    name: str, signature: tuple[str, ...], write: Write, lanes: int, refused: list[Exception]
) -> Callable[..., Any]:
    """A Python function for Numba's compiler that calls the function of a C signature that ``write`` writes.

    What cannot be written is put into ``refused``, because the compiler makes an error of its own of every other.
    """
    kinds = llvm_types(signature)[1:]

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        try:
            facts = known_facts(len(kinds), write, lanes)
        except NotWide as error:
            refused.append(error)
            raise
        return builder.call(code(builder.module, f"{name}.wide", kinds, write, facts), args)

    called = of_arity(len(signature) - 1, c_signature(signature), generate)
    names = ", ".join(f"a{k}" for k in range(len(signature) - 1))
    # Of a function without a module, Numba would keep all globals in the cache on disk, Python's builtins among them,
    # some of which a notebook replaces by what cannot be kept.
    made: dict[str, Any] = {"called": called, "__name__": __name__}
    exec(f"def {name}({names}):\n    return called({names})", made)  # noqa: S102
    return made[name]  # type: ignore[no-any-return]


def known_facts(arguments: int, write: Write, lanes: int) -> Facts:
    """The facts about the function of so many arguments that ``write`` writes on so many lanes.

    Two things depend on one another. Which variables are wide depends on where they are used: an assignment under a
    mask makes a variable wide, unless all its uses are under the same mask (its *home*). And where masks are depends
    on which variables are wide. So there are two loops. The inner one takes the homes as given and walks until no fact
    is added. The outer one compares the homes with those that the last walk has found. If they differ, it takes these
    and gathers the other facts anew, because smaller homes make fewer variables wide.
    """
    facts = Facts(lanes)
    for _ in range(_WALKS):
        facts.wide, facts.diverging = set(), set()
        facts.grown = True
        while facts.grown:
            facts.grown, facts.uses = False, {}
            write(Writer(Nowhere(), Block(), facts), [Nothing()] * arguments)
        if facts.home == facts.uses:
            return facts
        facts.home = facts.uses
    raise NotWide("the regions of the variables are not found")


def code(module: Any, name: str, kinds: list[Any], write: Write, facts: Facts) -> Any:
    """The LLVM function that ``write`` writes, with arguments of the LLVM types ``kinds``."""
    function = ir.Function(module, ir.FunctionType(WORD, kinds), name)
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    body = function.append_basic_block("body")
    writer = Writer(builder, body, facts)
    builder.ret(write(writer, list(function.args)))
    # The entry block has the variables' slots by now; it ends here.
    with builder.goto_block(function.entry_basic_block):
        builder.branch(body)
    return function
