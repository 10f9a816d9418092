"""Trainings that validation tasks look at: the vectors at every look, kept for other shots.

GCN and Planetoid train on known labels, whatever the number of supports; that decides only which
look is the best. So cells of a table that differ in their shots share the trainings of a trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from metatne.baselines.base import Baseline
from metatne.baselines.embedding import Vectors
from metatne.baselines.logistic import score_by_logistic_regression
from metatne.baselines.tuning import validation_auc
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit

Choice = TypeVar("Choice")

MAX_KEPT_BYTES = 1 << 30
"""Of one method's looks; of graphs with more, nothing is kept."""

OF_LOOKING = {"positives", "negatives", "validation_tasks", "strength"}
"""Settings that trainings do not depend on."""


Key = tuple[object, ...]


def best_look(
    method: Baseline,
    graph: Graph,
    split: LabelSplit,
    train: Callable[[], Iterator[tuple[Choice, Vectors]]],
    *,
    strength: float,
) -> tuple[Choice, Vectors]:
    """Of all choices and looks of the method's trainings, the one that validation tasks prefer."""
    tasks = method.draw_validation_tasks(graph, split)

    def score(look: tuple[Choice, Vectors]) -> float:
        scores = score_by_logistic_regression(look[1], tasks, strength=strength)
        return validation_auc(scores, tasks)

    return max(last_looks(_key(method, graph, split), train), key=score)


class LastLooks:
    """The looks of the last trainings, for whoever comes next with the same key."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Let go of them."""
        self._key: Key | None = None
        self._looks: list[tuple[Any, Vectors]] = []

    def __call__(
        self, key: Key, train: Callable[[], Iterator[tuple[Choice, Vectors]]]
    ) -> Iterator[tuple[Choice, Vectors]]:
        """Those that are kept, or those of a training, which are kept if they are small enough."""
        if self._key == key:
            yield from self._looks
            return
        self.forget()  # before the next ones take memory
        looks, size = [], 0
        for look in train():
            look[1].flags.writeable = False  # it is lent to whoever comes next as well
            size += look[1].nbytes
            looks.append(look)
            if size > MAX_KEPT_BYTES:
                looks.clear()
            yield look
        if size <= MAX_KEPT_BYTES:
            self._key, self._looks = key, looks


last_looks = LastLooks()
"""Of this process, whose trials follow each other."""


def _key(method: Baseline, graph: Graph, split: LabelSplit) -> Key:
    settings = method.settings.model_dump_json(exclude=OF_LOOKING)  # the seed among them
    asked = None if split.asked is None else split.asked.tobytes()
    return type(method), settings, graph.fingerprint, split.known.tobytes(), asked
