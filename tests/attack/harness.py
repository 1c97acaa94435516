"""Run attacks, each trial in a process that may crash or hang without taking the others with it.

Everything an attack needs is made once, in the process that starts the trials (``prepare``): kernels are compiled and
files exist before the first fork. A child process then takes trial after trial and tells through a pipe which one it
begins and what came of it. If it dies, the trial that it had begun is the harm, and a new child goes on with the next.

What counts as harm in every attack:

- the process dies by a signal, or says nothing for ``limit`` seconds (not where :data:`PATIENT` is set);
- an exception that is not of ``hlmc.errors`` (or of the kinds the attack allows, such as ``OSError`` on a full disk);
- a message of several lines or of 500 characters and more.

What else counts, such as a wrong result, an attack's docstring says.
"""

from __future__ import annotations

import json
import math
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import hlmc
from hlmc.errors import BadType, HLMCError, MissingExtra

PACKAGE = Path(hlmc.__file__).resolve().parent
OURS = (HLMCError, BadType, MissingExtra)
LONGEST = 500  # characters of a message, less one
MEMORY = 2**30  # bytes that a trial may take on top of what the process has
PATIENT = False  # set by --patient: nothing is a hang, however long it takes, so that a busy machine is no harm
REGISTERED: list[Attack] = []
_telling: list[int] = []  # the pipe through which a child tells of its trials; those it starts must not hold it open


class Harm(Exception):
    """What an attack has found."""


@dataclass
class Trial:
    """One trial: its number, its own random numbers and an empty folder of its own."""

    number: int
    random: random.Random
    folder: Path


@dataclass(frozen=True)
class Attack:
    """An attack as the table shows it.

    ``short`` and ``long`` are the numbers of trials of the two forms; ``limit`` is how many seconds one may take.
    """

    name: str
    family: str
    function: Callable[[Trial], None]
    prepare: Callable[[], object]
    short: int
    long: int
    limit: float


@dataclass
class Outcome:
    """What came of an attack."""

    attack: Attack
    trials: int = 0
    seconds: float = 0.0
    harms: list[str] = field(default_factory=list)


def attack(
    short: int, long: int, prepare: Callable[[], object] = lambda: None, limit: float = 60.0
) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    """Register a function as an attack."""

    def register(function: Callable[[Trial], None]) -> Callable[[Trial], None]:
        family = function.__module__.rpartition(".")[2]
        name = function.__name__.replace("_", " ")
        REGISTERED.append(Attack(name, family, function, prepare, short, long, limit))
        return function

    return register


def at_most(seconds: float) -> float | None:
    """How long to wait for something that should take less: so many seconds, or None for as long as it takes."""
    return None if PATIENT else seconds


def run(attack: Attack, count: int, seconds: float, first: int = 0) -> Outcome:
    """Run trials ``first`` to ``first + count - 1`` of an attack, or as many as begin within so many seconds.

    The time that it takes to compile and to make files does not count.
    """
    outcome = Outcome(attack)
    attack.prepare()
    start = time.monotonic()
    number, end = first, first + count
    # In memory where there is such a place: files are written and brought to the disk many thousand times.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hlmc-attack-", dir=place, ignore_cleanup_errors=True) as scratch:
        while number < end and time.monotonic() < start + seconds:
            number = _batch(outcome, number, end, start + seconds, Path(scratch))
    outcome.trials = number - first
    outcome.seconds = time.monotonic() - start
    return outcome


def _batch(outcome: Outcome, number: int, end: int, deadline: float, scratch: Path) -> int:
    """Let one process run trials until they are done, time is up or it is lost; the number of the next trial."""
    attack = outcome.attack
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(attack, number, end, deadline, scratch, writing)
    os.close(writing)
    at, text, alive = number, b"", True
    while select.select([reading], [], [], at_most(attack.limit))[0]:
        data = os.read(reading, 65536)
        if not data:
            alive = False
            break
        *lines, text = (text + data).split(b"\n")
        for line in lines:
            at, harm = json.loads(line)
            if harm:
                outcome.harms.append(f"trial {at}: {harm}")
            at += 1
    os.close(reading)
    if not alive:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    # The group has whatever the trial has started. It cannot be anybody else's: the child has not been waited for.
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)  # which may not have got as far as to have a group
    _, status = os.waitpid(child, 0)
    if alive:
        outcome.harms.append(f"trial {at}: it hangs (nothing for {attack.limit:g} s)")
    elif os.WIFSIGNALED(status):
        outcome.harms.append(f"trial {at}: crash by {signal.Signals(os.WTERMSIG(status)).name}")
    elif os.WEXITSTATUS(status):
        outcome.harms.append(f"trial {at}: the process ended with status {os.WEXITSTATUS(status)}")
    else:
        return at
    return at + 1


