"""Scores that need no learning: what a model has to beat before its scores mean anything."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Float32, Float64, Int64

from metatne.graph.store import Graph
from metatne.sampling.tasks import Tasks

TASKS_AT_A_TIME = 64
"""Tasks whose columns go through the graph together: a row of them fills few cache lines."""

TINY = 1e-12
"""Added to visits before their logarithm: many nodes are never reached."""


def log_degrees(graph: Graph) -> Float64[np.ndarray, " node"]:
    """The logarithm of each node's degree: who is well connected holds more labels."""
    return np.log1p(graph.degrees.astype(np.float64))


def weighted_degrees(graph: Graph) -> Float64[np.ndarray, " node"]:
    """The weights of each node's edges, added up; in float32 those of large ones do not fit."""
    return np.asarray(graph.adjacency() @ np.ones(graph.num_nodes))


def holds_no_known_label(
    graph: Graph, known: Int64[np.ndarray, " label"]
) -> Bool[np.ndarray, " node"]:
    """Nodes that are known to lack every known label."""
    labels = graph.labels.select(known)
    held = np.asarray(labels.holds_matrix().sum(axis=1)) > 0
    is_unknown = np.zeros(graph.num_nodes, dtype=bool)
    if labels.unannotated is not None:
        is_unknown |= labels.unannotated
    if labels.unknown is not None:
        is_unknown[labels.unknown.nodes] = True
    return np.asarray(~held & ~is_unknown)


def walk_matrix(graph: Graph) -> sp.csr_array:
    """What a step of a random walk does: row i has the chances of going from i to each j."""
    adjacency = graph.adjacency()
    degrees = weighted_degrees(graph)
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    walk = adjacency.astype(np.float32, copy=True)
    walk.data *= np.repeat(inverse, np.diff(walk.indptr)).astype(np.float32)
    return walk


class Walks:
    """Walks that keep returning to the positives of a task (personalised PageRank).

    Visits are counted by edge: every walk visits hubs often, and that says nothing of a label.
    """

    def __init__(self, graph: Graph) -> None:
        self._step = walk_matrix(graph).T.tocsr()
        self._degrees = np.maximum(weighted_degrees(graph), TINY)

    def score_tasks(
        self, tasks: Tasks, *, damping: float, num_iterations: int
    ) -> Float[np.ndarray, "task query"]:
        """Logarithms of visits above the middle between positives and negatives."""
        parts = range(0, len(tasks), TASKS_AT_A_TIME)
        some = (tasks[start : start + TASKS_AT_A_TIME] for start in parts)
        return np.concatenate([self._score(part, damping, num_iterations) for part in some])

    def _score(
        self, tasks: Tasks, damping: float, num_iterations: int
    ) -> Float[np.ndarray, "task query"]:
        columns = np.arange(len(tasks))[:, None]
        returns: Float32[np.ndarray, "node task"] = np.zeros(
            (self._step.shape[0], len(tasks)), dtype=np.float32
        )
        returns[tasks.positives, columns] = (1.0 - damping) / tasks.positives.shape[1]
        visits = returns.copy()
        for _ in range(num_iterations):
            visits = damping * (self._step @ visits) + returns
        # Visits of a positive that are not its own returns: what it would get as a query, nearly.
        visits -= returns
        of_positives, of_negatives, of_queries = (
            visits[nodes, columns] / self._degrees[nodes]
            for nodes in (tasks.positives, tasks.negatives, tasks.queries)
        )
        means = [_log(part).mean(axis=1) for part in (of_positives, of_negatives)]
        return np.asarray(_log(of_queries) - (np.add(*means) / 2)[:, None])


def _log(visits: Float64[np.ndarray, "task node"]) -> Float[np.ndarray, "task node"]:
    return np.asarray(np.log(np.maximum(visits, 0.0) + TINY))
