"""Policies in WebAssembly: the shipped module plays every policy as Python does, in Node and in a browser."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hlmc
from browser import BROWSER, Tab, serving
from c_tools import needs
from hlmc.cli import main
from hlmc.errors import BadArgument
from hlmc.export.generic import code_digest, generic_source
from hlmc.export.javascript import FILES, program_json, save
from hlmc.export.vectors import digested
from hlmc.learners.identity import Identity
from hlmc.policies import EXAMPLES as POLICIES
from hlmc.routines import Custom

EXAMPLES = [policy for policy in POLICIES if policy.known_probability]  # the others run in Python only

pytestmark = pytest.mark.slow

SHIPPED = Path(hlmc.__file__).parent / "export" / "js"
STEPS = 400
FNV = 0xCBF29CE484222325


def test_the_shipped_module_is_what_the_kernels_translate_to() -> None:
    """If it fails, a kernel has changed: run scripts/wasm.py."""
    record = json.loads((SHIPPED / "hlmc.wasm.json").read_text())
    assert record["code"] == code_digest(generic_source())


def test_the_module_is_small() -> None:
    assert (SHIPPED / "hlmc.wasm").stat().st_size < 70_000


PLAY = """
import { load, randomKey } from "./hlmc.js";

// FNV-1a of the arms and of the row, as in the exported tests.
function digested(digest, bits) {
    for (let i = 0; i < 8; i++) {
        digest = BigInt.asUintN(64, (digest ^ (bits & 0xFFn)) * 0x100000001b3n);
        bits >>= 8n;
    }
    return digest;
}

export async function play(program, steps) {
    const learner = await load(program);
    let arms = 0xcbf29ce484222325n, row = arms;
    for (let t = 0; t < steps; t++) {
        const arm = learner.select();
        learner.update(0.25 * ((7 * t + 3 * arm) % 5));
        arms = digested(arms, BigInt(arm));
    }
    const state = learner.state;
    for (const bits of new BigUint64Array(state.buffer)) row = digested(row, bits);
    return [arms.toString(), row.toString(), learner.time];
}

