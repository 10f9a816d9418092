"""Clients as bad networks, bad programs and bad people make them, on plain sockets.

Each does its worst to the service at an address and returns the status that it was told, None where
it did not stay to hear one or the service hung up.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import numpy as np

RANK = "/api/v1/models/model/rank"
IMPORT = "/api/v1/projects/import?name=x&model=model"
PATIENCE = 60.0

Rough = Callable[[str, np.random.Generator], int | None]


def connect(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=PATIENCE)


def head(path: str, size: int | None, *more: str) -> bytes:
    """The head of a POST; without a size its body comes in chunks."""
    length = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    kind = "text/csv" if path == IMPORT else "application/json"
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", length, *more)
    return "\r\n".join((*lines, "", "")).encode()


def question(rng: np.random.Generator, num_nodes: int = 1_000) -> bytes:
    drawn = rng.choice(num_nodes, 30, replace=False).tolist()
    return json.dumps({"positives": drawn[:10], "negatives": drawn[10:]}).encode()


def told(connection: socket.socket) -> int | None:
    """The status in the first line of the answer."""
    answer = b""
    while b"\r\n" not in answer:
        part = connection.recv(2**12)
        if not part:
            return None
        answer += part
    return int(answer.split(b" ", 2)[1])


def reset(connection: socket.socket) -> None:
    """Go away without a word, as a machine does that loses its network."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def vanish_in_head(url: str, rng: np.random.Generator) -> int | None:
    with connect(url) as connection:
        whole = head(RANK, 100)
        connection.sendall(whole[: int(rng.integers(len(whole)))])
        reset(connection)
    return None


def vanish_in_body(url: str, rng: np.random.Generator) -> int | None:
    with connect(url) as connection:
        body = question(rng)
        connection.sendall(head(RANK, len(body)) + body[: int(rng.integers(len(body)))])
        reset(connection)
    return None


def vanish_before_the_answer(url: str, rng: np.random.Generator) -> int | None:
    with connect(url) as connection:
        body = question(rng)
        connection.sendall(head(RANK, len(body)) + body)
        time.sleep(float(rng.random()) / 10)
        reset(connection)
    return None


def vanish_in_the_stream(url: str, rng: np.random.Generator) -> int | None:
    with connect(url) as connection:
        body = question(rng)
        connection.sendall(head(RANK, len(body), "Accept: text/event-stream") + body)
        status = told(connection)
        reset(connection)
    return status


def oversized(url: str, rng: np.random.Generator) -> int | None:
    """More than is taken, announced or not."""
    with connect(url) as connection:
        match int(rng.integers(4)):
            case 0:
                connection.sendall(head(RANK, 2**31))
            case 1:
                connection.sendall(head(IMPORT, 6 * 2**20))
            case 2:
                connection.sendall(head(RANK, 10, f"X-Long: {'x' * 100_000}"))
            case _:
                connection.sendall(head(RANK, None))
                chunk = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
                for _ in range(20):
                    connection.sendall(chunk)
        return told(connection)


def garbage(url: str, rng: np.random.Generator) -> int | None:
    with connect(url) as connection:
        connection.sendall(rng.bytes(int(rng.integers(1, 5_000))) + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        return told(connection)


def slow_body(url: str, is_over: Callable[[], bool]) -> int | None:
    """A body that comes byte by byte, and not to its end; given up when the test is over."""
    with connect(url) as connection:
        connection.sendall(head(RANK, 1_000))
        connection.settimeout(1)
        ended = time.monotonic() + PATIENCE
        while not is_over():
            connection.sendall(b" ")
            try:
                return told(connection)
            except TimeoutError:
                if time.monotonic() > ended:
                    raise TimeoutError("a slow body was waited for") from None
    return None


QUICK: dict[str, Rough] = {
    "vanish in the head": vanish_in_head,
    "vanish in the body": vanish_in_body,
    "vanish before the answer": vanish_before_the_answer,
    "vanish in the stream": vanish_in_the_stream,
    "oversized": oversized,
    "garbage": garbage,
}
