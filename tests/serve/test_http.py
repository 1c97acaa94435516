"""The HTTP interface: decisions, rewards, arms, and what wrong requests get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from hlmc.errors import StoreUnavailable
from hlmc.serve.routes import ROUTES
from serve.services import Running, error_name, serving

# --- Decisions and rewards


def test_a_decision_and_its_reward(http: httpx.Client) -> None:
    decision = http.post("/v1/drinks/ask", json={"unit": "user-17"}).json()
    assert decision["arm"] in ("tea", "coffee")
    assert 0.0 < decision["propensity"] <= 1.0
    assert decision["unit"] == "user-17"
    told = {"id": decision["id"], "reward": 1}
    assert http.post("/v1/drinks/tell", json=told).json() == {"result": "applied"}
    assert http.post("/v1/drinks/tell", json=told).json() == {"result": "duplicate"}
    dropped = http.post("/v1/drinks/ask", json={}).json()
    assert http.post("/v1/drinks/drop", json={"id": dropped["id"]}).json() == {"result": "applied"}
    assert http.post("/v1/drinks/tell", json={"id": dropped["id"], "reward": 1}).json() == {"result": "duplicate"}


def test_lists_have_an_answer_per_item(http: httpx.Client) -> None:
    asked = http.post("/v1/drinks/ask", json=[{"unit": "a"}, {"unit": 7}, {}, {"unit": "a\nb"}, {"other": 1}]).json()
    assert ["error" in each for each in asked] == [False, True, False, True, True]
    assert asked[0]["unit"] == "a"
    assert asked[2]["unit"] is None
    names = [asked[0]["id"], asked[2]["id"]]
    told = [
        {"id": names[0], "reward": 1.0},
        {"id": "x", "reward": 1.0},
        {"id": names[1], "reward": 7.0},
        {"id": names[1]},
        {"id": names[1], "reward": 0.0},
    ]
    results = http.post("/v1/drinks/tell", json=told).json()
    assert [each.get("result") for each in results] == ["applied", "unknown", None, None, "applied"]
    assert results[2]["error"]["type"] == "urn:hlmc:bad-reward"
    dropped = http.post("/v1/drinks/drop", json=[{"id": names[0]}, {"id": "x"}]).json()
    assert [each["result"] for each in dropped] == ["duplicate", "unknown"]
    assert http.post("/v1/drinks/ask", json=[]).json() == []
    assert http.post("/v1/drinks/tell", json=[]).json() == []


def test_a_count_is_as_many_decisions(http: httpx.Client) -> None:
    made = http.post("/v1/drinks/ask", json={"unit": "many", "count": 5}).json()
    assert len({each["id"] for each in made}) == 5
    assert {each["unit"] for each in made} == {"many"}


def test_a_key_makes_one_decision_even_across_a_restart(tmp_path: Path) -> None:
    requests: list[Any] = [{"unit": "u"}, {"unit": "u", "count": 3}, [{"unit": "a"}, {}, {"unit": "b"}]]
    with serving(tmp_path) as running, running.http() as http:
        first = [http.post("/v1/drinks/ask", json=r, headers={"Idempotency-Key": f"k{i}"}).json()
                 for i, r in enumerate(requests)]  # fmt: skip
    with serving(tmp_path) as running, running.http() as http:
        for i, request in enumerate(requests):
            again = http.post("/v1/drinks/ask", json=request, headers={"Idempotency-Key": f"k{i}"})
            assert again.json() == first[i]
        before = http.get("/v1/drinks/report").json()["decisions"]
        for request in ({"unit": "v"}, {"unit": "u", "count": 2}, {"unit": "u", "count": 4}, [{"unit": "u"}] * 2):
            answer = http.post("/v1/drinks/ask", json=request, headers={"Idempotency-Key": "k1"})
            assert (answer.status_code, error_name(answer)) == (409, "conflicting-key")
        items = http.post("/v1/drinks/ask", json=[{"unit": "x", "key": "k0"}, {"unit": "u", "key": "k0"}]).json()
        assert items[0]["error"]["status"] == 409
        assert items[1] == first[0]
        assert http.get("/v1/drinks/report").json()["decisions"] == before


# --- Wrong requests

WRONG: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/v1/nothing/ask", {}, 404, "no-experiment"),
    ("GET", "/v1/nothing", None, 404, "no-experiment"),
    ("GET", "/nothing", None, 404, "no-address"),
    ("POST", "/nothing", {}, 404, "no-address"),
    ("PUT", "/v1/drinks/ask", {}, 405, "bad-method"),
    ("GET", "/v1/drinks/ask", None, 405, "bad-method"),
    ("POST", "/v1/drinks/ask", "not json", 400, "bad-json"),
    ("POST", "/v1/drinks/ask", "", 400, "bad-json"),
    ("POST", "/v1/drinks/ask", "[" * 100_000, 400, "bad-json"),
    ("POST", "/v1/drinks/ask", b'{"unit": "\xff"}', 400, "bad-json"),
    ("POST", "/v1/drinks/ask", "7", 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"x" * 5000: 1}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"unit": ""}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"unit": "x" * 201}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"unit": "a\u0000b"}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"unit": "u", "colour": "red"}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"count": 0}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", {"count": 1001}, 422, "bad-argument"),
    ("POST", "/v1/drinks/ask", [{}] * 1001, 413, "too-many"),
    ("POST", "/v1/drinks/ask", " " * 1_000_001, 413, "too-large"),
    ("POST", "/v1/fixed/ask", {}, 422, "bad-argument"),
    ("POST", "/v1/shared/ask", {"unit": "u"}, 422, "bad-argument"),
    ("POST", "/v1/drinks/tell", {"id": "x", "reward": 1.0}, 404, "unknown-decision"),
    ("POST", "/v1/drinks/tell", {"id": "x", "reward": 1.5}, 422, "bad-reward"),
    ("POST", "/v1/fixed/tell", {"id": "x", "reward": -1}, 422, "bad-reward"),
    ("POST", "/v1/drinks/tell", '{"id": "x", "reward": NaN}', 400, "bad-json"),
    ("POST", "/v1/drinks/tell", '{"id": "x", "reward": 1e999}', 422, "bad-argument"),
    ("POST", "/v1/drinks/tell", {"id": "x", "reward": None}, 422, "bad-argument"),
    ("POST", "/v1/drinks/tell", {"id": "x"}, 422, "bad-argument"),
    ("POST", "/v1/drinks/drop", {"id": "x"}, 404, "unknown-decision"),
    ("POST", "/v1/drinks/arms", {"action": "add", "name": "cocoa"}, 401, "no-token"),
    ("POST", "/v1/drinks/settings", {"control": 0.5}, 401, "no-token"),
    ("POST", "/v1/drinks/forget", {"unit": "u"}, 401, "no-token"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "name"), WRONG)
def test_wrong_requests_are_one_clear_line(
    http: httpx.Client, method: str, path: str, body: Any, status: int, name: str
) -> None:
    content = body if isinstance(body, (str, bytes)) else None if body is None else json.dumps(body)
    answer = http.request(method, path, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, error_name(answer)) == (status, name)
    assert len(answer.json()["detail"]) < 500


def test_wrong_requests_change_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.http() as http:
        before = [http.get(f"/v1/{name}/report").json() for name in ("drinks", "fixed", "shared")]
        for method, path, body, _, _ in WRONG:
            content = body if isinstance(body, (str, bytes)) else None if body is None else json.dumps(body)
            http.request(method, path, content=content, headers={"Content-Type": "application/json"})
        assert [http.get(f"/v1/{name}/report").json() for name in ("drinks", "fixed", "shared")] == before


def test_a_body_in_chunks_is_read_and_limited(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    answer = http.post("/v1/drinks/ask", content=iter([b'{"unit"', b': "chunks"}']), headers=headers)
    assert answer.json()["unit"] == "chunks"
    answer = http.post("/v1/drinks/ask", content=iter([b" " * 400_000] * 3), headers=headers)
    assert (answer.status_code, error_name(answer)) == (413, "too-large")


def test_without_an_arm_there_is_no_decision(http: httpx.Client, admin: httpx.Client) -> None:
    for name in ("tea", "coffee"):
        admin.post("/v1/drinks/arms", json={"action": "pause", "name": name})
    answer = http.post("/v1/drinks/ask", json={})
    listed = http.post("/v1/drinks/ask", json=[{}]).json()
    for name in ("tea", "coffee"):
        admin.post("/v1/drinks/arms", json={"action": "resume", "name": name})
    assert (answer.status_code, error_name(answer)) == (409, "out-of-turn")
    assert listed[0]["error"]["status"] == 409


def test_too_much_at_a_time_is_told_to_come_back(running: Running, http: httpx.Client) -> None:
    running.service.waiting += running.service.limits.waiting
    try:
        answer = http.post("/v1/drinks/ask", json={})
    finally:
        running.service.waiting -= running.service.limits.waiting
    assert (answer.status_code, error_name(answer), answer.headers["retry-after"]) == (429, "overload", "1")
    assert http.post("/v1/drinks/ask", json={}).status_code == 200


def test_a_store_that_is_away_is_503(running: Running, http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> Any:
        raise StoreUnavailable("shop.db cannot be written: the disk is full; what was acknowledged is kept")

    bandit = running.service.hosted["drinks"].bandit
    with monkeypatch.context() as patch:
        patch.setattr(bandit, "_work", away)
        for path, body in (("ask", {}), ("ask", [{}]), ("tell", {"id": "x", "reward": 1}), ("drop", [{"id": "x"}])):
            answer = http.post(f"/v1/drinks/{path}", json=body)
            assert (answer.status_code, error_name(answer)) == (503, "store-unavailable")
            assert answer.headers["retry-after"] == "1"
    assert http.post("/v1/drinks/ask", json={}).status_code == 200


# --- Arms and experiments


def test_arms_come_and_go(http: httpx.Client, admin: httpx.Client) -> None:
    def names() -> dict[str, bool]:
        return {each["name"]: each["paused"] for each in http.get("/v1/drinks/arms").json()["arms"]}

    changes: list[dict[str, Any]] = [
        {"action": "add", "names": ["cocoa", "water"]},
        {"action": "add", "name": "mate/chai"},
        {"action": "pause", "name": "water"},
        {"action": "rename", "name": "mate/chai", "new": "chai"},
        {"action": "remove", "name": "cocoa"},
        {"action": "forget", "name": "tea"},
    ]
    for change in changes:
        answer = admin.post("/v1/drinks/arms", json=change)
        assert answer.status_code == 200, answer.text
    assert names() == {"tea": False, "coffee": False, "water": True, "chai": False}
    for change in ({"action": "remove", "name": "water"}, {"action": "remove", "name": "chai"}):
        admin.post("/v1/drinks/arms", json=change)
    assert names() == {"tea": False, "coffee": False}
    for change in (
        {"action": "add", "name": "tea"},
        {"action": "pause", "name": "no"},
        {"action": "rename", "name": "tea"},
    ):
        assert admin.post("/v1/drinks/arms", json=change).status_code == 422


def test_experiments_say_what_they_are(http: httpx.Client, admin: httpx.Client) -> None:
    assert http.get("/v1").json() == {"experiments": ["drinks", "fixed", "shared"]}
    shown = http.get("/v1/shared").json()
    assert shown["policy"] == "UCB1(arms=2)"
    assert shown["units"] == "all"
    assert shown["words"]["total"] == shown["words"]["statistics"] + shown["words"]["control"]
    assert "proved" in shown["guarantee"]
    assert admin.post("/v1/shared/settings", json={"control": 0.25}).json()["control"] == 0.25
    assert admin.post("/v1/shared/settings", json={"control": None}).json()["control"] == 0.0
    http.post("/v1/drinks/ask", json={"unit": "gone"})
    assert admin.post("/v1/drinks/forget", json={"unit": "gone"}).json() == {"forgotten": True}
    assert admin.post("/v1/drinks/forget", json={"unit": "gone"}).json() == {"forgotten": False}


def test_the_document_describes_every_address(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == set(ROUTES)
    for path, methods in ROUTES.items():
        assert {each.upper() for each in document["paths"][path]} == set(methods)
    text = json.dumps(document)
    names = {each.split('"')[0] for each in text.split('"#/components/schemas/')[1:]}
    assert names <= set(document["components"]["schemas"])
    answers = {each.split('"')[0] for each in text.split('"#/components/responses/')[1:]}
    assert answers == set(document["components"]["responses"])
    operations = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(set(operations)) == len(operations)


def test_a_stream_tells_of_the_past_and_of_what_comes(running: Running, http: httpx.Client) -> None:
    looker = running.service.hosted["drinks"].looker
    with http.stream("GET", "/v1/drinks/stream") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        lines = answer.iter_lines()
        events = [next(line for line in lines if line.startswith("event:")) for _ in range(4)]
    assert events == ["event: past", "event: report", "event: point", "event: report"]
    assert looker.latest is not None