export async function checks(program) {
    const found = [];
    const learner = await load(program);
    const raised = (f) => { try { f(); return "nothing"; } catch (error) { return error.name; } };
    found.push(raised(() => learner.update(0.5)));
    const arm = learner.select();
    found.push(arm === learner.select(), raised(() => learner.update(1.5)), raised(() => learner.update(NaN)));
    found.push(raised(() => learner.update("1")), learner.time);
    learner.update(1.0);
    const other = await load(program, { state: learner.state, key: randomKey() });
    found.push(other.time, other.select() === learner.select(), other.probability === learner.probability);
    found.push(await load({}).then(() => "nothing", (error) => error.name));
    found.push(raised(() => other.restore(new Uint8Array(3))), raised(() => other.restore("state")));
    const torn = learner.state, before = other.state.join();
    new Float64Array(torn.buffer)[1] = 0.5;
    found.push(raised(() => other.restore(torn)), other.state.join() === before);
    return found;
}
"""
EXPECTED = ["Error", True, "RangeError", "RangeError", "TypeError", 0, 1, True, True, "TypeError"]
EXPECTED += ["RangeError", "TypeError", "RangeError", True]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[object]]]:
    """A folder with the module and every policy of the catalogue; and what they must do."""
    folder = tmp_path_factory.mktemp("site")
    for name in FILES:
        shutil.copy(SHIPPED / name, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "play.js").write_text(PLAY)
    tasks, wanted = [], []
    for policy in EXAMPLES:
        learner = policy.start(seed=0)
        arms = row = FNV
        steps = min(policy.limit or STEPS, STEPS)
        for t in range(steps):
            arm = learner.select()
            learner.update(0.25 * ((7 * t + 3 * arm) % 5))
            arms = digested(arms, arm)
        for bits in learner.state.view(np.uint64).tolist():
            row = digested(row, bits)
        tasks.append([json.loads(program_json(policy)), steps])
        wanted.append([str(arms), str(row), steps])
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return folder, wanted


@needs("node")
def test_node_plays_every_policy_as_python_does(site: tuple[Path, list[list[object]]]) -> None:
    folder, wanted = site
    script = (
        "import { readFileSync } from 'node:fs'; import { play, checks } from './play.js';"
        "const tasks = JSON.parse(readFileSync('tasks.json')), found = [];"
        "for (const task of tasks) found.push(await play(...task));"
        "console.log(JSON.stringify([found, await checks(tasks[0][0])]));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found, checked = json.loads(done.stdout)
    for policy, ours, theirs in zip(EXAMPLES, wanted, found, strict=True):
        assert ours == theirs, policy
    assert checked == EXPECTED


PENDING = (
    hlmc.HLMC(arms=23, levels=3, horizon=300, pending=70),
    hlmc.Champion(arms=29, memory=12, horizon=300, pending=8, missing=0.0),
    hlmc.UCBM(arms=17, memory=4, pending=12),
)
TELL = """
import { readFileSync } from "node:fs";
import { load, Ticket } from "./hlmc.js";
const found = [];
for (const program of JSON.parse(readFileSync("pending.json"))) {
    const identity = BigUint64Array.from(IDENTITY);
    const learner = await load(program, { identity }), open = [], told = [];
    for (let t = 0; t < 250; t++) {
        const ticket = learner.ask();
        open.push(ticket);
        const own = [ticket.arm, ticket.time, ticket.probability, ticket.propensity, ticket.block];
        told.push(Buffer.from(ticket.bytes).toString("hex"), own);
        // Out of order, some late, some twice, some never.
        if (t % 3 === 2) told.push(learner.tell(open.splice((7 * t) % open.length, 1)[0], (t % 5) / 5));
        if (t % 7 === 6) told.push(learner.drop(open.splice((3 * t) % open.length, 1)[0].bytes));
        if (t % 11 === 10) told.push(learner.tell(new Ticket(open[0].bytes), 1));
    }
    const raised = (f) => { try { f(); return "nothing"; } catch (error) { return error.message; } };
    const forged = Uint8Array.from(open[0].bytes);
    forged[9] ^= 1;
    told.push(raised(() => learner.tell(forged, 0)), raised(() => learner.tell(open[0].bytes.slice(8), 0)));
    told.push(raised(() => learner.tell(open[0], NaN)));
    found.push([told, Buffer.from(learner.state).toString("hex")]);
}
const plain = await load(JSON.parse(readFileSync("tasks.json"))[0][0]);
let message = "";
try { plain.ask(); } catch (error) { message = error.message; }
console.log(JSON.stringify([found, message]));
"""


def asked_and_told(policy: hlmc.Policy) -> list[object]:
    """What the script above does, in Python."""
    learner, still, told = policy.start(seed=0, identity=5), [], []
    for t in range(250):
        ticket = learner.ask()
        still.append(ticket)
        of_ticket = [ticket.arm, ticket.time, ticket.probability, ticket.propensity, ticket.block]
        told += [bytes(ticket).hex(), of_ticket]
        if t % 3 == 2:
            told.append(learner.tell(still.pop((7 * t) % len(still)), (t % 5) / 5))
        if t % 7 == 6:
            told.append(learner.drop(still.pop((3 * t) % len(still))))
        if t % 11 == 10:
            told.append(learner.tell(still[0], 1.0))
    told += ["the ticket is damaged, forged, or one of another learner or copy"] * 2
    told.append("reward is not a number in the range of the policy")
    return [told, learner.state.tobytes().hex()]


@needs("node")
def test_node_asks_and_tells_as_python_does(site: tuple[Path, list[list[object]]]) -> None:
    """Tickets, codes and rows, byte by byte."""
    folder, _ = site
    words = "[" + ", ".join(f"{word}n" for word in Identity(5).words.tolist()) + "]"
    (folder / "pending.json").write_text(json.dumps([json.loads(program_json(policy)) for policy in PENDING]))
    done = subprocess.run(
        ["node", "--input-type=module", "-e", TELL.replace("IDENTITY", words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found, message = json.loads(done.stdout)
    for policy, theirs in zip(PENDING, found, strict=True):
        assert theirs == asked_and_told(policy), policy
    assert message == "the policy has no window: give it pending=W"


@needs("node")
@pytest.mark.skipif(sys.platform == "win32", reason="the attacks fork")
def test_node_refuses_the_states_that_python_refuses(tmp_path: Path) -> None:
    """Tampered states of every policy; those that both accept play on alike, to the last bit."""
    from attack import exports
    from attack.material import crafted_row

    server, refused = exports.node(tmp_path), 0
    for number in range(1200):
        which = number % len(exports.players())
        state = exports.players()[which].state
        row = crafted_row(random.Random(number), state) if number >= len(exports.players()) else state
        wanted = exports.played(which, row)
        assert exports.asked(server, which, row) == wanted, exports.players()[which].policy
        refused += bool(wanted["refused"])
    server.close()
    assert 400 < refused < 1100


PAGE = """<!DOCTYPE html><body><pre id="found"></pre><script type="module">
import { play, checks } from "./play.js";
const tasks = await (await fetch("tasks.json")).json(), found = [];
for (const task of tasks) found.push(await play(...task));
document.getElementById("found").textContent = JSON.stringify([found, await checks(tasks[0][0])]);
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="not installed: chromium")
def test_a_browser_plays_as_python_does(site: tuple[Path, list[list[object]]]) -> None:
    folder, wanted = site
    (folder / "page.html").write_text(PAGE)
    tab = Tab(folder / "profile")
    try:
        with serving(folder) as address:
            tab.open(f"{address}/page.html")
            # Waited for, however long it takes: the page writes it when it has played everything.
            found, checked = json.loads(tab.until("document.getElementById('found').textContent"))
    finally:
        tab.close()
    assert found == wanted
    assert checked == EXPECTED


