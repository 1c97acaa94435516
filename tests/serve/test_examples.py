"""The examples of docs/serve.md in other languages, as they stand there, against a real service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from serve.services import ADMIN_TEXT, Running

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def example(running: Running, language: str) -> str:
    """The only block of the page in a language, with the address of a service that runs."""
    (block,) = [each.split("```")[0] for each in PAGE.split(f"```{language}\n")[1:]]
    return block.replace("http://127.0.0.1:8000", running.url)


def said(*command: str) -> str:
    """What a command prints."""
    environment = os.environ | {"HLMC_TOKEN": ADMIN_TEXT}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_javascript(running: Running) -> None:
    code = f"{example(running, 'js')}\nconsole.log(JSON.stringify(decision));"
    decision = json.loads(said("node", "--input-type=module", "-e", code))
    assert decision["unit"] == "user-17"
    with running.http() as http:
        again = http.post("/v1/drinks/tell", json={"id": decision["id"], "reward": 1}).json()
    assert again == {"result": "duplicate"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(running: Running) -> None:
    lines = example(running, "sh").replace("\\\n", "").splitlines()
    answers = [json.loads(said("sh", "-c", f"{lines[0]}\n{line.replace('curl', 'curl -s')}")) for line in lines[1:]]
    ask, tell, several, drop, arms = answers
    assert ask["unit"] == "user-17"
    assert [each["unit"] for each in several] == ["u1", "u2"]
    assert tell["type"] == drop["type"] == "urn:hlmc:unknown-decision"  # the id of the page is nobody's
    assert "cocoa" in [each["name"] for each in arms["arms"]]
    with running.http(ADMIN_TEXT) as http:
        http.post("/v1/drinks/arms", json={"action": "remove", "name": "cocoa"})