def _work(attack: Attack, number: int, end: int, deadline: float, scratch: Path, pipe: int) -> NoReturn:
    """In the child: run the trials and tell of each."""
    os.setpgid(0, 0)
    _telling.append(pipe)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory()
    warnings.simplefilter("ignore")
    while number < end and time.monotonic() < deadline:
        folder = scratch / str(number)
        folder.mkdir()
        harm = None
        try:
            attack.function(Trial(number, random.Random(f"{attack.name} {number}"), folder))
        except Harm as found:
            harm = str(found)
        except BaseException as error:
            harm = described(error)
        os.write(pipe, json.dumps([number, harm]).encode() + b"\n")
        shutil.rmtree(folder, ignore_errors=True)
        number += 1
    os._exit(0)


def limit_memory() -> None:
    """Let this process take no more than ``MEMORY`` on top of what it has; more than that is a MemoryError."""
    if sys.platform == "linux":
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))


def described(error: BaseException) -> str:
    """An exception that nobody expected, in a line: its kind, its text and the last line of ours that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if PACKAGE in Path(frame.filename).resolve().parents] or frames
    where = f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}{where}"


def attempt(call: Callable[[], Any], *allowed: type[BaseException]) -> tuple[Any, BaseException | None]:
    """Call something that may refuse: its result and the refusal, one of which is None.

    What it raises must be of ``hlmc.errors``, with a short message, or of the kinds allowed.
    """
    try:
        return call(), None
    except (*OURS, *allowed) as error:
        text = str(error) if isinstance(error, OURS) else ""
        if "\n" in text:
            raise Harm(f"a message of several lines from {type(error).__name__}: {text[:80]!r}") from None
        if len(text) >= LONGEST:
            raise Harm(f"a message of {len(text)} characters from {type(error).__name__}: {text[:80]!r}") from None
        # Without the traceback, whose frames would keep what was called alive.
        return None, error.with_traceback(None)


class Forked:
    """A copy of this process at work on something of its own."""

    def __init__(self, work: Callable[[], object], prelude: Callable[[], object] = lambda: None) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for unused in (reading, *_telling):
                os.close(unused)
            status, said = 0, ""
            try:
                prelude()
                result = work()
                said = "" if result is None else str(result)
            except OURS as error:
                status, said = 2, described(error)
            except BaseException as error:
                status, said = 1, described(error)
            os.write(writing, said.encode()[:4000])
            os._exit(status)
        os.close(writing)
        self._said = reading

    def send(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self, seconds: float = 20.0) -> tuple[int, str]:
        """Its exit status (0 done, 1 a foreign exception, 2 one of ours, minus a signal) and what it said."""
        limit = at_most(seconds)
        deadline = math.inf if limit is None else time.monotonic() + limit
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > deadline:
                self.send(signal.SIGKILL)
                os.waitpid(self.pid, 0)
                os.close(self._said)
                raise Harm(f"a process hangs (more than {seconds:g} s)")
            time.sleep(0.0005)
        with os.fdopen(self._said, "rb") as pipe:
            said = pipe.read().decode()
        return os.waitstatus_to_exitcode(status), said


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a full disk: writing more is an OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@contextmanager
def slow_disk() -> Iterator[None]:
    """Let bringing a file to the disk take up to 3 ms, as it does on a real one, so that others come in between."""
    plain = os.fsync
    moments = random.SystemRandom()  # others in every process, which a copied generator would not be

    def slow(descriptor: Any) -> None:
        time.sleep(moments.uniform(0.0, 0.003))
        plain(descriptor)

    os.fsync = slow
    try:
        yield
    finally:
        os.fsync = plain


@contextmanager
def redirected(path: Path, *descriptors: int) -> Iterator[Path]:
    """Let what is written to these file descriptors (1 stdout, 2 stderr) go to a file."""
    kept = [os.dup(descriptor) for descriptor in descriptors]
    with path.open("ab") as file:
        for descriptor in descriptors:
            os.dup2(file.fileno(), descriptor)
        try:
            yield path
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for before, descriptor in zip(kept, descriptors, strict=True):
                os.dup2(before, descriptor)
                os.close(before)
