"""Environments: several adversaries in one experiment, so that an interval is over rewards and coins, not coins alone.

Run r of every policy faces environment r mod E. Policies are compared in the same environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from numbers import Number
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.adversaries.own import adversary_of
from hlmc.checks import whole
from hlmc.errors import BadArgument, BadType, shown
from hlmc.streams import derive_seed

_SEEDS = 10**9
"""Seeds of environments are smaller: a user has to type them."""


def environments_of(adversary: Any, environments: Any, runs: int, arms: int | None) -> tuple[Adversary, ...]:
    """The adversaries that the arguments of :func:`hlmc.simulate` stand for, at least one and at most one per run.

    Parameters
    ----------
    adversary
        One adversary in any form that :func:`hlmc.adversaries.own.adversary_of` takes, or a list of them.
    environments
        E, how many: environment 0 is the adversary as it is, and the others have seeds derived from its own. None: one,
        or all of a list.
    runs
        The number of runs: every environment is faced by at least one.
    arms
        As for ``adversary_of``.

    Examples
    --------
    >>> from hlmc.adversaries import BlockTrap, UniformMeans
    >>> environments_of(UniformMeans(arms=9, seed=4), 2, 10, None)
    (UniformMeans(arms=9, ..., seed=4), UniformMeans(arms=9, ..., seed=542631912))
    >>> environments_of([UniformMeans(arms=9, seed=4), UniformMeans(arms=9, seed=7)], None, 10, None)[1].seed
    7
    >>> environments_of(BlockTrap(arms=10, memory=4), 2, 10, None)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: environments must be 1 for BlockTrap(arms=10, memory=4), which has no seed; ...
    """
    wanted = None if environments is None else whole("environments", environments, 1)
    listed = _is_list(adversary)
    found = [adversary_of(each, arms) for each in adversary] if listed else [adversary_of(adversary, arms)]
    if wanted is not None and not listed:
        found = [_copy(found[0], e) for e in range(wanted)]
    elif wanted not in (None, len(found)):
        raise BadArgument(f"environments must be {len(found)}, the number of adversaries listed, or None; not {wanted}")
    for e, each in enumerate(found):
        if each.arms != found[0].arms:
            raise BadArgument(f"adversary[{e}] has {each.arms} arms and adversary[0] has {found[0].arms}")
    if len(found) > runs:
        what = f"adversary lists {len(found)} environments" if listed else f"environments is {wanted}"
        raise BadArgument(f"{what}, more than the {runs} runs: every environment needs at least one run")
    return tuple(found)


def _is_list(adversary: Any) -> bool:
    """Whether it is a list of adversaries, and not a table of rewards."""
    if not isinstance(adversary, (list, tuple)) or not adversary:
        return False
    inside = [not isinstance(each, (Number, Sequence, np.ndarray)) or isinstance(each, str) for each in adversary]
    if any(inside) and not all(inside):
        raise BadType(f"adversary must be a table of numbers or a list of adversaries, not {shown(adversary)}")
    return all(inside)


def _copy(adversary: Adversary, e: int) -> Adversary:
    """Environment e of an adversary: the same but for its seed."""
    if e == 0:
        return adversary
    if "seed" not in {f.name for f in fields(adversary)}:  # type: ignore[arg-type]
        raise BadArgument(f"environments must be 1 for {adversary!r}, which has no seed; or give a list of adversaries")
    seed = derive_seed(adversary.seed, "environment", e) % _SEEDS  # type: ignore[attr-defined]
    return replace(adversary, seed=seed)  # type: ignore[type-var]


def title(provenance: dict[str, Any]) -> str:
    """The adversary of a result, as its title has it.

    >>> title({"adversary": "Needle(arms=10)", "environments": ["Needle(arms=10)", "Needle(arms=10, seed=7)"]})
    'Needle(arms=10) and 1 more environment'
    """
    more = len(provenance.get("environments", [None])) - 1
    return str(provenance["adversary"]) + (f" and {more} more environment{'s' * (more > 1)}" if more else "")
