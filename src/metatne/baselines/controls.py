"""Scorers that learn nothing: what a method has to beat before its scores mean anything."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

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

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Count the neighbours."""
        self.scores_ = np.log1p(graph.degrees.astype(np.float64))


class NoKnownLabel(NodeScore):
    """Whether a node holds none of the known labels.

    A leak of benchmarks in which every node holds some label: one that holds no known label
    must hold a novel one. Where labels are unknown it says nothing.
    """

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Count the known labels."""
        num_held = graph.labels.select(split.known).holds_matrix().sum(axis=1)
        self.scores_ = (np.asarray(num_held) == 0).astype(np.float64)
