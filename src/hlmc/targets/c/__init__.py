"""C99: the kernels' syntax trees translated to C.

================  ===============================================================================================
``unit``          the functions, constants and types of one C file
``translator``    one kernel to one C function: its statements
``expressions``   its expressions
``reading``       a kernel's source: syntax tree, comments, what constants rule out
``scopes``        where variables are declared
``types``         the dialect's types in C
``primitives``    the engine's primitives in C
================  ===============================================================================================

Nothing here imports a compiler. :mod:`hlmc.export` makes files of it.
"""

from __future__ import annotations

from hlmc.targets.c.reading import OutsideDialect
from hlmc.targets.c.unit import Table, Unit

__all__ = ["OutsideDialect", "Table", "Unit"]
