"""Results in Parquet files: a file that holds something else than was written is refused."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hlmc
from hlmc.errors import BadFile


@cache
def simulated() -> hlmc.Result:
    policies = {"a": hlmc.EXP3(arms=3, horizon=20), "b": hlmc.Uniform(arms=3)}
    return hlmc.simulate(policies, hlmc.adversaries.Needle(3), 20, runs=2, points=4, progress=False)


@cache
def played() -> hlmc.games.GameResult:
    game = hlmc.games.Spectrum(agents=6, channels=4)
    return hlmc.play(hlmc.UCB1(arms=4), game, horizon=20, runs=2, points=4, progress=False)


@cache
def compared() -> hlmc.arenas.ArenaResult:
    return hlmc.arena(against=[], adversaries=["Needle"], arms=[16], horizons=[50], runs=2, progress=False)


Kind = tuple[Callable[[], Any], Callable[[Path], Any]]
KINDS: dict[str, Kind] = {
    "simulation": (simulated, hlmc.load_result),
    "game": (played, hlmc.games.load_result),
    "arena": (compared, hlmc.arenas.ArenaResult.load),
}


def same(found: Any, original: Any) -> bool:
    if isinstance(original, hlmc.arenas.ArenaResult):
        return bool(found.runs.equals(original.runs) and found.data.equals(original.data))
    return bool(found.data.identical(original.data))


def changed(values: Any) -> Any:
    """A column of a table with another last value."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_list(values.type):
        inner = values.values.to_numpy().copy()
        inner[-1] = np.nan_to_num(inner[-1]) + 1.0
        return pa.array([inner])
    last = values.to_pylist()
    last[-1] = f"{last[-1]}?" if isinstance(last[-1], str) else np.nan_to_num(last[-1]) + 1
    return pa.array(last, values.type)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_another_value_in_any_column_is_refused(kind: str, tmp_path: Path) -> None:
    make, load = KINDS[kind]
    path = tmp_path / "r.parquet"
    make().save(path)
    assert same(load(path), make())
    table = pq.read_table(path)
    for i, name in enumerate(table.column_names):
        pq.write_table(table.set_column(i, name, changed(table.column(i))), path)
        # A simulation's axes are written out for every value, and read once.
        if kind == "simulation" and name in ("policy", "run", "time"):
            assert same(load(path), make())
        else:
            with pytest.raises(BadFile, match="do not have the digest"):
                load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_other_notes_or_none_is_refused(kind: str, tmp_path: Path) -> None:
    make, load = KINDS[kind]
    path = tmp_path / "r.parquet"
    make().save(path)
    table = pq.read_table(path)
    metadata = dict(table.schema.metadata)
    digest = b"hlmc-digest"
    (notes,) = set(metadata) - {digest}
    for key, value in ((notes, metadata[notes] + b" "), (digest, bytes(32)), (digest, None), (notes, None)):
        others = {k: v for k, v in {**metadata, key: value}.items() if v is not None}
        pq.write_table(table.replace_schema_metadata(others), path)
        with pytest.raises(BadFile):
            load(path)


def test_files_of_before_there_was_a_digest_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    played().save(path)
    table = pq.read_table(path)
    notes = table.schema.metadata[b"hlmc-game"]
    pq.write_table(table.replace_schema_metadata({b"hlmc-game-result-1": notes}), path)
    assert same(hlmc.games.load_result(path), played())
    compared().runs.to_parquet(path, index=False)
    assert same(hlmc.arenas.ArenaResult.load(path), compared())


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_or_hold_what_they_held(kind: str, tmp_path: Path) -> None:
    make, load = KINDS[kind]
    path = tmp_path / "r.parquet"
    make().save(path)
    sound = path.read_bytes()
    dice = np.random.default_rng(1)
    refused = 0
    for at in dice.integers(len(sound), size=150):
        damaged = bytearray(sound)
        damaged[at] ^= 1 << int(dice.integers(8))
        path.write_bytes(damaged)
        try:
            assert same(load(path), make())
        except BadFile:
            refused += 1
    assert refused > 50
