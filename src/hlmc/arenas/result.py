"""The result of the arena: regrets by run, ratios to the baseline with intervals, tables, a heat map, files."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.arenas.contenders import BASELINE
from hlmc.checks import choice, ending, whole
from hlmc.errors import BadArgument, BadFile, need_lab
from hlmc.evaluation import is_skewed, mean_interval, paired_ratio_interval, too_few
from hlmc.evaluation.regret import PATHWISE as KINDS
from hlmc.files.parquet import Part, check_digest, table_of, write_table
from hlmc.files.writing import replacing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from hlmc.arenas.playing import Cell, Scores

_KEY = b"hlmc-arena"

SIZE = ["adversary", "arms", "horizon"]

_JUDGED = ("regret", "ratio", "difference")
COLUMNS = [*SIZE, "kind", "policy", "words", "bytes", "full_memory", "runs"]
COLUMNS += [f"{name}{end}" for name in _JUDGED for end in ("", "_low", "_high")]


def runs_of(cell: Cell, scores: Scores) -> pd.DataFrame:
    """One row per policy and run: the reward, and the regret of each kind that was evaluated."""
    import pandas as pd

    parts = []
    for name, policy in cell.policies.items():
        columns: dict[str, Any] = {
            "adversary": cell.case.name,
            "arms": cell.arms,
            "horizon": cell.horizon,
            "memory": cell.memory,
            "policy": name,
            "words": np.nan if policy.words is None else policy.words.statistics,
            "run": np.arange(cell.runs),
            "reward": scores.rewards[name],
        }
        for kind in KINDS:
            benchmark = scores.benchmarks.get(kind)
            columns[kind] = np.nan if benchmark is None else benchmark - scores.rewards[name]
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def compared(runs: pd.DataFrame, baseline: str = BASELINE, level: float = 0.95) -> pd.DataFrame:
    """Every policy's regret compared with the baseline's in the same runs, in the columns of :attr:`ArenaResult.data`.

    There is no row where the baseline has not played.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for (adversary, arms, horizon), cell in runs.groupby(SIZE, sort=False):
        if baseline not in cell["policy"].values:
            continue
        for kind in KINDS:
            if cell[kind].isna().all():
                continue
            base = cell.loc[cell["policy"] == baseline, kind].to_numpy()
            for policy, own in cell.groupby("policy", sort=False):
                regret = own[kind].to_numpy()
                known = own["words"].iloc[0]
                words = known if np.isnan(known) else int(known)
                row: dict[str, Any] = {"adversary": adversary, "arms": arms, "horizon": horizon, "kind": kind}
                row |= {
                    "policy": policy,
                    "words": words,
                    "bytes": 8 * words,
                    "full_memory": words > int(own["memory"].iloc[0]),
                }
                row["runs"] = len(regret)
                gap = mean_interval((regret - base) / horizon, level)
                for name, found in zip(
                    _JUDGED, (mean_interval(regret, level), _ratio(regret, base, level), gap), strict=True
                ):
                    row |= zip((name, f"{name}_low", f"{name}_high"), found, strict=True)
                rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _ratio(regret: Any, base: Any, level: float) -> tuple[float, float, float]:
    """The ratio of means with its interval; NaN if the baseline's mean is not significantly above 0."""
    if not mean_interval(base, level).low > 0.0:
        return np.nan, np.nan, np.nan
    estimate, low, high = paired_ratio_interval(regret, base, level)
    # Fieller's interval takes the sample as normal. Of a ratio near the estimate, Hall's allows for its skewness.
    skewed = mean_interval(estimate + (regret - estimate * base) / base.mean(), level)
    return estimate, min(low, skewed.low), max(high, skewed.high)


