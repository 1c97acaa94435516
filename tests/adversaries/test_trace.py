"""Tables of rewards, in memory and in files: read whole or piece by piece, and refused where they are damaged."""

import math
import os
import pickle
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hlmc import adversaries
from hlmc._testing_adversary import check_adversary
from hlmc.adversaries import (
    Trace,
    tables,
)
from hlmc.adversaries.reading import from_repr
from hlmc.errors import BadArgument, BadFile, BadReward, BadType


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setattr(tables, "_folder", lambda: folder)
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def table(kind=np.float64, steps=50, arms=4):
    rows = np.random.default_rng(0).random((steps, arms))
    return rows.astype(kind) if np.dtype(kind).kind == "f" else (rows > 0.5).astype(kind)


def write(path, rows, header=False):
    """Write rows in the form that the path's name asks for."""
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".parquet":
        columns = {f"arm {arm}": rows[:, arm] for arm in range(rows.shape[1])}
        parquet.write_table(pa.table(columns), path, row_group_size=7)
    else:
        head = ",".join(f"arm {arm}" for arm in range(rows.shape[1])) + "\n" if header else ""
        path.write_text(head + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
    return path


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "?", "i8", "f2", ">f8"])
@pytest.mark.parametrize("suffix", [".npy", ".parquet", None])
def test_tables_of_all_kinds_are_read(tmp_path, cache, kind, suffix):
    rows = table(kind)
    given = rows if suffix is None else write(tmp_path / f"rewards{suffix}", rows.astype(rows.dtype.newbyteorder("=")))
    if suffix == ".npy":
        write(given, rows)
    trace = Trace(given)
    assert (trace.arms, trace.length) == (4, 50)
    assert (trace.rewards(0, 50) == rows.astype(float)).all()
    check_adversary(trace, samples=20)


@pytest.mark.parametrize("header", [True, False])
def test_csv_files_are_read_with_and_without_names(tmp_path, cache, header):
    rows = table()
    trace = Trace(write(tmp_path / "rewards.csv", rows, header))
    assert (trace.rewards(0, 50) == rows).all()
    check_adversary(trace)


def test_compressed_csv_files_are_read(tmp_path, cache):
    rows = table()
    write(tmp_path / "rewards.csv", rows, header=True)
    with pa.output_stream(str(tmp_path / "rewards.csv.gz"), compression="gzip") as out:
        out.write((tmp_path / "rewards.csv").read_bytes())
    assert (Trace(tmp_path / "rewards.csv.gz").rewards(0, 50) == rows).all()


def test_long_files_are_turned_piece_by_piece_and_once(tmp_path, cache, monkeypatch):
    rows = table(steps=5000, arms=3)
    monkeypatch.setattr(tables, "_PIECE", 1000)
    monkeypatch.setattr(tables, "COPIED", 0)
    pieces = []
    look = tables._check_piece
    monkeypatch.setattr(tables, "_check_piece", lambda piece, *more: (pieces.append(len(piece)), look(piece, *more)))
    for suffix in (".csv", ".parquet", ".npy"):
        path = write(tmp_path / f"rewards{suffix}", rows)
        assert (Trace(path).rewards(0, 5000) == rows).all()
        assert len(pieces) > 1
        assert max(pieces) < 1000
        pieces.clear()
        assert Trace(path) == Trace(str(path))
        assert pieces == []
    kept = sorted(found.suffix for found in cache.iterdir())
    assert kept == [".checked", ".npy", ".npy"]
    # A file that has changed is read again.
    write(path, rows[:10])
    assert Trace(path).length == 10


@pytest.mark.interpreted
def test_arrays_of_any_strides_are_read():
    rows = table(steps=6, arms=8)
    for view in (rows.T, rows[::2, ::3], rows[::-1], np.asfortranarray(rows)):
        assert (Trace(view).rewards(0, view.shape[0]) == view).all()


def test_a_mapped_file_in_columns_is_read(tmp_path, cache):
    rows = np.asfortranarray(table())
    np.save(tmp_path / "rewards.npy", rows)
    assert (Trace(tmp_path / "rewards.npy").rewards(0, 50) == rows).all()


def test_a_trace_is_a_value(tmp_path, cache):
    rows = table()
    trace = Trace(rows)
    before = trace.reward(0, 0)
    rows[0, 0] = 1 - before
    assert trace.reward(0, 0) == before
    assert trace != Trace(rows)
    assert trace == Trace(trace.table)
    assert trace.table is Trace(trace.table).table
    assert repr(trace).startswith("Trace(table=<float64 [50, 4] ")
    assert repr(Trace([[0.5]])) == "Trace(table=[[0.5]])"
    assert trace != "something else"


