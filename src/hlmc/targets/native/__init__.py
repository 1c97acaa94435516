"""Machine code for this processor, by Numba. Numba is imported when something is first compiled.

============  ====================================================================================================
``compiler``  kernels to machine code: dispatchers, entry points, C functions
``program``   a policy's program with a table of the addresses that it calls
``lowering``  the primitives in LLVM's terms
``lanes``     kernels on four numbers at a time
``many``      runs of one policy side by side
``wide``      kernels on several learners at a time: what ``many`` runs
``cache``     machine code on disk
============  ====================================================================================================
"""

from __future__ import annotations

from hlmc.targets.native.compiler import callback, compiled, entry
from hlmc.targets.native.many import side_by_side
from hlmc.targets.native.program import address_of, linked

__all__ = ["address_of", "callback", "compiled", "entry", "linked", "side_by_side"]
