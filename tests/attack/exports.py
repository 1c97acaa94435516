"""What is exported plays as Python does, whatever it is given.

Harm: another answer, another arm or another word than Python's; a complaint of a sanitizer. Where ``node`` or ``gcc``
is not installed, trials do nothing.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from attack.harness import Harm, Trial, attack, attempt
from attack.material import crafted_row, learners
from attack.tickets import damaged
from c_tools import SANITIZE, STRICT
from c_tools import compiled as built
from hlmc.errors import BadReward, BadTicket, OutOfTurn
from hlmc.export import exported, javascript
from hlmc.export.javascript import program_json
from hlmc.learners.identity import Identity
from hlmc.learners.tickets import CODES

STEPS = 30
PAY = (0.0, 1.0, 0.5)


class Server:
    """A process that answers every line with a line."""

    def __init__(self, command: list[str], folder: Path) -> None:
        # Trials run with little memory for addresses, of which Node and sanitizers take terabytes.
        free = ["sh", "-c", 'ulimit -S -v unlimited; exec "$@"', "sh", *command]
        self._log = (folder / "complaints").open("w+")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log}
        self._process = subprocess.Popen(free, cwd=folder, text=True, **pipes)  # type: ignore[call-overload]

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self._process.stdout.readline()
        if not answer:
            self._log.seek(0)
            raise Harm(f"the process ended by itself: {' '.join(self._log.read().split())[:300]}")
        return str(answer).rstrip("\n")

    def close(self) -> None:
        self._process.communicate()
        self._log.close()


# --- JavaScript

PLAY = """
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { load } from "./hlmc.js";

const programs = JSON.parse(readFileSync("programs.json"));
for await (const line of createInterface({ input: process.stdin })) {
    const { which, state, steps } = JSON.parse(line);
    const said = { refused: "", plays: [], state: "" };
    try {
        const learner = await load(programs[which], { state: Buffer.from(state, "base64") });
        try {
            for (let t = 0; t < steps; t++) {
                said.plays.push([learner.select(), learner.probability]);
                learner.update([0, 1, 0.5][t % 3]);
            }
        } catch (error) {
            said.plays.push(error.message.slice(0, 11));
        }
        said.state = Buffer.from(learner.state).toString("hex");
    } catch (error) {
        said.refused = error.name;
    }
    console.log(JSON.stringify(said));
}
"""


@cache
def players() -> list[hlmc.Learner]:
    """The learners whose policies JavaScript can play: it tells the probability of every choice."""
    return [learner for learner in learners() if learner.policy.known_probability]


def node(folder: Path) -> Server:
    """Node, which plays from the states of :func:`players` that it is sent."""
    for name in javascript.FILES:
        shutil.copy(Path(hlmc.__file__).parent / "export" / "js" / name, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "play.js").write_text(PLAY)
    programs = [json.loads(program_json(learner.policy)) for learner in players()]
    (folder / "programs.json").write_text(json.dumps(programs))
    return Server(["node", "play.js"], folder)


def played(which: int, row: np.ndarray) -> dict[str, Any]:
    """What Node has to answer."""
    learner, refusal = attempt(lambda: hlmc.Learner(players()[which].policy, row))
    if refusal is not None:
        return {"refused": "RangeError", "plays": [], "state": ""}
    plays: list[Any] = []
    for t in range(STEPS):
        arm, refusal = attempt(learner.select)
        if refusal is not None:
            plays.append("the horizon")
            break
        plays.append([arm, learner.probability])
        learner.update(PAY[t % 3])
    return {"refused": "", "plays": plays, "state": learner.state.tobytes().hex()}


def asked(server: Server, which: int, row: np.ndarray) -> dict[str, Any]:
    line = {"which": which, "state": base64.b64encode(row.tobytes()).decode(), "steps": STEPS}
    found: dict[str, Any] = json.loads(server.ask(json.dumps(line)))
    return found


@cache
def _node() -> Server | None:
    return node(Path(tempfile.mkdtemp(prefix="hlmc-attack-"))) if shutil.which("node") else None


@attack(short=300, long=20_000, prepare=players)
def tampered_states_in_javascript(trial: Trial) -> None:
    """Load a crafted state in Node. Harm: Node accepts what Python refuses or plays on in another way."""
    server = _node()
    if server is None:
        return
    which = trial.random.randrange(len(players()))
    row = crafted_row(trial.random, players()[which].state)
    wanted, found = played(which, row), asked(server, which, row)
    if found != wanted:
        raise Harm(f"{players()[which].policy!r}: Node says {str(found)[:100]}, Python {str(wanted)[:100]}")


# --- C

DRIVEN = (
    hlmc.HLMC(arms=23, levels=3, horizon=300, pending=70),
    hlmc.Champion(arms=29, memory=12, horizon=300, pending=8, missing=0.0),
    hlmc.UCBM(arms=17, memory=4, pending=12),
)
DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hlmc.h"

static hlmc_ticket ticket_of(const char *text)
{
    hlmc_ticket ticket;
    unsigned char bytes[sizeof ticket];
    for (size_t i = 0; i < sizeof ticket; i++) {
        const char pair[3] = { text[2 * i], text[2 * i + 1], 0 };
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    memcpy(&ticket, bytes, sizeof ticket);
    return ticket;
}

int main(void)
{
    static char line[4096], text[4096];
    const hlmc_identity identity = { { IDENTITY } };
    hlmc_learner learner;
    hlmc_ticket ticket;
    unsigned long long key;
    unsigned char bytes[sizeof learner > sizeof ticket ? sizeof learner : sizeof ticket];
    hlmc_start(&learner, 0);
    while (fgets(line, sizeof line, stdin)) {
        size_t size = 0;
        double reward = 0.0;
        int answer = 0;
        if (line[0] == 't' && sscanf(line, "t %la %4000s", &reward, text) == 2) {
            ticket = ticket_of(text);
            answer = hlmc_tell(&learner, &ticket, reward);
        } else if (line[0] == 'd' && sscanf(line, "d %4000s", text) == 1) {
            ticket = ticket_of(text);
            answer = hlmc_drop(&learner, &ticket);
        } else if (line[0] == 'a') {
            answer = hlmc_ask(&learner, &identity, &ticket);
            size = answer < 0 ? 0 : sizeof ticket;
            memcpy(bytes, &ticket, size);
        } else if (line[0] == 's') {
            answer = hlmc_select(&learner);
        } else if (line[0] == 'u' && sscanf(line, "u %la", &reward) == 1) {
            answer = hlmc_update(&learner, reward);
        } else if (line[0] == 'k' && sscanf(line, "k %llu", &key) == 1) {
            hlmc_start(&learner, key);
            size = sizeof learner;
            memcpy(bytes, &learner, size);
        } else {
            size = sizeof learner;
            memcpy(bytes, &learner, size);
        }
        printf("%d ", answer);
        for (size_t i = 0; i < size; i++) {
            printf("%02x", bytes[i]);
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
"""


