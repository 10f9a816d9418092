"""What is refused, with which code, and by which field."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, ValidationError

from metatne.service.http.server import Server
from metatne.service.questions import EgoQuestion, MapQuestion, ProjectContent, RankQuestion
from service.towns import EXAMPLES, HOLDS, error_of

RANK = "/api/v1/models/town/rank"
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"positives": []}, (422, "bad_support", "positives")),
        ({"positives": [*HOLDS, "persn 20"]}, (422, "unknown_node", "positives[3]")),
        (EXAMPLES | {"negatives": ["x", HOLDS[0]]}, (422, "unknown_node", "negatives[0]")),
        (EXAMPLES | {"candidates": ["person 1", "y"]}, (422, "unknown_node", "candidates[1]")),
        ({"positives": [HOLDS[0], HOLDS[0]]}, (422, "bad_support", "positives")),
        ({"positives": HOLDS, "negatives": HOLDS}, (422, "bad_support", None)),
        (EXAMPLES | {"candidates": HOLDS}, (422, "bad_support", "candidates")),
        (EXAMPLES | {"candidates": []}, (422, "bad_support", "candidates")),
        (EXAMPLES | {"prior": 1}, (422, "bad_request", "prior")),
        (EXAMPLES | {"prior": "NaN"}, (422, "bad_request", "prior")),
        (EXAMPLES | {"top": 0}, (422, "bad_request", "top")),
        (EXAMPLES | {"top": 10_001}, (422, "bad_request", "top")),
        (EXAMPLES | {"offset": -1}, (422, "bad_request", "offset")),
        (EXAMPLES | {"filter": {"holds": "club 77"}}, (422, "bad_request", "filter.holds")),
        (EXAMPLES | {"filter": {"min_degree": -1}}, (422, "bad_request", "filter.min_degree")),
        (EXAMPLES | {"postives": []}, (422, "bad_request", "postives")),
        ({"positives": [True]}, (422, "bad_request", "positives[0]")),
        ({"positives": [1.5]}, (422, "bad_request", "positives[0]")),
        ({"positives": [2**63]}, (422, "bad_request", "positives[0]")),
        ({"positives": ["\ud800"]}, (422, "bad_request", "positives[0]")),
        ({"positives": "person 20"}, (422, "bad_request", "positives")),
        ({"positives": ["x"] * 2_001}, (413, "too_large", "positives")),
        (
            {"positives": ["x"] * 1_000, "negatives": ["y"] * 1_001},
            (413, "too_large", "negatives"),
        ),
        ([1], (422, "bad_request", None)),
        ({}, (422, "bad_request", "positives")),
    ],
)
def test_a_bad_question_names_its_field(
    http: httpx.Client, body: Any, expected: tuple[int, str, str | None]
) -> None:
    response = http.post(RANK, content=json.dumps(body), headers=JSON)
    assert error_of(response) == expected


@pytest.mark.parametrize("more", [{"negatives": ["person 50"]}, {"prior": 0.1}])
def test_an_ego_without_positives_takes_nothing_that_would_be_passed_over(
    http: httpx.Client, more: dict[str, Any]
) -> None:
    response = http.post("/api/v1/models/town/ego", json={"nodes": ["person 1"]} | more)
    assert error_of(response) == (422, "bad_support", "positives")


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (RankQuestion, "positives"),
        (RankQuestion, "candidates"),
        (MapQuestion, "nodes"),
        (EgoQuestion, "nodes"),
        (ProjectContent, "negatives"),
    ],
)
def test_of_many_bad_nodes_the_first_is_told(kind: type[BaseModel], field: str) -> None:
    with pytest.raises(ValidationError) as found:
        kind.model_validate({field: [1.5] * 400})
    places = {problem["loc"][1] for problem in found.value.errors() if problem["loc"][0] == field}
    assert places == {0}


def test_of_many_unknown_fields_none_is_told() -> None:
    with pytest.raises(ValidationError, match="expected at most 50 fields, found 400") as found:
        RankQuestion.model_validate({f"field {number}": 1 for number in range(400)})
    assert found.value.error_count() == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", (400, "bad_request")),
        (b"\xff\xfe", (400, "bad_request")),
        (b'{"positives": [NaN]}', (422, "bad_request")),
        (b"[" * 20_000 + b"]" * 20_000, (400, "bad_request")),
        (b'{"positives": [' + b"9" * 5_000 + b"]}", (400, "bad_request")),
    ],
)
def test_a_body_that_is_no_question(
    http: httpx.Client, content: bytes, expected: tuple[int, str]
) -> None:
    assert error_of(http.post(RANK, content=content, headers=JSON))[:2] == expected


def test_both_sides_of_a_project_are_counted(http: httpx.Client) -> None:
    body = {"name": "x", "model": "numbers", "positives": [1] * 5_000, "negatives": [2] * 5_001}
    assert error_of(http.post("/api/v1/projects", json=body)) == (413, "too_large", "negatives")


def test_errors_of_the_framework_have_the_same_shape(http: httpx.Client) -> None:
    assert error_of(http.get("/nothing/here"))[:2] == (404, "bad_request")
    assert error_of(http.get("/api/v1/models/"))[:2] == (404, "bad_request")
    assert error_of(http.put(RANK, json={}))[:2] == (405, "bad_request")
    assert error_of(http.post(RANK, data={"positives": "x"}))[:2] == (415, "bad_request")
    assert error_of(http.post(RANK))[:2] == (422, "bad_request")
    for path in ("/assets/../../../etc/passwd", "/assets/%2e%2e/%2e%2e/setup.py", "/assets/"):
        assert error_of(http.get(path))[0] == 404


def test_an_explained_node_must_be_no_example(http: httpx.Client) -> None:
    place = "/api/v1/models/town/explain"
    response = http.post(place, json=EXAMPLES | {"node": HOLDS[0]})
    assert error_of(response) == (422, "bad_support", "node")
    response = http.post(place, json=EXAMPLES | {"node": "nobody"})
    assert error_of(response) == (422, "unknown_node", "node")


def test_bodies_are_bounded_however_they_are_sent(http: httpx.Client) -> None:
    large = b'{"positives": ["' + b"x" * 2**20 + b'"]}'

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(large), 2**16):
            yield large[start : start + 2**16]

    assert error_of(http.post(RANK, content=large, headers=JSON))[:2] == (413, "too_large")
    assert error_of(http.post(RANK, content=chunks(), headers=JSON))[:2] == (413, "too_large")
    assert http.post(RANK, json=EXAMPLES).status_code == 200


def test_an_import_may_be_larger_but_not_too_large(http: httpx.Client) -> None:
    place = "/api/v1/projects/import?name=x&model=town"
    for size, expected in ((2 * 2**20, (422, "bad_request")), (6 * 2**20, (413, "too_large"))):
        body = b"x" * size
        response = http.post(place, content=body, headers={"Content-Type": "text/csv"})
        assert error_of(response)[:2] == expected


def test_a_mistake_of_ours_keeps_its_secrets(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from metatne.service import desk

    def broken(*arguments: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(desk, "check_not_empty", broken)
    response = http.post(RANK, json=EXAMPLES)
    assert error_of(response) == (500, "internal", None)
    assert "secret" not in response.text
    stream = http.post(RANK, json=EXAMPLES, headers={"Accept": "text/event-stream"})
    assert "event: error" in stream.text
    assert "secret" not in stream.text
    facts = [record.__dict__.get("facts", {}) for record in caplog.records]
    logged = [fact for fact in facts if "secret detail" in fact.get("trouble", "")]
    asked = {response.headers["x-request-id"], stream.headers["x-request-id"]}
    assert {fact["request_id"] for fact in logged} == asked


@pytest.mark.parametrize(
    ("trouble", "status", "told"),
    [
        (sqlite3.OperationalError("database or disk is full"), 503, "database or disk is full"),
        (sqlite3.DatabaseError("malformed"), 500, "its log says what to do"),
    ],
)
def test_trouble_with_the_project_file_is_told_and_logged(
    server: Server,
    http: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    trouble: sqlite3.Error,
    status: int,
    told: str,
) -> None:
    trouble.sqlite_errorcode = sqlite3.SQLITE_FULL
    database = server.state.database

    def broken(*arguments: Any) -> None:
        raise database._trouble(trouble)

    monkeypatch.setattr(database, "_transaction", broken)
    response = http.post("/api/v1/projects", json={"name": "x", "model": "town"})
    assert error_of(response)[:2] == (status, "storage")
    assert ("retry-after" in response.headers) == (status == 503)
    assert told in response.json()["error"]["message"]
    assert str(database.file.parent) not in response.text
    deadline = time.monotonic() + 30  # the line is written when the answer is out
    lines: list[logging.LogRecord] = []
    while not lines and time.monotonic() < deadline:
        lines = [r for r in caplog.records if r.__dict__.get("facts", {}).get("status") == status]
        time.sleep(0.01)
    (line,) = lines
    assert line.levelname == "ERROR"
    assert line.__dict__["facts"]["request_id"] == response.headers["x-request-id"]
    assert str(database.file) in line.__dict__["facts"]["trouble"]
