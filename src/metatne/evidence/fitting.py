"""`fit` of the head `evidence`: describe, learn, calibrate; for use, measure first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from metatne.config import Config
from metatne.errors import RunError
from metatne.evidence.adaptation import Expert
from metatne.evidence.calibration import Scored, calibrate
from metatne.evidence.description import describe
from metatne.evidence.head import Encoding, EvidenceHead
from metatne.evidence.learning import Episodes, interleaved_episodes, learn_head
from metatne.evidence.lessons import (
    Lesson,
    SamplerKind,
    Source,
    annotated_lesson,
    lesson_of_measure,
    task_shape,
    unannotated_lesson,
)
from metatne.evidence.model import EvidenceModel, raw_scores
from metatne.evidence.reach import Reach
from metatne.graph.store import Graph
from metatne.metrics import f1, roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape

SHAPES = (
    *((1, 2), (3, 6), (5, 10), (5, 20), (10, 20), (10, 40), (20, 40), (50, 100)),
    *((3, 2), (10, 2), (10, 6), (30, 3)),  # as users give them who name a few that lack it
)
"""Supports of the tasks on which scores are read as evidence, besides those of the settings."""

MANY_SUPPORTS = ((150, 300),)
"""The same for users who have gathered many; only labels that many nodes hold have such tasks."""

MANY_TASKS = 12
"""Of those: a task takes as long as its supports are many, squared."""

CALIBRATION_TASKS = 60
CALIBRATION_QUERIES = 10


class Measured(NamedTuple):
    """How the model did on tasks from labels that it had not learned from."""

    auc: float
    f1: float
    loss: float
    seconds: float
    tasks: Tasks
    scores: Float64[np.ndarray, "task query"]
    """Of the tasks: the evidence for every query."""


def fit_evidence(
    graph: Graph,
    split: LabelSplit,
    config: Config,
    *,
    is_for_use: bool = False,
    sampler: SamplerKind = TaskSampler,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[EvidenceModel, Measured | None]:
    """Learn from tasks of the known and of the validation labels.

    In a trial, the known labels alone are what nodes are described by. A model `is_for_use` is
    first learned so and measured on the validation labels; these are then known labels too.
    The `sampler` draws the tasks that weights are learned from; those that scores are read by,
    and those of the measure, are drawn uniformly.
    """
    started = time.perf_counter()
    learning = _Learning(config, sampler, should_stop, typical_share(graph, split))
    reach = Reach.nowhere(graph.num_nodes) if "walks" in config.head_without else None
    description = describe(graph, split.known, seed=config.seed, reach=reach)
    measured = None
    if is_for_use:
        measured = learning.measure(lesson_of_measure(graph, split, description, config))
        known = np.concatenate((split.known, split.validation))
        split = LabelSplit(known, known[:0], split.test, split.asked)
        learning = learning._replace(typical_share=typical_share(graph, split))
        place, reach = description.place, description.reach
        del description  # before the next takes memory
        description = describe(graph, known, seed=config.seed, place=place, reach=reach)
    lesson = annotated_lesson(graph, split, description, config)
    annotated = None if lesson is None else learning.expert(lesson)
    lesson = unannotated_lesson(graph, split, description, config, has_others=annotated is not None)
    unannotated = learning.expert(lesson)
    model = EvidenceModel(
        description=description,
        annotated=annotated or unannotated,
        unannotated=unannotated,
        label_names=tuple(graph.labels.names[label] for label in description.columns),
        typical_share=learning.typical_share,
    )
    if measured is not None:
        measured = measured._replace(seconds=time.perf_counter() - started)
    return model, measured


class _Learning(NamedTuple):
    """How experts are made of lessons."""

    config: Config
    sampler: SamplerKind
    should_stop: Callable[[], bool]
    typical_share: float

    def expert(self, lesson: Lesson) -> Expert:
        """What all labels of a lesson teach."""
        groups = [group for group in (lesson.training, lesson.validation) if group]
        head, _ = self._learn(lesson.encoding, groups)
        return self._calibrated(lesson.encoding, head, groups)

    def measure(self, lesson: Lesson) -> Measured:
        """On validation labels, of which neither weights nor calibration have seen anything."""
        config = self.config
        head, loss = self._learn(lesson.encoding, [lesson.training])
        expert = self._calibrated(lesson.encoding, head, [lesson.training])
        source = lesson.validation[0]
        count = _afforded(config.validation_tasks, source)
        tasks = source.draw(task_shape(config), count, config.seed, "measure")
        scores = raw_scores(lesson.encoding, head, source.description, tasks)
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

    def _learn(self, encoding: Encoding, groups: list[list[Source]]) -> tuple[EvidenceHead, float]:
        config = self.config
        learned = learn_head(
            encoding,
            [self._episodes(encoding, group, number) for number, group in enumerate(groups)],
            num_steps=config.head_steps,
            tasks_per_step=config.head_tasks_per_step,
            rate=config.head_rate,
            column_penalty=config.head_penalty,
            without=config.head_without,
            should_stop=self.should_stop,
        )
        if self.should_stop():
            raise RunError("stopped; nothing is kept of a training of seconds: start it again")
        return learned

    def _episodes(self, encoding: Encoding, group: list[Source], number: int) -> Episodes:
        config = self.config
        count = -(-_afforded(config.head_tasks, group[0]) // len(group))
        drawn = []
        for turn, source in enumerate(group):
            purpose = f"head {number} {turn}"
            tasks = source.draw(
                task_shape(config), count, config.seed, purpose, sampler=self.sampler
            )
            drawn.append((source.description, tasks, source.masked(tasks)))
        return interleaved_episodes(encoding, drawn)

    def _calibrated(
        self, encoding: Encoding, head: EvidenceHead, groups: list[list[Source]]
    ) -> Expert:
        """The head with its scores read as evidence, on tasks of many shapes."""
        own = (self.config.positives, self.config.negatives)
        few, many = (
            [
                scored
                for shape in shapes
                if (scored := self._scored(encoding, head, groups, shape)) is not None
            ]
            for shapes in (
                dict.fromkeys((own, *SHAPES)),
                [shape for shape in MANY_SUPPORTS if shape != own],
            )
        )
        return Expert(encoding, head, calibrate(few, self.typical_share, many))

    def _scored(
        self,
        encoding: Encoding,
        head: EvidenceHead,
        groups: list[list[Source]],
        shape: tuple[int, int],
    ) -> Scored | None:
        """Tasks of this shape as the head scores them; None where no label has any."""
        config = self.config
        is_own = shape == (config.positives, config.negatives)
        queries = shape if is_own else (CALIBRATION_QUERIES, CALIBRATION_QUERIES)
        asked = TaskShape(*shape, *queries)
        scores, truth = [], []
        for group in groups:
            sources = [source for source in group if source.has_tasks(asked)]
            of_shape = MANY_TASKS if shape in MANY_SUPPORTS else CALIBRATION_TASKS
            usual = config.validation_tasks if is_own else of_shape
            count = _afforded(usual, group[0])
            for turn, source in enumerate(sources):
                purpose = f"calibrate {shape} {turn}"
                some = -(-count // len(sources))
                tasks = source.draw(asked, some, config.seed, purpose)
                masked = source.masked(tasks)
                scores.append(raw_scores(encoding, head, source.description, tasks, masked))
                truth.append(tasks.is_positive)
        return Scored(*shape, np.concatenate(scores), np.concatenate(truth)) if scores else None


def typical_share(graph: Graph, split: LabelSplit) -> float:
    """Of the nodes, those that hold a known label, by the median over these."""
    labels = graph.labels
    shares = [len(labels.holders(y)) / max(labels.num_known(y), 1) for y in split.known.tolist()]
    return float(np.clip(np.median(shares), 1 / max(graph.num_nodes, 2), 0.5))


def _afforded(num_tasks: int, source: Source) -> int:
    """So many tasks, or fewer on a graph where walks from their examples would take too long."""
    return math.ceil(num_tasks * source.description.reach.share_of_tasks)
