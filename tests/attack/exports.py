"""What is exported plays as Python does, whatever it is given.

Harm: another answer, another arm or another word than Python's. Where ``node`` is not installed, trials do nothing.
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
from attack.crafted import crafted_row
from attack.harness import Harm, Trial, attack, attempt
from attack.material import learners
from hlmc.export import javascript
from hlmc.export.javascript import program_json

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


def node(folder: Path) -> Server:
    """Node, which plays from the states of :func:`learners` that it is sent."""
    for name in javascript.FILES:
        shutil.copy(Path(hlmc.__file__).parent / "export" / "js" / name, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "play.js").write_text(PLAY)
    programs = [json.loads(program_json(learner.policy)) for learner in learners()]
    (folder / "programs.json").write_text(json.dumps(programs))
    return Server(["node", "play.js"], folder)


def played(which: int, row: np.ndarray) -> dict[str, Any]:
    """What Node has to answer."""
    learner, refusal = attempt(lambda: hlmc.Learner(learners()[which].policy, row))
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


@attack(short=300, long=20_000, prepare=learners)
def tampered_states_in_javascript(trial: Trial) -> None:
    """Load a crafted state in Node. Harm: Node accepts what Python refuses or plays on in another way."""
    server = _node()
    if server is None:
        return
    which = trial.random.randrange(len(learners()))
    row = crafted_row(trial, learners()[which].state)
    wanted, found = played(which, row), asked(server, which, row)
    if found != wanted:
        raise Harm(f"{learners()[which].policy!r}: Node says {str(found)[:100]}, Python {str(wanted)[:100]}")
