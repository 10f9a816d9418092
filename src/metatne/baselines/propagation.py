"""LP: the labels of the supports, propagated over the whole graph (Zhu and Ghahramani, 2002)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32
from pydantic import Field

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.controls import TASKS_AT_A_TIME, walk_matrix
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks


class PropagationSettings(BaselineSettings):
    """Settings of label propagation."""

    num_iterations: int = Field(30, ge=1, description="passes over the graph")


class LabelPropagation(Baseline):
    """Every node takes the mean of its neighbours' shares of both signs; supports keep theirs.

    A query's score is its share of the positive sign less one half, and 0 where neither sign
    reached it.
    """

    needs_labels = False
    kind_of_settings = PropagationSettings
    settings: PropagationSettings

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Nothing is learned before there are supports."""
        self._walk = walk_matrix(graph)

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """The share of the positive sign that reaches every query, less one half."""
        parts = range(0, len(tasks), TASKS_AT_A_TIME)
        scores = [self._score(tasks[start : start + TASKS_AT_A_TIME]) for start in parts]
        return np.concatenate(scores)

    def _score(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        # Columns of the first half have the positive sign's shares, of the second the other's.
        num_tasks, num_nodes = len(tasks), self._walk.shape[0]
        columns = np.arange(num_tasks)[:, None]
        shares: Float32[np.ndarray, "node column"] = np.zeros(
            (num_nodes, 2 * num_tasks), dtype=np.float32
        )
        for _ in range(self.settings.num_iterations):
            _clamp(shares, tasks)
            shares = self._walk @ shares
        holding, lacking = (
            shares[tasks.queries, columns + offset].astype(np.float64) for offset in (0, num_tasks)
        )
        total = holding + lacking
        return np.where(total > 0, holding / np.where(total > 0, total, 1.0) - 0.5, 0.0)


def _clamp(shares: Float32[np.ndarray, "node column"], tasks: Tasks) -> None:
    """Supports hold their own sign alone."""
    of_positives = np.arange(len(tasks))[:, None]
    of_negatives = of_positives + len(tasks)
    for nodes, own, other in (
        (tasks.positives, of_positives, of_negatives),
        (tasks.negatives, of_negatives, of_positives),
    ):
        shares[nodes, own] = 1.0
        shares[nodes, other] = 0.0
