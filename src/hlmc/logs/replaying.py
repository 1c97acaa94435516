"""``hlmc.replay``: what other policies would have earned, from the log of one that chose at random."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import checks
from hlmc.errors import BadArgument, BadType, need_lab, shown
from hlmc.learners import Learner
from hlmc.logs import bernstein, betting, rejection
from hlmc.logs.doubly import doubly_robust
from hlmc.logs.ips import ips, weights
from hlmc.logs.reading import Log, read
from hlmc.logs.snips import snips
from hlmc.logs.targets import Target, constant, rule
from hlmc.policies.base import Policy
from hlmc.policies.flat import Uniform

if TYPE_CHECKING:
    import os

    import pandas as pd

    from hlmc.logs.frame import Replay

Array = np.ndarray

LITTLE = 30
"""An effective sample of fewer blocks than this is little to rest on."""
FALSE_ALARM = 0.001
"""The probability at most by which weights are called too large that are right."""
TOO_SMALL = 5.0
"""Mean weights so many standard errors below 1 are too small."""
ESTIMATORS = ("dr", "ips", "snips")
INTERVALS = ("betting", "bernstein")


@dataclass(frozen=True)
class _Way:
    """How values and intervals are computed."""

    estimator: str
    interval: str
    clip: float | None
    alpha: float

    def lower(self, sums: Array, rows: int, longest: int) -> float:
        """A lower bound on a mean of weighted rewards, given their sums over blocks."""
        bound = betting.lower if self.interval == "betting" else bernstein.lower
        return bound(sums, rows, longest, self.alpha)


def replay(
    candidates: Any,
    log: pd.DataFrame | Mapping[str, Any] | str | os.PathLike[str],
    *,
    estimator: str = "dr",
    interval: str = "betting",
    clip: float | None = None,
    level: float = 0.95,
    least: float | None = None,
    arms: Sequence[Any] | None = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Replay:
    """Estimate what each candidate would have earned per decision in place of the logged policy.

    Needs ``pip install 'hlmc[lab]'``.

    Parameters
    ----------
    candidates
        A mapping of names to candidates, or a list of them. A candidate is an arm; a mapping of arms to probabilities;
        a function of a row, a dictionary without arm and reward, that answers with either; a policy or a learner.
    log
        What ``bandit.export`` writes, or any data frame, mapping of columns, or CSV, Parquet or JSON lines file (also
        VW's ``dsjson``) with columns ``arm``, ``reward`` and ``propensity``; ``time``, ``unit``, ``block`` and
        ``control`` are used if they are there. Rows without a reward are left out.
    estimator
        "dr" (doubly robust, with the means of the arms), "ips", or "snips".
    interval
        "betting" assumes nothing of the weights and holds at every time. "bernstein" clips them at ``clip``.
    clip
        Where "bernstein" clips weights.
    level
        The confidence level of the intervals.
    least
        For learners, if the log is not uniform: a lower bound on the propensity of every arm.
    arms
        For learners: the arms of the log in the order of the learner's numbers. Default: in their own order.
    rewards
        The range of rewards.
    columns
        What columns are called in the log, such as ``{"arm": "action"}``.
    seed
        Of policies that are started, and of the rows that are kept for learners.

    Returns
    -------
    A data frame with one row per candidate, which prints rounded numbers and has ``plot()``. Its ``learners`` are the
    candidates that learn, in their last state. ``docs/logs.md`` describes the columns.

    Examples
    --------
    >>> import hlmc
    >>> log = {"arm": ["tea", "coffee"] * 500, "reward": [1, 0, 0, 0] * 250, "propensity": [0.5] * 1000}
    >>> found = hlmc.replay({"tea": "tea", "half": {"tea": 0.5, "coffee": 0.5}}, log, estimator="ips")
    >>> found["value"].tolist(), found["effective"].tolist()
    ([0.5, 0.25], [500.0, 1000.0])
    """
    need_lab("pandas")
    from hlmc.logs.frame import Replay

    way = _way(estimator, interval, clip, level)
    low, high = checks.interval("rewards", rewards)
    seed = checks.seed(seed)
    named = _named(candidates)
    logged = read(log, columns, (low, high))
    learning = {name: each for name, each in named.items() if _learns(each)}
    order = _order(arms, logged, learning)
    shown_to = rejection.shown_rows(list(learning), logged, least, seed) if learning else None
    learners: dict[str, Learner] = {}
    rows = {}
    for name, each in named.items():
        if shown_to is not None and name in learning:
            rows[name], learners[name] = _learner(name, each, order, logged, shown_to, seed, way)
        else:
            rows[name] = _static(*_target(name, each, logged), logged, way)
    found = Replay.from_dict(rows, orient="index")
    for column in ("value", "low", "high"):
        found[column] = low + found[column] * (high - low)
    found = Replay(found.rename_axis("candidate"))
    found.learners = learners
    found.attrs = {
        "logged": low + float(logged.reward.mean()) * (high - low),
        "rows": len(logged.arm),
        "blocks": logged.blocks,
        "left_out": logged.left_out,
        "estimator": way.estimator,
        "interval": way.interval if way.clip is None else f"{way.interval}, weights clipped at {way.clip:g}",
        "level": level,
        "arms": list(order),
    }
    return found


def _way(estimator: str, interval: str, clip: float | None, level: float) -> _Way:
    estimator = checks.choice("estimator", estimator, *ESTIMATORS)
    interval = checks.choice("interval", interval, *INTERVALS)
    if interval == "bernstein" and clip is None:
        raise BadArgument('clip must be given with interval="bernstein": the weight above which weights are clipped')
    if interval == "betting" and clip is not None:
        raise BadArgument('clip must be left out with interval="betting", which clips nothing')
    clip = None if clip is None else checks.between("clip", clip, 0.0, math.inf, "(0, inf)")
    return _Way(estimator, interval, clip, (1.0 - checks.fraction("level", level)) / 2)


def _named(candidates: Any) -> dict[str, Any]:
    """The candidates by name."""
    if isinstance(candidates, Mapping):
        found = {str(name): each for name, each in candidates.items()}
        if len(found) < len(candidates):
            raise BadArgument("candidates must have different names")
    else:
        if (
            isinstance(candidates, (str, Number, np.generic))
            or callable(candidates)
            or isinstance(candidates, (Policy, Learner))
        ):
            candidates = [candidates]
        each = checks.listed("candidates", candidates, "candidates")
        found = {_name(one): one for one in each}
        if len(found) < len(each):
            raise BadArgument("candidates must have different names: give a mapping of names to candidates")
    if not found:
        raise BadArgument("candidates must hold at least one candidate")
    return found


def _name(candidate: Any) -> str:
    if isinstance(candidate, Learner):
        return type(candidate.policy).__name__
    if isinstance(candidate, Policy):
        return type(candidate).__name__
    return str(getattr(candidate, "__name__", candidate))


def _learns(candidate: Any) -> bool:
    return isinstance(candidate, (Policy, Learner)) and not isinstance(candidate, Uniform)


def _order(arms: Sequence[Any] | None, log: Log, learning: Mapping[str, Policy | Learner]) -> list[Any]:
    """The labels of the arms in the order of learners' numbers."""
    if arms is not None:
        found = checks.listed("arms", arms, "labels of arms")
        if len({str(label) for label in found}) < len(found):
            raise BadArgument(f"arms must have different labels, not {shown(found)}")
        missing = set(range(len(log.labels))).difference(log.places(found).tolist())
        if missing:
            labels = [log.labels[place] for place in sorted(missing)]
            raise BadArgument(f"arms must hold all arms of the log, also {shown(labels[:5])}")
        return found
    most = max((each.arms if isinstance(each, Policy) else each.policy.arms for each in learning.values()), default=0)
    if all(isinstance(label, int) and 0 <= label < most for label in log.labels):
        return list(range(most))
    return log.labels


def _target(name: str, candidate: Any, log: Log) -> tuple[str, Target]:
    """What kind of candidate it is, and what it plays."""
    if isinstance(candidate, Uniform):
        return "mixture", constant(name, dict.fromkeys(log.labels, 1.0 / len(log.labels)), log)
    if isinstance(candidate, Mapping):
        return "mixture", constant(name, candidate, log)
    if callable(candidate) and not isinstance(candidate, type):
        return "rule", rule(name, candidate, log)
    if isinstance(candidate, (str, Number, np.generic)):
        return "arm", constant(name, {candidate: 1.0}, log)
    raise BadType(
        f"candidate {name!r} must be an arm, a mapping of arms to probabilities, a function, a policy or a learner, "
        f"not {shown(candidate)}"
    )


def _static(kind: str, target: Target, log: Log, way: _Way) -> dict[str, Any]:
    """The row of a candidate that learns nothing."""
    w = weights(target, log)
    clipped = w if way.clip is None else np.minimum(w, way.clip)
    low = way.lower(log.sums(clipped * log.reward), len(w), log.longest)
    high = 1.0 - way.lower(log.sums(clipped * (1.0 - log.reward)), len(w), log.longest)
    value = math.nan
    if w.any():
        if way.estimator == "dr":
            value = doubly_robust(target, w, log)
        else:
            value = ips(w, log) if way.estimator == "ips" else snips(w, log)
    together = log.sums(w)
    squares = float((together**2).sum())
    found = {
        "kind": kind,
        "value": value,
        "low": low,
        "high": high,
        "effective": float(together.sum()) ** 2 / squares if squares else 0.0,
        "largest": float(w.max()),
        "mean_weight": float(w.mean()),
        "rows": len(w),
        "blocks": log.blocks,
        "unsupported": target.without,
    }
    return found | {"warning": _warning(found) or _of_weights(together, log)}


def _of_weights(together: Array, log: Log) -> str:
    """Whether weights [block] are too large or too small in the mean: propensities, or arms without a chance."""
    rows = len(log.arm)
    if betting.lower(together, rows, log.longest, FALSE_ALARM, most=2.0) > 1.0:
        return "weights are too large: propensities cannot be right"
    deviation = float(together.std()) * math.sqrt(len(together)) / rows
    if float(together.sum()) / rows + TOO_SMALL * deviation < 1.0:
        return "weights are too small: its arms did not always have a chance"
    return ""


def _learner(
    name: str,
    candidate: Policy | Learner,
    arms: Sequence[Any],
    log: Log,
    shown_to: rejection.Shown,
    seed: int,
    way: _Way,
) -> tuple[dict[str, Any], Learner]:
    """The row of a candidate that learns, and the learner as the log has left it."""
    learner, numbers = rejection.started(name, candidate, arms, log, seed)
    learner, kept = rejection.play(learner, numbers, log, shown_to)
    count = len(kept)
    got = log.reward[kept]
    found = {
        "kind": "learner",
        "value": float(got.mean()) if count else math.nan,
        # Kept rows have weight 1, and each is a block.
        "low": betting.lower(got, count, 1, way.alpha) if count else 0.0,
        "high": 1.0 - betting.lower(1.0 - got, count, 1, way.alpha) if count else 1.0,
        "effective": float(count),
        "largest": 1.0,
        "mean_weight": 1.0,
        "rows": count,
        "blocks": count,
        "unsupported": sum(number < 0 for number in numbers.values()) / len(numbers),
    }
    return found | {"warning": _warning(found)}, learner


def _warning(found: Mapping[str, Any]) -> str:
    """What an estimate suffers from, the worst first; empty if it rests on enough."""
    if found["unsupported"] >= 1.0 or not found["effective"]:
        return "no row of the log says anything about it"
    if found["unsupported"] > 0.0:
        return f"{100 * found['unsupported']:.2g} % rests on arms that were never played"
    if found["effective"] < LITTLE:
        return f"rests on {found['effective']:.1f} blocks"
    return ""
