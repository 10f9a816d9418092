"""Whether a model is any good: held on unseen labels against what needs no learning.

On random labels, or on too few, training ends like any other. So who trains is told if the
model did not clearly beat every control on the validation tasks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from metatne.controls import Walks, holds_no_known_label, log_degrees
from metatne.graph.store import Graph
from metatne.metrics import roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks

ERRORS_AHEAD = 2.0
"""Standard errors by which a model is to be ahead of a control, or that may be chance."""

DAMPING, NUM_ITERATIONS = 0.85, 10
MAX_PRODUCTS, MAX_VISITS = 500_000_000, 30_000_000
"""What walks may cost, in operations and in numbers that are held at a time."""

MIN_TASKS = 10
"""With fewer tasks that walks can pay for, they are left out: a control needs some."""

PAGERANK = "personalised PageRank"
WELL_RANKED = 0.7
"""An AUC of walks from the positives that chance does not give."""

FEW_LABELS = 3
"""Tasks of no more are too much alike for their number to say how sure the verdict is."""

Scored = tuple[Callable[[Tasks], Float[np.ndarray, "task query"]], Tasks]
"""Validation tasks, and what gives the scores that a model has for them."""


class QualityWarning(UserWarning):
    """A model was trained that is no better than what needs no learning."""


@dataclass(frozen=True)
class Control:
    """A score without learning, on some or all of the tasks."""

    name: str
    num_tasks: int
    auc: float
    gain: float
    """By how much the model is ahead, the mean over tasks."""

    error: float
    """The standard error of the gain over tasks; tasks of few labels are more alike than that."""

    @property
    def is_beaten(self) -> bool:
        """Whether the model is ahead by more than chance."""
        return self.gain > ERRORS_AHEAD * self.error


@dataclass(frozen=True)
class Quality:
    """How a model ranked nodes for labels that it had not seen, and how controls did."""

    auc: float
    num_tasks: int
    num_labels: int
    controls: tuple[Control, ...]

    @property
    def is_better(self) -> bool:
        """Whether the model beats every control."""
        return all(control.is_beaten for control in self.controls)

    def verdict(self) -> str:
        """In a sentence: what was beaten, or that the model is not to be relied on."""
        best = max(self.controls, key=lambda control: ERRORS_AHEAD * control.error - control.gain)
        measured = (
            f"AUC {best.auc + best.gain:.3f}, {best.name} {best.auc:.3f}: {best.gain:+.3f} ± "
            f"{best.error:.3f}, on {best.num_tasks} tasks of {self.num_labels} "
            f"label{'s' * (self.num_labels != 1)} that it had not seen"
        )
        if all(control.name != PAGERANK for control in self.controls):
            measured += f"; {PAGERANK} was not tried, it takes too long on a graph of this size"
        if self.is_better:
            caution = "; so few labels tell little" if self.num_labels <= FEW_LABELS else ""
            return f"the model is better than all controls ({measured}{caution})"
        return (
            f"the model is no better than its controls ({measured}); do not rely on its rankings: "
            f"{self._cause()}"
        )

    def _cause(self) -> str:
        """What is likely wrong: where walks do well, the graph is not to blame."""
        walked = [control.auc for control in self.controls if control.name == PAGERANK]
        if walked and max(walked) > WELL_RANKED:
            return "the labels follow the graph, but there may be too few to learn from"
        return "the labels may have little to do with the graph, or be too few to learn from"

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's header."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Quality:
        """What `to_json` gave; TypeError or KeyError for anything else."""
        # Before controls said on how many tasks they are, it was taken to be on all.
        some = {"num_tasks": value["num_tasks"]}
        controls = tuple(Control(**some | control) for control in value["controls"])
        if not controls:
            raise TypeError("there are no controls")
        return cls(**{**value, "controls": controls})


def judge(scored: Scored, graph: Graph, split: LabelSplit) -> Quality:
    """How good the model is; who trains it is told if it is not."""
    score, tasks = scored
    quality = measure_quality(score(tasks), tasks, graph, split)
    if not quality.is_better:
        warnings.warn(quality.verdict(), QualityWarning, stacklevel=3)  # where `fit` was called
    return quality


def measure_quality(
    scores: Float[np.ndarray, "task query"], tasks: Tasks, graph: Graph, split: LabelSplit
) -> Quality:
    """The model's scores of validation tasks, held against those of the controls."""
    aucs = roc_auc(scores, tasks.is_positive)
    controls = [_control("chance", aucs, np.full(len(tasks), 0.5))]
    of_nodes = {
        "degree": log_degrees(graph),
        "holding no known label": holds_no_known_label(graph, split.known).astype(np.float64),
    }
    for name, values in of_nodes.items():
        theirs = roc_auc(values[tasks.queries], tasks.is_positive)
        controls.append(_control(name, aucs, theirs))
    if num_walked := _num_tasks_to_walk(graph, len(tasks)):
        some = tasks[:num_walked]
        visits = Walks(graph).score_tasks(some, damping=DAMPING, num_iterations=NUM_ITERATIONS)
        theirs = roc_auc(visits, some.is_positive)
        controls.append(_control(PAGERANK, aucs[:num_walked], theirs))
    return Quality(
        auc=float(aucs.mean()),
        num_tasks=len(tasks),
        num_labels=len(np.unique(tasks.labels)),
        controls=tuple(controls),
    )


def _control(
    name: str, ours: Float[np.ndarray, " task"], theirs: Float[np.ndarray, " task"]
) -> Control:
    gains = ours - theirs
    spread = float(gains.std(ddof=1)) if len(gains) > 1 else 0.5
    error = spread / math.sqrt(len(gains))
    return Control(name, len(gains), float(theirs.mean()), float(gains.mean()), error)


def _num_tasks_to_walk(graph: Graph, num_tasks: int) -> int:
    """As many as walks on a graph of this size can pay for; 0 if those are too few."""
    by_work = MAX_PRODUCTS // (NUM_ITERATIONS * max(len(graph.indices), 1))
    by_memory = MAX_VISITS // max(graph.num_nodes, 1)
    number = min(num_tasks, by_work, by_memory)
    return number if number >= min(MIN_TASKS, num_tasks) else 0
