"""How long a step of live learners and of fleets takes, also beside the hlmc of another checkout.

    python benchmarks/live.py                          # nanoseconds of each of four policies
    python benchmarks/live.py --old ../before/src      # the same of two checkouts, and their ratio

K = 100 arms, 20 words where a policy groups its arms. A *round* is 50,000 times ``select`` and ``update`` or ``ask``
and ``tell``, or one batch of 10^5 learners of a fleet. Each checkout has a process of its own; they take turns, round
by round, and the least processor time of a round counts. Compilation is not part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import hlmc

COUNT = 50_000
SIZE = 100_000
HORIZON = 10**9
POLICIES = {
    "HLMC": {"memory": 20, "horizon": HORIZON},
    "EXP3": {"horizon": HORIZON},
    "Champion": {"memory": 20, "horizon": HORIZON},
    "TsallisINF": {},
}


def rounds(kind: str) -> Iterator[tuple[str, int, Callable[[], None]]]:
    """What is measured of a policy: its name, the steps of a round, and the round."""
    make = getattr(hlmc, kind)
    plain = make(arms=100, **POLICIES[kind])
    waiting = make(arms=100, pending=256, **POLICIES[kind])
    learner, asked = plain.start(1), waiting.start(1)
    fleet, late = plain.fleet(SIZE, 1), waiting.fleet(SIZE, 1)
    fleet.threads = late.threads = 1
    rewards = np.full(SIZE, 0.5)

    def selects() -> None:
        for _ in range(COUNT):
            learner.select()
            learner.update(0.5)

    def asks() -> None:
        for _ in range(COUNT):
            asked.tell(asked.ask(), 0.5)

    def batch() -> None:
        fleet.select()
        fleet.update(rewards)

    def tickets() -> None:
        late.tell(late.ask(), rewards)

    yield "select + update", COUNT, selects
    yield "ask + tell", COUNT, asks
    yield "fleet: select + update", SIZE, batch
    yield "fleet: ask + tell", SIZE, tickets


def answer() -> None:
    """In a process of its own: for each policy's name read, the rounds; a line asks for a turn and gets nanoseconds."""
    for line in sys.stdin:
        for _, steps, work in rounds(line.strip()):
            work()
            for turn in sys.stdin:
                if turn.strip() == "next":
                    break
                began = time.process_time_ns()
                work()
                print(json.dumps((time.process_time_ns() - began) / steps), flush=True)


class Checkout:
    """A process that measures the hlmc of a checkout."""

    def __init__(self, src: str | None) -> None:
        place = os.environ | ({} if src is None else {"PYTHONPATH": str(Path(src).resolve())})
        call = [sys.executable, __file__, "--answer"]
        self._process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=place)

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def turn(self) -> float:
        """Nanoseconds of a step in one more round."""
        assert self._process.stdout is not None
        self.say("turn")
        found: float = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", choices=[*POLICIES, []], help="some of them; default: all")
    parser.add_argument("--old", metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--turns", type=int, default=40, metavar="N", help="rounds of each kind (40)")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer()
        return
    checkouts = [Checkout(src) for src in ([None] if options.old is None else [options.old, None])]
    heads = ["now"] if options.old is None else ["before", "now", "ratio"]
    print(f"{'nanoseconds of processor time':<36}" + "".join(f"{head:>9}" for head in heads))
    for kind in options.policies or POLICIES:
        for each in checkouts:
            each.say(kind)
        for name in ("select + update", "ask + tell", "fleet: select + update", "fleet: ask + tell"):
            times = [[each.turn() for each in checkouts] for _ in range(options.turns)]
            least = [min(column) for column in zip(*times, strict=True)]
            ratio = f"{least[-1] / least[0]:>9.3f}" if len(least) > 1 else ""
            print(f"{kind + ', ' + name:<36}" + "".join(f"{ns:>9.1f}" for ns in least) + ratio, flush=True)
            for each in checkouts:
                each.say("next")
    for each in checkouts:
        each.close()


if __name__ == "__main__":
    main()
