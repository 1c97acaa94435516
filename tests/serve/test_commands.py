"""``hlmc serve`` and ``hlmc token``, and what a wrong file gets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import hlmc
from hlmc.cli import main
from hlmc.errors import BadArgument, BadFile, BadType, MissingExtra
from hlmc.serve.config import of_store, read_config
from hlmc.serve.demo import CHANGE, DRINKS, POLICY, SUMMER, TASTES, chance
from hlmc.serve.extra import need
from serve.services import SHOP


def test_tokens_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "shop.tokens")
    assert main(["token", "new", file, "--experiment", "drinks", "--rights", "ask,tell", "--note", "web shop"]) == 0
    text = capsys.readouterr().out.strip()
    assert text.startswith("hlmc_")
    assert main(["token", "new", file, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert main(["token", "list", file]) == 0
    listed = capsys.readouterr().out
    assert "drinks  ask,tell  web shop" in listed
    assert text not in listed
    assert main(["token", "list", file, "--json"]) == 0
    assert [set(each) & {"hash"} for each in json.loads(capsys.readouterr().out)] == [set(), set()]
    assert main(["token", "revoke", file, second["id"]]) == 0
    assert main(["token", "list", file]) == 0
    assert second["id"] not in capsys.readouterr().out
    for wrong in (["revoke", file], ["revoke", file, "nobody"], ["list", file, "x"], ["new", file, "--rights", "all"]):
        assert main(["token", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_package_is_one_line_that_names_the_extra() -> None:
    with pytest.raises(MissingExtra, match=r"no_such_package is not installed; .* 'hlmc\[serve\]'"):
        need("json", "no_such_package")
    code = "import sys; sys.modules['httpx'] = None; import hlmc; hlmc.open('http://127.0.0.1:1')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'hlmc[client]'" in done.stderr.splitlines()[-1]


def test_importing_hlmc_imports_nothing_of_the_extras() -> None:
    names = ("httpx", "uvicorn", "msgspec", "prometheus_client", "uvloop")
    code = f"import sys, hlmc.serve, hlmc.bandit; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", BadArgument, "experiments must be tables"),
        ("experiments = 7", BadArgument, "experiments must be tables"),
        ("[experiments.x]\narm = []", BadArgument, "experiments.x: there is no key 'arm'; did you mean 'arms'"),
        ('[experiments.x]\npolicy = "UCB9"\narms = ["a"]', BadArgument, "there is no policy 'UCB9'; did you mean"),
        ('[experiments.x]\npolicy = "UCB1"', BadArgument, "arms are needed"),
        ('[experiments.x]\npolicy = "UCB1"\narms = [1]', BadType, "arms must be a text, not 1"),
        ('[experiments.x]\nunits = "some"', BadArgument, "units must be one of all, each, any, not 'some'"),
        ('[experiments."a/b"]\narms = ["a"]', BadArgument, "name of an experiment must have"),
        (f"store = 7\n{SHOP}", BadType, "store must be a path or a URL, not 7"),
        (f"origins = 'x'\n{SHOP}", BadType, "origins must be a list of texts"),
        (f"durable = 1\n{SHOP}", BadType, "durable must be True or False"),
        (f"every = 0\n{SHOP}", BadArgument, "every must be"),
        (f"{SHOP}[limits]\nbatch = 0", BadArgument, "limits: batch must be"),
        (f"{SHOP}[limits]\nbath = 1", BadArgument, "did you mean 'batch'"),
        ("[", BadFile, "is not valid TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, kind: type[Exception], message: str) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(text)
    with pytest.raises(kind) as caught:
        read_config(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_of_experiments(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(SHOP)
    config = read_config(file)
    drinks, fixed, shared = config.experiments
    assert drinks.policy == hlmc.TsallisINF(arms=10)
    assert fixed.policy == hlmc.HLMC(arms=3, groups=(3,), horizon=5, rewards=(0.0, 10.0))
    assert shared.settings == {"wait": "1 hour", "default": 0.0, "seed": 3}
    assert config.store == str(tmp_path / "shop.db")
    assert read_config(file, "postgresql://x/y").store == "postgresql://x/y"
    for hosted in config.opened():
        hosted.bandit.close()
    found = of_store(config.store)
    assert [each.name for each in found.experiments] == ["drinks", "fixed", "shared"]


def test_the_demo_has_something_to_learn() -> None:
    assert len(set(DRINKS)) == len(DRINKS) == 300
    assert POLICY.words.total < len(DRINKS) / 4
    assert {*TASTES, *SUMMER} <= {*DRINKS}
    for visitors, best in ((0, TASTES), (CHANGE, SUMMER)):
        chances = {drink: chance(drink, visitors) for drink in DRINKS}
        assert max(chances, key=lambda drink: chances[drink]) in best
        assert all(0.0 < each < 1.0 for each in chances.values())


@pytest.mark.slow
def test_a_signal_stops_it_and_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP)
    command = [sys.executable, "-m", "hlmc", "serve", str(tmp_path / "shop.toml"), "--port", "0", "--log-json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = json.loads(process.stderr.readline())
        url = next(word for word in line["message"].split() if word.startswith("http://"))
        with httpx.Client(base_url=url, timeout=600.0) as http:
            while http.get("/readyz").status_code != 200:
                assert process.poll() is None
            decision = http.post("/v1/drinks/ask", json={}).json()
            http.post("/v1/drinks/tell", json={"id": decision["id"], "reward": 1.0})
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert json.loads(process.stderr.read().splitlines()[-1])["message"] == "stopped"
    with hlmc.open(tmp_path / "shop.db", name="drinks") as bandit:
        assert bandit.tell(decision["id"], 1.0) == "duplicate"
        assert bandit.check() == []
