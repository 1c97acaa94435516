"""Machine code on disk: damage is noticed before anything is believed, and no place is required to keep it."""

import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlmc.engine.kernel import kernel
from hlmc.engine.linker import relink
from hlmc.engine.primitives import floor_log2
from hlmc.engine.stream import mix
from hlmc.targets import JIT
from hlmc.targets.native import cache
from hlmc.targets.native import compiler as native

FACTOR = 3

needs_compiler = pytest.mark.skipif(not JIT, reason="with HLMC_JIT=0 nothing is compiled")


@kernel
def times(x: int) -> int:
    return x * FACTOR


class Compiler:
    """Dispatchers of :func:`hlmc.engine.stream.mix`, each as if it were in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mixed(self) -> tuple[int, int]:
        """What it makes of 7, and how many times that was found on disk."""
        import numba

        dispatcher = numba.njit(mix)
        cache.attach(dispatcher, mix)
        result = dispatcher(numba.uint64(7))
        return int(result), sum(dispatcher.stats.cache_hits.values())

    @property
    def entry(self) -> Path:
        (path,) = self.folder.glob("kernels-*/*")
        return path


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_said", [])
    monkeypatch.delenv(cache._HANDED_DOWN, raising=False)
    return Compiler(tmp_path)


RIGHT = 0x12AE30237B17DF14  # mix(7), worked out with Python's integers


@needs_compiler
def test_a_damaged_entry_is_compiled_anew_and_replaced(compiler):
    assert compiler.mixed() == (RIGHT, 0)
    assert compiler.mixed() == (RIGHT, 1)
    whole = compiler.entry.read_bytes()
    middle = len(whole) // 2
    damages = [
        b"",
        whole[:1],
        whole[:-1],
        whole[:middle],
        whole + b"\0",
        bytes(len(whole)),
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    ]
    for damage in damages:
        compiler.entry.write_bytes(damage)
        assert compiler.mixed() == (RIGHT, 0)
        assert compiler.mixed() == (RIGHT, 1)


@needs_compiler
def test_no_flipped_bit_is_believed(compiler):
    compiler.mixed()
    path = compiler.entry
    whole = path.read_bytes()
    draw = random.Random(1)
    for bit in draw.sample(range(8 * len(whole)), 500):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(OSError, match="damaged"):
            cache._sound(path)
    path.write_bytes(whole)
    assert cache._sound(path) == whole[cache._SEAL :]
    # Sound, but in the place of another entry.
    other = path.with_name("other.nbc")
    path.rename(other)
    with pytest.raises(OSError, match="damaged"):
        cache._sound(other)


@needs_compiler
def test_a_place_that_cannot_be_written_is_said_once(compiler, tmp_path, monkeypatch):
    import numba

    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(blocked))
    with pytest.warns(RuntimeWarning, match=r"file/kernels-.*: Not a directory\); they are kept in a temporary folder"):
        assert compiler.mixed() == (RIGHT, 0)
    assert compiler.mixed() == (RIGHT, 1)
    monkeypatch.delenv(cache._HANDED_DOWN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiler.mixed() == (RIGHT, 0)


@needs_compiler
def test_no_place_at_all_is_done_without(compiler, monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", "/dev/null/x")
    monkeypatch.setattr(cache.tempfile, "mkdtemp", lambda **_: Path("/dev/null/y").mkdir())
    with pytest.warns(RuntimeWarning, match="none are kept"):
        assert compiler.mixed() == (RIGHT, 0)
    assert compiler.mixed() == (RIGHT, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the variables of Linux")
def test_the_users_cache_is_an_absolute_place(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for odd in ("", "relative", "./here"):
        monkeypatch.setenv("XDG_CACHE_HOME", odd)
        assert cache.user_cache() == tmp_path / ".cache" / "hlmc"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.user_cache() == tmp_path / "x" / "hlmc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(OSError, match="there is no home folder"):
        cache.user_cache()


def test_a_temporary_folder_is_taken_over_only_from_oneself(monkeypatch, tmp_path):
    for stranger in (tmp_path / "missing", "", "relative", Path("/proc/1/cwd"), __file__):
        monkeypatch.setenv(cache._HANDED_DOWN, str(stranger))
        with pytest.raises(OSError):
            cache._handed_down()
    monkeypatch.setenv(cache._HANDED_DOWN, str(tmp_path))
    assert cache._handed_down() == tmp_path
    monkeypatch.setattr(cache.os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(OSError):
        cache._handed_down()


def test_what_identifies_a_kernel():
    """Kernels of one name that mean different things never share an entry; what is not of the package has none."""
    renamed = relink(mix, {"_A": 1})
    assert None not in (cache.identity(mix), cache.identity(renamed), cache.identity(floor_log2))
    assert len({cache.identity(mix), cache.identity(renamed), cache.identity(relink(mix, {}, "other"))}) == 3
    assert cache.identity(relink(mix, {})) == cache.identity(mix)
    assert cache.identity(times) is None
    assert cache.identity(relink(mix, {"_A": times})) is None
    assert cache.identity(relink(mix, {"_A": len})) is None


def test_whatever_machine_code_follows_from_is_in_the_folders_name(tmp_path, monkeypatch):
    """Kernels, wherever they stand, and the targets, which translate them; nothing else."""
    monkeypatch.setattr(cache, "_package", lambda: tmp_path)

    def digest_after(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return cache.source_digest.__wrapped__()

    assert digest_after("cli/plan.py", "") is None
    kernels = digest_after("routines/exp3.py", "@kernel\ndef f(): ...")
    assert digest_after("cli/plan.py", "x = 1") == kernels
    translated = digest_after("targets/native/wide/values.py", "LANES = 8")
    assert translated != kernels
    assert digest_after("targets/native/wide/values.py", "LANES = 4") not in (kernels, translated)


@needs_compiler
def test_options_are_part_of_an_entry(compiler):
    import numba

    for options in ({}, {"nogil": True}, {"boundscheck": True}):
        dispatcher = numba.njit(**options)(mix)
        cache.attach(dispatcher, mix, **options)
        assert int(dispatcher(numba.uint64(7))) == RIGHT
        assert not dispatcher.stats.cache_hits
    assert len(list(compiler.folder.glob("kernels-*/*.nbc"))) == 3


# One step of a learner, and whether any kernel was compiled for it.
LEARN = """
import subprocess, sys
from numba.core.dispatcher import _FunctionCompiler
count, plain = 0, _FunctionCompiler.compile
def counted(*arguments):
    global count
    count += 1
    return plain(*arguments)
