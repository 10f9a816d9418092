"""Cycles of reading, training, saving, loading and ranking in one process, for as long as asked.

    python benchmarks/long_run.py [--seconds 1800] [--nodes 600] [--out results/long_run.json]

What a process does again and again must leave nothing behind: memory, open files and threads are
looked at after every cycle and must stay where they are, and the ranking of every cycle must be
that of the first, to the bit. Exit code 1 where they do not. The figures go to `--out`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from watching import Watch

from metatne.bench.measuring import machine_facts
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.readers import read_graph
from metatne.graph.store import Graph
from metatne.storage import write_json

HEADS: dict[str, dict[str, Any]] = {
    "evidence": {"head_steps": 10, "head_tasks": 24, "validation_tasks": 12},
    "prototypes": {"head": "prototypes", "dim": 16, "num_steps": 30, "validation_tasks": 10},
}
POSITIVES, NEGATIVES = list(range(5)), list(range(20, 30))
MIN_CYCLES = 18
"""Memory wobbles by 40 MB from one cycle to the next, as allocators keep and give back: medians of
six cycles a third do not follow that, single cycles do."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--nodes", type=int, default=600)
    parser.add_argument("--out", type=Path, default=Path("results/long_run.json"))
    options = parser.parse_args()
    watch, process = Watch(), psutil.Process()
    first: dict[str, Any] = {}
    num_cycles = num_changed = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.nodes)
        while num_cycles < MIN_CYCLES or time.monotonic() - started < options.seconds:
            head = list(HEADS)[num_cycles % len(HEADS)]
            ranking = cycle(Path(folder), head)
            num_changed += not np.array_equal(first.setdefault(head, ranking), ranking)
            watch.look(process)
            num_cycles += 1
    figures = watch.figures()
    report = {
        "seconds": round(time.monotonic() - started),
        "nodes": options.nodes,
        "cycles": num_cycles,
        "changed_rankings": num_changed,
        **figures,
        "machine": machine_facts(),
    }
    write_json(options.out, report)
    print(json.dumps(report))
    sys.exit(num_changed > 0 or not figures["is_flat"])


def write_files(folder: Path, num_nodes: int) -> None:
    """The graph as a user has it: a file of edges and one of labels."""
    graph = planted_graph(num_nodes, num_labels=12, num_communities=8, seed=1).graph
    rows = np.repeat(np.arange(num_nodes), graph.degrees)
    forward = rows < graph.indices
    np.savetxt(folder / "edges.csv", np.stack([rows[forward], graph.indices[forward]], 1), "%d,%d")
    held = [
        f"{node},l{label}\n"
        for label in range(graph.labels.num_labels)
        for node in graph.labels.holders(label).tolist()
    ]
    (folder / "labels.csv").write_text("".join(held), encoding="utf-8")


def cycle(folder: Path, head: str) -> np.ndarray[Any, Any]:
    """Read, store, map, train, save, load, rank; the probabilities by rank."""
    graph = read_graph(folder / "edges.csv", folder / "labels.csv")
    graph.save(folder / "graph", overwrite=True)
    mapped = Graph.open(folder / "graph")
    model = MetaTNE(**HEADS[head]).fit(mapped)
    model.save(folder / "model", overwrite=True)
    loaded = MetaTNE.load(folder / "model", graph=mapped)
    table = loaded.rank(positives=POSITIVES, negatives=NEGATIVES)
    return np.stack([table["node"].to_numpy(), table["probability"].to_numpy()], 1)


if __name__ == "__main__":
    main()
