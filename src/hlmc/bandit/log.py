"""The log of all decisions as a file: CSV, or Parquet with the extra ``lab``."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from hlmc.bandit.experiment import Experiment
from hlmc.bandit.ids import id_of
from hlmc.bandit.schema import DROPPED, SETTLED
from hlmc.bandit.units import unit_of
from hlmc.engine.feedback import APPLIED, EXPIRED, LATE
from hlmc.engine.tickets import TICKET_BLOCK
from hlmc.errors import BadArgument, need_lab, shown
from hlmc.files.writing import replacing

COLUMNS = ("id", "time", "unit", "arm", "propensity", "block", "control", "result", "reward", "told")
"""What a line says: the decision's id, when it was asked for (seconds since 1970, UTC), for which unit (empty: the
learner that all share, or a unit that was forgotten), the name of the arm, its propensity, its block (the step of its
learner at which the top level chose last; empty in the control group), 1 in the control group, what became of it (see
:data:`RESULTS`; empty: pending), its reward, and when that came.

A learner that has reached its horizon starts afresh, and counts its steps from 0: two epochs, one of each stage, may
have the same block. As one observation they are still what :func:`hlmc.replay` takes a block for."""

RESULTS = {APPLIED: "applied", LATE: "late", EXPIRED: "expired", DROPPED: "dropped", SETTLED: "settled"}
_WHOLE = struct.Struct("<q")
AT_ONCE = 10_000
"""Lines that are written at a time."""

_SQL = """
select d.number, d.id, d.asked, l.unit, a.name, d.propensity, d.ticket, d.control, d.result, d.reward, d.told
from decisions d left join learners l on l.id = d.learner join arms a on a.id = d.arm
where d.experiment = ? order by d.number
"""


def decisions(experiment: Experiment) -> Iterator[tuple[Any, ...]]:
    """The lines of the log, in the order in which the decisions were made."""
    for number, kept, asked, unit, arm, propensity, ticket, control, result, reward, told in experiment.store.each(
        _SQL, experiment.number
    ):
        whose = None if unit is None else unit_of(unit)
        block = None if control else _WHOLE.unpack_from(ticket, 8 * TICKET_BLOCK)[0]
        yield id_of(number, kept), asked, whose, arm, propensity, block, control, RESULTS.get(result), reward, told


def export(experiment: Experiment, path: Path) -> int:
    """Within a transaction that reads: write the log to a file, which is replaced when it is whole; the lines."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise BadArgument(f"path must end in .csv or .parquet, not {shown(path.name)}")
    if kind == ".parquet":
        need_lab("pyarrow")
    with replacing(path) as file:
        return (_csv if kind == ".csv" else _parquet)(decisions(experiment), file)


def _csv(lines: Iterator[tuple[Any, ...]], file: IO[bytes]) -> int:
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    count = 0
    for line in lines:
        writer.writerow(line)
        count += 1
    text.detach()
    return count


def _parquet(lines: Iterator[tuple[Any, ...]], file: IO[bytes]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    flag, whole, number, text = pa.int8(), pa.int64(), pa.float64(), pa.string()
    kinds = (text, number, text, text, number, whole, flag, text, number, number)
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    count = 0
    with pq.ParquetWriter(file, schema) as writer:
        while part := list(islice(lines, AT_ONCE)):
            columns = zip(*part, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(part)
    return count
