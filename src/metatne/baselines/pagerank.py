"""Personalised PageRank: how often a walk that keeps returning to the positives visits a node.

Visits are counted by edge: every walk visits hubs often, and that says nothing of the label.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32
from pydantic import Field

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.baselines.propagation import TASKS_AT_A_TIME, walk_matrix
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks

TINY = 1e-12
"""Added to visits before their logarithm: many nodes are never reached."""


class PageRankSettings(BaselineSettings):
    """Settings of personalised PageRank."""

    damping: float = Field(0.85, gt=0, lt=1, description="chance to go on rather than return")
    num_iterations: int = Field(30, ge=1, description="steps of the walk")


class PageRank(Baseline):
    """A control: nodes near the positives are likely to hold the label; no known label is used."""

    needs_labels = False
    kind_of_settings = PageRankSettings
    settings: PageRankSettings

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Nothing is learned before there are supports."""
        self._step = walk_matrix(graph).T.tocsr()
        self._degrees = np.maximum(graph.adjacency().sum(axis=1), 1e-12).astype(np.float32)

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """Logarithms of visits above the middle between positives and negatives."""
        parts = range(0, len(tasks), TASKS_AT_A_TIME)
        scores = [self._score(tasks[start : start + TASKS_AT_A_TIME]) for start in parts]
        return np.concatenate(scores)

    def _score(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        columns = np.arange(len(tasks))[:, None]
        damping, num_positives = self.settings.damping, tasks.positives.shape[1]
        returns: Float32[np.ndarray, "node task"] = np.zeros(
            (self._step.shape[0], len(tasks)), dtype=np.float32
        )
        returns[tasks.positives, columns] = (1.0 - damping) / num_positives
        visits = returns.copy()
        for _ in range(self.settings.num_iterations):
            visits = damping * (self._step @ visits) + returns
        # Visits of a positive that are not its own returns: what it would get as a query, nearly.
        visits -= returns
        of_positives, of_negatives, of_queries = (
            visits[nodes, columns] / self._degrees[nodes]
            for nodes in (tasks.positives, tasks.negatives, tasks.queries)
        )
        means = [_log(part).mean(axis=1) for part in (of_positives, of_negatives)]
        return np.asarray(_log(of_queries) - (np.add(*means) / 2)[:, None])


def _log(visits: Float32[np.ndarray, "task node"]) -> Float[np.ndarray, "task node"]:
    return np.log(np.maximum(visits.astype(np.float64), 0.0) + TINY)
