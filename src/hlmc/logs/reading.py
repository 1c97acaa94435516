"""A log: which arm was played, what it earned, and with which propensity.

Rows of one *block* are not independent: a learner in bounded memory chooses a group of arms once per epoch of its top
level, and all steps of that epoch share the choice. Estimates are therefore summed per block. A log without blocks is
one of a policy that draws afresh at every step: each row is a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import checks
from hlmc.errors import BadArgument, BadFile, BadReward, BadType, shown
from hlmc.logs.means import Means

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray

NEEDED = ("arm", "reward", "propensity")
KNOWN = (*NEEDED, "time", "unit", "block", "control")
ENDINGS = (".csv", ".parquet", ".json", ".jsonl", ".dsjson")


@dataclass(frozen=True)
class Log:
    """A log in arrays. Row i played ``labels[arm[i]]``."""

    table: pd.DataFrame
    """The rows as they were read, in order of time, without those that have no reward."""
    labels: list[Any]
    """The arms that were played, in order."""
    arm: Array
    """[row]: the number of the arm in ``labels``."""
    reward: Array
    """[row]: the reward, scaled to [0, 1]."""
    propensity: Array
    """[row]: the probability by which the row is weighted; infinite: it is not known, and the row weighs nothing."""
    block: Array
    """[row]: the number of the block; blocks count from 0 in the order in which they began."""
    control: Array
    """[row]: whether the row is one of the control group, which was drawn uniformly."""
    left_out: int
    """Rows without a reward, which are not among these."""

    @cached_property
    def blocks(self) -> int:
        """How many blocks there are."""
        return int(self.block.max()) + 1

    @property
    def firsts(self) -> Array:
        """[block]: the first row of each block."""
        found: Array = np.unique(self.block, return_index=True)[1]
        return found

    @cached_property
    def means(self) -> Means:
        """The means of the arms."""
        return Means(self)

    @cached_property
    def longest(self) -> int:
        """Rows of the longest block."""
        return int(np.bincount(self.block).max())

    def sums(self, values: Array) -> Array:
        """[block]: the sums of one value per row."""
        found: Array = np.bincount(self.block, values, minlength=self.blocks)
        return found

    def places(self, labels: Sequence[Any]) -> Array:
        """The numbers of some arms in ``labels``; -1 for an arm that was never played.

        An arm is also found by its text: files do not tell the arm "3" from the arm 3.
        """
        exact = {label: number for number, label in enumerate(self.labels)}
        texts = {str(label): number for label, number in exact.items()}
        return np.array([exact.get(label, texts.get(str(label), -1)) for label in labels], np.int64)


def read(log: Any, columns: Mapping[str, str] | None, rewards: tuple[float, float]) -> Log:
    """A log from a data frame, a mapping of columns or a file; an error that names the row if it is none."""
    table = _named(_table(log), columns)
    for name in NEEDED:
        if name not in table.columns:
            there = ", ".join(map(str, table.columns))
            raise BadArgument(
                f"log must have a column {name!r}, or columns={{{name!r}: ...}} says which; it has {there}"
            )
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise BadArgument(f"log must have columns of different names, and {shown(twice[0])} comes twice")
    if "time" in table.columns:
        try:
            table = table.sort_values("time", kind="stable")
        except TypeError:
            raise BadType("time must be a column of values that can be ordered") from None
    reward = _numbers(table, "reward")
    told = ~np.isnan(reward)
    table, reward = table[told].reset_index(drop=True), reward[told]
    if not len(table):
        raise BadArgument("log must hold at least one row with a reward")
    low, high = rewards
    _refuse(~((reward >= low) & (reward <= high)), reward, f"reward must be a number in [{low:g}, {high:g}]", BadReward)
    propensity = _numbers(table, "propensity")
    wrong = ~((propensity > 0.0) & (propensity <= 1.0) | np.isposinf(propensity))
    _refuse(wrong, propensity, "propensity must be a number in (0, 1], or infinite where it is not known", BadArgument)
    _refuse(table["arm"].isna().to_numpy(), table["arm"].to_numpy(), "arm must be a name or a number", BadArgument)
    try:
        labels = table["arm"].unique().tolist()
    except TypeError:
        raise BadType(f"arm must be a name or a number, not {shown(table['arm'].iloc[0])}") from None
    if len({type(label) for label in labels}) == 1:
        labels.sort()
    numbers = {label: number for number, label in enumerate(labels)}
    control = _flags(table)
    return Log(
        table=table,
        labels=labels,
        arm=table["arm"].map(numbers).to_numpy(np.int64),
        reward=(reward - low) / (high - low),
        propensity=propensity,
        block=_blocks(table, control),
        control=control,
        left_out=int((~told).sum()),
    )


def _table(log: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(log, pd.DataFrame):
        return log
    if isinstance(log, Mapping):
        try:
            return pd.DataFrame(dict(log))
        except ValueError as error:
            raise BadArgument(f"log must have columns of equal lengths: {error}") from None
    if not isinstance(log, str | Path):
        raise BadType(f"log must be a data frame, a mapping of columns or a file, not {shown(log)}")
    path = checks.path("log", log)
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise BadArgument(f"log must be a file that ends in {', '.join(ENDINGS)}, not {shown(path.name)}")
    try:
        if kind == ".csv":
            return pd.read_csv(path)
        if kind == ".parquet":
            return pd.read_parquet(path)
        return _json_lines(path)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # also pandas' and pyarrow's own
        raise BadFile(f"{path} is not a table: {error}") from None


def _json_lines(path: Path) -> pd.DataFrame:
    """JSON lines: those of VW's ``dsjson``, or plain objects with the columns of a log."""
    import json

    import pandas as pd

    from hlmc.logs import dsjson

    with path.open(encoding="utf-8") as file:
        found = [json.loads(line) for line in file if line.strip()]
    if found and dsjson.is_one(found[0]):
        found = [dsjson.row(event) for event in found if dsjson.is_one(event)]
    return pd.DataFrame(found)


