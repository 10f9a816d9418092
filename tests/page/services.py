"""Services that the page is tried on: one without a model, and the real one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from metatne.cli.saving import save_model
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.source import GraphSource
from metatne.graph.store import Graph
from metatne.service.answers import Example
from metatne.service.catalogue import write_example

ROOT = Path(__file__).parents[2]
FAKE = ROOT / "page" / "dev" / "fake_server.py"
HOSTILE = "<img src=x onerror=alert(1)>"
PATIENCE = 60.0
QUICK = {"head_steps": 8, "head_tasks": 24, "positives": 4, "negatives": 6, "validation_tasks": 12}


@dataclass
class Service:
    """A process that serves the page; it can be ended and started again at its address."""

    command: list[str]
    url: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Returns when it can be asked."""
        port = self.url.rsplit(":", 1)[-1].strip("/") if self.url else "0"
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*self.command, "--port", port],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip().rstrip("/") + "/"
        deadline = time.monotonic() + PATIENCE
        while not self.is_ready():
            assert self.process.poll() is None, f"the service ended: {self.command}"
            assert time.monotonic() < deadline, f"not ready after {PATIENCE:.0f} s: {self.url}"
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether it answers questions."""
        with contextlib.suppress(OSError):
            return json.loads(self.get("ready")) is not None
        return False

    def get(self, path: str) -> str:
        """What it says there."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return str(answer.read().decode())

    def stop(self) -> None:
        """Ends it; it can be started again."""
        if self.process is not None:
            self.process.terminate()
            self.process.communicate(timeout=PATIENCE)
            self.process = None


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[Service]:
    """A service that is ended in any case."""
    service = Service(command)
    try:
        service.start()
        yield service
    finally:
        service.stop()


def fake_command(*more: str) -> list[str]:
    """The contract without a model."""
    return [sys.executable, str(FAKE), *more]


def real_command(model: Path, data: Path) -> list[str]:
    """`metatne serve`."""
    return [sys.executable, "-m", "metatne", "serve", str(model), "--data", str(data)]


def train_town(folder: Path) -> Path:
    """A model of a small planted graph, one of its nodes with a name that is HTML."""
    planted = planted_graph(400, num_labels=12, mean_degree=8.0, label_noise=0.0, seed=3).graph
    names = [f"town {node:03d}" for node in range(planted.num_nodes)]
    names[7] = HOSTILE
    starts = np.repeat(np.arange(planted.num_nodes), planted.degrees).tolist()
    edges = [
        (names[a], names[b]) for a, b in zip(starts, planted.indices.tolist(), strict=True) if a < b
    ]
    holders = [set(planted.labels.holders(k).tolist()) for k in range(planted.labels.num_labels)]
    # The first label is the novel one: the model never sees it.
    known = {
        name: [f"club {k}" for k, held in enumerate(holders) if k > 0 and node in held]
        for node, name in enumerate(names)
    }
    graph = Graph.from_edges(edges, labels=known, name="town", keep_unlinked=True)
    graph.save(folder / "graph")
    model = MetaTNE(**QUICK).fit(graph)
    source = GraphSource.of(str(folder / "graph"))
    save_model(model, source, folder / "town", overwrite=False)
    drawn = np.random.default_rng(0).permutation(planted.num_nodes).tolist()
    example = Example(
        name="club 0",
        positives=[names[node] for node in drawn if node in holders[0]][:8],
        negatives=[names[node] for node in drawn if node not in holders[0]][:12],
    )
    write_example(folder / "town", example)
    return folder / "town"