def test_a_trace_of_a_file_travels_by_its_path(tmp_path, cache, monkeypatch):
    write(tmp_path / "rewards.npy", table(steps=10_000))
    monkeypatch.chdir(tmp_path)
    trace = Trace("rewards.npy")
    assert repr(trace) == "Trace(table='rewards.npy')"
    data = pickle.dumps(trace)
    assert len(data) < 1000
    monkeypatch.chdir("/")
    assert pickle.loads(data) == trace
    assert pickle.loads(data).reward(3, 2) == trace.reward(3, 2)
    write(tmp_path / "rewards.npy", table(steps=9))
    with pytest.raises(BadFile, match="has changed since this adversary was made"):
        pickle.loads(data).reward(3, 2)


def test_a_large_mapped_array_is_not_copied(tmp_path, monkeypatch):
    np.save(tmp_path / "rewards.npy", table())
    rows = np.load(tmp_path / "rewards.npy", mmap_mode="r")
    assert Trace(rows).spec[0] != rows.ctypes.data
    monkeypatch.setattr("hlmc.adversaries.tables.COPIED", rows.nbytes - 1)
    trace = Trace(rows)
    assert trace.spec[0] == rows.ctypes.data


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.001, 1.001])
def test_bad_rewards_in_files_are_refused(tmp_path, cache, suffix, bad):
    rows = table()
    rows[33, 2] = bad
    path = write(tmp_path / f"rewards{suffix}", rows)
    with pytest.raises(BadReward, match=rf"rewards{suffix}: step 33, arm 2 holds (nothing|{bad})"):
        Trace(path)
    assert list(cache.iterdir()) == []


def test_bad_tables_are_refused():
    with pytest.raises(BadReward, match="table: step 0, arm 1 holds 2"):
        Trace(np.array([[0, 2]], dtype=np.uint8))
    with pytest.raises(BadReward, match="table: step 1, arm 0 holds nan"):
        Trace([[0.5], [math.nan]])
    for bad in ([0.5, 0.5], [[[0.5]]], [[]], 0.5):
        with pytest.raises(BadArgument, match=r"table must be an array \[steps, arms\], not one of shape"):
            Trace(bad)
    with pytest.raises(BadArgument, match=r"table must be an array \[steps, arms\]"):
        Trace([[0.5], [0.5, 0.5]])
    with pytest.raises(BadType, match="table must be an array of numbers or a path, not list of <U1"):
        Trace([["a"]])


def test_files_that_cannot_be_read_are_refused(tmp_path, cache):
    def refused(name, contents, message, error=BadFile):
        path = tmp_path / name
        if contents is not None:
            path.write_bytes(contents)
        with pytest.raises(error, match=message):
            Trace(path)
        assert not list(cache.glob(".*.tmp"))

    sound = {suffix: write(tmp_path / f"sound{suffix}", table()).read_bytes() for suffix in (".npy", ".parquet")}
    refused("missing.npy", None, "missing.npy: No such file")
    refused(
        "rewards.txt",
        b"0.5\n",
        r"table must be a file of the kind .npy, .csv, .csv.gz or .parquet",
        BadArgument,
    )
    refused("cut.npy", sound[".npy"][:-100], "cut.npy is not a sound .npy file")
    refused("short.npy", sound[".npy"][:20], "short.npy is not a sound .npy file")
    refused("empty.npy", b"", "empty.npy is not a sound .npy file")
    refused("text.npy", b"0.5,0.5\n" * 100, "text.npy is not a sound .npy file")
    refused("cut.parquet", sound[".parquet"][:-100], "cut.parquet is not a sound Parquet file")
    refused("empty.parquet", b"", "empty.parquet is not a sound Parquet file")
    refused("empty.csv", b"", "empty.csv holds no rewards")
    refused("names.csv", b"a,b\n", "names.csv holds no rewards")
    refused("ragged.csv", b"0.5,0.5\n0.5\n", "ragged.csv is not a sound CSV file of numbers")
    refused("words.csv", b"a,b\n0.5,x\n", "words.csv is not a sound CSV file of numbers")
    refused("missing.csv", b"0.5,0.5\n0.5,\n", "missing.csv: step 1, arm 1 holds nothing", BadReward)
    refused("binary.csv", b"\xff\xfe\x00\x01" * 50, "binary.csv is not a sound CSV file of numbers")
    np.save(tmp_path / "one.npy", np.zeros(5))
    refused("one.npy", None, r"one.npy must hold an array of numbers \[steps, arms\], not float64 \[5\]")
    np.save(tmp_path / "pickled.npy", np.array([[{}]]), allow_pickle=True)
    refused("pickled.npy", None, "pickled.npy is not a sound .npy file")
    np.save(tmp_path / "none.npy", np.zeros((0, 4)))
    refused("none.npy", None, "none.npy")
    parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "words.parquet")
    refused("words.parquet", None, "words.parquet must hold numbers in every column, not string in column 0")
    parquet.write_table(pa.table({}), tmp_path / "none.parquet")
    refused("none.parquet", None, "none.parquet holds no rewards")
    parquet.write_table(pa.table({"a": [0.5, None]}), tmp_path / "null.parquet")
    refused("null.parquet", None, "null.parquet: step 1, arm 0 holds nothing", BadReward)


