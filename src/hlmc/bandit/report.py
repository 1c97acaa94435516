"""What there is to see of an experiment: decisions, rewards over time and by arm, shares, feedback that is missing."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hlmc.bandit.rollups import AGGREGATES, SUMS
from hlmc.bandit.store import LISTED
from hlmc.errors import extra

if TYPE_CHECKING:
    import pandas as pd

    from hlmc.bandit.experiment import Experiment

RECENT = 10_000
"""The latest decisions, from which the favourites and the delay are taken."""
MOST_ARMS = 20
"""Arms that are listed, those most played first."""
MOST_HOURS = 24 * 90
"""Hours that are listed, the latest ones."""
NORMAL = 1.959963984540054
"""Standard deviations on either side of a mean in which it lies in 95 % of the cases."""


@dataclass(frozen=True)
class Tally:
    """Sums over some decisions."""

    decisions: int = 0
    told: int = 0
    rewarded: int = 0
    reward: float = 0.0
    squares: float = 0.0
    late: int = 0
    expired: int = 0
    dropped: int = 0
    settled: int = 0
    delay: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    @property
    def pending(self) -> int:
        """Decisions that have neither a reward nor a default yet."""
        return self.decisions - self.told - self.dropped - self.settled

    @property
    def mean(self) -> float | None:
        """The mean reward of the decisions that have one, defaults included."""
        return self.reward / self.rewarded if self.rewarded else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """An interval that covers the mean reward in about 95 % of the cases, if rewards are independent."""
        if self.rewarded < 2:
            return None
        mean = self.reward / self.rewarded
        variance = max(0.0, self.squares / self.rewarded - mean * mean) * self.rewarded / (self.rewarded - 1)
        half = NORMAL * math.sqrt(variance / self.rewarded)
        return mean - half, mean + half

    def as_dict(self) -> dict[str, Any]:
        """In numbers, ready for JSON."""
        own = {name: value for name, value in asdict(self).items() if name != "delay"}
        mean_delay = self.delay / self.told if self.told else None
        return own | {"pending": self.pending, "mean": self.mean, "interval": self.interval, "delay": mean_delay}


@dataclass(frozen=True)
class Report:
    """The state of an experiment. ``print(report)`` shows it; :meth:`as_dict` is for programs.

    Attributes
    ----------
    learned, control
        Sums over the decisions of the learners, and over those of the control group.
    arms
        For each of the arms most played: its name, whether it is in play, and its share of the learners' decisions.
    hours
        For each hour in which decisions were made, the oldest first: its beginning, and the sums of both groups.
    favourites
        The arms most played among the latest decisions of the learners, with their shares.
    delay
        How many decisions of the same learner were made, on average, until a reward came; None if none came.
    """

    name: str
    policy: str
    units: int
    learned: Tally
    control: Tally
    arms: tuple[dict[str, Any], ...]
    hours: tuple[dict[str, Any], ...]
    favourites: tuple[tuple[str, float], ...]
    delay: float | None
    warnings: tuple[str, ...]

    @property
    def decisions(self) -> int:
        """All decisions, those of the control group included."""
        return self.learned.decisions + self.control.decisions

    def as_dict(self) -> dict[str, Any]:
        """The report as numbers, strings, lists and dictionaries, ready for JSON."""
        arms = [{**each, "tally": each["tally"].as_dict()} for each in self.arms]
        hours = [{**h, "learned": h["learned"].as_dict(), "control": h["control"].as_dict()} for h in self.hours]
        return {
            "name": self.name,
            "policy": self.policy,
            "units": self.units,
            "decisions": self.decisions,
            "learned": self.learned.as_dict(),
            "control": self.control.as_dict(),
            "arms": arms,
            "hours": hours,
            "favourites": [list(each) for each in self.favourites],
            "delay": self.delay,
            "warnings": list(self.warnings),
        }

    def frame(self) -> pd.DataFrame:
        """The hours as a pandas frame (extra ``lab``): decisions and mean rewards of both groups."""
        try:
            import pandas as pd
        except ImportError:
            raise extra("pandas", "lab") from None
        rows = [
            {
                "time": pd.Timestamp(hour["time"], unit="s", tz="UTC"),
                "decisions": hour["learned"].decisions,
                "mean": hour["learned"].mean,
                "control_decisions": hour["control"].decisions,
                "control_mean": hour["control"].mean,
            }
            for hour in self.hours
        ]
        columns = ["time", "decisions", "mean", "control_decisions", "control_mean"]
        return pd.DataFrame(rows, columns=columns).set_index("time")

    def __str__(self) -> str:
        both = self.learned + self.control
        decisions, learners = "decision" + "s" * (self.decisions != 1), "learner" + "s" * (self.units != 1)
        lines = [
            f"{self.name}: {self.decisions:,} {decisions} of {self.units:,} {learners} of {self.policy}",
            f"mean reward {_mean(self.learned)}",
        ]
        if self.control.decisions:
            lines.append(f"control group, {self.control.decisions:,} uniform decisions: {_mean(self.control)}")
        lines.append(
            f"feedback: {both.told:,} told ({both.late:,} late, {both.expired:,} expired), {both.settled:,} settled by "
            f"default, {both.dropped:,} dropped, {both.pending:,} pending"
        )
        if self.delay is not None and both.told:
            seconds = both.delay / both.told
            lines.append(
                f"rewards came after {seconds:,.3g} s and {self.delay:.3g} decisions of the learner, on average"
            )
        if self.favourites:
            shares = ", ".join(f"{name} {100 * share:.3g} %" for name, share in self.favourites)
            lines.append(f"most played lately: {shares}")
        if self.arms:
            width = max(len(each["name"]) for each in self.arms)
            lines.append(f"{'arm':{width}}  {'decisions':>12}  {'share':>7}  mean reward")
            for each in self.arms:
                tally, state = each["tally"], "" if each["state"] == "in play" else f"  ({each['state']})"
                share = f"{100 * each['share']:.3g} %"
                lines.append(f"{each['name']:{width}}  {tally.decisions:12,}  {share:>7}  {_mean(tally)}{state}")
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def _mean(tally: Tally) -> str:
    if tally.mean is None:
        return "none yet"
    ends = tally.interval
    return f"{tally.mean:.4g}" + (f" [{ends[0]:.4g}, {ends[1]:.4g}]" if ends else "")


_STATES = ("in play", "paused", "removed")


def report(experiment: Experiment) -> Report:
    """Within a transaction that reads: look at an experiment."""
    experiment.refresh()
    by_group = _tallies(experiment, "control")
    learned, control = by_group.get((0,), Tally()), by_group.get((1,), Tally())
    delay = measured_delay(experiment)
    (units,) = experiment.store.all("select count(*) from learners where experiment = ?", experiment.number)[0]
    return Report(
        name=experiment.name,
        policy=repr(experiment.policy),
        units=units,
        learned=learned,
        control=control,
        arms=_arms(experiment, learned.decisions),
        hours=_hours(experiment),
        favourites=_favourites(experiment),
        delay=delay,
        warnings=_warnings(experiment, delay, learned),
    )


def _tallies(experiment: Experiment, by: str, rest: str = "", *values: Any) -> dict[tuple[Any, ...], Tally]:
    """Sums over aggregates and over the decisions that are not in them yet, by some columns."""
    count = by.count(",") + 1
    sums = ", ".join(f"sum({name})" for name in SUMS)
    rolled = f"select {by}, {sums} from rollups where experiment = ? {rest} group by {by}"
    live = f"select {by}, {AGGREGATES} from decisions where experiment = ? and number > ? {rest} group by {by}"
    found: dict[tuple[Any, ...], Tally] = {}
    for row in experiment.store.all(rolled, experiment.number, *values):
        found[row[:count]] = Tally(*map(_number, row[count:]))
    for row in experiment.store.all(live, experiment.number, experiment.rolled, *values):
        found[row[:count]] = found.get(row[:count], Tally()) + Tally(*row[count:])
    return found


def _number(value: Any) -> Any:
    """A sum as Python has it: PostgreSQL gives those of whole numbers as decimals."""
    return value if isinstance(value, float) else int(value)


def _arms(experiment: Experiment, decisions: int) -> tuple[dict[str, Any], ...]:
    tallies = sorted(_tallies(experiment, "arm", "and control = 0").items(), key=lambda each: -each[1].decisions)
    named = _named(experiment, [arm for (arm,), _ in tallies[:MOST_ARMS]])
    return tuple(
        {
            "name": named[arm][0],
            "state": _STATES[named[arm][1]],
            "share": tally.decisions / decisions,
            "tally": tally,
        }
        for (arm,), tally in tallies[:MOST_ARMS]
        if arm in named
    )


def _named(experiment: Experiment, arms: list[int]) -> dict[int, tuple[str, int]]:
    sql = f"select id, name, state from arms where id {LISTED}"
    return {arm: (name, state) for arm, name, state in experiment.store.all(sql, experiment.store.listed(arms))}


def _hours(experiment: Experiment) -> tuple[dict[str, Any], ...]:
    tallies = _tallies(experiment, "hour, control")
    hours = sorted({hour for hour, _ in tallies})[-MOST_HOURS:]
    return tuple(
        {
            "time": 3600 * hour,
            "learned": tallies.get((hour, 0), Tally()),
            "control": tallies.get((hour, 1), Tally()),
        }
        for hour in hours
    )


def _recent(experiment: Experiment) -> int:
    """The number before those of the latest decisions."""
    found = experiment.store.one("select number from decisions order by number desc limit 1")
    return 0 if found is None else int(found[0]) - RECENT


def _favourites(experiment: Experiment) -> tuple[tuple[str, float], ...]:
    sql = (
        "select arm, count(*) from decisions where experiment = ? and number > ? and control = 0"
        " group by arm order by count(*) desc, arm"
    )
    found = experiment.store.all(sql, experiment.number, _recent(experiment))
    total = sum(count for _, count in found)
    named = _named(experiment, [arm for arm, _ in found[:3]])
    return tuple((named[arm][0], count / total) for arm, count in found[:3] if arm in named)


def measured_delay(experiment: Experiment) -> float | None:
    """Between a decision and its reward a learner has as many events, of which about half are decisions."""
    sql = (
        "select avg((tell_event - event - 1) / 2.0) from decisions where experiment = ? and number > ?"
        " and tell_event is not null"
    )
    found = experiment.store.one(sql, experiment.number, _recent(experiment))
    return None if found is None or found[0] is None else float(found[0])


def _warnings(experiment: Experiment, delay: float | None, learned: Tally) -> tuple[str, ...]:
    said = []
    plan = experiment.rows_of(*experiment.plan).policy.plan
    if delay is not None and len(plan.levels) > 1 and delay > plan.lengths[-2]:
        said.append(
            f"rewards come {delay:.3g} decisions late, more than the {plan.lengths[-2]} of an epoch: "
            f"make the policy with pending=1, delay={math.ceil(delay)}"
        )
    if experiment.settings.wait is None and learned.decisions >= 1000 and learned.pending > learned.decisions / 2:
        said.append("more than half of the decisions have no reward: open the bandit with wait= and default=")
    return tuple(said)
