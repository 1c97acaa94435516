"""Whether the packages of the extras are there: a missing one is one line that names the extra."""

from __future__ import annotations

from importlib.util import find_spec

from hlmc.errors import extra


def need(*modules: str, name: str = "serve") -> None:
    """Refuse to go on without some packages.

    >>> need("json")
    """
    for module in modules:
        if find_spec(module) is None:
            raise extra(module, name)