def test_what_is_no_ordinary_file_is_not_opened(tmp_path, cache):
    """A pipe would let the reader wait for ever, a device would never end."""
    for suffix in (".npy", ".csv", ".parquet"):
        path = tmp_path / f"pipe{suffix}"
        os.mkfifo(path)
        with pytest.raises(BadFile, match=rf"pipe{suffix} is not an ordinary file"):
            Trace(path)
        device = tmp_path / f"zero{suffix}"
        device.symlink_to("/dev/zero")
        with pytest.raises(BadFile, match=rf"zero{suffix} is not an ordinary file"):
            Trace(device)
    assert from_repr(f"Trace(table={str(path)!r})") is None


def test_forged_headers_are_refused(tmp_path, cache):
    path = tmp_path / "rewards.npy"
    for shape in ("(4611686018427387904, 4)", "(9223372036854775808, 2)", "(-1, 4)", "(50, 4000000000)", "[" * 3000):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(9000) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(1600))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(BadFile, match=r"rewards.npy (is not a sound .npy file|must hold an array)"):
                Trace(path)


@pytest.mark.parametrize("copied", [0, 2**26], ids=["mapped", "copied"])
def test_a_file_that_is_cut_short_is_noticed_before_it_is_read(tmp_path, copied):
    """In a process of its own: to read what is missing would end it. What was copied is there."""
    script = """if True:
        import os, sys, numpy as np, hlmc
        Trace = hlmc.adversaries.Trace
        path = sys.argv[1]
        hlmc.adversaries.tables.COPIED = int(sys.argv[2])
        np.save(path, np.full((10_000, 4), 0.5))
        traces = [Trace(path), Trace(np.load(path, mmap_mode="r"))]
        assert [trace.reward(9_999, 3) for trace in traces] == [0.5, 0.5]
        os.truncate(path, 1000)
        policy = hlmc.EXP3(arms=4, horizon=10_000)
        for trace in traces:
            for call in (lambda: trace.reward(9_999, 3), lambda: hlmc.simulate(policy, trace, runs=1, progress=False)):
                try:
                    print("played", call() == 0.5)
                except hlmc.errors.BadFile as error:
                    print(error)
    """
    command = [sys.executable, "-c", script, str(tmp_path / "rewards.npy"), str(copied)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) == 4
    if copied:
        assert lines == ["played True", "played False"] * 2
    else:
        assert all("was cut short: 1000 bytes of 320128" in line for line in lines)


def test_a_byte_that_is_neither_true_nor_false_is_no_reward(tmp_path, cache):
    path = tmp_path / "rewards.npy"
    np.save(path, np.zeros((50, 3), dtype=bool))
    data = bytearray(path.read_bytes())
    data[-5] = 7
    path.write_bytes(data)
    with pytest.raises(BadReward, match=r"rewards.npy: step 48, arm 1 holds 7"):
        Trace(path)


def test_a_small_table_is_not_changed_by_whoever_writes_to_its_file_later(tmp_path, cache):
    path = tmp_path / "rewards.npy"
    np.save(path, np.full((50, 3), 0.5))
    trace = Trace(path)
    np.save(path, np.full((50, 3), 9.0))
    assert trace.rewards(0, 50).max() == 0.5


def test_tables_in_column_order_and_tables_that_are_mapped_are_read_alike(tmp_path, cache, monkeypatch):
    rows = table()
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "columns.npy", np.asfortranarray(rows))
    for copied in (0, 2**26):
        monkeypatch.setattr(adversaries.tables, "COPIED", copied)
        for name in ("rows.npy", "columns.npy"):
            assert (Trace(tmp_path / name).rewards(0, len(rows)) == rows).all()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(tables, "user_cache", lambda: blocked)
    tables._folder.cache_clear()
    try:
        rows = table()
        assert (Trace(write(tmp_path / "rewards.csv", rows)).rewards(0, 50) == rows).all()
        assert Path(tables._folder()).is_dir()
    finally:
        tables._folder.cache_clear()
