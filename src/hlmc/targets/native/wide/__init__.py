"""Kernels for several learners at a time: every number of a kernel becomes a vector with one element per learner.

:class:`Writer` writes a kernel, with everything that it calls, as LLVM code on vectors. The kernel is the one that all
other targets run: a *lane* of the vector computes what one learner would compute, with the same operations in the same
order, so it gets the same bits. This is how GPUs run scalar code (single program, multiple data), and how the compiler
ISPC does it for processors (M. Pharr and W. R. Mark, "ispc: A SPMD compiler for high-performance CPU programming",
2012).

**Uniform and wide values.** A value that all lanes share (the program, the time, the number of slots) stays a scalar;
it is *uniform*. A value that differs is *wide*. An operation is wide if an operand is. A run of words is *interleaved*
if every lane has its own words: word k of lane l lies at ``k * lanes + l``.

**Control flow.** Branches and loops on uniform conditions stay branches and loops. On a wide condition both branches
are executed, each under a *mask* of the lanes that take it: a variable changes, and a word is written, only in the
lanes of the mask. A wide loop runs until all of its lanes have left it.

**Regions.** The statements under one mask are a *region*; regions nest. A variable that is used only in one region and
those within it needs no mask when it is assigned there: the other lanes never look at it. Such a variable also stays
uniform if its values are.

**Walks.** Which variables are wide follows from the assignments, some of which come after uses. So the kernel is walked
through several times by the same code, which writes nothing until nothing new is found.

What cannot be translated is refused with ``NotWide``; then learners are played one by one.

The files, from the bottom; the classes are layers, each built on the one before:

============== ===================================================================================================
values.py      what a value is; arithmetic, comparisons and conversions (:class:`Numbers`)
facts.py       what must be known of variables and loops before code is written; the builder that writes nothing
masks.py       which lanes are active; branches (:class:`Masks`)
memory.py      words and variables, read and written in the active lanes (:class:`Memory`)
expressions.py syntax trees of expressions to values (:class:`Expressions`)
statements.py  assignments, branches, loops, and lanes that leave early (:class:`Statements`)
calls.py       kernels written into their callers' places; primitives (:class:`Writer`)
function.py    a whole function: its facts, its code, and what Numba calls (:func:`caller`)
============== ===================================================================================================
"""

from hlmc.targets.native.wide.calls import Writer
from hlmc.targets.native.wide.function import caller
from hlmc.targets.native.wide.values import BITS, BOOL, INT, REAL, RUN, Value, integer

__all__ = ["BITS", "BOOL", "INT", "REAL", "RUN", "Value", "Writer", "caller", "integer"]
