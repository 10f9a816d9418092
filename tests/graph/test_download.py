"""Downloads against a server of our own on 127.0.0.1 that misbehaves on request."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from metatne.errors import DatasetError
from metatne.graph.download import download

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several chunks
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """What the server has, how it behaves, and what it was asked."""

    content: bytes = CONTENT
    etag: str = '"one"'
    has_ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    """Answer i ends after cuts[i] bytes, without warning."""

    statuses: list[int] = field(default_factory=list)
    redirect: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


def handler_for(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(dict(self.headers))
            if server.redirect and self.path != "/target":
                self.send_response(302)
                self.send_header("Location", server.redirect)
                self.end_headers()
                return
            if server.statuses and (status := server.statuses.pop(0)) != 200:
                self.send_error(status)
                return
            self.answer(*self.extent())

        def extent(self) -> tuple[int, int]:
            """Status and first byte."""
            match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            is_same = self.headers.get("If-Range", server.etag) == server.etag
            if match is None or not server.has_ranges or not is_same:
                return 200, 0
            start = int(match[1])
            return (206, start) if start < len(server.content) else (416, start)

        def answer(self, status: int, start: int) -> None:
            total = len(server.content)
            body = server.content[start:] if status != 416 else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if server.etag:
                self.send_header("ETag", server.etag)
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            elif status == 416:
                self.send_header("Content-Range", f"bytes */{total}")
            self.end_headers()
            self.wfile.write(body[: server.cuts.pop(0)] if server.cuts else body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(state))
    state.url = f"http://127.0.0.1:{web.server_port}/file.zip"
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    web.shutdown()
    thread.join()
    web.server_close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "file.zip"


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_arrives_whole_and_alone(server: Server, target: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    result = download(
        server.url,
        target,
        sha256=DIGEST.upper(),
        expected_size=len(CONTENT),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert result == target
    assert target.read_bytes() == CONTENT
    assert names_in(target.parent) == ["file.zip"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_sound_file_is_not_fetched_again(server: Server, target: Path) -> None:
    for _ in range(2):
        download(server.url, target, sha256=DIGEST)
    assert len(server.asked) == 1


@pytest.mark.parametrize("sha256", [DIGEST, None])
def test_a_cut_connection_is_resumed(server: Server, target: Path, sha256: str | None) -> None:
    server.cuts = [300_000, 100_000]
    download(server.url, target, sha256=sha256, first_pause=0)
    assert target.read_bytes() == CONTENT
    assert [asked.get("Range") for asked in server.asked] == [
        None,
        "bytes=300000-",
        "bytes=400000-",
    ]
    assert server.asked[1]["If-Range"] == '"one"'


def test_a_later_call_resumes_an_earlier_one(server: Server, target: Path) -> None:
    server.cuts = [300_000]
    with pytest.raises(DatasetError, match="ended after 300000 of 1048576 bytes"):
        download(server.url, target, num_attempts=1)
    assert not target.exists()
    download(server.url, target)
    assert server.asked[-1]["Range"] == "bytes=300000-"
    assert target.read_bytes() == CONTENT
    assert names_in(target.parent) == ["file.zip"]


def test_a_server_without_ranges_starts_again(server: Server, target: Path) -> None:
    server.has_ranges = False
    server.cuts = [300_000]
    download(server.url, target, sha256=DIGEST, first_pause=0)
    assert target.read_bytes() == CONTENT


def test_a_changed_file_is_not_glued_to_the_old_part(server: Server, target: Path) -> None:
    server.cuts = [300_000]
    with pytest.raises(DatasetError):
        download(server.url, target, num_attempts=1)
    server.content, server.etag = b"new" * 200_000, '"two"'
    download(server.url, target)
    assert target.read_bytes() == server.content


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_validator_or_checksum_nothing_is_resumed(
    server: Server, target: Path, etag: str
) -> None:
    server.etag = etag
    server.cuts = [300_000]
    download(server.url, target, first_pause=0)
    assert "Range" not in server.asked[1]
    assert target.read_bytes() == CONTENT


def test_a_part_that_is_whole_is_taken(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("file.zip.part").write_bytes(CONTENT)
    download(server.url, target, sha256=DIGEST)  # the server answers 416
    assert server.asked[0]["Range"] == f"bytes={len(CONTENT)}-"
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("stale", [b"x" * 5000, b"x" * (len(CONTENT) + 5)])
def test_a_part_of_something_else_is_thrown_away(
    server: Server, target: Path, stale: bytes
) -> None:
    target.parent.mkdir()
    target.with_name("file.zip.part").write_bytes(stale)
    target.with_name("file.zip.part.json").write_text('{"broken": ')
    download(server.url, target, sha256=DIGEST, first_pause=0)
    assert target.read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_the_old_file(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"the old one")
    with pytest.raises(DatasetError) as caught:
        download(server.url, target, sha256="0" * 64)
    message = str(caught.value)
    assert f"expected SHA-256 {'0' * 64}, found {DIGEST}" in message
    assert f"{target} was not touched" in message
    assert server.url in message
    assert target.read_bytes() == b"the old one"
    assert names_in(target.parent) == ["file.zip"]
    assert len(server.asked) == 1  # a fresh file with a wrong checksum will not get better


def test_a_wrong_length_is_seen_before_the_part_is_lost(server: Server, target: Path) -> None:
    server.cuts = [300_000]
    with pytest.raises(DatasetError):
        download(server.url, target, expected_size=len(CONTENT), num_attempts=1)
    server.content, server.etag = b"please log in", '"portal"'
    with pytest.raises(DatasetError, match="expected 1048576 bytes, the server has 13"):
        download(server.url, target, expected_size=len(CONTENT))
    assert target.with_name("file.zip.part").stat().st_size == 300_000


def test_a_passing_fault_is_tried_again(server: Server, target: Path) -> None:
    server.statuses = [503, 429]
    download(server.url, target, sha256=DIGEST, first_pause=0)
    assert len(server.asked) == 3


def test_attempts_are_bounded(server: Server, target: Path) -> None:
    server.statuses = [503] * 9
    with pytest.raises(DatasetError, match=r"503 Service Unavailable \(3 attempts\)"):
        download(server.url, target, num_attempts=3, first_pause=0)
    assert len(server.asked) == 3


def test_not_found_is_final_and_names_the_cure(server: Server, target: Path) -> None:
    server.statuses = [404]
    with pytest.raises(DatasetError) as caught:
        download(server.url, target)
    message = str(caught.value)
    assert "404 Not Found" in message
    assert f"put it into {target.parent} as file.zip" in message
    assert "METATNE_DATA" in message
    assert len(server.asked) == 1


def test_connection_refused(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/file.zip"
    with pytest.raises(DatasetError, match=r"refused \(2 attempts\)"):
        download(url, tmp_path / "file.zip", num_attempts=2, first_pause=0)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://host/file", "data:,x", "file.zip"])
def test_other_schemes_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="only http and https"):
        download(url, tmp_path / "file.zip")


@pytest.mark.parametrize("target_url", ["file:///etc/hostname", "ftp://127.0.0.1/file"])
def test_redirects_do_not_leave_the_web(server: Server, target: Path, target_url: str) -> None:
    server.redirect = target_url
    with pytest.raises(DatasetError):
        download(server.url, target)
    assert not target.exists()
    assert len(server.asked) == 1


def test_a_redirect_is_followed(server: Server, target: Path) -> None:
    server.redirect = "/target"
    download(server.url, target, sha256=DIGEST)
    assert target.read_bytes() == CONTENT


def test_a_target_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a directory")
    with pytest.raises(DatasetError, match="could not download"):
        download(server.url, tmp_path / "cache" / "file.zip")


def test_two_at_once_fetch_once(server: Server, target: Path) -> None:
    threads = [
        threading.Thread(target=download, args=(server.url, target), kwargs={"sha256": DIGEST})
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_the_note_names_the_remote_file(server: Server, target: Path) -> None:
    server.cuts = [1000]
    with pytest.raises(DatasetError):
        download(server.url, target, num_attempts=1)
    note = json.loads(target.with_name("file.zip.part.json").read_text())
    assert note == {"url": server.url, "validator": '"one"'}
