"""Ctrl-C at any moment of a command: it must end soon, with status 130 and a word on what was kept, and can go on.

The commands are given more work than they could finish, so that one that ends with status 0 has done too little, and
one that does not end has swallowed the signal. (Python prints and forgets a ``KeyboardInterrupt`` that is raised within
the callback of a weak reference or a finaliser: a handler that raises can lose it anywhere.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hlmc
from attack.damage import identical
from attack.harness import Forked, Harm, Trial, at_most, attack, attempt
from attack.material import compiled
from hlmc import adversaries
from hlmc.cli import main as command_line

MEANS = [0.1, 0.2, 0.3, 0.9]
TOML = """
runs = 50000
horizon = 20000
points = 10
{more}
[adversary]
name = "Bernoulli"
means = [0.1, 0.2, 0.3, 0.9]
[policies.EXP3]
[policies.Uniform]
"""
SOON = 30.0  # seconds within which a command has to end


@cache
def ready() -> Any:
    """Compile what the commands use, and what six undisturbed runs give."""
    compiled()
    policies = {"EXP3": hlmc.EXP3(arms=4, horizon=20000), "Uniform": hlmc.Uniform(arms=4)}
    bernoulli = adversaries.Bernoulli(MEANS)
    hlmc.simulate(policies, bernoulli, horizon=20000, runs=2, progress=False)
    return hlmc.simulate(policies, bernoulli, horizon=20000, runs=6, points=10, progress=False)


def interrupt(trial: Trial, arguments: list[str], longest: float) -> str:
    """Run a command and press Ctrl-C after a while: what it said on stderr."""
    said = trial.folder / f"said-{os.urandom(4).hex()}"

    def redirect() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(trial.folder)
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)

    begun = trial.folder / f"begun-{os.urandom(4).hex()}"

    def work() -> int:
        begun.touch()
        return command_line(arguments)

    child = Forked(work, redirect)
    while not begun.exists():
        time.sleep(0.001)
    time.sleep(trial.random.uniform(0.0, longest))
    child.send(signal.SIGINT)
    name = arguments[0]
    try:
        status, result = child.wait(SOON)
    except Harm:
        raise Harm(f"hlmc {name} goes on after Ctrl-C") from None
    text = said.read_text(errors="replace")
    # A signal between the beginning of the process and that of the command is nobody's.
    if status == 1 and result.startswith("KeyboardInterrupt") and "(interrupts.py" in result:
        return ""
    if status or result != "130":
        raise Harm(f"hlmc {name} after Ctrl-C: status {result or status}")
    if "Traceback" in text or not text.strip():
        raise Harm(f"hlmc {name} after Ctrl-C says {text.strip()[-80:]!r}")
    return text


@attack(short=2, long=300, prepare=ready, limit=150.0)
def interrupted_simulations(trial: Trial) -> None:
    """Interrupt ``hlmc simulate`` with a store, three times in a row, then finish six runs.

    Harm: as above; going on is refused; the six runs are others than without interruption.
    """
    path = trial.folder / "x.toml"
    path.write_text(TOML.format(more=f'store = "{trial.folder / "store"}"'))
    for _ in range(3):
        interrupt(trial, ["simulate", str(path), "--quiet"], 0.6)
    finished = [str(path), "--set", "runs=6", "--set", f"save={trial.folder / 'result.parquet'}", "--quiet"]
    status = command_line(["simulate", *finished])
    if status != 0:
        raise Harm(f"going on after Ctrl-C: exit status {status}")
    found, refusal = attempt(lambda: hlmc.load_result(trial.folder / "result.parquet"))
    if refusal is not None or not identical(found, ready()):
        raise Harm(f"the runs after Ctrl-C: {refusal or 'another result'}")


@attack(short=1, long=100, prepare=ready)
def interrupted_without_a_store(trial: Trial) -> None:
    """Interrupt ``hlmc simulate`` that keeps nothing. Harm: as above."""
    path = trial.folder / "x.toml"
    path.write_text(TOML.format(more=""))
    interrupt(trial, ["simulate", str(path)], 0.6)


ARENA = "arena --arms 100 --horizon 1e6 --runs 900 --adversary Needle --against EXP3 --kinds weak"
COMMANDS: list[Callable[[Path], list[str]]] = [
    lambda at: [*ARENA.split(), "--store", str(at / "arena")],
    lambda at: ["spectrum", "--horizon", "1e8", "--out", str(at / "spectrum.png")],
    lambda at: ["reproduce", "--out", str(at / "report")],
]


@attack(short=3, long=300, prepare=ready, limit=100.0)
def interrupted_commands(trial: Trial) -> None:
    """Interrupt ``hlmc arena``, ``spectrum`` or ``reproduce``. Harm: as above."""
    interrupt(trial, COMMANDS[trial.number % len(COMMANDS)](trial.folder), 1.5)


ALARM = """
import signal, sys
import numba
import hlmc
from hlmc import adversaries, targets

def late(*_):
    called.append(1)
    raise TimeoutError

called, raised = [], 0
signal.signal(signal.SIGALRM, late)
try:
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
    learner = hlmc.Uniform(arms=1000).start(seed=1)
    learner.select()
    learner.update(0.5)
    signal.setitimer(signal.ITIMER_REAL, 0)
except TimeoutError:
    raised = 1
print(len(called) - raised)
"""


@attack(short=0, long=100, prepare=compiled, limit=200.0)
def alarms_while_compiling(trial: Trial) -> None:
    """Let the handler of an alarm raise while a new process compiles. Harm: what it raised is lost."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALARM, str(trial.random.uniform(0.01, 4.0))],
        env={**os.environ, "NUMBA_CACHE_DIR": str(trial.folder / "cache")},
        capture_output=True,
        text=True,
        timeout=at_most(100.0),
    )
    if done.stdout.strip() != "0":
        raise Harm(f"an exception of a handler is lost: {done.stdout.strip()}, {done.stderr.strip()[-200:]!r}")
