"""Scorers that learn nothing: what a method has to beat before its scores mean anything."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int64

from metatne.baselines.base import Baseline
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks


class NodeScore(Baseline):
    """Scores that depend on the node alone: the supports say no more than where to cut."""

    scores_: Float[np.ndarray, " node"]

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """How far a query's score is above the middle between the two means of the supports."""
        means = [self.scores_[part].mean(axis=1) for part in (tasks.positives, tasks.negatives)]
        return np.asarray(self.scores_[tasks.queries] - (np.add(*means) / 2)[:, None])


class Degree(NodeScore):
    """The logarithm of a node's degree: who is well connected holds more labels."""

    needs_labels = False

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Count the neighbours."""
        self.scores_ = np.log1p(graph.degrees.astype(np.float64))


class NoKnownLabel(NodeScore):
    """Whether a node holds none of the known labels.

    A leak of benchmarks in which every node holds some label: one that holds no known label
    must hold a novel one. Of a node whose known labels are unknown it says nothing: 0.
    """

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Count the known labels."""
        self.scores_ = holds_no_known_label(graph, split.known).astype(np.float64)


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
