"""Personalised PageRank: how often a walk that keeps returning to the positives visits a node."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from pydantic import Field

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.controls import Walks
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks


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
        self._walks = Walks(graph)

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """Logarithms of visits above the middle between positives and negatives."""
        return self._walks.score_tasks(
            tasks, damping=self.settings.damping, num_iterations=self.settings.num_iterations
        )
