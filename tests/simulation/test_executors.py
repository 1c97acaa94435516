"""Whoever does the work, in whatever order, with whatever luck: the same bytes."""

import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import hlmc
from hlmc import adversaries
from hlmc.cli import main
from hlmc.errors import BadReward
from hlmc.interrupts import Interrupts
from hlmc.simulation import Interrupted, store

HORIZON = 3000
POLICIES = {
    "HLMC": hlmc.HLMC(arms=12, levels=2, horizon=HORIZON),
    "EXP3": hlmc.EXP3(arms=12, horizon=HORIZON),
    "UCB-M": hlmc.UCBM(arms=12, memory=8),
}
TRAP = adversaries.BlockTrap(arms=12, memory=4)


@pytest.fixture(autouse=True)
def _one_run_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlmc.simulation.experiment._ENOUGH", 1)


@pytest.fixture(scope="module")
def alone() -> hlmc.Result:
    """What one thread computes."""
    with ThreadPoolExecutor(1) as pool:
        return hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, executor=pool, progress=False)


def same(one: hlmc.Result, other: hlmc.Result) -> bool:
    return (
        one.data.identical(other.data) and one.data["reward"].values.tobytes() == other.data["reward"].values.tobytes()
    )


class Plain:
    """A future of somebody else's: it has a result, and nothing besides."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work

    def result(self) -> Any:
        return self._work()


class Calling(Plain):
    """One that calls back, from a thread of its own."""

    def add_done_callback(self, function: Callable[[Any], None]) -> None:
        threading.Timer(random.random() / 100, function, [self]).start()


class Foreign:
    """An executor that is related to nothing in the standard library."""

    def __init__(self, future: type[Plain], fails: int = 0, error: type[Exception] = ConnectionError) -> None:
        self.future = future
        self.fails = fails
        self.error = error
        self.given = 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Plain:
        self.given += 1
        lost = self.given <= self.fails

        def work() -> Any:
            if lost:
                raise self.error("the worker is gone")
            return function(*arguments)

        return self.future(work)


@pytest.mark.parametrize("threads", [None, 2, 5])
def test_threads(alone: hlmc.Result, threads: int | None) -> None:
    if threads is None:
        assert same(hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, progress=False), alone)
    else:
        with ThreadPoolExecutor(threads) as pool:
            assert same(hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, executor=pool, progress=False), alone)
            assert pool.submit(abs, -1).result() == 1  # it is the caller's, and left open


@pytest.mark.slow
def test_processes(alone: hlmc.Result) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, executor=pool, progress=False), alone)


@pytest.mark.parametrize("future", [Plain, Calling])
def test_executors_that_only_look_like_one(alone: hlmc.Result, future: type[Plain]) -> None:
    executor = Foreign(future)
    assert same(hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, executor=executor, progress=False), alone)
    assert executor.given == 18


@pytest.mark.parametrize("future", [Plain, Calling])
def test_a_lost_worker_is_replaced(alone: hlmc.Result, future: type[Plain]) -> None:
    executor = Foreign(future, fails=4)
    assert same(hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, executor=executor, progress=False), alone)
    assert executor.given == 22


def test_but_not_for_ever() -> None:
    executor = Foreign(Plain, fails=10**9)
    with pytest.raises(ConnectionError, match="the worker is gone"):
        hlmc.simulate(POLICIES, TRAP, HORIZON, runs=1, executor=executor, progress=False)


def test_what_is_wrong_with_the_experiment_is_not_tried_again() -> None:
    executor = Foreign(Plain, fails=1, error=BadReward)
    with pytest.raises(BadReward):
        hlmc.simulate(POLICIES, TRAP, HORIZON, runs=1, executor=executor, progress=False)
    assert executor.given == 3


def test_a_broken_pool_is_reported_and_what_it_had_done_is_kept(tmp_path: Path) -> None:
    class Breaking(Executor):
        given = 0

        def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Any:
            Breaking.given += 1
            if Breaking.given > 3:
                from concurrent.futures.process import BrokenProcessPool

                def broken() -> Any:
                    raise BrokenProcessPool("a process was killed")

                return Plain(broken)
            return Plain(lambda: function(*arguments))

    from concurrent.futures import BrokenExecutor

    with pytest.raises(BrokenExecutor):
        hlmc.simulate(POLICIES, TRAP, HORIZON, runs=2, executor=Breaking(), store=tmp_path, progress=False)
    assert len(list(tmp_path.glob("*.parquet"))) == 3


# --- Ctrl-C ---------------------------------------------------------------------------------------------------------


class Dying:
    """Python ignores what is raised while an object dies: there a KeyboardInterrupt would be lost."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_while_a_store_is_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hlmc.simulate(POLICIES, TRAP, HORIZON, runs=2, store=tmp_path, progress=False)
    plain = store.read_runs

    def read(path: Path) -> Any:
        Dying()
        return plain(path)

    monkeypatch.setattr(store, "read_runs", read)
    with pytest.raises(Interrupted, match=f"interrupted after 1 of 12 runs; what was finished is kept in {tmp_path}"):
        hlmc.simulate(POLICIES, TRAP, HORIZON, runs=4, store=tmp_path, progress=False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_was_lost_before_the_work_ends_it() -> None:
    with Interrupts(held=False):
        with suppress(KeyboardInterrupt):  # as a package does that catches everything while it is imported
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted, match="after 0 of 3 runs"):
            hlmc.simulate(POLICIES, TRAP, HORIZON, runs=1, progress=False)


