"""`fit` of the head `evidence`: describe, learn, measure, learn again with all labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

from metatne.config import Config
from metatne.errors import LabelError
from metatne.evidence.adaptation import Expert
from metatne.evidence.calibration import Scored, calibrate
from metatne.evidence.description import Description, describe
from metatne.evidence.head import Encoding, EvidenceHead
from metatne.evidence.learning import (
    Episodes,
    learn_head,
    make_episodes,
    masked_columns,
)
from metatne.evidence.model import EvidenceModel, raw_scores
from metatne.graph.labels import LabelPairs, Labels
from metatne.graph.raw import HOLDS
from metatne.graph.store import Graph
from metatne.metrics import f1, roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape, usable_labels
from metatne.seeding import numpy_generator

HIDDEN_SHARE = 0.25
"""Of the annotated nodes, whose labels are hidden from the head for nodes without any."""

SHAPES = ((1, 2), (3, 6), (5, 10), (5, 20), (10, 20), (10, 40), (20, 40), (50, 100))
"""Supports of the tasks on which scores are read as evidence, besides those of the settings."""

CALIBRATION_TASKS = 60
CALIBRATION_QUERIES = 10


SamplerKind = Callable[..., TaskSampler]
"""What makes a sampler of labels, candidates, a shape and the nodes asked about."""


class Measured(NamedTuple):
    """How the model did on tasks from labels that it had not learned from."""

    auc: float
    f1: float
    loss: float
    seconds: float
    tasks: Tasks
    scores: Float64[np.ndarray, "task query"]
    """Of the tasks: the evidence for every query."""


class _Source(NamedTuple):
    """Where tasks come from: labels, the nodes that are asked about, and what is known then."""

    description: Description
    told: Labels
    """From which tasks are drawn."""

    labels: Int64[np.ndarray, " label"]
    asked: Bool[np.ndarray, " node"] | None

    def has_tasks(self, shape: TaskShape) -> bool:
        """Whether any of the labels has the nodes that such tasks need."""
        return len(usable_labels(self.told, self.labels, shape, asked=self.asked)) > 0

    def draw(
        self,
        shape: TaskShape,
        count: int,
        seed: int,
        purpose: str,
        *,
        sampler: SamplerKind = TaskSampler,
    ) -> Tasks:
        """Tasks of one shape, the same ones for the same purpose."""
        made = sampler(self.told, self.labels, shape, asked=self.asked)
        return made.draw(count, numpy_generator(seed, purpose))

    def masked(self, tasks: Tasks) -> Int64[np.ndarray, " task"]:
        """The column of each task's own label, which the head must not see."""
        return masked_columns(self.description, tasks.labels)


class _Lesson(NamedTuple):
    """What one expert learns from: tasks of known labels, then of the validation labels too."""

    encoding: Encoding
    training: _Source
    validation: _Source


