"""Variables of a dataset that are computed when they are first read.

xarray reads files so: a variable is an object that knows its shape and type, and is asked for its values when they
are used. Here the values are not read but computed. Looking at other variables of the dataset, at its sizes or at its
printed form computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

Array = np.ndarray


class Computed(BackendArray):
    """Values that ``compute`` gives when they are wanted; it is called again each time and should remember them."""

    def __init__(self, compute: Callable[[], Array], shape: tuple[int, ...], dtype: type) -> None:
        self._compute = compute
        self.shape = shape
        self.dtype = np.dtype(dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER
        # A copy: what a caller does to the values of a dataset must not reach those that ``compute`` remembers.
        return indexing.explicit_indexing_adapter(key, self.shape, support, lambda each: self._compute()[each].copy())

    def __deepcopy__(self, memo: Any) -> Computed:
        return self  # the values do not change

    def __reduce__(self) -> Any:
        return _known, (self._compute(),)  # another process cannot compute them


def _known(values: Array) -> Computed:
    """Values that have been computed."""
    return Computed(lambda: values, values.shape, values.dtype.type)


def lazily(sizes: dict[str, int], dtype: type, compute: Callable[[], Array]) -> tuple[tuple[str, ...], Any]:
    """A variable, as ``Dataset.assign`` takes it, whose values ``compute`` gives when they are read.

    ``sizes``: its dimensions.

    >>> import numpy as np, xarray as xr
    >>> def squares():
    ...     print("computed")
    ...     return np.arange(4) ** 2
    >>> data = xr.Dataset().assign(square=lazily({"n": 4}, np.int64, squares))
    >>> dict(data.sizes), "square" in data
    ({'n': 4}, True)
    >>> int(data["square"][3])
    computed
    9
    """
    # Kept once they are read, and copied before they are written to, as the variables of a file are.
    layers: Any = indexing  # whose own types do not fit one another
    values = layers.CopyOnWriteArray(layers.LazilyIndexedArray(Computed(compute, tuple(sizes.values()), dtype)))
    return tuple(sizes), layers.MemoryCachedArray(values)
