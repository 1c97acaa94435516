"""``hlmc plan --segments N``: what a learner per segment costs, in words and in regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hlmc.errors import BadArgument
from hlmc.policies.hierarchy import HLMC


@dataclass(frozen=True)
class Segments:
    """A learner per segment, each with an equal share of the steps."""

    segments: int
    steps: int
    """Steps of each."""
    words: int
    """Words of all, statistics and control."""
    bytes: int
    bound: float | None
    """Bound on the regret of all together against the best arm of each segment; None if none is proved."""
    single: float | None
    """Bound on the regret of one learner against one arm for all."""
    vacuous: bool
    """Whether ``bound`` is at least as many as there are steps."""


def segmented(policy: HLMC, segments: int, steps: int, bound_of: Callable[[HLMC], float | None]) -> Segments:
    """What ``segments`` learners cost in ``steps`` steps. ``bound_of``: the bound of a policy at its horizon."""
    if not 1 <= segments <= steps:
        raise BadArgument(f"--segments must be a whole number from 1 to the {steps} steps, not {segments}")
    each = -(-steps // segments)
    part = replace(policy, horizon=each)
    bound = bound_of(part)
    total = None if bound is None else segments * bound
    return Segments(
        segments=segments,
        steps=each,
        words=segments * part.words.total,
        bytes=8 * segments * part.words.total,
        bound=total,
        single=bound_of(replace(policy, horizon=steps)),
        vacuous=total is not None and total >= steps,
    )


def shown(found: Segments, number: Callable[[float | None], str]) -> list[str]:
    """What there is to say, line by line."""
    return [
        f"{found.segments:,} learners with {found.steps:,} steps each: {found.words:,} words, {found.bytes:,} bytes",
        f"bound against the best arm of each: {number(found.bound)}{' (vacuous)' if found.vacuous else ''}",
        f"bound of one learner against one arm for all: {number(found.single)}",
        "Segments pay if their best arms earn more than one arm by the difference.",
    ]
