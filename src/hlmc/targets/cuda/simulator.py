"""A mend of Numba's simulator: an array in shared memory is one array for all threads of a block.

The simulator makes such an array when the first thread asks for it, and looks for it and makes it in two steps. Two
threads that ask at once can then get an array each, and one does not see what the other writes: now and then a game
was played wrongly.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

_one_at_a_time = threading.Lock()


def mend() -> None:
    """Have the simulator make arrays in shared memory one at a time."""
    from numba.core import types
    from numba.cuda.simulator import kernelapi
    from numba.np import numpy_support

    original = kernelapi.FakeCUDAShared.array
    if original.__module__ == __name__:
        return

    def array(self: Any, shape: Any, dtype: Any) -> Any:
        if shape == 0:
            return original(self, shape, dtype)  # what the launch has asked for: made before the threads
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        with _one_at_a_time:
            if place not in self._allocations:
                kind = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
                self._allocations[place] = np.empty(shape, kind)
            return self._allocations[place]

    kernelapi.FakeCUDAShared.array = array
