"""Few-shot tasks: a label, support nodes of both signs, and query nodes (§4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from metatne.errors import LabelError
from metatne.graph.labels import Labels
from metatne.graph.raw import LACKS

SCARCE = 0.25
"""Below this share of nodes that lack a label, drawing at random and rejecting gets slow."""


@dataclass(frozen=True)
class TaskShape:
    """How many nodes of each sign a task's support and query sets have."""

    positives: int
    negatives: int
    query_positives: int
    query_negatives: int

    @property
    def num_positives(self) -> int:
        """Holders that a task uses up."""
        return self.positives + self.query_positives

    @property
    def num_negatives(self) -> int:
        """Non-holders that a task uses up."""
        return self.negatives + self.query_negatives


@dataclass(frozen=True)
class Tasks:
    """Many tasks of one shape; support and query never share a node within a task."""

    labels: Int64[np.ndarray, " task"]
    positives: Int64[np.ndarray, "task positive"]
    negatives: Int64[np.ndarray, "task negative"]
    queries: Int64[np.ndarray, "task query"]
    is_positive: Bool[np.ndarray, "task query"]

    def __len__(self) -> int:
        """Number of tasks."""
        return len(self.labels)

    def __getitem__(self, part: slice) -> Tasks:
        """Some of the tasks."""
        return Tasks(
            self.labels[part],
            self.positives[part],
            self.negatives[part],
            self.queries[part],
            self.is_positive[part],
        )