class ArenaResult:
    """The outcome of :func:`hlmc.arena`.

    Attributes
    ----------
    runs
        A :class:`pandas.DataFrame`, one row per policy and run: ``reward`` and the regret of each kind, ``weak``,
        ``shifting`` and ``dynamic`` (NaN if it was not evaluated).
    data
        A :class:`pandas.DataFrame`, one row per adversary, size, kind of regret and policy: the mean ``regret``, its
        ``ratio`` to the baseline's, and the ``difference`` to it per step, each with the ends of its 95 % interval
        (``ratio_low``, ``ratio_high``, ...). If the baseline's regret is not significantly above 0, the ratio is
        meaningless and is NaN. ``full_memory`` marks policies with more words than the others.

    Examples
    --------
    >>> import hlmc
    >>> result = hlmc.arena(against=["Champion"], adversaries=["Alternating", "Needle"], arms=[16], horizons=[2000],
    ...                     runs=4, progress=False)
    >>> result.table("weak").columns.tolist()
    ['words', 'bytes', 'Alternating', 'Needle']
    >>> result.data.query("policy == 'HLMC' and kind == 'weak'")["ratio"].tolist()
    [1.0, 1.0]
    """

    def __init__(self, runs: pd.DataFrame) -> None:
        self.runs = runs
        self.data = compared(runs)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """The sizes (arms, horizon) that were played."""
        return [(int(K), int(T)) for K, T in self.runs[["arms", "horizon"]].drop_duplicates().itertuples(index=False)]

    @property
    def note(self) -> str:
        """A warning about the intervals; empty if there are enough runs."""
        if not len(self.data):
            return ""
        cells = self.runs.groupby(["adversary", "policy", "arms", "horizon"], sort=False)["reward"]
        skewed = [f"{policy} ({adversary})" for (adversary, policy, *_), each in cells if is_skewed(each)]
        return too_few(int(self.data["runs"].min()), skewed=list(dict.fromkeys(skewed)))

    @property
    def kinds(self) -> list[str]:
        """The kinds of regret that were evaluated at some size."""
        return [kind for kind in KINDS if (self.data["kind"] == kind).any()]

    def kind(self, kind: str, arms: int | None = None, horizon: int | None = None) -> pd.DataFrame:
        """The rows of one kind of regret, of one size or all sizes."""
        choice("kind", kind, *KINDS)
        rows = self.data[self.data["kind"] == kind]
        for name, value in (("arms", arms), ("horizon", horizon)):
            if value is not None:
                rows = rows[rows[name] == whole(name, value, 1)]
                if rows.empty:
                    there = sorted(self.data.loc[self.data["kind"] == kind, name].unique().tolist())
                    raise BadArgument(f"{name} = {value} has no {kind} regret; there are {there}")
        return rows

    def table(self, kind: str = "weak", arms: int | None = None, horizon: int | None = None) -> pd.DataFrame:
        """A table as text, policies by adversaries: ratios to the baseline with their intervals.

        Over several sizes: the medians of the ratios, without intervals. If the baseline's regret is not significantly
        above 0, the difference to it is shown instead, as a multiple of the horizon: ``-0.02 T``.
        """
        import pandas as pd

        rows = self.kind(kind, arms, horizon)
        policies = list(dict.fromkeys(rows["policy"]))
        cells = {at: cell_text(cell) for at, cell in rows.groupby(["policy", "adversary"], sort=False)}
        columns = {size: [self._sizes(rows, name, size) for name in policies] for size in ("words", "bytes")}
        for case in dict.fromkeys(rows["adversary"]):
            columns[case] = [cells.get((name, case), "") for name in policies]
        return pd.DataFrame(columns, index=policies)

    def overview(self) -> pd.DataFrame:
        """One row per policy over all adversaries and sizes: median ratios, and how often it beat the baseline.

        Policies in the memory of the baseline come first, those with the lowest median of the first kind on top.
        ``below 1`` counts the pairs of adversary and size at which the whole interval of the ratio is below 1,
        ``above 1`` those at which it is above; where there is no ratio, the difference to the baseline decides in the
        same way. The counts are the same for every kind of regret, because the benchmark cancels in differences.
        """
        import pandas as pd

        found = {}
        for policy, rows in self._ranked():
            row: dict[str, Any] = {size: self._sizes(rows, policy, size) for size in ("words", "bytes")}
            for kind in self.kinds:
                row[kind] = number(rows.loc[rows["kind"] == kind, "ratio"].median())
            weak = rows[rows["kind"] == "weak"]
            below, above = int(better(weak).sum()), int(worse(weak).sum())
            row |= {"below 1": below, "about 1": len(weak) - below - above, "above 1": above}
            found[policy] = row
        return pd.DataFrame.from_dict(found, orient="index")

    def verdict(self) -> str:
        """Which policy has the lowest median regret in the memory of the baseline, in one sentence."""
        equal = [(policy, rows) for policy, rows in self._ranked() if not rows["full_memory"].all()]
        for kind in self.kinds[:1]:
            for policy, rows in equal[:1]:
                ratio = rows.loc[rows["kind"] == kind, "ratio"].median()
                if ratio < 1.0:
                    return (
                        f"{policy} has the lowest median {kind} regret in equal memory: {number(ratio)} of {BASELINE}'s"
                    )
        return f"No policy has a lower median regret in equal memory than {BASELINE}"

    def _ranked(self) -> list[tuple[str, pd.DataFrame]]:
        """The policies but the baseline and their rows, in the order of :meth:`overview`."""
        others = self.data[self.data["policy"] != BASELINE]
        found = [(str(policy), rows) for policy, rows in others.groupby("policy", sort=False)]

        def rank(each: tuple[str, pd.DataFrame]) -> tuple[bool, float]:
            rows = each[1]
            median = rows.loc[rows["kind"] == self.kinds[0], "ratio"].median()
            return bool(rows["full_memory"].all()), float(np.nan_to_num(median, nan=np.inf))

        return sorted(found, key=rank)

    def _sizes(self, rows: pd.DataFrame, policy: str, size: str) -> str:
        """The words or bytes of statistics of a policy, as text."""
        own = rows[rows["policy"] == policy]
        found = [int(each) for each in own[size].dropna().unique()]
        if not found:
            return "-"  # a policy in plain Python
        text = str(found[0]) if len(found) == 1 else f"{min(found)}-{max(found)}"
        return f"{text} *" if size == "words" and own["full_memory"].all() else text

    def plot(
        self, kind: str = "weak", arms: int | None = None, horizon: int | None = None, *, ax: Axes | None = None
    ) -> Axes:
        """A heat map of the ratios, policies by adversaries; over several sizes, of their medians; returns the axes.

        ``ax`` is where to draw; default: a new figure of `pyplot`. All maps have the same scale of colours.
        """
        from hlmc.arenas.drawing import heat_map

        return heat_map(self, kind, arms, horizon, ax)

    def save(self, path: str | Path) -> None:
        """Write :attr:`data` as ``.csv``, or :attr:`runs` as ``.parquet``, from which :meth:`load` restores the result.

        >>> import hlmc, tempfile, os
        >>> result = hlmc.arena(against=[], adversaries=["Needle"], arms=[16], horizons=[500], runs=2, progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(os.path.join(folder, "arena.parquet"))
        ...     again = hlmc.arenas.ArenaResult.load(os.path.join(folder, "arena.parquet"))
        >>> again.data.equals(result.data)
        True
        """
        path = ending("path", path, ".csv", ".parquet")
        if path.suffix.lower() == ".csv":
            with replacing(path) as file:
                self.data.to_csv(file, index=False, float_format="%.6g")
        else:
            columns = {name: self.runs[name].to_numpy() for name in self.runs.columns}
            write_table(path, columns, _KEY, list(columns), _parts(self.runs))

    @classmethod
    def load(cls, path: str | Path) -> ArenaResult:
        """Read what :meth:`save` wrote as ``.parquet``."""
        need_lab()
        with table_of(path) as (table, metadata):
            # Before they had a digest, files had pandas' metadata.
            if _KEY not in metadata and b"pandas" not in metadata:
                raise BadFile(f"{path} does not hold the runs of an arena")
            runs = table.to_pandas()
            missing = {*SIZE, *KINDS, "memory", "policy", "words", "run", "reward"} - set(runs.columns)
            if missing:
                raise BadFile(f"{path} does not hold the runs of an arena: {', '.join(sorted(missing))} are missing")
            if _KEY in metadata:
                check_digest(path, metadata, _KEY, _parts(runs))
            return cls(runs)

    def report(self, folder: str | Path) -> Path:
        """Write a report to a folder: ``arena.md`` with the tables, ``arena.csv``, ``arena.parquet``, heat maps."""
        from hlmc.arenas.writing import write

        return write(self, Path(folder))

    def __repr__(self) -> str:
        policies, cases = self.runs["policy"].nunique(), self.runs["adversary"].nunique()
        return f"<arena of {policies} policies, {cases} adversaries and {len(self.sizes)} sizes>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table().to_html()}"


