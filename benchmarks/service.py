"""Load figures of the service: requests a second, p50 and p99, and memory.

    python benchmarks/service.py [--nodes 30000] [--seconds 10] [--requests 10000] [--names 1000000]
                                 [--large 1000000] [--out results/service.json]

Trains a small model on a planted graph of so many nodes, serves it in a process of its own, and
asks with 1, 8 and 32 clients: search, rank (every time another question, so that nothing is
answered from memory), rank again (the same question), explain. Then memory over many requests,
search over a million names, and rankings of a million nodes with their progress streamed. The last
line is JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from metatne.bench.measuring import machine_facts
from metatne.estimator import MetaTNE
from metatne.graph.node_ids import NodeIds
from metatne.graph.planted import planted_graph
from metatne.graph.source import GraphSource
from metatne.service.name_search import NameSearch

CLIENTS = (1, 8, 32)
MODEL = "/api/v1/models/model"
QUICK = {"head_steps": 20, "head_tasks": 60, "validation_tasks": 30}

Ask = Callable[[httpx.Client, np.random.Generator], httpx.Response]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=30_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    report: dict[str, Any] = {"bench": "service", "machine": machine_facts(), "figures": []}
    with tempfile.TemporaryDirectory() as folder:
        train(Path(folder), options.nodes)
        with served(Path(folder)) as (url, process):
            for name, ask in asks(options.nodes).items():
                for clients in CLIENTS:
                    figure = load(url, ask, clients, options.seconds)
                    report["figures"].append({"ask": name, "clients": clients} | figure)
                    print(f"{name:12} {clients:3} clients: {show(figure)}", flush=True)
            report["memory"] = memory(url, process, asks(options.nodes), options.requests)
            print(f"memory: {report['memory']}", flush=True)
    report["search"] = search(options.names)
    print(f"search: {report['search']}", flush=True)
    if options.large:
        with tempfile.TemporaryDirectory() as folder:
            train(Path(folder), options.large)
            with served(Path(folder)) as (url, process):
                report["large"] = streamed(url, process, options.large)
        print(f"large: {report['large']}", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report))


def train(folder: Path, num_nodes: int) -> None:
    graph = planted_graph(num_nodes, num_labels=60, num_communities=60, seed=1).graph
    graph.save(folder / "graph")
    model = MetaTNE(**QUICK).fit(graph)
    source = GraphSource.of(str(folder / "graph"))
    model.trained_ = replace(model.trained_, graph_source=source)
    model.save(folder / "model")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "metatne", "serve", str(folder / "model"), "--port", "0"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--data", str(folder / "data")],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        while not url or httpx.get(f"{url}/ready").status_code != 200:
            if process.poll() is not None:
                sys.exit(f"the service ended:\n{(folder / 'log').read_text()}")
            time.sleep(0.2)
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def asks(num_nodes: int) -> dict[str, Ask]:
    """What is asked, by name."""
    fixed = {"positives": list(range(10)), "negatives": list(range(100, 120))}

    def find(http: httpx.Client, rng: np.random.Generator) -> httpx.Response:
        return http.get(f"{MODEL}/nodes", params={"q": str(rng.integers(num_nodes))})

    def rank(http: httpx.Client, rng: np.random.Generator) -> httpx.Response:
        drawn = rng.choice(num_nodes, 30, replace=False).tolist()
        body = {"positives": drawn[:10], "negatives": drawn[10:]}
        return http.post(f"{MODEL}/rank", json=body)

    def page(http: httpx.Client, rng: np.random.Generator) -> httpx.Response:
        offset = int(rng.integers(num_nodes - 100))
        return http.post(f"{MODEL}/rank", json=fixed | {"offset": offset})

    def explain(http: httpx.Client, rng: np.random.Generator) -> httpx.Response:
        node = int(rng.integers(200, num_nodes))
        return http.post(f"{MODEL}/explain", json=fixed | {"node": node})

    return {"search": find, "rank": rank, "rank again": page, "explain": explain}


def load(url: str, ask: Ask, num_clients: int, seconds: float) -> dict[str, float]:
    """Clients that each ask again as soon as they are answered."""
    times: list[float] = []
    counts = {"refused": 0, "failed": 0}
    all_connected = threading.Barrier(num_clients + 1)

    def client(number: int) -> None:
        rng = np.random.default_rng(number)
        # Certificates, which nobody asks for here, would take longer to load than an answer takes.
        with httpx.Client(base_url=url, timeout=120, verify=False) as http:
            http.get("/health")
            all_connected.wait()
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                started = time.perf_counter()
                status = ask(http, rng).status_code
                if status == 200:
                    times.append(time.perf_counter() - started)
                elif status == 503:
                    counts["refused"] += 1
                    time.sleep(0.05)
                else:
                    counts["failed"] += 1

    with httpx.Client(base_url=url, timeout=120, verify=False) as http:
        ask(http, np.random.default_rng(0))  # what is made at the first call is not counted
    threads = [threading.Thread(target=client, args=(n,)) for n in range(num_clients)]
    for thread in threads:
        thread.start()
    all_connected.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    passed = time.perf_counter() - started
    p50, p99 = np.quantile(times, (0.5, 0.99)) if times else (np.nan, np.nan)
    return {
        "per_second": round(len(times) / passed, 2),
        "p50_ms": round(1000 * float(p50), 2),
        "p99_ms": round(1000 * float(p99), 2),
        **counts,
    }


def memory(
    url: str, process: psutil.Process, every: dict[str, Ask], num_requests: int
) -> dict[str, float]:
    """Resident memory before and after many requests of all kinds, in MiB.

    Counted from a tenth of them on, when the cache of rankings has filled.
    """
    rng = np.random.default_rng(7)
    light = [every[name] for name in ("search", "rank again", "explain")]
    found: dict[str, float] = {"requests": num_requests}
    with httpx.Client(base_url=url, timeout=120, verify=False) as http:
        for number in range(num_requests):
            ask = every["rank"] if number % 50 == 0 else light[number % len(light)]
            ask(http, rng)
            if number == num_requests // 10:
                found["early_mib"] = round(process.memory_info().rss / 2**20, 1)
    found["late_mib"] = round(process.memory_info().rss / 2**20, 1)
    return found


def search(num_names: int) -> dict[str, float]:
    """Seconds to make the index of so many names, and milliseconds of the slowest search."""
    rng = np.random.default_rng(1)
    syllables = np.array(["ba", "ko", "ri", "mu", "ta", "sen", "dor", "lim", "pax", "vu"])
    parts = syllables[rng.integers(len(syllables), size=(num_names, 7))]
    names = ["".join(row) + str(number) for number, row in enumerate(parts)]
    node_ids = NodeIds(names)
    started = time.perf_counter()
    index = NameSearch(node_ids.array)
    found: dict[str, float] = {
        "names": num_names,
        "index_seconds": round(time.perf_counter() - started, 2),
    }
    slowest = 0.0
    for text in ("ba", "korimu", "zzz", "99", "taxi", "DORLIM", "a", "vu9", "senq"):
        started = time.perf_counter()
        index.find(text, 20)
        slowest = max(slowest, time.perf_counter() - started)
    return found | {"slowest_ms": round(1000 * slowest, 2)}


def streamed(url: str, process: psutil.Process, num_nodes: int) -> dict[str, float]:
    """Seconds of rankings of all nodes and until their first progress: cold, new, one node more."""
    drawn = np.random.default_rng(1).choice(num_nodes, 61, replace=False).tolist()
    first = {"positives": drawn[:10], "negatives": drawn[10:30]}
    other = {"positives": drawn[30:40], "negatives": drawn[40:60]}
    more = other | {"positives": [*other["positives"], drawn[60]]}
    found: dict[str, float] = {"nodes": num_nodes}
    with httpx.Client(base_url=url, timeout=600, verify=False) as http:
        for name, body in {"cold": first, "new": other, "one_more": more}.items():
            started, num_progress = time.perf_counter(), 0
            headers = {"Accept": "text/event-stream"}
            with http.stream("POST", f"{MODEL}/rank", json=body, headers=headers) as answer:
                for line in answer.iter_lines():
                    if line == "event: progress":
                        num_progress += 1
                        if num_progress == 1:
                            seconds = time.perf_counter() - started
                            found[f"{name}_first_progress_seconds"] = round(seconds, 2)
                    assert line != "event: error", "the ranking failed"
            found[f"{name}_seconds"] = round(time.perf_counter() - started, 2)
            found[f"{name}_progress_events"] = num_progress
    return found | {"resident_mib": round(process.memory_info().rss / 2**20)}


def show(figure: dict[str, float]) -> str:
    return ", ".join(f"{name} {value}" for name, value in figure.items())


if __name__ == "__main__":
    main()
