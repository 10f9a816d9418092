"""A graph with the labels of one trial, and models that have not seen its test labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from metatne.config import make_config
from metatne.device import one_thread
from metatne.evaluation.protocol import (
    PAPER,
    UNLABELLED_QUERIES,
    TrialSettings,
    draws_label_zero,
    hide_labels,
    mean_scores,
    trial_split,
)
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.lessons import SamplerKind
from metatne.evidence.model import EvidenceModel
from metatne.graph.datasets import open_graph
from metatne.graph.store import Graph
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator

SHAPE = TaskShape(10, 20, 10, 20)
NUM_TASKS = 300
MOST_SUPPORTS = 120_000
"""In all tasks of a draw together: of a thousand shots there are 40 tasks, not 300."""

Line = dict[str, Any]
"""What one case came to: `series`, perhaps a number `at` along an axis, and metrics."""

Lines = Iterator[Line]


class Trial:
    """A trial of the evaluation: known, validation and test labels, and tasks of the last."""

    def __init__(
        self,
        reference: str,
        number: int,
        data_dir: Path | None = None,
        settings: Mapping[str, Any] = {},
        *,
        protocol: str = PAPER,
    ) -> None:
        self._given = reference, number, data_dir, settings
        self.graph = open_graph(reference, data_dir=data_dir)
        self.number = number
        self.settings = {**settings, "seed": number}
        of_split = TrialSettings(
            "metatne",
            "default",
            SHAPE.positives,
            SHAPE.negatives,
            protocol=protocol,
            draws_label_zero=draws_label_zero(self.graph.name),
        )
        self.split = trial_split(self.graph, number, of_split)
        self.visible, self.visible_split = hide_labels(self.graph, self.split)

    def with_unlabelled_queries(self) -> Trial:
        """The same, but the nodes that are asked about have lost their known labels."""
        return Trial(*self._given, protocol=UNLABELLED_QUERIES)

    def draw(self, shape: TaskShape = SHAPE, labels: Sequence[int] | None = None) -> Tasks:
        """Tasks from test labels, the same for every model."""
        chosen = self.split.test if labels is None else np.asarray(labels)
        sampler = TaskSampler(self.graph.labels, chosen, shape, asked=self.split.asked)
        num_tasks = min(NUM_TASKS, MOST_SUPPORTS // (shape.positives + shape.negatives))
        return sampler.draw(num_tasks, numpy_generator(self.number, f"beyond {shape}"))

    def fit(
        self, graph: Graph | None = None, *, sampler: SamplerKind = TaskSampler, **settings: Any
    ) -> EvidenceModel:
        """The default, trained on what the trial shows, or on this `graph`."""
        config = make_config(self.settings | settings)
        with one_thread():
            split = self.visible_split
            return fit_evidence(graph or self.visible, split, config, sampler=sampler)[0]


def line(
    series: str, scores: Float[np.ndarray, "task query"], tasks: Tasks, at: float | None = None
) -> Line:
    """The metrics of scored tasks."""
    return {"series": series, "at": at} | mean_scores(scores, tasks)
