"""How the cost of a meta step and of scoring grows with supports, queries and d.

One size grows at a time, from the paper's 10/20; how cost grows with the graph is measured by
`structure`, `ingest`, `memory` and `score`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from metatne.bench.figure import Figure
from metatne.bench.measuring import seconds
from metatne.config import Config, make_config
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.model import MetaTNENetwork
from metatne.sampling.splits import LabelSplit
from metatne.scoring import score_nodes
from metatne.seeding import torch_seed
from metatne.training.trainer import Trainer


@dataclass(frozen=True)
class Sizes:
    """What the cost depends on; of supports and queries a third is positive."""

    supports: int = 30
    queries: int = 30
    dim: int = 128


GROWING = {
    "supports": (6, 15, 30, 60, 120, 240),
    "queries": (6, 15, 30, 60, 120, 240),
    "dim": (32, 64, 128, 256, 512),
}
CANDIDATES = (1_000, 3_000, 10_000, 30_000)
"""Queries of a scoring: a user asks about thousands of nodes, with one task."""

TASKS_PER_STEP = 16
NUM_NODES, NUM_LABELS, NUM_COMMUNITIES = 4_000, 12, 8


def measure(quick: bool) -> Iterator[Figure]:
    """Seconds of a meta step and of a scoring, each size on its own."""
    graph = planted_graph(
        NUM_NODES, num_labels=NUM_LABELS, num_communities=NUM_COMMUNITIES, seed=0
    ).graph
    for name, values in GROWING.items():
        for value in values[::2] if quick else values:
            sizes = replace(Sizes(), **{name: value})
            taken = meta_step_seconds(graph, sizes, num_steps=6 if quick else 20)
            yield _figure(name, value, "meta step", taken)
    for name, values in {**GROWING, "queries": CANDIDATES}.items():
        for value in values[::2] if quick else values:
            sizes = replace(Sizes(queries=CANDIDATES[1]), **{name: value})
            yield _figure(name, value, "scoring", scoring_seconds(graph, sizes))


def _figure(name: str, value: int, quantity: str, taken: float) -> Figure:
    return Figure(f"{name} {value:,}", quantity, taken, "s", details={name: value})


def meta_step_seconds(graph: Graph, sizes: Sizes, *, num_steps: int) -> float:
    """Median seconds of a meta step: tasks drawn, forward, backward and update."""
    config = settings(sizes, num_steps=num_steps + 2)
    everything = np.arange(graph.labels.num_labels)
    split = LabelSplit(known=everything[1:], validation=everything[:1], test=everything[:0])
    ends: list[float] = []
    Trainer(graph, split, config).run(at_step_end=lambda _: ends.append(time.perf_counter()))
    # The first step is structural, the second a warm-up, and the last one validates.
    return float(statistics.median(np.diff(ends)[1:-1]))


def scoring_seconds(graph: Graph, sizes: Sizes) -> float:
    """Median seconds of scoring `sizes.queries` candidates for one novel label."""
    with torch_seed(0, "benchmark network"):
        network = MetaTNENetwork(graph.num_nodes, settings(sizes))
    nodes = np.arange(sizes.supports + sizes.queries) % graph.num_nodes
    positives, negatives, candidates = np.split(nodes, [sizes.supports // 3, sizes.supports])
    return seconds(lambda: score_nodes(network, positives, negatives, candidates), repeats=3)


def settings(sizes: Sizes, *, num_steps: int = 1) -> Config:
    """A network whose other widths follow d as in the paper, and steps that are meta steps."""
    return make_config(
        {
            "dim": sizes.dim,
            "attention_dim": 2 * sizes.dim,
            "feedforward_dim": 2 * sizes.dim,
            "positives": sizes.supports // 3,
            "negatives": sizes.supports - sizes.supports // 3,
            "query_positives": sizes.queries // 3,
            "query_negatives": sizes.queries - sizes.queries // 3,
            "tasks_per_step": TASKS_PER_STEP,
            "pairs_per_step": 1,
            "decay_rate": 1e12,  # tau is 1 at the first step, and then 0
            "spectral_scale": 0.0,
            "identity_start": False,
            "num_steps": num_steps,
            "validate_every": num_steps,
            "validation_tasks": 1,
        }
    )