@cache
def _built() -> list[Path]:
    """A program of each of some policies, under sanitizers."""
    found = []
    for policy in DRIVEN if shutil.which("gcc") else ():
        folder = Path(tempfile.mkdtemp(prefix="hlmc-attack-"))
        source = exported(policy, "hlmc")
        (folder / "hlmc.h").write_text(source.header)
        (folder / "hlmc.c").write_text(source.source)
        words = ", ".join(f"UINT64_C({word})" for word in Identity(5).words.tolist())
        (folder / "driver.c").write_text(DRIVER.replace("IDENTITY", words))
        built("gcc", *STRICT, *SANITIZE, "hlmc.c", "driver.c", "-o", "driver", "-lm", where=folder)
        found.append(folder)
    return found


@cache
def _programs() -> list[Server]:
    return [Server([str(folder / "driver")], folder) for folder in _built()]


@cache
def _ready() -> None:
    """Both sides, compiled."""
    for policy in DRIVEN:
        learner = policy.start()
        learner.tell(learner.ask(), 1.0)
        learner.update(float(learner.select() == 1))
    _built()


STATUS = {OutOfTurn: (-1, -2, -4), BadReward: (-3,), BadTicket: (-5,)}


@attack(short=60, long=4000, prepare=_ready, limit=100.0)
def forged_tickets_in_c(trial: Trial) -> None:
    """Ask, tell, drop, select and update in any order, with damaged tickets and rewards that are none, in C."""
    if not _programs():
        return
    dice, which = trial.random, trial.number % len(DRIVEN)
    server, learner = _programs()[which], DRIVEN[which].start(seed=trial.number, identity=5)
    key = int(learner.state.view(np.uint64)[0])
    answers = [server.ask(f"k {key}") == f"0 {learner.state.tobytes().hex()}"]
    tickets: list[hlmc.Ticket] = []
    for _ in range(80):
        what = dice.choice("aaattttdsu")
        reward = dice.choice((0.0, 0.25, 1.0, 1.0 + 2.0**-52, -5e-324, float("nan"), float("inf")))
        ticket = dice.choice(tickets[-20:]) if tickets else hlmc.Ticket(bytes(8 * 7))
        if what in "td" and (not tickets or dice.random() < 0.5):
            if not tickets:
                continue
            ticket = hlmc.Ticket(damaged(ticket, dice, tickets))
        paid, data = reward.hex(), ticket.hex()
        call, line = {
            "a": (learner.ask, "a"),
            "t": (lambda ticket=ticket, reward=reward: learner.tell(ticket, reward), f"t {paid} {data}"),
            "d": (lambda ticket=ticket: learner.drop(ticket), f"d {data}"),
            "s": (learner.select, "s"),
            "u": (lambda reward=reward: learner.update(reward), f"u {paid}"),
        }[what]
        found, refusal = attempt(call)
        status, _, data = server.ask(line).partition(" ")
        if refusal is not None:
            answers.append(int(status) in STATUS[type(refusal)])
        elif what == "a":
            tickets.append(found)
            answers.append((int(status), data) == (found.arm, found.hex()))
        else:
            answers.append(int(status) == (CODES.index(found) if what in "td" else found or 0))
        if not answers[-1]:
            raise Harm(f"{DRIVEN[which]!r}, {what}: C says {status}, Python {found if refusal is None else refusal!r}")
    if server.ask("r") != f"0 {learner.state.tobytes().hex()}":
        raise Harm(f"{DRIVEN[which]!r}: another row in C")