def fit_evidence(
    graph: Graph,
    split: LabelSplit,
    config: Config,
    *,
    sampler: SamplerKind = TaskSampler,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[EvidenceModel, Measured]:
    """Learn from the known labels, measure on the validation labels, then learn from both.

    The `sampler` draws the tasks that weights are learned from; those that scores are read by,
    and those of the measure, are drawn uniformly.
    """
    started = time.perf_counter()
    full = describe(graph, split.known, seed=config.seed)
    lessons = _lessons(graph, split, full, config)
    shape = _shape(config)
    # What is measured is what users will ask about: annotated nodes, unless there are none to
    # ask about, or validation labels have no tasks among them.
    of_measure = lessons[-1]
    if split.asked is None and len(lessons) > 1 and lessons[0].validation.has_tasks(shape):
        of_measure = lessons[0]
    measured = None
    experts = []
    for lesson in lessons:
        if lesson is of_measure:
            measured = _measure(full, lesson, config, sampler, should_stop)
        sources = [lesson.training, lesson.validation]
        sources = [source for source in sources if source.has_tasks(shape)]
        head, _ = _learn(full, lesson.encoding, sources, config, sampler, should_stop)
        experts.append(_calibrated(lesson.encoding, head, sources, config))
    assert measured is not None
    labels = graph.labels
    shares = [len(labels.holders(y)) / max(labels.num_known(y), 1) for y in split.known.tolist()]
    model = EvidenceModel(
        description=full,
        annotated=experts[0],
        unannotated=experts[-1],
        label_names=tuple(graph.labels.names[label] for label in full.columns),
        typical_share=float(np.clip(np.median(shares), 1 / max(graph.num_nodes, 2), 0.5)),
    )
    return model, measured._replace(seconds=time.perf_counter() - started)


def _lessons(graph: Graph, split: LabelSplit, full: Description, config: Config) -> list[_Lesson]:
    """One for nodes whose labels are known, if anything can be learned of those, and one for
    nodes that nobody has annotated.
    """
    shape = _shape(config)
    hidden = _hidden_nodes(graph.labels, full, config.seed)
    partial = describe(graph, split.known, seed=config.seed, hidden=hidden, place=full.place)
    hiding = _Source(partial, graph.labels, split.known, hidden)
    # Where too few nodes can be hidden: the same tasks, own labels left out by the encoding alone.
    blind = _Source(full, graph.labels, split.known, None)
    training = hiding if hiding.has_tasks(shape) else blind
    if not training.has_tasks(shape):
        raise LabelError(
            f"no known label of {graph.name!r} has enough holders for tasks of {config.positives} "
            f"positives; ask for fewer (--set positives=…), or give more labels"
        )
    validation = hiding._replace(labels=split.validation)
    if split.asked is not None:  # nodes whose labels are gone
        validation = blind._replace(labels=split.validation, asked=split.asked)
    elif not validation.has_tasks(shape):
        validation = blind._replace(labels=split.validation)
    seen = _Source(full, _still_annotated(graph.labels, full), split.known, None)
    has_both = seen.has_tasks(shape)
    # Supports may show their own labels where those of the nodes asked about are hidden for sure:
    # in all tasks, and in use, where annotated nodes have an expert of their own.
    is_hidden = has_both and training is hiding and validation.asked is not None
    encoding = Encoding.of(full, with_own_labels=is_hidden, asks_annotated=False, seed=config.seed)
    lessons = [_Lesson(encoding, training, validation)]
    if has_both:
        encoding = Encoding.of(full, with_own_labels=True, asks_annotated=True, seed=config.seed)
        nothing = split.validation[:0]
        validated = nothing if split.asked is not None else split.validation
        lessons.insert(0, _Lesson(encoding, seen, seen._replace(labels=validated)))
    return lessons


def _still_annotated(labels: Labels, description: Description) -> Labels:
    """The labels without pairs that tell on themselves, where nodes are known by what they hold.

    A node that holds nothing but a task's label would be the only kind to be annotated and hold
    nothing, once that label is masked; of a novel label, such a node is not annotated at all.
    """
    if not labels.is_known_by_holding:
        return labels
    holds = labels.holds
    is_column = np.zeros(labels.num_labels, dtype=bool)
    is_column[description.columns] = True
    count = (description.states == HOLDS).sum(axis=1)
    others = count[holds.nodes] - is_column[holds.pair_labels]
    left = others > 0
    unknown_labels, unknown_nodes = holds.pair_labels[~left], holds.nodes[~left]
    if labels.unknown is not None:
        unknown_labels = np.concatenate((unknown_labels, labels.unknown.pair_labels))
        unknown_nodes = np.concatenate((unknown_nodes, labels.unknown.nodes))
    size = labels.num_labels, labels.num_nodes
    return Labels(
        labels.names,
        labels.num_nodes,
        LabelPairs.of(holds.pair_labels[left], holds.nodes[left], *size),
        unknown=LabelPairs.of(unknown_labels, unknown_nodes, *size),
        unannotated=count == 0,
    )


def _learn(
    description: Description,
    encoding: Encoding,
    sources: list[_Source],
    config: Config,
    sampler: SamplerKind,
    should_stop: Callable[[], bool],
) -> tuple[EvidenceHead, float]:
    return learn_head(
        encoding,
        description,
        [
            _episodes(encoding, source, config, number, sampler)
            for number, source in enumerate(sources)
        ],
        num_steps=config.head_steps,
        tasks_per_step=config.head_tasks_per_step,
        rate=config.head_rate,
        column_penalty=config.head_penalty,
        without=config.head_without,
        seed=config.seed,
        should_stop=should_stop,
    )


def _measure(
    description: Description,
    lesson: _Lesson,
    config: Config,
    sampler: SamplerKind,
    should_stop: Callable[[], bool],
) -> Measured:
    """On validation labels, of which neither weights nor calibration have seen anything."""
    encoding, training, validation = lesson
    head, loss = _learn(description, encoding, [training], config, sampler, should_stop)
    expert = _calibrated(encoding, head, [training], config)
    tasks = validation.draw(_shape(config), config.validation_tasks, config.seed, "measure")
    scores = raw_scores(encoding, head, validation.description, tasks)
    shape = config.positives, config.negatives
    prior = config.positives / (config.positives + config.negatives)
    evidence = expert.calibration.evidence(scores, *shape)
    decisions = evidence > expert.calibration.threshold(*shape, prior)
    return Measured(
        auc=float(roc_auc(evidence, tasks.is_positive).mean()),
        f1=float(f1(decisions, tasks.is_positive).mean()),
        loss=loss,
        seconds=0.0,
        tasks=tasks,
        scores=evidence,
    )


def _calibrated(
    encoding: Encoding, head: EvidenceHead, sources: list[_Source], config: Config
) -> Expert:
    """The head with its scores read as evidence, on tasks of many shapes."""
    own = (config.positives, config.negatives)
    groups = []
    for shape in dict.fromkeys((own, *SHAPES)):
        is_own = shape == own
        queries = own if is_own else (CALIBRATION_QUERIES, CALIBRATION_QUERIES)
        task_shape = TaskShape(*shape, *queries)
        scores, truth = [], []
        for source in sources:
            if not source.has_tasks(task_shape):
                continue
            count = config.validation_tasks if is_own else CALIBRATION_TASKS
            tasks = source.draw(task_shape, count, config.seed, f"calibrate {shape}")
            masked = source.masked(tasks)
            scores.append(raw_scores(encoding, head, source.description, tasks, masked))
            truth.append(tasks.is_positive)
        if scores:
            groups.append(Scored(*shape, np.concatenate(scores), np.concatenate(truth)))
    return Expert(encoding, head, calibrate(groups))


def _episodes(
    encoding: Encoding, source: _Source, config: Config, number: int, sampler: SamplerKind
) -> Episodes:
    tasks = source.draw(
        _shape(config), config.head_tasks, config.seed, f"head {number}", sampler=sampler
    )
    return make_episodes(encoding, source.description, tasks, source.masked(tasks))


def _shape(config: Config) -> TaskShape:
    positives, negatives = config.positives, config.negatives
    return TaskShape(positives, negatives, positives, negatives)


def _hidden_nodes(labels: Labels, description: Description, seed: int) -> Bool[np.ndarray, " node"]:
    """Some of the nodes whose labels are known; of those known by what they hold, by any label."""
    known = description.is_annotated
    if labels.is_known_by_holding:
        known = np.zeros(labels.num_nodes, dtype=bool)
        known[labels.holds.nodes] = True
    drawn = numpy_generator(seed, "hidden nodes").random(description.num_nodes) < HIDDEN_SHARE
    hidden: Bool[np.ndarray, " node"] = drawn & known
    return hidden
