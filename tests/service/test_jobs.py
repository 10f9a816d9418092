"""Bounded work: overload, clients that go away, progress, one answer for equal questions."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from metatne.evidence import model as evidence_model
from metatne.prediction.ranking import score_candidates
from metatne.service import scoring
from metatne.service.desk import Desk
from metatne.service.http import server as http_server
from metatne.service.http.server import Server
from metatne.service.jobs import Cancelled, Job, Jobs
from metatne.service.refusals import Refusal
from metatne.service.served_model import ServedModel
from service.towns import EXAMPLES, NUM_PEOPLE, error_of, running

RANK = "/api/v1/models/town/rank"
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
def narrow(town: ServedModel, tmp_path: Path) -> Iterator[Server]:
    """A service that answers one question at a time, and lets one wait."""
    with running([town], tmp_path, jobs=Jobs(max_running=1, max_waiting=1)) as server:
        yield server


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Scoring waits until it is opened, some nodes at a time."""
    opened = threading.Event()
    score = score_candidates

    def slowly(*arguments: Any, **options: Any) -> Any:
        opened.wait(20)
        return score(*arguments, **options)

    monkeypatch.setattr(scoring, "score_candidates", slowly)
    monkeypatch.setattr(evidence_model, "NODES_PER_PIECE", 50)
    yield opened
    opened.set()


def question(number: int) -> dict[str, Any]:
    """Questions that differ."""
    return EXAMPLES | {"prior": 0.01 * (number + 1)}


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.01)


def test_what_does_not_fit_is_refused_at_once(narrow: Server, gate: threading.Event) -> None:
    jobs = narrow.state.jobs
    with (
        httpx.Client(verify=False, base_url=narrow.url, timeout=30) as http,
        ThreadPoolExecutor(4) as pool,
    ):
        first = pool.submit(http.post, RANK, json=question(1))
        wait_for(lambda: jobs.num_running == 1)
        second = pool.submit(http.post, RANK, json=question(2))
        wait_for(lambda: jobs.num_waiting == 1)
        for headers in ({}, EVENTS):
            third = http.post(RANK, json=question(3), headers=headers)
            assert error_of(third) == (503, "overloaded", None)
            assert int(third.headers["retry-after"]) >= 1
        assert http.get("/health").status_code == 200
        assert http.get("/api/v1/models/town/nodes?q=per").status_code == 200
        gate.set()
        assert first.result().status_code == second.result().status_code == 200
        assert http.post(RANK, json=question(3)).status_code == 200
    assert jobs.num_refused == 2
    wait_for(lambda: jobs.num_running == 0)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_work_that_nobody_waits_for_ends(
    narrow: Server, gate: threading.Event, accept: str
) -> None:
    jobs = narrow.state.jobs
    body = json.dumps(question(1)).encode()
    head = (
        f"POST {RANK} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: {accept}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", narrow.port)) as connection:
        connection.sendall(head.encode() + body)
        wait_for(lambda: jobs.num_running == 1)
        (job,) = jobs._unfinished
        wait_for(lambda: job.how_far.total > 0)
    wait_for(lambda: job._is_cancelled.is_set())
    gate.set()
    wait_for(lambda: jobs.num_running == 0)
    assert jobs.num_cancelled == 1
    assert isinstance(job.future.exception(), Cancelled)
    assert job.how_far.done < job.how_far.total, "it went on to the end"


def test_progress_is_streamed(narrow: Server, gate: threading.Event) -> None:
    events = []
    with (
        httpx.Client(verify=False, base_url=narrow.url, timeout=30) as http,
        http.stream("POST", RANK, json=EXAMPLES | {"top": 3}, headers=EVENTS) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))))
                gate.set()
        plain = http.post(RANK, json=EXAMPLES | {"top": 3}).json()
    total = NUM_PEOPLE - 5
    assert events[0] == ("progress", {"done": 0, "total": total})
    assert events[-2] == ("progress", {"done": total, "total": total})
    kind, result = events[-1]
    assert kind == "result"
    assert result["rows"] == plain["rows"]