def test_ctrl_c_that_python_cannot_raise_is_noted_and_leaves_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with Interrupts(held=False) as interrupts:
        Dying()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    with Interrupts() as interrupts:  # pressed twice
        Dying()
        Dying()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts._came = False  # both have been taken
    assert capsys.readouterr() == ("", "")


def test_other_exceptions_that_python_cannot_raise_are_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __del__(self) -> None:
            raise ZeroDivisionError

    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_type))
    with Interrupts():
        Failing()
    assert told == [ZeroDivisionError]


def test_ctrl_c_in_an_inner_block_is_left_to_an_outer_one_that_is_held() -> None:
    with Interrupts() as outer:
        with Interrupts():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            outer.check()
        outer._came = False  # it has been taken


def test_ctrl_c_wakes_whoever_waits_and_leaves_the_finished_runs(alone: hlmc.Result) -> None:
    sent = threading.Event()

    class Hanging:
        """Finishes five tasks; then somebody presses Ctrl-C and nothing comes any more."""

        given = 0

        def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
            self.given += 1
            future: Future[Any] = Future()
            if self.given <= 5:
                future.set_result(function(*arguments))
            if self.given == 18:
                threading.Timer(0.1, lambda: (sent.set(), os.kill(os.getpid(), signal.SIGINT))).start()
            return future

    with pytest.raises(Interrupted, match="after 5 of 18 runs") as caught:
        hlmc.simulate(POLICIES, TRAP, HORIZON, runs=6, executor=Hanging(), progress=False)
    assert sent.is_set()
    partial = caught.value.partial.data["reward"]
    assert partial.equals(alone.data["reward"].sel(run=partial["run"]))


def test_ctrl_c_twice_is_taken_at_once() -> None:
    with Interrupts() as held:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        held._came = False  # both have been taken


@pytest.mark.parametrize(
    ("command", "patched", "said"),
    [
        (
            ["arena", "--arms", "16", "--horizon", "400", "--adversary", "Needle", "--against", "Champion"],
            "hlmc.arenas.playing.drive",
            (
                "interrupted after 0 of 1 pairs of adversary and size; what was finished is kept in runs, "
                "and the same call goes on from there"
            ),
        ),
        (
            ["reproduce", "weak-1", "--horizon", "10000"],
            "hlmc.paper.experiment.simulate",
            "interrupted; finished runs are stored in report/runs; the same command with --resume continues from there",
        ),
        (
            ["spectrum", "--agents", "10", "--horizon", "100"],
            "hlmc.simulation.driver.Work",
            (
                "interrupted after 0 of 5 runs of HLMC; the table shows the finished runs; no file is written, "
                "and the same command starts from the beginning"
            ),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_commands_say_in_one_line_what_is_kept(
    command: list[str],
    patched: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(patched, pressed)
    store = ["--store", "runs", "--quiet"] if command[0] == "arena" else []
    assert main([*command, *store]) == 130
    assert capsys.readouterr() == ("", f"hlmc {command[0]}: {said}\n")


# --- Dask -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two worker processes on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as found:
        yield found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_dask_cluster_that_loses_a_worker_in_the_middle(cluster: Any) -> None:
    from distributed import Client

    horizon, runs = 400_000, 40
    policy = {"HLMC": hlmc.HLMC(arms=100, memory=20, horizon=horizon)}
    with Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        executor = client.get_executor()
        submitted = executor.submit
        brought = []

        def submit(function: Any, *arguments: Any) -> Any:
            future = submitted(function, *arguments)
            future.add_done_callback(
                lambda _: brought.append(1) or (len(brought) == 5 and os.kill(victim, signal.SIGKILL))
            )
            return future

        executor.submit = submit
        result = hlmc.simulate(policy, adversaries.BlockTrap(), runs=runs, executor=executor, progress=False)
        assert victim not in client.run(os.getpid).values()
    assert same(result, hlmc.simulate(policy, adversaries.BlockTrap(), runs=runs, progress=False))
