"""Peak resident memory of a training as the graph grows; the graph lies on disk and is mapped.

Each training runs in a fresh process, which opens a stored planted graph. Pages of the mapped
graph that are in memory count. The plain way holds the same model as one would write it down:
the normalised adjacency as a SciPy matrix in memory, its eigenvectors by Lanczos, and PyTorch's
Adam on whole tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float64
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from torch.nn import functional

from metatne.bench.figure import Figure
from metatne.bench.measuring import PeakMemory, peak_memory
from metatne.config import make_config, preset
from metatne.device import one_thread
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.model import initial_table
from metatne.training.memory import GraphSize, estimate_training_bytes

GB = 1e9
FLICKR_GOAL = 3.0
"""GB for a graph of Flickr's statistics."""

FEW_STEPS = {"num_steps": 40, "validate_every": 20}
BOTH_KINDS_OF_STEPS = {"decay_period": 1}
"""Else the paper's schedule would have structural steps alone for long."""


ROWS_OF_A_STEP = 1_024


@dataclass(frozen=True)
class Case:
    """A planted graph and how it is trained on."""

    name: str
    num_nodes: int
    num_edges: int
    num_labels: int
    preset: tuple[str, ...] = ("short",)
    changed: dict[str, Any] = field(default_factory=dict)
    is_compared: bool = False
    """Whether the plain way is measured too."""

    goal: float | None = None


SMALL = Case("100 thousand nodes, 1 million edges", 100_000, 1_000_000, 50, changed=FEW_STEPS)
GROWN = (
    Case("400 thousand nodes, 1 million edges", 400_000, 1_000_000, 50, changed=FEW_STEPS),
    Case("100 thousand nodes, 4 million edges", 100_000, 4_000_000, 50, changed=FEW_STEPS),
)
FLICKR = Case("Flickr's statistics", 80_513, 5_899_882, 195, is_compared=True, goal=FLICKR_GOAL)
PAPERS_FLICKR = replace(
    FLICKR,
    name="Flickr's statistics, the paper's settings",
    preset=("paper", "flickr"),
    changed=FEW_STEPS | BOTH_KINDS_OF_STEPS,
    is_compared=False,
)
QUICK = (SMALL, *GROWN, FLICKR, PAPERS_FLICKR)
FULL = (
    Case("1 million nodes, 10 million edges", 1_000_000, 10_000_000, 200, is_compared=True),
    Case("5 million nodes, 100 million edges", 5_000_000, 100_000_000, 200),
)


def measure(quick: bool) -> Iterator[Figure]:
    """Peak memory and seconds of each training, and how memory grows with nodes and edges."""
    peaks: dict[str, int] = {}
    for case in QUICK if quick else (*QUICK, *FULL):
        with tempfile.TemporaryDirectory(prefix="metatne-bench-") as directory:
            yield from _measure_case(case, Path(directory) / "graph", peaks)
    more_nodes, more_edges = GROWN
    for what, grown, added in (
        ("node", more_nodes, more_nodes.num_nodes - SMALL.num_nodes),
        ("edge", more_edges, more_edges.num_edges - SMALL.num_edges),
    ):
        per_one = (peaks[grown.name] - peaks[SMALL.name]) / added
        yield Figure(f"{SMALL.name} to {grown.name}", f"peak memory per added {what}", per_one, "B")


def _measure_case(case: Case, path: Path, peaks: dict[str, int]) -> Iterator[Figure]:
    made = _in_child("make_graph", str(path), case.num_nodes, case.num_edges, case.num_labels)
    found = _in_child("train", str(path), case.preset, case.changed)
    plain = _in_child("train_plainly", str(path)) if case.is_compared else None
    peaks[case.name] = found.peak
    yield Figure(
        case.name,
        "peak memory of training",
        found.peak / GB,
        "GB",
        against=plain.peak / GB if plain else None,
        ratio=plain.peak / found.peak if plain else None,
        goal=case.goal,
        details={
            "edges": made.result,
            "estimated GB": found.result["estimate"] / GB,
            "GB before the graph is opened": found.before / GB,
            "GB of the stored graph": sum(f.stat().st_size for f in path.iterdir()) / GB,
        },
    )
    yield Figure(
        case.name,
        "training",
        found.seconds,
        "s",
        details={
            "steps": found.result["steps"],
            "AUC on validation labels": found.result["auc"],
            "seconds to plant the graph": made.seconds,
            "GB to plant the graph": made.peak / GB,
        },
    )


def _in_child(function: str, *args: Any) -> PeakMemory:
    return peak_memory(f"{__name__}:{function}", *args)


def make_graph(path: str, num_nodes: int, num_edges: int, num_labels: int) -> int:
    """Store a planted graph; how many edges it has."""
    mean_degree = 2 * num_edges / num_nodes
    graph = planted_graph(num_nodes, num_labels=num_labels, mean_degree=mean_degree, seed=0).graph
    graph.save(path)
    return graph.num_edges


def train(path: str, preset_and_dataset: Sequence[str], changed: dict[str, Any]) -> dict[str, Any]:
    """Train on a stored graph; what was estimated before, and what came of it."""
    settings = preset(*preset_and_dataset) | changed
    graph = Graph.open(path)
    model = MetaTNE(**settings).fit(graph)
    return {
        "estimate": estimate_training_bytes(GraphSize.of(graph), make_config(settings)),
        "steps": model.num_steps_,
        "auc": float(model.history_["auc"].max()),
    }


@one_thread()
def train_plainly(path: str) -> None:
    """The tables of a training, started and moved by one step, as they are written down plainly.

    The transformation and its batches are left out: they are small, and the same for any graph.
    """
    graph, dim = Graph.open(path), make_config({}).dim
    embeddings, contexts = (initial_table(graph.num_nodes, dim) for _ in range(2))
    embeddings.data += torch.from_numpy(_lanczos_vectors(graph, dim))
    structural = torch.optim.Adam([embeddings, contexts])
    meta = torch.optim.Adam([embeddings])
    best = embeddings.detach().clone()
    batch = torch.arange(min(ROWS_OF_A_STEP, graph.num_nodes))
    for optimiser in (structural, meta):
        rows = [functional.embedding(batch, table) for table in (embeddings, contexts, best)]
        torch.autograd.backward((rows[0] * rows[1] * rows[2]).sum())
        optimiser.step()


def _lanczos_vectors(graph: Graph, dim: int) -> Float64[np.ndarray, "node dim"]:
    """As many as have converged after the first round: then all memory is taken."""
    adjacency = graph.adjacency().astype(np.float64)
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    scaling = sp.diags_array(1 / np.sqrt(degrees + degrees.mean()))
    normalised = sp.csr_array(scaling @ adjacency @ scaling)
    try:
        vectors = eigsh(normalised, k=dim, which="LA", maxiter=1)[1]
    except ArpackNoConvergence as unfinished:
        vectors = np.asarray(unfinished.eigenvectors, dtype=np.float64).real
    return np.pad(vectors, ((0, 0), (0, dim - vectors.shape[1])))
