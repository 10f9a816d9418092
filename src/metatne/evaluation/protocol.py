"""The paper's protocol: a trial is a split of the labels, a fit, and 1,000 test tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from jaxtyping import Float

from metatne.config import preset
from metatne.errors import ConfigError, LabelError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.metrics import average_precision, f1, recall, roc_auc
from metatne.sampling.splits import LabelSplit, paper_split
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator


class Method(Protocol):
    """What a method must do to be evaluated."""

    @property
    def num_steps_(self) -> int:
        """Steps of training that `fit` took."""

    def fit(self, graph: Graph, *, split: LabelSplit) -> Self:
        """Learn from `split.known`; choose whatever is chosen on `split.validation`."""

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """A score for every query; above 0 it is taken to hold the label."""


@dataclass(frozen=True)
class TrialSettings:
    """One cell of a table, but for the trial's number."""

    method: str
    preset: str
    positives: int
    negatives: int
    num_tasks: int = 1_000
    draws_label_zero: bool = True
    """The published code never draws label 0 (a truth test on the label's id)."""

    settings: tuple[tuple[str, Any], ...] = ()
    """Settings of the method on top of its preset."""

    @property
    def shape(self) -> TaskShape:
        """Support and query sets are of the same sizes."""
        return TaskShape(self.positives, self.negatives, self.positives, self.negatives)


@dataclass(frozen=True)
class TrialResult:
    """Means over the test tasks of one trial."""

    trial: int
    auc: float
    f1: float
    recall: float
    average_precision: float
    seconds: float
    steps: int


METHODS: dict[str, Callable[..., Method]] = {"metatne": MetaTNE}


def method_settings(settings: TrialSettings, dataset: str, trial: int) -> dict[str, Any]:
    """All settings that the method of a trial gets; the trial's number is its seed."""
    if settings.method not in METHODS:
        raise ConfigError(
            f"method: expected one of {', '.join(METHODS)}, found {settings.method!r}"
        )
    shots = {"positives": settings.positives, "negatives": settings.negatives, "seed": trial}
    return preset(settings.preset, dataset) | shots | dict(settings.settings)


def run_trial(graph: Graph, trial: int, settings: TrialSettings) -> TrialResult:
    """Split the labels, fit the method without the test labels, and score test tasks."""
    started = time.perf_counter()
    split = paper_split(graph.labels.num_labels, trial)
    if not settings.draws_label_zero:
        split = LabelSplit(
            *(part[part != 0] for part in (split.known, split.validation, split.test))
        )
    for name, part in (
        ("known", split.known),
        ("validation", split.validation),
        ("test", split.test),
    ):
        if not len(part):
            raise LabelError(
                f"trial {trial} leaves no {name} labels: the protocol cuts the labels into 60 % "
                f"known, 20 % validation and 20 % test, and {graph.name!r} has "
                f"{graph.labels.num_labels}; 10 or more make a trial"
            )
    tasks = TaskSampler(graph.labels, split.test, settings.shape).draw(
        settings.num_tasks, numpy_generator(trial, "test tasks")
    )
    visible, visible_split = hide_test_labels(graph, split)
    method = METHODS[settings.method](**method_settings(settings, graph.name, trial))
    method.fit(visible, split=visible_split)
    scores = np.asarray(method.score_tasks(tasks))
    decisions = scores > 0
    return TrialResult(
        trial=trial,
        auc=float(roc_auc(scores, tasks.is_positive).mean()),
        f1=float(f1(decisions, tasks.is_positive).mean()),
        recall=float(recall(decisions, tasks.is_positive).mean()),
        average_precision=float(average_precision(scores, tasks.is_positive).mean()),
        seconds=round(time.perf_counter() - started, 2),
        steps=method.num_steps_,
    )


def hide_test_labels(graph: Graph, split: LabelSplit) -> tuple[Graph, LabelSplit]:
    """The graph with its known and validation labels alone: what is not there cannot leak."""
    kept = np.concatenate((split.known, split.validation))
    places = np.arange(len(kept))
    visible_split = LabelSplit(
        known=places[: len(split.known)],
        validation=places[len(split.known) :],
        test=np.empty(0, dtype=np.int64),
    )
    return graph.with_labels(graph.labels.select(kept)), visible_split