def test_progress_is_streamed_to_all_who_wait(
    town: ServedModel, tmp_path: Path, gate: threading.Event
) -> None:
    """The page asks for the map or a node's reasons too, and either may come first."""
    jobs = Jobs(max_running=2)
    with (
        running([town], tmp_path, jobs=jobs) as server,
        httpx.Client(verify=False, base_url=server.url, timeout=30) as http,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(http.post, RANK, json=EXAMPLES)
        wait_for(lambda: jobs.num_running == 1)
        with http.stream("POST", RANK, json=EXAMPLES, headers=EVENTS) as response:
            lines = response.iter_lines()
            assert next(lines) == "event: progress"
            assert json.loads(next(lines).removeprefix("data: "))["total"] == NUM_PEOPLE - 5
            assert (jobs.num_running, jobs.num_waiting) == (1, 1)
            gate.set()
            assert "event: result" in list(lines)
        assert first.result().status_code == 200


def test_errors_come_as_the_last_event(http: httpx.Client) -> None:
    response = http.post(RANK, json={"positives": ["nobody"]}, headers=EVENTS)
    assert response.status_code == 200
    name, data = response.text.strip().split("\n")
    assert name == "event: error"
    error = json.loads(data.removeprefix("data: "))["error"]
    assert (error["code"], error["field"]) == ("unknown_node", "positives[0]")


def test_equal_questions_are_worked_on_once(
    town: ServedModel, tmp_path: Path, gate: threading.Event
) -> None:
    with running([town], tmp_path, jobs=Jobs(max_running=4)) as server:
        desk = server.state.desk
        with (
            httpx.Client(verify=False, base_url=server.url, timeout=30) as http,
            ThreadPoolExecutor(4) as pool,
        ):
            nodes = {"nodes": ["person 99"]}
            sent = [
                pool.submit(http.post, f"/api/v1/models/town/{place}", json=EXAMPLES | more)
                for place, more in (("rank", {}), ("suggest", {}), ("map", nodes), ("ego", nodes))
            ]
            jobs = server.state.jobs
            wait_for(lambda: (jobs.num_running, jobs.num_waiting) == (1, 3))
            gate.set()
            assert {response.result().status_code for response in sent} == {200}
        assert desk.num_misses == 1


def test_the_oldest_rankings_are_forgotten() -> None:
    desk = Desk(max_bytes=100_000)
    made = []

    def keep(key: str, size: int) -> str:
        def make() -> str:
            made.append(key)
            return key

        return desk.once((key,), make, lambda _: 1000 * size)

    for key, size in (("a", 60), ("b", 30), ("a", 60), ("c", 35), ("b", 30), ("a", 60)):
        assert keep(key, size) == key
    assert made == ["a", "b", "c", "b", "a"]  # c put b out, then b a: each the longest unused
    assert desk.num_bytes <= 100_000
    keep("large", 1000)
    assert desk.num_bytes > 1_000_000, "what was asked for last is kept, however large"
    assert not desk._working


def test_small_answers_are_counted_with_what_was_asked() -> None:
    desk = Desk(max_bytes=100_000)
    for number in range(100):
        key = ("weights", number.to_bytes(10_000, "big"))
        desk.once(key, lambda: [], lambda _: 0)
    assert 1 < len(desk._kept) < 10
    for number in range(100):
        desk.once(("weights", number), lambda: [], lambda _: 0)
    assert len(desk._kept) < 50


def test_equal_questions_hold_one_worker() -> None:
    jobs, desk = Jobs(max_running=2, max_waiting=5), Desk()
    started, opened = threading.Event(), threading.Event()

    def slow() -> str:
        started.set()
        assert opened.wait(10)
        return "made"

    def ask(job: Job[str]) -> str:
        return desk.once(("same",), slow, lambda _: 1)

    same = [jobs.submit(ask) for _ in range(4)]
    started.wait(10)
    other = jobs.submit(lambda job: desk.once(("other",), lambda: "other", lambda _: 1))
    assert other.future.result(10) == "other", "it waits behind those who wait themselves"
    wait_for(lambda: sum(job._is_put_off for job in same) == 3)
    called_off = next(job for job in same if job._is_put_off)
    called_off.cancel()
    assert isinstance(called_off.future.exception(10), Cancelled)
    opened.set()
    assert [job.future.result(10) for job in same if job is not called_off] == ["made"] * 3
    assert desk.num_misses == 2
    wait_for(lambda: jobs.num_running == 0)
    assert not desk._working
    jobs.close()


def test_who_was_put_off_works_where_the_first_fails() -> None:
    jobs, desk = Jobs(max_running=2), Desk()
    started, opened = threading.Event(), threading.Event()

    def fail() -> str:
        started.set()
        assert opened.wait(10)
        raise ValueError("of no use")

    first = jobs.submit(lambda job: desk.once(("key",), fail, lambda _: 1))
    started.wait(10)
    second = jobs.submit(lambda job: desk.once(("key",), lambda: "made", lambda _: 1))
    wait_for(lambda: second._is_put_off)
    opened.set()
    assert isinstance(first.future.exception(10), ValueError)
    assert second.future.result(10) == "made"
    jobs.close()


def test_closing_calls_off_all_work() -> None:
    jobs, begun = Jobs(max_running=1, max_waiting=5), threading.Event()

    def work(job: Job[None]) -> None:
        begun.set()
        while True:
            job.report(1, 2)
            time.sleep(0.01)

    running_job, waiting = jobs.submit(work), jobs.submit(work)
    begun.wait(10)
    jobs.close()
    assert isinstance(running_job.future.exception(10), Cancelled)
    assert waiting.future.cancelled()
    wait_for(lambda: jobs.num_running == 0)


def test_a_job_that_fails_leaves_room() -> None:
    jobs = Jobs(max_running=1, max_waiting=0)

    def fail(job: Job[None]) -> None:
        raise ValueError("of no use")

    for _ in range(3):
        job = jobs.submit(fail)
        assert isinstance(job.future.exception(10), ValueError)
        wait_for(lambda: jobs.num_running == 0)
    blocked = threading.Event()
    jobs.submit(lambda job: blocked.wait(10))
    with pytest.raises(Refusal, match="ask again in"):
        jobs.submit(fail)
    blocked.set()
    jobs.close()


def test_whoever_waits_when_the_service_stops_is_told(
    town: ServedModel, tmp_path: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "STOP_SECONDS", 0.2)
    jobs = Jobs(max_running=1, max_waiting=2)
    with ThreadPoolExecutor(3) as pool, running([town], tmp_path, jobs=jobs) as server:

        def ask(number: int, accept: str) -> httpx.Response:
            with httpx.Client(verify=False, base_url=server.url, timeout=30) as http:
                return http.post(RANK, json=question(number), headers={"Accept": accept})

        kinds = ("application/json", "text/event-stream", "application/json")
        asked = [pool.submit(ask, number, kind) for number, kind in enumerate(kinds)]
        wait_for(lambda: jobs.num_running + jobs.num_waiting == 3)
        server.stop()
        for waiting, kind in zip(asked, kinds, strict=True):
            told = waiting.result()
            if kind == "text/event-stream":
                assert "event: error" in told.text
                assert '"code":"cancelled"' in told.text
            else:
                assert error_of(told)[:2] == (503, "cancelled")
                assert int(told.headers["retry-after"]) >= 1
        assert not gate.is_set(), "they waited for the work"
