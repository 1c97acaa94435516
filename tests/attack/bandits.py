"""Bandits in a database: kills, full disks, damage, two at once, bad calls.

After each of them the store must be whole (:meth:`hlmc.Bandit.check` finds nothing), and what was acknowledged must be
there: a reward that was told is a duplicate, and a decision that was made can be told. A family of attacks on a service
(``hlmc serve``) would be a file beside this one, and a word in :data:`attack.FAMILIES`.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hlmc
from attack.calls import BAD, shown
from attack.harness import Forked, Harm, Trial, attack, attempt, file_size_limit
from attack.material import damage
from bandits import NAMES, POLICY
from hlmc.errors import UnknownDecision

UNITS = ["u", "v", "w", None]


def opened(folder: Path) -> hlmc.Bandit:
    """The bandit of a folder, made or gone on with; its arms may have changed."""
    path = folder / "store.db"
    return hlmc.open(path) if path.exists() else hlmc.open(path, POLICY, arms=NAMES, seed=1)


@cache
def compiled() -> None:
    """Compile what all trials use, in a process that no trial is forked from: SQLite does not like to be forked."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as bandit:
        work(bandit, 5)
        bandit.check()


def work(
    bandit: hlmc.Bandit, count: int, note: Callable[[str], object] = lambda text: None, changes: bool = True
) -> None:
    """Ask and tell, and note what was acknowledged: ``a ID`` and ``t ID``; with ``changes``, of the arms too."""
    for step in range(count):
        decision = bandit.ask(UNITS[step % 4])
        note(f"a {decision.id}\n")
        if step % 3:
            bandit.tell(decision.id, (step % 5) / 4)
            note(f"t {decision.id}\n")
        if changes and step % 10 == 9:
            name = f"new {step}"
            attempt(lambda: bandit.arms.remove(next(iter(bandit.arms))))
            attempt(lambda name=name: bandit.arms.add(name))


def whole(folder: Path, acknowledged: str) -> None:
    """Go on with a store in which somebody has worked."""
    with opened(folder) as bandit:
        wrong = bandit.check()
        if wrong:
            raise Harm(f"the store is wrong: {'; '.join(wrong)[:200]}")
        lines = [line.split() for line in acknowledged.split("\n")[:-1]]
        told = {each for kind, each in lines if kind == "t"}
        for _, each in lines[::7]:
            answer, refusal = attempt(lambda each=each: bandit.tell(each, 0.5))
            if isinstance(refusal, UnknownDecision):
                raise Harm("a decision that was acknowledged is lost")
            if each in told and answer not in ("duplicate", "expired"):
                raise Harm(f"a reward that was acknowledged is lost: told again, it is {answer}")
        work(bandit, 3)


