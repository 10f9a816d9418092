"""Few-shot tasks: a label, support nodes of both signs, and query nodes (§4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64, Integer

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

    @property
    def nodes_per_task(self) -> int:
        """Supports and queries."""
        return sum(int(part.shape[1]) for part in (self.positives, self.negatives, self.queries))

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
    Where some nodes are `asked` about, queries are drawn from these and supports from the
    others, and a label needs enough nodes on either side.
    """

    def __init__(
        self,
        labels: Labels,
        candidates: Sequence[int] | Int64[np.ndarray, " candidate"],
        shape: TaskShape,
        *,
        asked: Bool[np.ndarray, " node"] | None = None,
    ) -> None:
        self.shape = shape
        self.usable = usable_labels(labels, candidates, shape, asked=asked)
        if not len(self.usable):
            raise too_few_holders(labels, candidates, shape, asked=asked)
        sides = [None] if asked is None else [~asked, asked]
        self._sides = [_Side(labels, self.usable, nodes) for nodes in sides]

    def draw(self, num_tasks: int, generator: np.random.Generator) -> Tasks:
        """`num_tasks` tasks."""
        shape = self.shape
        rows = generator.integers(len(self.usable), size=num_tasks)
        if len(self._sides) == 1:
            counts = [(shape.num_positives, shape.num_negatives)]
        else:
            counts = [
                (shape.positives, shape.negatives),
                (shape.query_positives, shape.query_negatives),
            ]
        holders, lacking = (
            np.concatenate(drawn, axis=1)
            for drawn in zip(
                *(
                    side.draw(rows, *count, generator)
                    for side, count in zip(self._sides, counts, strict=True)
                ),
                strict=True,
            )
        )
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


class _Side:
    """Nodes (all, or those of a mask) from which holders and non-holders of labels are drawn."""

    def __init__(
        self,
        labels: Labels,
        usable: Int64[np.ndarray, " usable"],
        nodes: Bool[np.ndarray, " node"] | None,
    ) -> None:
        self._labels, self._usable = labels, usable
        self._pool = _nodes_that_may_lack(labels, nodes)
        self._holders = _Ragged([_holders(labels, label, nodes) for label in usable.tolist()])
        enough = SCARCE * len(self._pool)
        self._is_scarce = np.array(
            [_num_lacking(labels, label, nodes) < enough for label in usable.tolist()]
        )
        self._lacking = _Ragged(
            [
                _lacking(labels, label, nodes) if scarce else self._pool[:0]
                for label, scarce in zip(usable.tolist(), self._is_scarce, strict=True)
            ]
        )

    def draw(
        self,
        rows: Int64[np.ndarray, " task"],
        num_holders: int,
        num_lacking: int,
        generator: np.random.Generator,
    ) -> tuple[Int64[np.ndarray, "task holder"], Int64[np.ndarray, "task lacking"]]:
        """Distinct holders and non-holders of the label of each row."""
        holders = self._holders.draw(rows, num_holders, generator)
        lacking = np.empty((len(rows), num_lacking), dtype=np.int64)
        scarce = self._is_scarce[rows]
        if scarce.any():
            lacking[scarce] = self._lacking.draw(rows[scarce], num_lacking, generator)
        if not scarce.all():
            labels = self._usable[rows[~scarce]]
            lacking[~scarce] = self._draw_by_rejection(labels, num_lacking, generator)
        return holders, lacking

    def _draw_by_rejection(
        self, labels: Int64[np.ndarray, " task"], count: int, generator: np.random.Generator
    ) -> Int64[np.ndarray, "task node"]:
        """Distinct nodes that lack the label; holders, unknown nodes and repeats are redrawn."""
        pool = self._pool
        drawn = np.full((len(labels), count), -1, dtype=np.int64)
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
    labels: Labels,
    candidates: Sequence[int] | Int64[np.ndarray, " candidate"],
    shape: TaskShape,
    *,
    asked: Bool[np.ndarray, " node"] | None = None,
) -> Int64[np.ndarray, " usable"]:
    """The candidates that have enough holders and non-holders for a task of this shape."""
    usable = [
        label
        for label in map(int, candidates)
        if labels.num_holders[label] > shape.num_positives
        and _num_lacking(labels, label) >= shape.num_negatives
        and (asked is None or _has_enough_on_both_sides(labels, label, shape, asked))
    ]
    return np.array(usable, dtype=np.int64)


def _has_enough_on_both_sides(
    labels: Labels, label: int, shape: TaskShape, asked: Bool[np.ndarray, " node"]
) -> bool:
    sides = (
        (~asked, shape.positives, shape.negatives),
        (asked, shape.query_positives, shape.query_negatives),
    )
    return all(
        len(_holders(labels, label, nodes)) >= num_positives
        and _num_lacking(labels, label, nodes) >= num_negatives
        for nodes, num_positives, num_negatives in sides
    )


def _nodes_that_may_lack(
    labels: Labels, nodes: Bool[np.ndarray, " node"] | None
) -> Int64[np.ndarray, " lacking"]:
    """All nodes (of the mask) but those that are unannotated and not said to lack any label."""
    may_lack = np.ones(labels.num_nodes, dtype=bool)
    if labels.unannotated is not None:
        may_lack &= ~labels.unannotated
    if labels.lacks is not None:
        may_lack[labels.lacks.nodes] = True
    if nodes is not None:
        may_lack &= nodes
    return np.flatnonzero(may_lack)


def _holders(
    labels: Labels, label: int, nodes: Bool[np.ndarray, " node"] | None
) -> Integer[np.ndarray, " holder"]:
    holders = labels.holders(label)
    return holders if nodes is None else holders[nodes[holders]]


def _lacking(
    labels: Labels, label: int, nodes: Bool[np.ndarray, " node"] | None
) -> Int64[np.ndarray, " lacking"]:
    lacking = labels.states(np.arange(labels.num_nodes), label) == LACKS
    return np.flatnonzero(lacking if nodes is None else lacking & nodes)


def _num_lacking(labels: Labels, label: int, nodes: Bool[np.ndarray, " node"] | None = None) -> int:
    return labels.num_known(label, nodes) - len(_holders(labels, label, nodes))


def too_few_holders(
    labels: Labels,
    candidates: Sequence[int] | Int64[np.ndarray, " candidate"],
    shape: TaskShape,
    *,
    asked: Bool[np.ndarray, " node"] | None = None,
) -> LabelError:
    """The error that no candidate is usable, with the counts that would be needed."""
    held = sorted(
        ((int(labels.num_holders[label]), labels.names[label]) for label in candidates),
        reverse=True,
    )
    best = ", ".join(f"{name!r} ({count})" for count, name in held[:5]) or "none"
    sides = "" if asked is None else f" from {int(asked.sum()):,} nodes asked about and the rest"
    return LabelError(
        f"no label can be used: a task takes {shape.positives} + {shape.query_positives} holders "
        f"(support + query){sides}, so a label needs at least {shape.num_positives + 1} holders "
        f"and {shape.num_negatives} nodes known to lack it; the most held of {len(held)} labels: "
        f"{best}. Ask for fewer positives or negatives (--positives and "
        "--negatives, or --set positives=…), or give more labelled nodes"
    )
