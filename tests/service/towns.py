"""A small town to serve, whose people have difficult names."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa

from metatne.graph.build import build_graph
from metatne.graph.planted import planted_graph
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.store import Graph
from metatne.service.http.server import Server
from metatne.service.jobs import Jobs
from metatne.service.served_model import ServedModel
from metatne.service.state import ServiceState

START_WITHIN, STOP_WITHIN = 60, 60
"""Seconds, on a machine that is busy with other tests."""

NUM_PEOPLE, NUM_STRANGERS = 240, 60
FORMULA = "=HYPERLINK(0)"
NAMES = {
    3: "Ärger Straße",
    4: "<script>alert(1)</script>",
    5: FORMULA,
    6: "O'Neill, Main Street",
    7: "naïve café",
    8: "Zoë Ωmega",
    9: 'say "hello"',
}
QUICK = {"head_steps": 8, "head_tasks": 24, "positives": 4, "negatives": 6, "validation_tasks": 12}
HOLDS, LACKS = ["person 20", "person 21", "person 25"], ["person 50", "person 51"]
EXAMPLES: dict[str, Any] = {"positives": HOLDS, "negatives": LACKS}


def person(number: int) -> str:
    """The name of a node."""
    return NAMES.get(number, f"person {number}")


def town_graph() -> Graph:
    """People with clubs; of the last ones nobody knows their clubs."""
    planted = planted_graph(NUM_PEOPLE, num_labels=9, num_communities=6, weighted=True, seed=4)
    graph = planted.graph
    names = np.array([person(node) for node in range(NUM_PEOPLE)])
    known = NUM_PEOPLE - NUM_STRANGERS
    held = [
        (node, f"club {label}")
        for label in range(graph.labels.num_labels)
        for node in graph.labels.holders(label).tolist()
        if node < known
    ]
    rows = np.repeat(np.arange(NUM_PEOPLE), graph.degrees)
    forward = rows < graph.indices
    assert graph.weights is not None
    return build_graph(
        RawEdges(
            sources=pa.array(names[rows[forward]]),
            targets=pa.array(names[graph.indices[forward]]),
            weights=graph.weights[forward],
            nodes=pa.array(names),
        ),
        RawLabels(
            nodes=pa.array(names[[node for node, _ in held]]),
            labels=pa.array([label for _, label in held]),
            unannotated=pa.array(names[known:]),
            names=[f"club {label}" for label in range(graph.labels.num_labels)],
        ),
        name="town",
    )


@contextmanager
def running(
    models: list[ServedModel],
    data: Path,
    *,
    jobs: Jobs | None = None,
    token: str | None = None,
    is_ready: bool = True,
) -> Iterator[Server]:
    """A service on a free port, stopped with the block."""
    state = ServiceState.open(data)
    if jobs is not None:
        state.jobs = jobs
    if is_ready:
        state.catalogue.add(models)
    server = Server(state, port=0, token=token)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + START_WITHIN
        while not server.is_answering:
            assert time.monotonic() < deadline, "the service does not start"
            time.sleep(0.01)
        yield server
    finally:
        server.stop()
        thread.join(STOP_WITHIN)
        assert not thread.is_alive(), "the service does not stop"


def error_of(response: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and field of an error; its shape is checked on the way."""
    body = response.json()
    error = body["error"]
    assert set(error) == {"code", "message", "field", "request_id"}
    assert set(body) <= {"error", "yours", "theirs"}
    assert error["message"]
    assert error["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return response.status_code, error["code"], error["field"]
