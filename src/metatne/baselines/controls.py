"""Scorers that learn nothing: what a method has to beat before its scores mean anything."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from metatne.baselines.base import Baseline
from metatne.controls import holds_no_known_label, log_degrees
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
        self.scores_ = log_degrees(graph)


class NoKnownLabel(NodeScore):
    """Whether a node holds none of the known labels.

    A leak of benchmarks in which every node holds some label: one that holds no known label
    must hold a novel one. Of a node whose known labels are unknown it says nothing: 0.
    """

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Count the known labels."""
        self.scores_ = holds_no_known_label(graph, split.known).astype(np.float64)
