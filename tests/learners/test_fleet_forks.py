"""Fleets and forks: each case in a process of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def in_another_process(script: str, path: Path) -> str:
    """What a script prints. It ends by itself; the limit is there so that a deadlock is a failure."""
    head = (
        "import os, sys, threading, hlmc, numpy as np\n"
        "path = sys.argv[1]\n"
        "policy = hlmc.HLMC(arms=20, memory=10, horizon=10**6)\n"
        "def child(work):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        try:\n"
        "            work()\n"
        "            os._exit(0)\n"
        "        finally:\n"
        "            os._exit(1)\n"
        "    return os.waitpid(pid, 0)[1]\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", head + textwrap.dedent(script), str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_file_to_its_parent(path: Path) -> None:
    found = in_another_process(
        """
        fleet = policy.fleet(50, seed=1, file=path)
        fleet.select()
        learner = fleet[3]
        def work():
            learner.update(1.0)
            calls = [fleet.select, lambda: fleet.update([0.5] * 50), fleet.checkpoint, fleet.verify, fleet.copy]
            calls += [lambda: fleet.state, lambda: fleet.time, lambda: fleet[1], lambda: fleet.save(path + "2")]
            for call in calls:
                try:
                    call()
                    print("not refused", call)
                except hlmc.errors.BadArgument as error:
                    print(str(error).replace(path, "PATH").replace(str(os.getppid()), "PID"))
            sys.stdout.flush()
        assert child(work) == 0
        fleet.update([0.5] * 50)
        fleet.checkpoint()
        twin = fleet.copy()
        assert learner.time == 1 and learner == twin[3]
        del fleet, learner
        assert hlmc.load(path) == twin
        """,
        path,
    )
    line = "this fleet's file, PATH, is open in process PID, of which this one is a fork: "
    line += "fork with a fleet in memory, fleet.copy(), or open the file in one of the two alone"
    assert set(found.splitlines()) == {line}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_the_file_locked(path: Path) -> None:
    in_another_process(
        """
        fleet = policy.fleet(50, seed=1, file=path)
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(w)
            os.read(r, 1)  # until the parent has written, or has ended
            os._exit(0)
        del fleet
        fleet = hlmc.load(path)  # while the child lives
        os.write(w, b"x")
        assert os.waitpid(pid, 0)[1] == 0
        """,
        path,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_a_call_that_makes_another_lock(path: Path) -> None:
    in_another_process(
        """
        from hlmc import turns
        lock, entered = turns.turn(), threading.Event()
        def work():
            with lock:
                entered.set()
                while turns._forks.acquire(blocking=False):  # until the fork waits for this lock
                    turns._forks.release()
                with turns.turn():
                    pass
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        assert child(lambda: lock.acquire()) == 0
        thread.join()
        """,
        path,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_finds_fleets_between_two_calls(path: Path) -> None:
    """Other threads are at work on a fleet when the process forks: the child gets it whole and can use it."""
    in_another_process(
        """
        fleet = policy.fleet(3 * 4096, seed=1)
        rewards = np.full(len(fleet), 0.5)
        stop = False
        def step():
            fleet.select()
            fleet.update(rewards)
        def work():
            while not stop:
                step()
        threads = [threading.Thread(target=work) for _ in range(1)]
        for thread in threads:
            thread.start()
        def use():
            assert len(set(fleet.time)) == 1
            step()
            fleet.copy()
            policy.fleet(3).select()
        ended = [child(use) for _ in range(20)]
        stop = True
        for thread in threads:
            thread.join()
        assert ended == [0] * 20, ended
        """,
        path,
    )
