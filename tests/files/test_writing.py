"""The writer of all files: the old file or the new one, its mode, links, and no temporary that nobody removes."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.figure
import pytest

import hlmc
from hlmc import plotting
from hlmc.errors import BadArgument
from hlmc.files import disk, writing
from hlmc.files.writing import replacing, write_whole

POLICY = hlmc.EXP3(arms=3, horizon=10)
TRAP = hlmc.adversaries.BlockTrap(arms=3, memory=2)


def saved_result(path: Path) -> None:
    hlmc.simulate(POLICY, TRAP, runs=1, progress=False).save(path)


def saved_game(path: Path) -> None:
    game = hlmc.games.Spectrum(agents=2, channels=3)
    hlmc.games.play({"EXP3": POLICY}, game, 5, runs=1, seed=0, progress=False).save(path)


def saved_csv(path: Path) -> None:
    hlmc.arena(against=[], adversaries=["Needle"], arms=[16], horizons=[50], runs=2, progress=False).save(path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "learner": lambda path: POLICY.start().save(path),
    "fleet": lambda path: POLICY.fleet(3).save(path),
    "bytes": lambda path: write_whole(path, b"text"),
    "result.parquet": saved_result,
    "game.parquet": saved_game,
    "arena.csv": saved_csv,
    "plot.png": lambda path: plotting.save(matplotlib.figure.Figure(), path),
}
every_writer = pytest.mark.parametrize(("name", "write"), WRITERS.items(), ids=WRITERS)


@every_writer
def test_a_file_keeps_its_mode_and_a_link_stays(name: str, write: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path, link = tmp_path / "inner" / name, tmp_path / name
    path.write_bytes(b"old")
    path.chmod(0o660)
    link.symlink_to(path)
    write(link)
    assert link.is_symlink()
    assert path.read_bytes() != b"old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert [p.name for p in path.parent.iterdir()] == [name]
    new = tmp_path / "inner" / f"new-{name}"
    before = os.umask(0o027)
    try:
        write(new)
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


@every_writer
def test_only_ordinary_files_are_replaced(name: str, write: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(BadArgument, match=rf"{name} is not an ordinary file, and nothing else is replaced"):
        write(path)
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_sockets_folders_and_loops_stay(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(BadArgument, match="not an ordinary file"):
            write_whole(tmp_path / "socket", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "folder", b"")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "loop", b"")
    assert len(list(tmp_path.iterdir())) == 3


KILLED = """
import sys, time
from hlmc.files.writing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    print("writing", flush=True)
    time.sleep(1000)
"""


def writer_of(path: Path) -> "subprocess.Popen[str]":
    """A process in the middle of writing a file."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "it"
    writers = [writer_of(path) for _ in range(3)]
    try:
        assert names(tmp_path) == [".it.0.tmp", ".it.1.tmp", ".it.2.tmp"]
        writers[0].send_signal(signal.SIGKILL)
        writers[2].send_signal(signal.SIGKILL)
        for killed in (writers[0], writers[2]):
            killed.wait()
        write_whole(path, b"new")
        # The other is still at work, and finds its file when it is done.
        assert names(tmp_path) == [".it.1.tmp", "it"]
        writing.tidy(tmp_path)
        assert names(tmp_path) == [".it.1.tmp", "it"]
    finally:
        for each in writers:
            each.kill()
            each.communicate()
    (tmp_path / ".mine.tmp").touch()
    writing.tidy(tmp_path)
    assert names(tmp_path) == [".mine.tmp", "it"]
    assert path.read_bytes() == b"new"


def test_a_link_in_the_place_of_a_temporary_is_not_followed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    (tmp_path / ".it.0.tmp").symlink_to(mine)
    os.mkfifo(tmp_path / ".it.1.tmp")
    write_whole(tmp_path / "it", b"text")
    assert mine.read_bytes() == b"mine"
    assert (tmp_path / "it").read_bytes() == b"text"
    assert not (tmp_path / "it").is_symlink()


def test_several_processes_write_one_file(tmp_path: Path) -> None:
    """Each write is whole, none fails, and nothing is left over."""
    path = tmp_path / "it"
    script = (
        "import sys\nfrom hlmc.files.writing import write_whole\n"
        "for i in range(60): write_whole(sys.argv[1], sys.argv[2].encode() * (i + 1))\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path), letter]) for letter in "abc"]
    while any(process.poll() is None for process in processes):
        if path.exists():
            assert len(set(path.read_bytes())) == 1
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert path.read_bytes() in (b"a" * 60, b"b" * 60, b"c" * 60)
    assert names(tmp_path) == ["it"]


def test_a_temporary_that_another_process_is_removing_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its locking, another process may have taken it for an abandoned one and locked it."""
    others: list[int] = []
    plain = disk.try_lock

    def overtaken(handle: Any, shared: bool = False) -> bool:
        if not others:
            others.append(os.open(tmp_path / ".it.0.tmp", os.O_RDONLY))
            assert plain(others[0])
        return plain(handle, shared)

    monkeypatch.setattr(disk, "try_lock", overtaken)
    with replacing(tmp_path / "it") as file:
        (tmp_path / ".it.0.tmp").unlink()
        file.write(b"text")
    os.close(others[0])
    assert (tmp_path / "it").read_bytes() == b"text"
    assert names(tmp_path) == ["it"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"old")

    def interrupted() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path) == ["it"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_new_file_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    """Not even what appears while it is being written; also on a file system that has no hard links."""

    def no_links(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    path = tmp_path / "it"

    def overtaken() -> None:
        with replacing(path, new=True) as file:
            file.write(b"ours")
            path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError, match="not overwritten"):
        overtaken()
    assert path.read_bytes() == b"theirs"
    with pytest.raises(FileExistsError, match="not overwritten"), replacing(path, new=True):
        raise AssertionError
    path.unlink()
    with replacing(path, new=True) as file:
        file.write(b"ours")
    assert path.read_bytes() == b"ours"
    assert names(tmp_path) == ["it"]


def test_a_file_is_locked_only_while_it_is_written(tmp_path: Path) -> None:
    """A child that was forked meanwhile does not keep the new file locked."""
    path = tmp_path / "fleet"
    script = (
        "import os, sys, hlmc\nfrom hlmc.files.writing import replacing\n"
        "hlmc.EXP3(arms=3, horizon=9).fleet(3).save(sys.argv[1])\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(data)\n"
        "    r, w = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        os.close(w)\n"
        "        os.read(r, 1)\n"
        "        os._exit(0)\n"
        "fleet = hlmc.load(sys.argv[1])\n"
        "os.write(w, b'x')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=300)
