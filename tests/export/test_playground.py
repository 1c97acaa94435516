"""The playground in a real browser: it plays as Python does, and its page works on a desk and on a phone."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import BROWSER, FLAGS, Quiet, serving
from hlmc.engine.layout import AT, FIELDS, PARAMETERS
from hlmc.evaluation import benchmark
from hlmc.export.generic import code_digest
from hlmc.streams import derive_seed
from loading import script

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SEED = 3
STEPS = 2000
ARMS_SHOWN = 200


playground = script("scripts/playground.py")

# (policy, K, M, T, adversary): every policy and every adversary, and trees of several depths.
GAMES = [
    *((policy, 16, 8, 10**4, "Needle") for policy in playground.POLICIES),
    *(("Champion", 36, 12, 10**4, adversary) for adversary in playground.ADVERSARIES if adversary != "You"),
    ("HLMC", 100, 20, 10**4, "BlockTrap"),
    ("HLMC", 1000, 64, 10**5, "Shifting"),
    ("HLMC", 10_000, 64, 10**5, "UniformMeans"),
    ("Champion", 10_000, 64, 10**6, "PiecewiseStationary"),
]


def test_the_module_is_what_the_kernels_translate_to() -> None:
    """If it fails, a kernel has changed: run scripts/playground.py --compile."""
    record = json.loads((playground.PLACE / "playground.wasm.json").read_text())
    assert record["code"] == code_digest(playground.source())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The playground, assembled."""
    place = tmp_path_factory.mktemp("playground")
    playground.assemble(place)
    return place


def test_the_page_asks_for_nothing_from_outside(folder: Path) -> None:
    for name in (*playground.PAGE, "data.js"):
        assert not re.search(r"https?://", (folder / name).read_text()), name


def test_the_page_is_small(folder: Path) -> None:
    texts = [(folder / name).read_bytes() for name in (*playground.PAGE, "data.js")]
    assert sum(len(gzip.compress(text)) for text in texts) < 200_000


# --- In the browser

PAGE = Path(__file__).with_name("playground.html")