_FunctionCompiler.compile = counted
import hlmc
learner = hlmc.Uniform(arms=3).start(seed=1)
arm = learner.select()
learner.update(0.5)
print(f"arm {arm}, compiled {count > 0}", flush=True)
if sys.argv[1:]:
    subprocess.run([sys.executable, "-c", sys.argv[1]], check=True)
"""


def learn(*arguments, **variables):
    """Run a learner in a process of its own: its lines of output, its warnings."""
    known = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", cache._HANDED_DOWN)}
    env = {**known, "PYTHONWARNINGS": "always", **variables}
    done = subprocess.run([sys.executable, "-c", LEARN, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1], [line for line in done.stderr.split("\n") if "RuntimeWarning" in line]


@needs_compiler
def test_a_second_process_compiles_nothing_and_damage_makes_it_compile(tmp_path):
    where = {"XDG_CACHE_HOME": str(tmp_path)}
    assert learn(**where) == (["arm 2, compiled True"], [])
    assert learn(**where) == (["arm 2, compiled False"], [])
    draw = random.Random(2)
    for path in sorted(tmp_path.rglob("*.nbc")):
        data = bytearray(path.read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(draw.choice([data, data[: len(data) // 2], b""]))
    assert learn(**where) == (["arm 2, compiled True"], [])
    assert learn(**where) == (["arm 2, compiled False"], [])


@needs_compiler
def test_without_a_home_a_learner_learns_and_the_processes_it_starts_share_its_cache(tmp_path):
    lines, said = learn(LEARN, HOME="/dev/null/home", TMPDIR=str(tmp_path))
    assert lines == ["arm 2, compiled True", "arm 2, compiled False"]
    assert len(said) == 1
    assert not list(tmp_path.iterdir())


def test_numbas_own_switch_runs_the_interpreter():
    assert learn(NUMBA_DISABLE_JIT="1") == (["arm 2, compiled False"], [])


@needs_compiler
def test_ctrl_c_waits_until_a_kernel_has_been_compiled(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised within a callback of LLVM's it would be printed and lost, and the compiler would fail."""
    written = []

    def pressed(name: str, content: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        written.append(name)

    monkeypatch.setattr(cache, "_write", pressed)
    dispatcher = native._dispatcher(mix)
    with pytest.raises(KeyboardInterrupt):
        dispatcher(np.uint64(7))
    assert len(written) == 1
    assert int(dispatcher(np.uint64(7))) == RIGHT


class Late(Exception):
    """What a handler of SIGALRM raises."""


@needs_compiler
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="there is no such signal here")
def test_a_signal_waits_until_a_kernel_is_compiled() -> None:
    """What its handler raises within a callback of LLVM, Python would print and forget."""
    went_on: list[int] = []

    class Compiling:
        def compile(self, depth: int) -> str:
            if depth:
                return str(native._uninterrupted(Compiling()).compile(depth - 1))
            signal.raise_signal(signal.SIGALRM)
            went_on.append(depth)
            return "compiled"

    def late(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    try:
        for depth in (0, 2):
            with pytest.raises(Late):
                native._uninterrupted(Compiling()).compile(depth)
            assert signal.getsignal(signal.SIGALRM) is late
    finally:
        signal.signal(signal.SIGALRM, before)
    assert went_on == [0, 0]
