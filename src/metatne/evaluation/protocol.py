"""What a trial is: a split of the labels, a fit, and 1,000 test tasks; under two protocols."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metatne.config import not_one_of
from metatne.errors import LabelError, TrainingError
from metatne.evaluation.methods import (
    FittedMethod,
    Method,
    effective_preset,
    new_method,
    preset_of,
)
from metatne.graph.datasets import DATASETS
from metatne.graph.store import Graph
from metatne.metrics import average_precision, f1, recall, roc_auc
from metatne.peak import forget_peak, peak_so_far
from metatne.sampling.splits import LabelSplit, paper_split
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator

PAPER, UNLABELLED_QUERIES = "paper", "unlabelled-queries"
PROTOCOLS = (PAPER, UNLABELLED_QUERIES)
"""How test tasks are drawn.

`paper`: support and query nodes come from the whole graph, and all known labels are given.
`unlabelled-queries`: a share of the nodes lose their known labels, queries are drawn from
these and supports from the others. That a node holds no known label then says nothing.
"""

ASKED_SHARE = 0.4
"""Of the nodes that lose their known labels."""


@dataclass(frozen=True)
class TrialSettings:
    """One cell of a table, but for the trial's number."""

    method: str
    preset: str
    positives: int
    negatives: int
    query_positives: int | None = None
    query_negatives: int | None = None
    """Of a test task; None: as many as supports."""

    num_tasks: int = 1_000
    protocol: str = PAPER
    draws_label_zero: bool = True
    """The published code never draws label 0 (a truth test on the label's id); left out, it is not
    known either."""

    settings: tuple[tuple[str, Any], ...] = ()
    """Settings of the method on top of its preset."""

    def __post_init__(self) -> None:
        """Refuse names that there are not; the preset is the one that the method runs with."""
        object.__setattr__(self, "preset", effective_preset(self.method, self.preset))
        if self.protocol not in PROTOCOLS:
            raise not_one_of("protocol", self.protocol, PROTOCOLS)

    @property
    def shape(self) -> TaskShape:
        """Of the test tasks."""
        return TaskShape(
            self.positives,
            self.negatives,
            self.query_positives or self.positives,
            self.query_negatives or self.negatives,
        )


@dataclass(frozen=True)
class TrialResult:
    """Means over the test tasks of one trial, and what it cost."""

    trial: int
    auc: float
    f1: float
    recall: float
    average_precision: float
    seconds: float
    steps: int
    memory_gb: float
    """The most that the process held at any moment of the trial."""

    best_step: int | None = None
    """The step that was kept, of a method that chooses one."""

    test_labels: int = 0
    """How many labels the test tasks are of: those that have nodes enough."""


def draws_label_zero(dataset: str) -> bool:
    """Whether label 0 is drawn where nobody says: not on the paper's data sets."""
    return dataset not in DATASETS or DATASETS[dataset].paper_key is None


def new_trial_method(settings: TrialSettings, dataset: str, trial: int) -> Method:
    """The method of a trial, whose number is its seed."""
    shots = {"positives": settings.positives, "negatives": settings.negatives, "seed": trial}
    own = preset_of(settings.method, settings.preset, dataset)
    return new_method(settings.method, own | shots | dict(settings.settings))


@dataclass(frozen=True)
class Fit:
    """A fitted method, what it was fitted on, and what that cost."""

    key: tuple[str, int, TrialSettings]
    method: FittedMethod
    seconds: float
    peak: int


class LastFit:
    """The fit of the last trial, for the next one if that differs in its test tasks alone.

    So it is when the number of queries varies. What the fit cost counts for each of them.
    """

    def __init__(self) -> None:
        self._fit: Fit | None = None

    def forget(self) -> None:
        """Let go of it."""
        self._fit = None

    def __call__(self, graph: Graph, trial: int, settings: TrialSettings, split: LabelSplit) -> Fit:
        """The method of a trial, fitted."""
        of_fit = replace(settings, query_positives=None, query_negatives=None, num_tasks=1)
        key = (graph.fingerprint, trial, of_fit)
        if self._fit is None or self._fit.key != key:
            self.forget()  # before the next takes memory
            started = time.perf_counter()
            visible, visible_split = hide_labels(graph, split)
            method = new_trial_method(settings, graph.name, trial).fit(visible, split=visible_split)
            self._fit = Fit(key, method, time.perf_counter() - started, peak_so_far())
        return self._fit


def run_trial(
    graph: Graph, trial: int, settings: TrialSettings, *, last_fit: LastFit | None = None
) -> TrialResult:
    """Split the labels, fit the method without the test labels, and score test tasks."""
    started = time.perf_counter()
    forget_peak()
    split = trial_split(graph, trial, settings)
    try:
        sampler = TaskSampler(graph.labels, split.test, settings.shape, asked=split.asked)
    except LabelError as error:
        raise LabelError(f"of the {len(split.test)} test labels of this trial, {error}") from error
    tasks = sampler.draw(settings.num_tasks, numpy_generator(trial, "test tasks"))
    drawing = time.perf_counter() - started
    fit = (last_fit or LastFit())(graph, trial, settings, split)
    started = time.perf_counter()
    scores = np.asarray(fit.method.score_tasks(tasks))
    if not np.isfinite(scores).all():
        raise TrainingError(
            f"the scores of {settings.method} are not finite in trial {trial} of {graph.name!r}: "
            "its training diverged; try a smaller rate"
        )
    return TrialResult(
        trial=trial,
        **mean_scores(scores, tasks),
        seconds=round(drawing + fit.seconds + time.perf_counter() - started, 2),
        steps=fit.method.num_steps_,
        memory_gb=round(max(fit.peak, peak_so_far()) / 1e9, 3),
        best_step=getattr(fit.method, "best_step_", None),
        test_labels=len(sampler.usable),
    )


def mean_scores(scores: np.ndarray[Any, Any], tasks: Tasks) -> dict[str, float]:
    """The metrics of all tasks, averaged; a score above 0 is a decision for the label."""
    decisions, truth = scores > 0, tasks.is_positive
    return {
        "auc": float(roc_auc(scores, truth).mean()),
        "f1": float(f1(decisions, truth).mean()),
        "recall": float(recall(decisions, truth).mean()),
        "average_precision": float(average_precision(scores, truth).mean()),
    }


def trial_split(graph: Graph, trial: int, settings: TrialSettings) -> LabelSplit:
    """The labels of a trial by what they are for, and the nodes that are asked about."""
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
    if settings.protocol == UNLABELLED_QUERIES:
        return replace(split, asked=_asked_nodes(graph.num_nodes, trial))
    return split


def _asked_nodes(num_nodes: int, trial: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    chosen = numpy_generator(trial, "asked nodes").permutation(num_nodes)
    asked = np.zeros(num_nodes, dtype=bool)
    asked[chosen[: round(ASKED_SHARE * num_nodes)]] = True
    return asked


def hide_labels(graph: Graph, split: LabelSplit) -> tuple[Graph, LabelSplit]:
    """The graph as a method sees it, with the split in its numbers: what is gone cannot leak.

    Test labels are gone, and so are the known labels of the nodes that are asked about.
    """
    kept = np.concatenate((split.known, split.validation))
    places = np.arange(len(kept))
    visible_split = LabelSplit(
        known=places[: len(split.known)],
        validation=places[len(split.known) :],
        test=np.empty(0, dtype=np.int64),
        asked=split.asked,
    )
    labels = graph.labels.before_others(kept)
    if split.asked is not None:
        labels = labels.forget(visible_split.known, split.asked)
    return graph.with_labels(labels), visible_split
