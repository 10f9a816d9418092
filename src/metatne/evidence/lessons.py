"""What each expert learns from: tasks of labels, on nodes as the expert will meet them.

The expert for nodes that nobody has annotated learns on nodes whose labels are hidden from it, a
quarter of the annotated ones at a time; unless the graph is large, each of them once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64

from metatne.config import Config
from metatne.errors import LabelError
from metatne.evidence.description import Description, describe
from metatne.evidence.head import Encoding
from metatne.evidence.learning import masked_columns
from metatne.graph.label_pairs import LabelPairs
from metatne.graph.labels import Labels
from metatne.graph.raw import HOLDS
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape, usable_labels
from metatne.seeding import numpy_generator

NUM_FOLDS = 4
"""Of the annotated nodes, whose labels are hidden one fold at a time."""

MANY_NODES = 80_000
"""In all folds that are hidden: each costs a description of the whole graph, and where nodes are
many, tasks differ enough without."""

SamplerKind = Callable[..., TaskSampler]
"""What makes a sampler of labels, candidates, a shape and the nodes asked about."""


class Source(NamedTuple):
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


class Lesson(NamedTuple):
    """What one expert learns from: tasks of known labels, then of the validation labels too."""

    encoding: Encoding
    training: list[Source]
    validation: list[Source]


def task_shape(config: Config) -> TaskShape:
    """Of the tasks that weights are learned from, and of the measure: as many queries."""
    positives, negatives = config.positives, config.negatives
    return TaskShape(positives, negatives, positives, negatives)


def lesson_of_measure(
    graph: Graph, split: LabelSplit, description: Description, config: Config
) -> Lesson:
    """That of the nodes which users will ask about: annotated ones, unless there are none to ask
    about, or validation labels have no tasks among them.
    """
    lesson = annotated_lesson(graph, split, description, config)
    if lesson is not None and lesson.validation:
        return lesson
    has_others = lesson is not None
    return unannotated_lesson(graph, split, description, config, has_others=has_others)


def annotated_lesson(
    graph: Graph, split: LabelSplit, description: Description, config: Config
) -> Lesson | None:
    """For nodes whose labels are known; None where nothing can be learned of those."""
    seen = Source(description, _still_annotated(graph.labels, description), split.known, None)
    if not seen.has_tasks(task_shape(config)):
        return None
    encoding = Encoding.of(description, with_own_labels=True, asks_annotated=True, seed=config.seed)
    # Where validation tasks ask about nodes whose labels are gone, they are of the other lesson.
    validation = [seen._replace(labels=split.validation)] if split.asked is None else []
    return Lesson(encoding, [seen], _with_tasks(validation, config))


def unannotated_lesson(
    graph: Graph,
    split: LabelSplit,
    description: Description,
    config: Config,
    *,
    has_others: bool,
) -> Lesson:
    """For nodes that nobody has annotated; for all, unless the others have an expert too."""
    shape = task_shape(config)
    # Where too few nodes can be hidden: the same tasks, own labels left out by the encoding alone.
    blind = Source(description, graph.labels, split.known, None)
    either = blind._replace(labels=np.concatenate((split.known, split.validation)))
    hiding = [
        blind._replace(description=_as_if_hidden(graph, hidden, description), asked=hidden)
        for hidden in _hidden_folds(graph.labels, description, config.seed)
        if either._replace(asked=hidden).has_tasks(shape)  # or nobody needs its description
    ]
    training = _with_tasks(hiding, config) or _with_tasks([blind], config)
    if not training:
        raise LabelError(
            f"no known label of {graph.name!r} has enough holders for tasks of {config.positives} "
            f"positives; ask for fewer (--set positives=…), or give more labels"
        )
    if split.asked is None:
        validation = _with_tasks(
            [source._replace(labels=split.validation) for source in hiding], config
        ) or _with_tasks([blind._replace(labels=split.validation)], config)
    else:  # nodes whose labels are gone
        validation = _with_tasks(
            [blind._replace(labels=split.validation, asked=split.asked)], config
        )
    # Supports may show their own labels where those of the nodes asked about are hidden for sure:
    # in all tasks, and in use, where annotated nodes have an expert of their own.
    is_hidden = all(source.asked is not None for source in (*training, *validation))
    encoding = Encoding.of(
        description,
        with_own_labels=is_hidden and has_others,
        asks_annotated=False,
        seed=config.seed,
    )
    return Lesson(encoding, training, validation)


def _as_if_hidden(
    graph: Graph, hidden: Bool[np.ndarray, " node"], full: Description
) -> Description:
    """All that is known but the labels of these nodes."""
    return describe(
        graph,
        full.columns,
        seed=0,
        hidden=hidden,
        place=full.place,
        reach=full.reach,
        in_this_order=True,
    )


def _with_tasks(sources: list[Source], config: Config) -> list[Source]:
    return [source for source in sources if source.has_tasks(task_shape(config))]


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


def _hidden_folds(
    labels: Labels, description: Description, seed: int
) -> list[Bool[np.ndarray, " node"]]:
    """Parts of the nodes whose labels are known; of those known by what they hold, by any label."""
    known = description.is_annotated
    if labels.is_known_by_holding:
        known = np.zeros(labels.num_nodes, dtype=bool)
        known[labels.holds.nodes] = True
    fold = numpy_generator(seed, "hidden nodes").integers(NUM_FOLDS, size=len(known))
    return [known & (fold == number) for number in range(num_folds(description.num_nodes))]


def num_folds(num_nodes: int) -> int:
    """How many of the folds are hidden in turn, on a graph of this size."""
    return min(NUM_FOLDS, math.ceil(MANY_NODES / max(num_nodes, 1)))
