"""`fit` of the head `evidence`: describe, learn, measure, learn again with all labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64

from metatne.config import Config
from metatne.errors import LabelError
from metatne.evidence.calibration import Scored, calibrate
from metatne.evidence.description import Description, describe
from metatne.evidence.head import Encoding, EvidenceHead
from metatne.evidence.learning import (
    Episodes,
    learn_head,
    make_episodes,
    masked_columns,
)
from metatne.evidence.model import EvidenceModel, Expert, raw_scores
from metatne.graph.labels import LabelPairs, Labels
from metatne.graph.raw import HOLDS
from metatne.graph.store import Graph
from metatne.metrics import average_precision, f1, roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape, usable_labels
from metatne.seeding import numpy_generator

HIDDEN_SHARE = 0.25
"""Of the annotated nodes, whose labels are hidden from the head for nodes without any."""

SHAPES = ((1, 2), (3, 6), (5, 10), (5, 20), (10, 20), (10, 40), (20, 40), (50, 100))
"""Supports of the tasks on which scores are read as evidence, besides those of the settings."""

CALIBRATION_TASKS = 60
CALIBRATION_QUERIES = 10


class Measured(NamedTuple):
    """How the model did on tasks from labels that it had not learned from."""

    auc: float
    f1: float
    average_precision: float
    loss: float
    seconds: float


class _Source(NamedTuple):
    """Where tasks come from: labels, the nodes that are asked about, and what is known then."""

    description: Description
    told: Labels
    """From which tasks are drawn."""

    labels: Int64[np.ndarray, " label"]
    asked: Bool[np.ndarray, " node"] | None


def fit_evidence(
    graph: Graph,
    split: LabelSplit,
    config: Config,
    *,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[EvidenceModel, Measured]:
    """Learn from the known labels, measure on the validation labels, then learn from both."""
    started = time.perf_counter()
    full = describe(graph, split.known, seed=config.seed)
    hidden = _hidden_nodes(full, config.seed)
    partial = describe(graph, split.known, seed=config.seed, hidden=hidden, place=full.place)
    asked = split.asked
    seen = _Source(full, _still_annotated(graph.labels, full), split.known, None)
    unseen = _Source(partial, graph.labels, split.known, hidden)
    if not _has_tasks(graph, unseen, config):  # a graph too small to hide nodes of
        unseen = seen
    validation = seen._replace(labels=split.validation, asked=asked)
    if asked is not None:
        validation = validation._replace(told=graph.labels)
    experts: dict[str, Expert] = {}
    measured = None
    for name, training, more in (
        ("annotated", seen, validation),
        ("unannotated", unseen, unseen._replace(labels=split.validation)),
    ):
        encoding = Encoding.of(full, with_own_labels=name == "annotated", seed=config.seed)
        sources = [training, more]
        if asked is not None:  # validation tasks ask about nodes whose labels are gone
            sources = [training] if name == "annotated" else [training, validation]
        if (name == "unannotated") == (asked is not None):
            learned = _learn(graph, encoding, full, [training], config, should_stop)
            measured = _measure(graph, encoding, learned, training, sources[1], config)
        learned = _learn(graph, encoding, full, sources, config, should_stop)
        experts[name] = _calibrated(graph, encoding, learned.head, sources, config)
    assert measured is not None
    labels = graph.labels
    shares = [len(labels.holders(y)) / max(labels.num_known(y), 1) for y in split.known.tolist()]
    model = EvidenceModel(
        description=full,
        annotated=experts["annotated"],
        unannotated=experts["unannotated"],
        label_names=tuple(graph.labels.names[label] for label in full.columns),
        typical_share=float(np.clip(np.median(shares), 1 / max(graph.num_nodes, 2), 0.5)),
    )
    return model, measured._replace(seconds=time.perf_counter() - started)


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


class _Learned(NamedTuple):
    head: EvidenceHead
    loss: float


def _learn(
    graph: Graph,
    encoding: Encoding,
    description: Description,
    sources: list[_Source],
    config: Config,
    should_stop: Callable[[], bool],
) -> _Learned:
    pools = [
        _episodes(graph, encoding, source, config, number)
        for number, source in enumerate(sources)
        if _has_tasks(graph, source, config)
    ]
    if not pools:
        raise _no_tasks(graph, config)
    head, loss = learn_head(
        encoding,
        description,
        pools,
        num_steps=config.head_steps,
        tasks_per_step=config.head_tasks_per_step,
        rate=config.head_rate,
        column_penalty=config.head_penalty,
        without=config.head_without,
        seed=config.seed,
        should_stop=should_stop,
    )
    return _Learned(head, loss)


def _no_tasks(graph: Graph, config: Config) -> LabelError:
    return LabelError(
        f"no known label of {graph.name!r} has enough holders for tasks of {config.positives} "
        f"positives; ask for fewer (--set positives=…), or give more labels"
    )


def _measure(
    graph: Graph,
    encoding: Encoding,
    learned: _Learned,
    training: _Source,
    validation: _Source,
    config: Config,
) -> Measured:
    """On validation labels, of which neither weights nor calibration have seen anything."""
    expert = _calibrated(graph, encoding, learned.head, [training], config)
    tasks = _draw(
        graph, validation, _shape(config), config.validation_tasks, config.seed, "measure"
    )
    scores = raw_scores(expert, validation.description, tasks)
    shape = config.positives, config.negatives
    prior = config.positives / (config.positives + config.negatives)
    evidence = expert.calibration.evidence(scores, *shape)
    decisions = evidence > expert.calibration.threshold(*shape, prior)
    return Measured(
        auc=float(roc_auc(evidence, tasks.is_positive).mean()),
        f1=float(f1(decisions, tasks.is_positive).mean()),
        average_precision=float(average_precision(evidence, tasks.is_positive).mean()),
        loss=learned.loss,
        seconds=0.0,
    )


def _calibrated(
    graph: Graph,
    encoding: Encoding,
    head: EvidenceHead,
    sources: list[_Source],
    config: Config,
) -> Expert:
    """The head with its scores read as evidence, on tasks of many shapes."""
    none = calibrate([_nothing()])
    expert = Expert(encoding, head, none)
    own = (config.positives, config.negatives)
    groups = []
    for shape in dict.fromkeys((own, *SHAPES)):
        is_own = shape == own
        queries = own if is_own else (CALIBRATION_QUERIES, CALIBRATION_QUERIES)
        task_shape = TaskShape(*shape, *queries)
        scores, truth = [], []
        for source in sources:
            if not _has_tasks(graph, source, config, task_shape):
                continue
            count = config.validation_tasks if is_own else CALIBRATION_TASKS
            tasks = _draw(graph, source, task_shape, count, config.seed, f"calibrate {shape}")
            masked = _masked(source, tasks)
            scores.append(raw_scores(expert, source.description, tasks, masked))
            truth.append(tasks.is_positive)
        if scores:
            groups.append(Scored(*shape, np.concatenate(scores), np.concatenate(truth)))
    if not groups:
        raise _no_tasks(graph, config)
    return Expert(encoding, head, calibrate(groups))


def _nothing() -> Scored:
    """Scores that say nothing, for an expert that is yet to be calibrated."""
    return Scored(10, 20, np.array([[1.0, -1.0]]), np.array([[True, False]]))


def _episodes(
    graph: Graph, encoding: Encoding, source: _Source, config: Config, number: int
) -> Episodes:
    tasks = _draw(graph, source, _shape(config), config.head_tasks, config.seed, f"head {number}")
    return make_episodes(encoding, source.description, tasks, _masked(source, tasks))


def _masked(source: _Source, tasks: Tasks) -> Int64[np.ndarray, " task"]:
    return masked_columns(source.description, tasks.labels)


def _draw(
    graph: Graph, source: _Source, shape: TaskShape, count: int, seed: int, purpose: str
) -> Tasks:
    sampler = TaskSampler(source.told, source.labels, shape, asked=source.asked)
    return sampler.draw(count, numpy_generator(seed, purpose))


def _has_tasks(
    graph: Graph, source: _Source, config: Config, shape: TaskShape | None = None
) -> bool:
    return (
        len(usable_labels(source.told, source.labels, shape or _shape(config), asked=source.asked))
        > 0
    )


def _shape(config: Config) -> TaskShape:
    positives, negatives = config.positives, config.negatives
    return TaskShape(positives, negatives, positives, negatives)


def _hidden_nodes(description: Description, seed: int) -> Bool[np.ndarray, " node"]:
    drawn = numpy_generator(seed, "hidden nodes").random(description.num_nodes) < HIDDEN_SHARE
    hidden: Bool[np.ndarray, " node"] = drawn & description.is_annotated
    return hidden