def _named(table: pd.DataFrame, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """The table with the names of a log; ``columns`` says what they are called in it."""
    if columns is None:
        return table
    given: Any = columns
    if not (isinstance(given, Mapping) and all(isinstance(theirs, str) for theirs in given.values())):
        raise BadType(f"columns must map names of a log to names of columns, not {shown(columns)}")
    for ours, theirs in columns.items():
        if ours not in KNOWN:
            raise BadArgument(f"columns must name columns of a log, {', '.join(KNOWN)}, not {shown(ours)}")
        if theirs not in table.columns:
            raise BadArgument(f"columns[{ours!r}] must be a column of the log, not {shown(theirs)}")
    return table.assign(**{ours: table[theirs] for ours, theirs in columns.items()})


def _numbers(table: pd.DataFrame, name: str) -> Array:
    try:
        if table[name].dtype.kind != "c":
            return table[name].to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        pass
    raise BadType(f"{name} must be a column of numbers, not of {table[name].dtype}")


def _refuse(wrong: Array, values: Array, wanted: str, error: type[BadArgument | BadReward]) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise error(f"{wanted}, not {shown(values[row : row + 1].tolist()[0])} as in row {row} of those with a reward")


def _flags(table: pd.DataFrame) -> Array:
    if "control" not in table.columns:
        return np.zeros(len(table), bool)
    found: Array = _numbers(table, "control") == 1.0
    return found


def _blocks(table: pd.DataFrame, control: Array) -> Array:
    """Number the blocks. A row of the control group, or without a block, is one by itself."""
    if "block" not in table.columns:
        return np.arange(len(table))
    keys = [name for name in ("unit", "block") if name in table.columns]
    number = table.groupby(keys, dropna=False, sort=False).ngroup().to_numpy(np.int64, copy=True)
    alone = control | table["block"].isna().to_numpy()
    number[alone] = len(table) + np.arange(int(alone.sum()))
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    # In the order in which they began.
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    found: Array = place[number]
    return found
