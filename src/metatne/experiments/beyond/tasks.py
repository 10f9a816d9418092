"""Training tasks built with the graph in mind, against tasks drawn uniformly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from metatne.evidence.place import of_length_one
from metatne.experiments.beyond.trial import Lines, Trial, line
from metatne.graph.labels import Labels
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.spectral import spectral_embeddings

Place = Float32[np.ndarray, "node place"]

MORE = 5
"""Nodes drawn for each that is kept, where the nearest are kept."""

SHARPNESS = 8.0
"""How much closeness counts when positives are local or spread: a factor on cosines."""

DIM = 64


class Structured(TaskSampler):
    """A sampler that knows where nodes are."""

    negatives_drawn: ClassVar[int] = 1

    def __init__(
        self,
        labels: Labels,
        candidates: Sequence[int] | Int64[np.ndarray, " candidate"],
        shape: TaskShape,
        *,
        asked: Bool[np.ndarray, " node"] | None = None,
        place: Place,
    ) -> None:
        self.wanted, self.place, self.all_labels, self.asked = shape, place, labels, asked
        more = replace(
            shape,
            negatives=self.negatives_drawn * shape.negatives,
            query_negatives=self.negatives_drawn * shape.query_negatives,
        )
        super().__init__(labels, candidates, more, asked=asked)


class HardNegatives(Structured):
    """Of five times as many negatives, those nearest to the positives."""

    negatives_drawn = MORE

    def draw(self, num_tasks: int, generator: np.random.Generator) -> Tasks:
        """`num_tasks` tasks."""
        tasks = super().draw(num_tasks, generator)
        centres = of_length_one(self.place[tasks.positives].sum(axis=1))
        num_positives = self.wanted.query_positives
        queries = tasks.queries[:, num_positives:]
        kept = (
            self._nearest(tasks.negatives, centres, self.wanted.negatives),
            self._nearest(queries, centres, self.wanted.query_negatives),
        )
        width = num_positives + self.wanted.query_negatives
        return replace(
            tasks,
            negatives=kept[0],
            queries=np.concatenate((tasks.queries[:, :num_positives], kept[1]), axis=1),
            is_positive=tasks.is_positive[:, :width],
        )

    def _nearest(
        self,
        nodes: Int64[np.ndarray, "task node"],
        centres: Float[np.ndarray, "task place"],
        count: int,
    ) -> Int64[np.ndarray, "task kept"]:
        closeness = np.einsum("tnp,tp->tn", self.place[nodes], centres)
        order = np.argsort(-closeness, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(nodes, order, axis=1)


class NearPositives(Structured):
    """Positives, of support and query, that are near each other."""

    def draw(self, num_tasks: int, generator: np.random.Generator) -> Tasks:
        """`num_tasks` tasks."""
        tasks = super().draw(num_tasks, generator)
        shape = self.wanted
        positives, queries = tasks.positives.copy(), tasks.queries.copy()
        for row, label in enumerate(tasks.labels.tolist()):
            holders = self.all_labels.holders(label).astype(np.int64)
            anchor = self.place[positives[row, 0]]
            if self.asked is None:
                both = shape.positives + shape.query_positives
                drawn = self._draw(holders, anchor, both, generator)
                positives[row] = drawn[: shape.positives]
                queries[row, : shape.query_positives] = drawn[shape.positives :]
                continue
            seen, asked = holders[~self.asked[holders]], holders[self.asked[holders]]
            positives[row] = self._draw(seen, anchor, shape.positives, generator)
            queries[row, : shape.query_positives] = self._draw(
                asked, anchor, shape.query_positives, generator
            )
        return replace(tasks, positives=positives, queries=queries)

    def _draw(
        self,
        nodes: Int64[np.ndarray, " node"],
        anchor: Float32[np.ndarray, " place"],
        count: int,
        generator: np.random.Generator,
    ) -> Int64[np.ndarray, " drawn"]:
        """Without replacement, more likely the closer (Gumbel's trick), in random order."""
        keys = SHARPNESS * (self.place[nodes] @ anchor)
        keys = keys + generator.gumbel(size=len(nodes))
        return generator.permutation(nodes[np.argsort(-keys)[:count]])


class FarPositives(NearPositives):
    """Positives that are spread over the graph: each far from all that were drawn before."""

    def _draw(
        self,
        nodes: Int64[np.ndarray, " node"],
        anchor: Float32[np.ndarray, " place"],
        count: int,
        generator: np.random.Generator,
    ) -> Int64[np.ndarray, " drawn"]:
        nearest = self.place[nodes] @ anchor
        noise = generator.gumbel(size=len(nodes))
        chosen: list[int] = []
        for _ in range(count):
            keys = noise - SHARPNESS * nearest
            keys[chosen] = -np.inf
            chosen.append(int(np.argmax(keys)))
            nearest = np.maximum(nearest, self.place[nodes] @ self.place[nodes[chosen[-1]]])
        return generator.permutation(nodes[chosen])


class BySize(Structured):
    """Labels drawn as often as they have holders, instead of all alike."""

    def draw(self, num_tasks: int, generator: np.random.Generator) -> Tasks:
        """`num_tasks` tasks."""
        tasks = super().draw(MORE * num_tasks, generator)
        sizes = self.all_labels.num_holders[tasks.labels].astype(np.float64)
        places = generator.choice(len(tasks), num_tasks, replace=False, p=sizes / sizes.sum())
        return Tasks(
            tasks.labels[places],
            tasks.positives[places],
            tasks.negatives[places],
            tasks.queries[places],
            tasks.is_positive[places],
        )


def tasks(trial: Trial) -> Lines:
    """The head learned from tasks of each kind; what it is measured on is drawn uniformly."""
    none = np.empty(0, dtype=np.int64)
    place = of_length_one(spectral_embeddings(trial.visible, none, DIM, seed=trial.number))
    asked = trial.draw()
    yield line("uniform", trial.fit().score_tasks(asked), asked)
    kinds = {
        "hard negatives": HardNegatives,
        "positives near each other": NearPositives,
        "positives spread": FarPositives,
        "labels by size": BySize,
    }
    for name, kind in kinds.items():
        model = trial.fit(sampler=partial(kind, place=place))
        yield line(name, model.score_tasks(asked), asked)