def _parts(runs: pd.DataFrame) -> list[Part]:
    """The columns of :attr:`ArenaResult.runs`, for the digest of a file."""
    columns = [runs[name].to_numpy() for name in runs.columns]
    return [column if column.dtype.kind in "biuf" else [str(value) for value in column] for column in columns]


def better(rows: pd.DataFrame) -> pd.Series:
    """Whether each is significantly below the baseline."""
    return (rows["ratio_high"] < 1.0) | (rows["ratio"].isna() & (rows["difference_high"] < 0.0))


def worse(rows: pd.DataFrame) -> pd.Series:
    """Whether each is significantly above the baseline."""
    return (rows["ratio_low"] > 1.0) | (rows["ratio"].isna() & (rows["difference_low"] > 0.0))


def cell_text(rows: pd.DataFrame) -> str:
    """One cell of a table."""
    if len(rows) > 1:
        ratios = rows["ratio"].dropna()
        return number(ratios.median()) if len(ratios) else "-"
    (row,) = rows.to_dict("records")
    if row["policy"] == BASELINE:
        return "1"
    if np.isnan(row["ratio"]):
        return f"{number(row['difference'])} T"
    return f"{number(row['ratio'])} ({number(row['ratio_low'])} to {number(row['ratio_high'])})"


def number(value: float) -> str:
    """A number rounded to two significant digits, as text.

    >>> [number(value) for value in (0.0213, 1.234, 12.34, -3.21, 0.0, 123.4, float("nan"))]
    ['0.021', '1.2', '12', '-3.2', '0', '123', '-']
    """
    if np.isnan(value):
        return "-"
    if value == 0.0 or abs(value) >= 100:
        return f"{value:.0f}"
    return np.format_float_positional(float(f"{value:.1e}"), trim="-")