PROPERTIES = ("time", "probability", "state", "policy", "arms", "words")


def test_the_types_name_what_the_module_exports() -> None:
    code, types = ((SHIPPED / name).read_text() for name in ("hlmc.js", "hlmc.d.ts"))
    for name in ("load", "randomKey"):
        assert f"function {name}(" in code
        assert f"export function {name}(" in types
    for member in (
        "ask",
        "tell",
        "drop",
        "select",
        "update",
        "restore",
        "time",
        "probability",
        "state",
        "policy",
        "arms",
        "words",
    ):
        assert f"{member}(" in code or f"this.{member} =" in code or f"get {member}()" in code
        assert f"{member}(" in types or f"readonly {member}:" in types


def test_export_writes_a_folder_for_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "js", "HLMC(arms=20, memory=10)", "-o", str(tmp_path / "site"), "--json"]) == 0
    names = [Path(path).name for path in json.loads(capsys.readouterr().out)["files"]]
    assert names == [*FILES, "program.json"]
    program = json.loads((tmp_path / "site" / "program.json").read_text())
    policy = hlmc.HLMC(arms=20, memory=10)
    assert np.array_equal(program["program"], policy.program)
    assert int(program["key"], 16) == int(policy.start(seed=0).state.view(np.uint64)[0])


def test_a_learner_is_exported_with_its_state(tmp_path: Path) -> None:
    learner = hlmc.UCB1(arms=4).start(seed=1)
    learner.select()
    learner.update(0.5)
    save(tmp_path, learner.policy, learner.state)
    state = json.loads((tmp_path / "program.json").read_text())["state"]
    assert bytes(state) == learner.state.tobytes()


def test_routines_of_a_users_own_are_not_in_the_module() -> None:
    own = Custom("own", test_the_module_is_small, test_the_module_is_small, test_the_module_is_small, print_nothing)
    with pytest.raises(BadArgument, match="and not your own"):
        program_json(hlmc.HLMC(arms=9, levels=2, horizon=10, routines=("exp3", own)))


def print_nothing() -> None:
    """Stands for a function of a user's own."""
