"""Who may do what: tokens, Host, Origin, limits; and that nothing secret is written down."""

from __future__ import annotations

import io
import json
import logging
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlmc.errors import BadArgument, BadFile
from hlmc.serve import rights
from hlmc.serve.config import read_config
from hlmc.serve.logs import Json, Plain
from hlmc.serve.metrics import exposed
from hlmc.serve.running import prepared
from serve.services import ADMIN_TEXT, SHOP, Running, error_name, serving


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Tokens by what they are for."""
    return {}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> Iterator[Running]:
    """A service in which everybody needs a token."""
    folder = tmp_path_factory.mktemp("guarded")
    for what, given in (("read", ["read"]), ("ask", ["ask"]), ("tell", ["tell"]), ("admin", ["admin"])):
        texts[what], token = rights.made("drinks", given, note=what)
        rights.add(folder / "shop.tokens", token)
    texts["all"], token = rights.made()
    rights.add(folder / "shop.tokens", token)
    limits = "[limits]\nconnections = 3\npatience = 0.5\nbatch = 10\nunits = 5\n"
    with serving(folder, f'tokens = "shop.tokens"\norigins = ["https://shop.example"]\n{SHOP}{limits}', ()) as made:
        yield made


def test_a_token_gives_its_rights_and_no_others(guarded: Running, texts: dict[str, str]) -> None:
    calls = {
        "read": ("GET", "/v1/drinks/report", None),
        "ask": ("POST", "/v1/drinks/ask", {}),
        "tell": ("POST", "/v1/drinks/tell", {"id": "x", "reward": 1}),
        "admin": ("POST", "/v1/drinks/settings", {}),
    }
    for what in calls:
        for right, (method, path, body) in calls.items():
            with guarded.http(texts[what]) as http:
                status = http.request(method, path, json=body).status_code
                assert (status == 403) == (right != what != "admin"), (what, right)
                other = http.request(method, path.replace("drinks", "shared"), json=body)
                assert (other.status_code, error_name(other)) == (403, "no-right")
    with guarded.http(texts["read"]) as http:
        assert http.get("/v1").json() == {"experiments": ["drinks"]}
        assert http.get("/metrics").status_code == 403
        assert http.get("/v1/unheard-of").status_code == 403  # which names there are is not told either
    with guarded.http(texts["all"]) as http:
        assert http.get("/v1").json() == {"experiments": ["drinks", "fixed", "shared"]}
        assert http.get("/metrics").status_code == 200
        assert http.get("/v1/unheard-of").status_code == 404


def test_without_the_right_token_nothing_is_told(guarded: Running, texts: dict[str, str]) -> None:
    name, _, secret = texts["admin"].removeprefix("hlmc_").partition("_")
    bad = [None, "", "x", f"hlmc_{name}_{'0' * 64}", f"hlmc_{name}_", f"hlmc_{'0' * 12}_{secret}", texts["admin"][:-1]]
    for token in bad:
        with guarded.http(token) as http:
            for path in ("/v1", "/v1/drinks", "/v1/nothing", "/metrics"):
                answer = http.get(path)
                assert (answer.status_code, error_name(answer)) == (401, "no-token"), (token, path)
                assert answer.headers["www-authenticate"] == "Bearer"
            assert http.get("/healthz").status_code == http.get("/readyz").status_code == 200
    with guarded.http(Authorization=f"Basic {texts['admin']}") as http:
        assert http.get("/v1").status_code == 401


def test_a_revoked_token_is_good_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shop.tokens"
    text, token = rights.made("shop", ["ask"], "till")
    rights.add(path, token)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert text not in path.read_text()
    assert text.split("_")[2] not in path.read_text()
    known = rights.Rights(path)
    header = f"Bearer {text}".encode()
    assert known.of(header) == token
    rights.revoke(path, token.id)
    known._looked -= 2.0  # as if two seconds had passed
    assert known.of(header) is None
    with pytest.raises(BadArgument, match="no token"):
        rights.revoke(path, token.id)
    path.write_text("{")
    known._looked -= 2.0
    assert known.of(header) is None
    with pytest.raises(BadFile, match="not a file of tokens"):
        rights.Rights(path)
    with pytest.raises(BadArgument, match="rights must be some of"):
        rights.made("shop", ["ask", "everything"])


def test_only_loopback_without_tokens(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(SHOP)
    with pytest.raises(BadArgument, match=r"host must be 127\.0\.0\.1 .* hlmc token new"):
        prepared(read_config(file), "0.0.0.0", 0)
    assert not (tmp_path / "shop.db").exists()


# --- Web pages of others


def test_a_page_of_another_site_is_refused(running: Running) -> None:
    attacks: list[tuple[dict[str, str], int, str]] = [
        ({"Host": "evil.example"}, 421, "bad-host"),
        ({"Host": "127.0.0.1.evil.example:8000"}, 421, "bad-host"),
        ({"Host": "user@127.0.0.1"}, 421, "bad-host"),
        ({"Origin": "https://evil.example"}, 403, "bad-origin"),
        ({"Origin": "null"}, 403, "bad-origin"),
        ({"Origin": "http://127.0.0.1:1"}, 403, "bad-origin"),
        ({"Content-Type": "text/plain"}, 415, "bad-content-type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "bad-content-type"),
    ]
    with running.http() as http:
        for headers, status, name in attacks:
            given = {"Content-Type": "application/json"} | headers
            answer = http.post("/v1/drinks/ask", content="{}", headers=given)
            assert (answer.status_code, error_name(answer)) == (status, name), headers
            assert "access-control-allow-origin" not in answer.headers
        assert http.options("/v1/drinks/ask", headers={"Origin": "https://evil.example"}).status_code == 403
        own = {"Origin": running.url, "Content-Type": "application/json; charset=utf-8"}
        assert http.post("/v1/drinks/ask", content="{}", headers=own).status_code == 200
        twice = http.get("/v1", headers=[("Origin", running.url), ("Origin", "https://evil.example")])  # type: ignore[arg-type]
        assert (twice.status_code, error_name(twice)) == (400, "bad-header")


def test_a_page_of_an_allowed_site_may_use_it(guarded: Running, texts: dict[str, str]) -> None:
    origin = {"Origin": "https://shop.example"}
    with guarded.http() as http:
        asked = http.options("/v1/drinks/ask", headers=origin | {"Access-Control-Request-Method": "POST"})
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-origin"] == "https://shop.example"
        assert "authorization" in asked.headers["access-control-allow-headers"]
    with guarded.http(texts["ask"]) as http:
        answer = http.post("/v1/drinks/ask", json={}, headers=origin)
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        assert answer.headers["vary"] == "origin"


# --- Limits


def test_slow_clients_are_cut_off(guarded: Running, texts: dict[str, str]) -> None:
    address = ("127.0.0.1", int(guarded.url.rpartition(":")[2]))
    head = f"POST /v1/drinks/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {texts['ask']}\r\n"
    body = "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
    for begun in (b"", b"GET /healthz HT", f"{head}{body}".encode()):
        with socket.create_connection(address, timeout=600.0) as slow:
            slow.sendall(begun)
            try:
                said = slow.recv(1000)
            except ConnectionResetError:
                said = b""
            assert said == b""


def test_connections_are_limited(guarded: Running) -> None:
    address = ("127.0.0.1", int(guarded.url.rpartition(":")[2]))
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    held = []
    for _ in range(3):
        held.append(socket.create_connection(address, timeout=600.0))
        held[-1].sendall(request)
        assert b" 200 " in held[-1].recv(1000)
    with socket.create_connection(address, timeout=600.0) as more:
        assert b" 503 " in more.recv(1000)
        assert more.recv(1000) == b""
    for each in held:
        each.close()


def test_lists_are_as_long_as_the_limits_say(guarded: Running, texts: dict[str, str]) -> None:
    with guarded.http(texts["ask"]) as http:
        assert len(http.post("/v1/drinks/ask", json=[{}] * 10).json()) == 10
        for body in ([{}] * 11, {"count": 11}, [{"x": 1}] * 11):
            assert http.post("/v1/drinks/ask", json=body).status_code == 413


def test_units_are_as_many_as_the_limits_say(guarded: Running, texts: dict[str, str]) -> None:
    with guarded.http(texts["ask"]) as http:
        body = [{"unit": f"u{i}"} for i in range(7)]
        answers = http.post("/v1/drinks/ask", json=body).json()
        refused = [each["unit"] for each in body if "error" in answers[body.index(each)]]
        assert len(refused) == 2
        answer = http.post("/v1/drinks/ask", json={"unit": refused[0]})
        assert (answer.status_code, error_name(answer)) == (409, "out-of-turn")
        assert "5 is the most that there may be" in answer.json()["detail"]
        assert http.post("/v1/drinks/ask", json={}).status_code == 200
        for known in {each["unit"] for each in body} - set(refused):
            assert http.post("/v1/drinks/ask", json={"unit": known}).status_code == 200


# --- What is written down


def test_log_lines_hold_nothing_secret(running: Running) -> None:
    lines: dict[str, io.StringIO] = {}
    log = logging.getLogger("hlmc.serve")
    handlers = []
    for name, kind in (("json", Json()), ("plain", Plain())):
        lines[name] = io.StringIO()
        handlers.append(logging.StreamHandler(lines[name]))
        handlers[-1].setFormatter(kind)
    before = log.handlers[:], log.level, log.propagate
    log.handlers[:], log.propagate = handlers, False
    log.setLevel(logging.DEBUG)
    trace = "0123456789abcdef0123456789abcdef"
    try:
        with running.http(ADMIN_TEXT, traceparent=f"00-{trace}-0123456789abcdef-01") as http:
            answer = http.post("/v1/drinks/ask", json={"unit": "secret-unit"})
            assert answer.headers["traceparent"] == f"00-{trace}-0123456789abcdef-01"
            decision = answer.json()
            http.post("/v1/drinks/tell", json={"id": decision["id"], "reward": 1})
            http.post("/v1/drinks/settings", json={})
            http.post("/v1/drinks/ask", content="secret-body", headers={"Content-Type": "application/json"})
            http.get("/secret-path?secret=query")
    finally:
        log.handlers[:], _, log.propagate = before
        log.setLevel(before[1])
    said = [json.loads(line) for line in lines["json"].getvalue().splitlines()]
    assert [each["status"] for each in said] == [200, 200, 200, 200, 400, 404]
    assert all(each["trace_id"] == trace for each in said)
    assert said[2]["message"] == "changed"
    assert said[2]["token"] == ADMIN_TEXT.split("_")[1]
    for text in (lines["json"].getvalue(), lines["plain"].getvalue()):
        for secret in ("secret", decision["id"], ADMIN_TEXT, ADMIN_TEXT.split("_")[2]):
            assert secret not in text


def test_metrics_count_what_was_asked(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.http() as http:
        decisions = http.post("/v1/drinks/ask", json=[{"unit": f"unit-{i}"} for i in range(4)]).json()
        told = [{"id": each["id"], "reward": reward} for each, reward in zip(decisions, (0.0, 0.25, 1.0), strict=False)]
        http.post("/v1/drinks/tell", json=[*told, told[0], {"id": "x", "reward": 1}, {"id": "x", "reward": 2}])
        http.post("/v1/drinks/drop", json={"id": decisions[3]["id"]})
        hosted = running.service.hosted["drinks"]
        hosted.looker.note(hosted.bandit.report(), 0.0)
        answer = http.get("/metrics")
        text = answer.text
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        for line in (
            'hlmc_asks_total{experiment="drinks"} 4.0',
            'hlmc_tells_total{experiment="drinks",result="applied"} 3.0',
            'hlmc_tells_total{experiment="drinks",result="duplicate"} 1.0',
            'hlmc_tells_total{experiment="drinks",result="unknown"} 1.0',
            'hlmc_tells_total{experiment="drinks",result="refused"} 1.0',
            'hlmc_drops_total{experiment="drinks"} 1.0',
            'hlmc_reward_bucket{experiment="drinks",le="0.0"} 1.0',
            'hlmc_reward_bucket{experiment="drinks",le="0.3"} 2.0',
            'hlmc_reward_count{experiment="drinks"} 3.0',
            'hlmc_pending_decisions{experiment="drinks"} 0.0',
            'hlmc_feedback_delay_seconds_count{experiment="drinks"} 3.0',
            'hlmc_learners{experiment="drinks"} 4.0',
        ):
            assert line in text.splitlines(), line
        assert int(float(text.split("hlmc_commit_seconds_count{")[1].split()[1])) >= 3
        assert "unit-" not in text
        assert exposed(running.service) != b""
