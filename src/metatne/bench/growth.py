"""How the cost of a meta step and of scoring grows with supports, queries and d.

One size grows at a time, from the paper's 10/20; how cost grows with the graph is measured by
`structure`, `ingest`, `memory` and `score`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from metatne.bench.figure import Figure
from metatne.bench.measuring import seconds
from metatne.config import Config, make_config
from metatne.device import one_thread
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
            taken = meta_step_seconds(graph, sizes, repeats=3 if quick else 9)
            yield _figure(name, value, "meta step", taken)
    for name, values in {**GROWING, "queries": CANDIDATES}.items():
        for value in values[::2] if quick else values:
            sizes = replace(Sizes(queries=CANDIDATES[1]), **{name: value})
            yield _figure(name, value, "scoring", scoring_seconds(graph, sizes))


def _figure(name: str, value: int, quantity: str, taken: float) -> Figure:
    return Figure(f"{name} {value:,}", quantity, taken, "s", details={name: value})


def meta_step_seconds(graph: Graph, sizes: Sizes, *, repeats: int) -> float:
    """Median seconds of a meta step: tasks drawn, forward, backward and update."""
    labels = np.arange(graph.labels.num_labels)
    split = LabelSplit(known=labels[1:], validation=labels[:1], test=labels[:0])
    trainer = Trainer(graph, split, settings(sizes))
    with one_thread():  # as in a training
        return seconds(trainer.meta_step, repeats=repeats)


def scoring_seconds(graph: Graph, sizes: Sizes) -> float:
    """Median seconds of scoring `sizes.queries` candidates for one novel label."""
    with torch_seed(0, "benchmark network"):
        network = MetaTNENetwork(graph.num_nodes, settings(sizes))
    nodes = np.arange(sizes.supports + sizes.queries) % graph.num_nodes
    positives, negatives, candidates = np.split(nodes, [sizes.supports // 3, sizes.supports])
    return seconds(lambda: score_nodes(network, positives, negatives, candidates), repeats=3)


def settings(sizes: Sizes) -> Config:
    """A network whose other widths follow d as in the paper."""
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
            "spectral_scale": 0.0,
            "identity_start": False,
            "validation_tasks": 1,
        }
    )
