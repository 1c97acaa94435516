"""Bandits whose processes are killed and whose disks lose power: who plays, and what must hold afterwards.

A player says each answer that it got, to a file that outlives it. What was said is what was acknowledged: afterwards
the store must know all of it (nothing lost), each reward at its own decision (nothing misattributed) and once, and
every row must be what its events make of it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import hlmc
from hlmc.bandit.ids import id_of
from hlmc.errors import BadArgument, StoreUnavailable

POLICY = hlmc.HLMC(arms=64, groups=(8, 8), horizon=500)
NAMES = [f"arm {i}" for i in range(8)]
OPTIONS = {"arms": NAMES, "wait": 0.3, "default": 0.125, "control": 0.1}
DEFAULT = 0.125
SETTLED, DROPPED = 5, 4

Say = Callable[..., None]


def reward_of(decision: str) -> float:
    """A reward that tells whose it is."""
    return 0.25 + zlib.crc32(decision.encode()) % 1_000_003 / 2_000_006


def saying(path: Path) -> Say:
    """Writes lines that a killed process leaves whole: each is one write."""
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return lambda *what: os.write(out, (json.dumps(what) + "\n").encode()) and None


def said(path: Path) -> list[list]:
    """What was said. The last line may be cut."""
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return [json.loads(line) for line in lines[:-1]]


def play(bandit: hlmc.Bandit, say: Say, dice: random.Random) -> Iterator[None]:
    """Take steps of all kinds without end."""
    waiting: list[str] = []
    own, count = os.urandom(4).hex(), 0
    while True:
        kind = dice.random()
        if kind < 0.5 or len(waiting) < 3:
            units = [dice.choice([None, "u", "v", f"w{dice.randrange(50)}"]) for _ in range(dice.choice([1, 1, 1, 6]))]
            for each in bandit.ask(units, key=[f"{own} {count} {at}" for at in range(len(units))]):
                say("ask", each.id, each.arm, each.unit)
                waiting.append(each.id)
        elif kind < 0.9:
            chosen = [waiting.pop(dice.randrange(len(waiting))) for _ in range(dice.choice([1, 1, 1, 3]))]
            for each, answer in zip(chosen, bandit.tell(chosen, [reward_of(c) for c in chosen]), strict=True):
                say("tell", each, answer)
            waiting += [each for each in chosen if dice.random() < 0.1]  # told again later
        elif kind < 0.94:
            chosen = [waiting.pop()]
            say("drop", chosen[0], bandit.drop(chosen)[0])
        elif kind < 0.98:
            with suppress(BadArgument):  # another player was faster
                name = dice.choice(NAMES[1:])
                (bandit.arms.resume if name in bandit.arms.paused else bandit.arms.pause)(name)
        elif kind < 0.985 and len(bandit.arms) < 60:
            name = f"new {own} {count}"
            bandit.arms.add(name)
            say("arm", name)
        else:
            bandit.settle()
        count += 1
        yield


def problems(address: str, acknowledged: list[list]) -> list[str]:
    """What is wrong with a store, given what was acknowledged; empty if nothing."""
    with hlmc.open(address) as bandit, bandit._experiment.store.reading():
        found = bandit._experiment.store.all(
            "select d.number, d.id, a.name, l.unit, d.result, d.reward from decisions d join arms a on a.id = d.arm"
            " join learners l on l.id = d.learner"
        )
        arms = set(bandit._experiment.store.all("select name from arms"))
    known = {id_of(number, kept): rest for number, kept, *rest in found}
    wrong = [f"{name} has the reward of another" for name, rest in known.items() if not _own(name, *rest[2:])]
    told: dict[str, int] = {}
    for kind, name, *rest in acknowledged:
        if kind == "arm":
            wrong += [] if (name,) in arms else [f"lost: arm {name}"]
        elif name not in known:
            wrong.append(f"lost: decision {name}")
        elif kind == "ask" and (known[name][0], known[name][1] or None) != tuple(rest):
            wrong.append(f"misattributed: {name} was for {rest} and is for {known[name]}")
        elif kind != "ask" and known[name][2] is None:
            wrong.append(f"lost: the reward of {name}")
        elif kind != "ask" and rest[0] in ("applied", "late"):
            told[name] = told.get(name, 0) + 1
    wrong += [f"counted twice: {name}" for name, times in told.items() if times > 1]
    with hlmc.open(address) as bandit:
        wrong += bandit.check()
        report = bandit.report()
    if report.decisions != len(known):
        wrong.append(f"{report.decisions} decisions are counted, and there are {len(known)}")
    return wrong


def _own(name: str, result: int | None, reward: float | None) -> bool:
    if reward is None:
        return result is None
    return reward == (DEFAULT if result in (SETTLED, DROPPED) else reward_of(name))


def killed(
    address: str, folder: Path, dice: random.Random, players: int = 2, meanwhile: Callable[[], None] | None = None
) -> list[list]:
    """Have processes play on a store, kill them at some moment, and say what was acknowledged.

    They are forks of this process: what they need is compiled. With a new folder the store is made first.
    ``meanwhile`` is called in place of the kill, and must bring the players to an end.
    """
    if not folder.exists():
        folder.mkdir()
        hlmc.open(address, POLICY, **OPTIONS).close()
    acks = [folder / f"acks {at}" for at in range(players)]
    pids = []
    for path in acks:
        path.unlink(missing_ok=True)
        seed = dice.random()
        pid = os.fork()
        if pid == 0:
            _player(address, path, seed)
        pids.append(pid)
    while not all(path.exists() for path in acks):
        assert os.waitpid(-1, os.WNOHANG)[0] == 0, "a player ended by itself"
        time.sleep(0.001)
    time.sleep(dice.uniform(0.0, 0.3))
    if meanwhile is not None:
        meanwhile()
    else:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        ended = os.waitpid(pid, 0)[1]
        assert meanwhile is not None or ended == signal.SIGKILL, "a player ended by itself"
    return [line for path in acks for line in said(path)]


def _player(address: str, path: Path, seed: float) -> None:
    """Play until killed; never returns."""
    try:
        bandit = hlmc.open(address)
        for _ in play(bandit, saying(path), random.Random(seed)):
            pass
    except StoreUnavailable:
        pass  # the server is away
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def until_full(address: str, path: Path) -> str:
    """Play until the store refuses; its message."""
    try:
        with hlmc.open(address, POLICY, **OPTIONS) as bandit:
            for _ in play(bandit, saying(path), random.Random(1)):
                pass
    except StoreUnavailable as error:
        return str(error)
    raise AssertionError