class TaskSampler:
    """Draws tasks of one shape from some labels: a label uniformly, then its nodes uniformly.

    Labels with too few holders (not more than a task uses up, as in the published code) or
    too few nodes known to lack them are left out; unknown nodes are drawn for neither sign.
    """

    def __init__(
        self,
        labels: Labels,
        candidates: Sequence[int] | Int64[np.ndarray, " candidate"],
        shape: TaskShape,
    ) -> None:
        self.shape = shape
        self._labels = labels
        self.usable = usable_labels(labels, candidates, shape)
        if not len(self.usable):
            raise too_few_holders(labels, candidates, shape)
        self._pool = _nodes_that_may_lack(labels)
        usable = self.usable.tolist()
        self._holders = _Ragged([labels.holders(label) for label in usable])
        everyone = np.arange(labels.num_nodes)
        enough = SCARCE * len(self._pool)
        self._is_scarce = np.array([_num_lacking(labels, label) < enough for label in usable])
        self._lacking = _Ragged(
            [
                np.flatnonzero(labels.states(everyone, label) == LACKS) if scarce else everyone[:0]
                for label, scarce in zip(usable, self._is_scarce, strict=True)
            ]
        )

    def draw(self, num_tasks: int, generator: np.random.Generator) -> Tasks:
        """`num_tasks` tasks."""
        shape = self.shape
        rows = generator.integers(len(self.usable), size=num_tasks)
        holders = self._holders.draw(rows, shape.num_positives, generator)
        lacking = self._draw_lacking(rows, generator)
        is_positive = np.zeros(
            (num_tasks, shape.query_positives + shape.query_negatives), dtype=bool
        )
        is_positive[:, : shape.query_positives] = True
        return Tasks(
            labels=self.usable[rows],
            positives=holders[:, : shape.positives],
            negatives=lacking[:, : shape.negatives],
            queries=np.concatenate(
                (holders[:, shape.positives :], lacking[:, shape.negatives :]), axis=1
            ),
            is_positive=is_positive,
        )

    def _draw_lacking(
        self, rows: Int64[np.ndarray, " task"], generator: np.random.Generator
    ) -> Int64[np.ndarray, "task node"]:
        drawn = np.empty((len(rows), self.shape.num_negatives), dtype=np.int64)
        scarce = self._is_scarce[rows]
        if scarce.any():
            drawn[scarce] = self._lacking.draw(rows[scarce], drawn.shape[1], generator)
        if not scarce.all():
            drawn[~scarce] = self._draw_by_rejection(self.usable[rows[~scarce]], generator)
        return drawn

    def _draw_by_rejection(
        self, labels: Int64[np.ndarray, " task"], generator: np.random.Generator
    ) -> Int64[np.ndarray, "task node"]:
        """Distinct nodes that lack the label; holders, unknown nodes and repeats are redrawn."""
        pool = self._pool
        drawn = np.full((len(labels), self.shape.num_negatives), -1, dtype=np.int64)
        redraw = drawn < 0
        while redraw.any():
            drawn[redraw] = pool[generator.integers(len(pool), size=int(redraw.sum()))]
            redraw = self._labels.states(drawn, labels[:, None]) != LACKS
            order = np.argsort(drawn, axis=1, kind="stable")
            ordered = np.take_along_axis(drawn, order, axis=1)
            is_repeat = np.zeros_like(redraw)
            np.put_along_axis(is_repeat, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
            redraw |= is_repeat
        return drawn


class _Ragged:
    """Arrays of different lengths, end to end, from which distinct entries are drawn by row."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self._sizes = np.array([len(array) for array in arrays])
        self._starts = np.concatenate(([0], np.cumsum(self._sizes)))[:-1]
        self._values = np.concatenate(arrays).astype(np.int64)

    def draw(
        self, rows: Int64[np.ndarray, " task"], count: int, generator: np.random.Generator
    ) -> Int64[np.ndarray, "task node"]:
        """`count` distinct entries of each row, in random order (Floyd's algorithm)."""
        chosen = np.empty((len(rows), count), dtype=np.int64)
        for column in range(count):
            last = self._sizes[rows] - count + column
            place = generator.integers(last + 1)
            taken = (chosen[:, :column] == place[:, None]).any(axis=1)
            chosen[:, column] = np.where(taken, last, place)
        # Floyd's set is uniform but its order is not, and the order tells support from query.
        chosen = generator.permuted(chosen, axis=1)
        drawn: Int64[np.ndarray, "task node"] = self._values[self._starts[rows][:, None] + chosen]
        return drawn


def usable_labels(
    labels: Labels, candidates: Sequence[int] | Int64[np.ndarray, " candidate"], shape: TaskShape
) -> Int64[np.ndarray, " usable"]:
    """The candidates that have enough holders and non-holders for a task of this shape."""
    usable = [
        label
        for label in map(int, candidates)
        if labels.num_holders[label] > shape.num_positives
        and _num_lacking(labels, label) >= shape.num_negatives
    ]
    return np.array(usable, dtype=np.int64)


def _nodes_that_may_lack(labels: Labels) -> Int64[np.ndarray, " node"]:
    """All nodes but those that are unannotated and not said to lack any label."""
    may_lack = np.ones(labels.num_nodes, dtype=bool)
    if labels.unannotated is not None:
        may_lack &= ~labels.unannotated
    if labels.lacks is not None:
        may_lack[labels.lacks.nodes] = True
    return np.flatnonzero(may_lack)


def _num_lacking(labels: Labels, label: int) -> int:
    return labels.num_known(label) - int(labels.num_holders[label])


def too_few_holders(
    labels: Labels, candidates: Sequence[int] | Int64[np.ndarray, " candidate"], shape: TaskShape
) -> LabelError:
    """The error that no candidate is usable, with the counts that would be needed."""
    held = sorted(
        ((int(labels.num_holders[label]), labels.names[label]) for label in candidates),
        reverse=True,
    )
    best = ", ".join(f"{name!r} ({count})" for count, name in held[:5]) or "none"
    return LabelError(
        f"no label can be used: a task takes {shape.positives} + {shape.query_positives} holders "
        f"(support + query), so a label needs at least {shape.num_positives + 1} holders and "
        f"{shape.num_negatives} nodes known to lack it; the most held of {len(held)} labels: "
        f"{best}. Ask for fewer positives or negatives, or give more labelled nodes"
    )