@attack(short=4, long=800, prepare=compiled, limit=120.0)
def kill_while_deciding(trial: Trial) -> None:
    """Kill a process that asks and tells, at any moment. Harm: as above."""
    said = os.open(trial.folder / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def labour() -> None:
        work(opened(trial.folder), 10**6, lambda text: os.write(said, text.encode()))

    child = Forked(labour)
    while not (trial.folder / "said").stat().st_size:
        time.sleep(0.001)
    time.sleep(trial.random.uniform(0.0, 0.1))
    child.send(signal.SIGKILL)
    status, words = child.wait()
    os.close(said)
    if status != -signal.SIGKILL:
        raise Harm(f"the process ended by itself with status {status}: {words}")
    whole(trial.folder, (trial.folder / "said").read_text())


@attack(short=4, long=800, prepare=compiled, limit=120.0)
def full_disk_while_deciding(trial: Trial) -> None:
    """Let no file grow at some moment. Harm: an error that is not ours, or what was acknowledged is lost."""
    notes: list[str] = []
    with opened(trial.folder) as bandit:
        work(bandit, trial.random.randrange(1, 40), notes.append)
        most = max(path.stat().st_size for path in trial.folder.iterdir())
        with file_size_limit(most + 4096 * trial.random.randrange(1, 60)):
            attempt(lambda: work(bandit, 400, notes.append))
            attempt(lambda: bandit.backup(trial.folder / "copy.db"), OSError)
            attempt(lambda: bandit.export(trial.folder / "log.csv"), OSError)
        work(bandit, 3, notes.append)
    whole(trial.folder, "".join(notes))


@attack(short=3, long=500, prepare=compiled, limit=120.0)
def two_at_once(trial: Trial) -> None:
    """Two processes ask and tell, and make the store if it is new. Harm: either is refused; as above."""
    new = trial.random.random() < 0.5
    if not new:
        opened(trial.folder).close()

    def labour() -> str:
        notes: list[str] = []
        path = trial.folder / "store.db"
        with hlmc.open(path, POLICY, arms=NAMES, seed=1) if new else hlmc.open(path) as bandit:
            work(bandit, 25, notes.append, changes=not new)
        return "".join(notes)

    children = [Forked(labour), Forked(labour)]
    ends = [child.wait(60.0) for child in children]
    if any(status for status, _ in ends):
        raise Harm(f"two processes with one store: {[(status, said[:100]) for status, said in ends]}")
    whole(trial.folder, "".join(said[: said.rfind("\n") + 1] for _, said in ends))


@attack(short=40, long=5000, prepare=compiled)
def damaged_stores(trial: Trial) -> None:
    """Damage the file of a store. Harm: an error that is not ours."""
    with opened(trial.folder) as bandit:
        work(bandit, 12)
    path = trial.folder / "store.db"
    with sqlite3.connect(path) as database:
        database.execute("pragma wal_checkpoint(truncate)")
    database.close()
    for beside in trial.folder.glob("store.db-*"):
        beside.unlink()
    data = path.read_bytes()
    path.write_bytes(damage(data, trial.random, [data]))

    def use() -> None:
        with opened(trial.folder) as bandit:
            attempt(bandit.check)
            attempt(bandit.report)
            work(bandit, 5)

    _, refusal = attempt(use)
    if refusal is not None and "\0" in str(refusal):
        raise Harm("a message with a NUL")


def is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1000


ARGUMENTS = ("store", "policy", "arms", "name", "wait", "default", "control", "keep", "idle", "shards", "delay", "seed")


@attack(short=300, long=10_000, prepare=compiled, limit=30.0)
def bad_calls_of_bandits(trial: Trial) -> None:
    """Open, ask, tell, drop, configure and change arms with what cannot be.

    Harm: an error that is not ours; a call that was refused has changed the number of decisions or of arms.
    """
    os.chdir(trial.folder)
    # Not the longest list: a decision for each of 100,000 units is none too many, and takes a while.
    dice, value = trial.random, next(bad for bad in BAD[trial.number % len(BAD) :] if not is_long(bad))
    given: dict[str, Any] = {"store": trial.folder / "store.db", "policy": POLICY, "arms": NAMES, "seed": 1}
    argument = dice.choice(ARGUMENTS)
    if dice.random() < 0.4:
        found, refusal = attempt(lambda: hlmc.open(**{**given, argument: value}))
        if refusal is None:
            found.close()
        return
    with hlmc.open(**given) as bandit:
        decision = bandit.ask("u")
        calls: dict[str, Callable[[], Any]] = {
            "ask": lambda: bandit.ask(value),
            "ask(key=)": lambda: bandit.ask("u", key=value),
            "ask([...])": lambda: bandit.ask(["u", value]),
            "tell": lambda: bandit.tell(value, 1.0),
            "tell(reward=)": lambda: bandit.tell(decision.id, value),
            "tell([...])": lambda: bandit.tell([decision.id, value], [1.0, value]),
            "drop": lambda: bandit.drop(value),
            "forget": lambda: bandit.forget(value),
            "arms.add": lambda: bandit.arms.add(value),
            "arms.remove": lambda: bandit.arms.remove(value),
            "arms.pause": lambda: bandit.arms.pause(value),
            "configure": lambda: bandit.configure(**{dice.choice(ARGUMENTS[4:11]): value}),
            "in arms": lambda: value in bandit.arms,
            "backup": lambda: bandit.backup(value),
            "export": lambda: bandit.export(value),
        }
        name = dice.choice(list(calls))

        def state() -> tuple[int, list[str]]:
            return bandit.report().decisions, list(bandit.arms)

        before = state()
        try:
            _, refusal = attempt(calls[name], *((OSError, TypeError) if name in ("backup", "export") else ()))
        except Harm as harm:
            raise Harm(f"{name} of {shown(value)}: {harm}") from None
        except Exception as error:
            raise Harm(f"{name} of {shown(value)}: {type(error).__name__}: {error}") from None
        if refusal is not None and state() != before:
            raise Harm(f"{name} of {shown(value)} was refused and has changed the store")
        wrong = bandit.check()
        if wrong:
            raise Harm(f"after {name} of {shown(value)}: {wrong[0]}")
