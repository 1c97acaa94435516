"""Whoever does the work, in whatever order, with whatever luck: the same bytes."""

import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import hlmc
from hlmc import adversaries
from hlmc.errors import BadReward

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
