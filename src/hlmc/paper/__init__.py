"""The paper's numerical section, one module per figure: set-up, claims, tables, plots.

A figure is a module with the constants ``NAME``, ``TITLE``, ``SOURCE`` and ``TEXT`` and functions: ``parts(settings)``
returns its experiments; ``claims``, ``pictures`` and ``tables`` take the results, a dictionary by the keys of the
parts. Without ``tables`` there is one of the regret for each part. ``hlmc reproduce`` runs them; `FIGURES` is its list.
"""

from __future__ import annotations

import importlib
from typing import Any

from hlmc.errors import BadArgument

__all__ = ["FIGURES", "figure"]

FIGURES = {
    "weak-1": "Fig. 2: weak regret of UCB-M, HLMC and EXP3, experiment 1",
    "weak-2": "Fig. 3: weak regret of shuffled UCB-M, EXP3-M and HLMC, experiment 2",
    "shifting": "Fig. 4: shifting regret of HLMC.S, HLMC, EXP3 and EXP3.S",
    "memory": "Fig. 5: HLMC with 14, 20, 50 and 80 words",
    "spectrum": "Fig. 6: a thousand agents under jamming",
    "theorems": "theorems that the paper does not plot: orders, high probability, unknown V and T",
}
"""Every figure and its subject, in the order of the paper."""


def figure(name: str) -> Any:
    """The module of a figure.

    >>> figure("weak-1").SOURCE
    'Fig. 2'
    >>> figure("weak-3")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no figure 'weak-3'; there are weak-1, weak-2, shifting, memory, spectrum, theorems
    """
    if name not in FIGURES:
        raise BadArgument(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
