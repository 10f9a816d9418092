"""Who may ask: tokens, origins, hosts; and what a browser is told."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from metatne.errors import InputError
from metatne.graph.store import Graph
from metatne.service.http import guard, patience
from metatne.service.http.app import make_app
from metatne.service.http.request_log import JsonLines
from metatne.service.http.server import Server, is_loopback, read_token
from metatne.service.jobs import Jobs
from metatne.service.served_model import ServedModel
from metatne.service.state import ServiceState
from service.towns import EXAMPLES, error_of, running

RANK = "/api/v1/models/town/rank"
TOKEN = "0123456789abcdef-a-token"


@pytest.fixture(scope="module")
def locked(town: ServedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running([town], tmp_path_factory.mktemp("locked"), token=TOKEN) as server:
        yield server


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x"],
)
def test_without_the_token_nothing_is_told(locked: Server, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    with httpx.Client(verify=False, base_url=locked.url, headers=headers) as http:
        for path in ("/api/v1/models", "/api/v1/openapi.json", "/api/v1/nothing", "/metrics"):
            response = http.get(path)
            assert error_of(response) == (401, "unauthorised", None)
            assert response.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in response.text
        assert error_of(http.post(RANK, json=EXAMPLES))[0] == 401
        assert http.get("/health").status_code == http.get("/ready").status_code == 200
        assert http.get("/").status_code == 200  # the page is what asks for the token


def test_with_the_token_all_is_told(locked: Server) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "graphs.example.org"}
    with httpx.Client(verify=False, base_url=locked.url, headers=headers) as http:
        assert http.get("/api/v1/models").status_code == 200
        assert http.post(RANK, json=EXAMPLES).status_code == 200
        document = http.get("/api/v1/openapi.json").json()
    (scheme,) = document["components"]["securitySchemes"].items()
    assert scheme[1] == {"type": "http", "scheme": "bearer"}
    for path, routes in document["paths"].items():
        if path.startswith("/api/v1/"):
            assert all(route["security"] == [{scheme[0]: []}] for route in routes.values())


def test_who_waits_for_projects_keeps_no_search_waiting(town: ServedModel, tmp_path: Path) -> None:
    state = ServiceState.open(tmp_path)
    state.catalogue.add([town])
    state.project_jobs = Jobs(max_running=1, max_waiting=1)
    app = make_app(state)
    # Its own event loop is the test's: what is held is held in another thread.
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with state.database.reading():
            held.set()
            release.wait(20)

    threading.Thread(target=hold, daemon=True).start()
    held.wait(20)

    async def ask() -> None:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            waiting = [asyncio.ensure_future(http.get("/api/v1/projects")) for _ in range(2)]
            while len(state.project_jobs._unfinished) < 2:
                await asyncio.sleep(0.01)
            full = await http.get("/api/v1/projects")
            assert error_of(full)[:2] == (503, "overloaded")
            assert int(full.headers["retry-after"]) >= 1
            assert (await http.get("/api/v1/models/town/nodes?q=p")).status_code == 200
            release.set()
            assert [(await each).status_code for each in waiting] == [200, 200]

    try:
        asyncio.run(ask())
    finally:
        release.set()
        state.close()


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [
        ("http://127.0.0.1:{port}", True),
        ("http://127.0.0.1:1", False),
        ("http://evil.example", False),
        ("http://127.0.0.1:{port}.evil.example", False),
        ("null", False),
        ("http://[bad", False),
    ],
)
def test_pages_elsewhere_cannot_write(
    http: httpx.Client, server: Server, origin: str, is_let_in: bool
) -> None:
    headers = {"Origin": origin.format(port=server.port)}
    response = http.post(RANK, json=EXAMPLES, headers=headers)
    if is_let_in:
        assert response.status_code == 200
    else:
        assert error_of(response) == (403, "forbidden_origin", None)
        assert "proxy_set_header Host $host" in response.json()["error"]["message"]
        assert error_of(http.delete("/api/v1/projects/x?version=1", headers=headers))[0] == 403
    assert "access-control-allow-origin" not in response.headers
    assert http.get("/api/v1/models", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::1"])
def test_a_service_of_this_machine_has_no_other_name(http: httpx.Client, host: str) -> None:
    """A page elsewhere may give its own name our address (DNS rebinding)."""
    response = http.get("/api/v1/models", headers={"Host": host})
    assert response.status_code in (400, 403)
    assert http.get("/api/v1/models", headers={"Host": "localhost:5"}).status_code == 200


def test_browsers_are_told_to_be_careful(http: httpx.Client) -> None:
    for path in ("/", "/api/v1/models", "/nothing"):
        headers = http.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    assert http.get("/api/v1/models").headers["cache-control"] == "no-store"


def test_request_ids_are_ours_or_well_formed(http: httpx.Client) -> None:
    given = {"X-Request-ID": "from-the-client-7"}
    assert http.get("/health", headers=given).headers["x-request-id"] == "from-the-client-7"
    bad = {"X-Request-ID": "<script>"}
    first, second = (http.get("/health", headers=bad).headers["x-request-id"] for _ in range(2))
    assert first != second
    assert first.isalnum()


def test_the_log_has_facts_and_no_secrets(locked: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="metatne.service")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    path = "/api/v1/models/town/nodes"
    with httpx.Client(verify=False, base_url=locked.url, headers=headers) as http:
        response = http.get(path, params={"q": "private matter"})
    asked = response.headers["x-request-id"]
    lines: list[dict[str, object]] = []
    deadline = time.monotonic() + 10
    while not lines:  # it is written when the answer has gone out
        assert time.monotonic() < deadline, "the request is not in the log"
        every = [json.loads(JsonLines().format(record)) for record in list(caplog.records)]
        lines = [line for line in every if line.get("request_id") == asked]
    (line,) = lines
    assert line["level"] == "info"
    assert line["route"] == "/api/v1/models/{model}/nodes"
    assert line["path"] == path
    assert line["status"] == 200
    assert line["bytes"] == len(response.content)
    assert TOKEN not in caplog.text + json.dumps(line)
    assert "private" not in json.dumps(line)


def test_figures_count_requests_by_route(http: httpx.Client) -> None:
    http.get("/api/v1/models/town/nodes")
    http.get("/a/path/of/strangers")
    http.request("STRANGE", "/")
    text = http.get("/metrics").text
    for figure in (
        'metatne_requests_total{method="GET",route="/api/v1/models/{model}/nodes",status="200"}',
        'metatne_requests_total{method="GET",route="other",status="404"}',
        'metatne_request_seconds_count{route="/api/v1/models/{model}/nodes"}',
        "metatne_asks_running",
        "metatne_kept_bytes",
        "process_resident_memory_bytes",
    ):
        assert figure in text
    assert "strangers" not in text
    assert 'method="other"' in text
    assert "STRANGE" not in text


def test_until_models_are_loaded_it_is_not_ready(town: ServedModel, tmp_path: Path) -> None:
    with (
        running([town], tmp_path, is_ready=False) as server,
        httpx.Client(verify=False, base_url=server.url) as http,
    ):
        assert http.get("/health").status_code == 200
        for response in (
            http.get("/ready"),
            http.get("/api/v1/models"),
            http.post(RANK, json=EXAMPLES),
        ):
            assert error_of(response)[:2] == (503, "loading")
            assert response.headers["retry-after"] == "1"
        server.state.catalogue.add([town])
        assert http.get("/ready").status_code == 200


@pytest.mark.parametrize("trouble", [InputError("no model"), RuntimeError("a mistake of ours")])
def test_models_that_cannot_be_loaded_end_the_service(tmp_path: Path, trouble: Exception) -> None:
    def graphs() -> list[Graph]:
        raise trouble

    server = Server(ServiceState.open(tmp_path), port=0, token=None)
    late = threading.Timer(30, server.stop)  # where it goes on, the test fails and does not hang
    late.start()
    with pytest.raises(type(trouble), match=str(trouble)):
        server.run([], graphs)
    late.cancel()


def test_a_slow_body_is_not_waited_for(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)

    def slowly() -> Iterator[bytes]:
        yield b'{"positives": '
        time.sleep(1)
        yield b"[]}"

    headers = {"Content-Type": "application/json"}
    response = http.post(RANK, content=slowly(), headers=headers)
    assert error_of(response)[:2] == (400, "bad_request")


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    state = ServiceState.open(tmp_path)
    for host in ("0.0.0.0", "::", "192.0.2.1", "graphs.example.org"):
        assert not is_loopback(host)
        with pytest.raises(InputError, match="a token is needed"):
            Server(state, host=host, port=0, token=None)
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        assert is_loopback(host)
    state.close()


def test_a_port_that_is_taken_is_said(server: Server, tmp_path: Path) -> None:
    state = ServiceState.open(tmp_path)
    with pytest.raises(InputError, match=f"cannot listen at 127.0.0.1:{server.port}"):
        Server(state, port=server.port, token=None)
    state.close()


@pytest.mark.parametrize("content", [b"", b"short\n", b"a token of several words", b"\xff" * 20])
def test_a_token_must_be_hard_to_guess(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(InputError, match="--token"):
        read_token(file)
    file.write_text(f"{TOKEN}\n")
    assert read_token(file) == TOKEN


def ends_within(connection: socket.socket, seconds: float) -> bool:
    """Whether the other side closes the connection; what it sends before is passed over."""
    connection.settimeout(seconds)
    try:
        while connection.recv(2**16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("start", [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: x\r\n"])
def test_half_a_head_is_not_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(start)
        assert ends_within(connection, 10)


def test_the_head_of_a_second_request_is_not_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.settimeout(30)
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while b"alive" not in answer:
            answer += connection.recv(2**16)
        connection.sendall(b"GET /health")
        assert ends_within(connection, 10)


def test_an_answer_that_nobody_reads_is_not_kept(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "UNREAD_SECONDS", 0.2)
    ask = b"GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(500 * ask)  # more than any system keeps for a client
        of_clients = server._server.server_state.connections
        client = connection.getsockname()
        deadline = time.monotonic() + 20
        while any(other.transport.get_extra_info("peername") == client for other in of_clients):
            assert time.monotonic() < deadline, "the answer is still kept"
            time.sleep(0.05)