class _Server(Quiet):
    """Serves a folder, and keeps what the page sends."""

    found: dict[str, Any]
    done: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.found.update(json.loads(body))
        self.send_response(200)
        self.end_headers()
        self.done.set()


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    """What a browser finds in the playground; everything in one visit."""
    if BROWSER is None:
        pytest.skip("not installed: chromium")
    shutil.copyfile(PAGE, folder / "test.html")
    (folder / "tasks.json").write_text(json.dumps({"games": GAMES, "steps": STEPS, "shown": ARMS_SHOWN, "seed": SEED}))
    handler = type("Handler", (_Server,), {"found": {}, "done": threading.Event()})
    with serving(folder, handler) as address:
        profile = f"--user-data-dir={folder / 'profile'}"
        command = [BROWSER, *FLAGS, profile, "--window-size=1400,1000", f"{address}/test.html"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert handler.done.wait(120), "the page did not finish"
        finally:
            browser.terminate()
            browser.wait(30)
    assert "failure" not in handler.found, handler.found
    return handler.found


def _by_hand(game: tuple[str, int, int, int, str]) -> dict[str, Any]:
    """A game with select and update, one step at a time."""
    name, K, M, T, enemy = game
    adversary = playground.ADVERSARIES[enemy].make(K, M, T, SEED)
    learner = playground.POLICIES[name](K, M, T).start(seed=derive_seed(SEED, name))
    chosen, earned = [], 0.0
    for t in range(STEPS):
        chosen.append(learner.select())
        reward = float(adversary.rule(adversary.spec, t, chosen[-1]))
        learner.update(reward)
        earned += reward
    return {
        "chosen": chosen[:ARMS_SHOWN],
        "row": list(learner.state.tobytes()),
        "earned": earned,
        "best": float(benchmark(adversary, [STEPS], "pseudo")[0]),
        "call": repr(learner.policy),
        "adversary": repr(adversary),
    }


def _printed(code: str) -> list[str]:
    """The regrets at the end of the run that the page prints, by policy, as the page shows them."""
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    result = names["result"].regret("pseudo").isel(time=-1, run=0)
    return [f"{round(float(each)):,}" for each in result]


def _followed() -> int:
    """What UCB1 earns if arm 0 pays for 40 steps and arm 5 for 60."""
    learner = playground.POLICIES["UCB1"](16, 8, 10**5).start(seed=derive_seed(0, "UCB1"))
    earned = 0
    for t in range(100):
        pays = learner.select() == (0 if t < 40 else 5)
        learner.update(float(pays))
        earned += pays
    return earned


@pytest.fixture(scope="module")
def reference(found: dict[str, Any]) -> dict[str, Any]:
    """What Python does, in a process without the compiler, which would take most of the time."""
    command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve())]
    environment = {**os.environ, "HLMC_JIT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, input=found["finished"][3], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout))


def test_a_browser_plays_as_python_does(found: dict[str, Any], reference: dict[str, Any]) -> None:
    for game, seen, mine in zip(GAMES, found["games"], reference["games"], strict=True):
        assert seen["chosen"] == mine["chosen"], game
        words = [np.frombuffer(bytes(each["row"]), np.uint64) for each in (seen, mine)]
        assert words[0].tobytes() == words[1].tobytes(), (game, np.flatnonzero(words[0] != words[1]))
        assert seen["earned"] == pytest.approx(mine["earned"], abs=1e-6)
        assert seen["time"] == seen["counted"] == STEPS
        assert seen["best"] == pytest.approx(mine["best"], rel=1e-12)
        assert seen["regret"] == pytest.approx(mine["best"] - mine["earned"], abs=1e-6)
        assert (seen["call"], seen["adversary"]) == (mine["call"], mine["adversary"])
        assert seen["points"] <= 801
        assert all(seen["names"])


def test_the_tree_shows_probabilities(found: dict[str, Any]) -> None:
    for game, seen in zip(GAMES, found["games"], strict=True):
        policy = playground.POLICIES[game[0]](*game[1:4])
        for depth, (n, child, chances) in enumerate(seen["chances"]):
            assert len(chances) == n
            assert 0 <= child < n
            # Children of less than 1 in 64 may be missed by the numbers that are tried.
            assert 1.0 - n / 64 <= sum(chances) <= 1.0 + 1e-6, (game, depth)
        assert len(seen["chances"]) == len(policy.plan.groups)


def test_the_tree_of_exp3_is_its_formula(found: dict[str, Any]) -> None:
    """p_i = (1 - gamma) w_i / W + gamma / K, from the row."""
    game = ("EXP3", 16, 8, 10**4, "Needle")
    seen = found["games"][GAMES.index(game)]
    record = playground.POLICIES["EXP3"](*game[1:4]).program.reshape(-1, FIELDS)[1]
    weights = np.frombuffer(bytes(seen["row"]))[int(record[AT]) :][:16]
    gamma = record[PARAMETERS]
    expected = (1.0 - gamma) * weights / weights.sum() + gamma / 16
    ((_, _, chances),) = seen["chances"]
    shown = np.array(chances) > 0
    assert shown.sum() >= 2
    assert np.array(chances)[shown] == pytest.approx(expected[shown], rel=1e-9)
    assert expected[~shown].max(initial=0.0) < 1 / 64


def test_the_page_prints_the_run_that_it_shows(found: dict[str, Any], reference: dict[str, Any]) -> None:
    time, regrets, status, _ = found["finished"]
    assert time == "10,000"
    assert status.startswith("After 10,000 steps.")
    assert regrets == reference["printed"]


def test_the_examples_play_at_both_widths(found: dict[str, Any]) -> None:
    for width, visit in ((1280, found["wide"]), (390, found["narrow"])):
        assert len(visit["presets"]) == 5
        for name, (across, wide, rows, sound, address) in visit["presets"].items():
            assert across <= width, name
            assert wide == [], name
            assert rows == 5, name
            assert sound, name
            assert "adversary=" in address


def test_you_are_the_adversary(found: dict[str, Any], reference: dict[str, Any]) -> None:
    you = found["you"]
    assert you["before"] == [16, "true", "false"]
    assert you["after"] == ["false", "true"]
    assert you["address"].endswith("&pays=5")
    assert you["focused"] == 6
    assert you["word"].startswith("1 TIME = 100")
    # Arm 0 paid for 40 steps, arm 5 for 60: the best single arm has 60.
    earned = reference["followed"]
    assert you["regret"] == str(60 - earned)
    assert you["reward"] == f"{earned / 100:.3f}"


def test_the_story_is_told_in_five_steps(found: dict[str, Any]) -> None:
    told = found["story"]["told"]
    assert [title[:6] for title, _, _ in told] == [f"{i} of 5" for i in range(1, 6)]
    assert all(playable and across <= 390 for _, playable, across in told)
    assert found["story"]["closed"]
    assert not found["story"]["back"]  # the button that tells it again


def test_moving_the_reward_away_leaves_one_arm_that_pays(found: dict[str, Any]) -> None:
    assert found["moved"].count("true") == 1
    assert found["moved"][0] == "false"


def test_the_theme_can_be_switched(found: dict[str, Any]) -> None:
    before, after, pressed = found["theme"]
    assert {before, after} == {"light", "dark"}
    assert pressed == str(after == "dark").lower()


def test_a_bad_address_does_no_harm(found: dict[str, Any]) -> None:
    assert found["bad"] == ["100", "20", "0", "Champion"]


def test_a_policy_that_cannot_play_says_why(found: dict[str, Any]) -> None:
    hidden, text, rows = found["refused"]
    assert not hidden
    assert text.startswith("HLMC does not play: memory must be at least 26 words")
    assert rows == 1


def test_no_script_fails(found: dict[str, Any]) -> None:
    assert found["errors"] == []


if __name__ == "__main__":
    games = [_by_hand(game) for game in GAMES]
    sys.stdout.write(json.dumps({"games": games, "printed": _printed(sys.stdin.read()), "followed": _followed()}))
