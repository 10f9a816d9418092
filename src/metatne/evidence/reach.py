"""How well walks reach a node from the examples of a label: evidence that hangs on the examples.

All else that is known of a node is a table, made before anybody asks. Where a graph is sparse and
large, no table of some hundred columns says which nodes are near each other; a walk does.

A walk goes on with a chance of DAMPING, to a neighbour at random. *Visits* are how much oftener
walks from a set of examples end at a node than walks from anywhere do: divided by what the degrees
alone would have, so that hubs, where every walk comes by, are nothing special. *Reach* is half the
logarithm of the visits, and 0 where no walk arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from jaxtyping import Float32, Int64

from metatne.graph.walk import Adjacency, Walk

DAMPING = 0.85
FLOOR = 0.1
"""Visits below which nodes differ little: those of a tenth of what the degrees would have."""

MIN_STEPS, MAX_STEPS = 2, 10
BLOCK_FLOATS = 8_000_000
"""Numbers of the sets that walk together, a column each: more of them do not fit a cache."""

MOST_COLUMNS, LEAST_COLUMNS = 128, 8

USUAL_TASKS = 8_000
"""That a training walks for, about: to learn from them, and to read scores by them."""

AFFORDED = 100_000_000_000
"""Additions that all walks of a training may take: a minute or two of one core."""

LEAST_SHARE = 0.125
"""Of the usual tasks: of fewer too little is learned, and such a graph does without walks."""

Sets = Sequence[Int64[np.ndarray, " _"]]
"""Of nodes, each of any size."""


def reach_of(visits: Float32[np.ndarray, "*any"]) -> Float32[np.ndarray, "*any"]:
    """Half the logarithm of visits, above that of none."""
    return np.asarray(0.5 * np.log1p(np.maximum(visits, 0) / FLOOR), dtype=np.float32)


def walking_floats(num_nodes: int) -> int:
    """Numbers of a block of sets that walk together."""
    return num_nodes * _num_columns(num_nodes)


def _num_columns(num_nodes: int) -> int:
    return min(max(BLOCK_FLOATS // max(num_nodes, 1), LEAST_COLUMNS), MOST_COLUMNS)


class Reach:
    """Walks over the edges of one graph; without edges, of which no walk arrives anywhere."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency

    @classmethod
    def affordable(cls, adjacency: Adjacency) -> Self:
        """Over these edges, unless a training could not afford walks there."""
        reach = cls(adjacency)
        return reach if reach.share_of_tasks >= LEAST_SHARE else cls.nowhere(adjacency.num_nodes)

    @classmethod
    def nowhere(cls, num_nodes: int) -> Self:
        """Over no edges."""
        nothing = np.empty(0, dtype=np.int32)
        bounds = np.zeros(num_nodes + 1, dtype=np.int64)
        return cls(Adjacency(bounds, nothing, nothing.astype(np.float32)))

    @property
    def has_walks(self) -> bool:
        """Whether there are edges to walk over."""
        return len(self.adjacency.indices) > 0

    def on(self, adjacency: Adjacency) -> Self:
        """The same over other edges: a head that has learned without walks does without them."""
        return type(self)(adjacency) if self.has_walks else self.nowhere(adjacency.num_nodes)

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self.adjacency)

    @cached_property
    def num_steps(self) -> int:
        """Steps after which walks can be nearly everywhere: fewer in a dense graph."""
        num_nodes, num_entries = self.adjacency.num_nodes, len(self.adjacency.indices)
        mean_degree = max(num_entries / max(num_nodes, 1), 1.5)
        wanted = math.ceil(math.log(max(num_nodes, 2)) / math.log(mean_degree))
        return min(max(wanted, MIN_STEPS), MAX_STEPS)

    @property
    def share_of_tasks(self) -> float:
        """How many of the usual tasks a training can walk for; each has two sets of examples."""
        of_all = 2 * USUAL_TASKS * self.num_steps * len(self.adjacency.indices)
        return min(1.0, AFFORDED / max(of_all, 1))

    def at(
        self, sets: Int64[np.ndarray, "set member"], nodes: Int64[np.ndarray, "set node"]
    ) -> Float32[np.ndarray, "set node"]:
        """Visits that each set pays to nodes of its own."""
        visits = np.zeros(nodes.shape, dtype=np.float32)
        for some, block in self._blocks(list(sets)):
            columns = np.arange(block.shape[1])[:, None]
            visits[some] += block[nodes[some], columns]
        return visits

    def everywhere(
        self, sets: Sets, on_step: Callable[[], None] = lambda: None
    ) -> Float32[np.ndarray, "node set"]:
        """Visits that each set pays to every node; what `on_step` raises ends the walks."""
        visits = np.zeros((self.adjacency.num_nodes, len(sets)), dtype=np.float32)
        for some, block in self._blocks(sets):
            visits[:, some] += block
            on_step()
        return visits

    def _blocks(self, sets: Sets) -> Iterator[tuple[slice, Float32[np.ndarray, "node some"]]]:
        """Parts of the sets, each with what one more step adds to their visits."""
        if not self.has_walks:
            return
        num_nodes = self.adjacency.num_nodes
        size = _num_columns(num_nodes)
        # P D^-1 is symmetric, so walks to the sets are as frequent as walks from them.
        start = (1 - DAMPING) * self._walk.degrees.sum() / self._walk.degrees
        for first in range(0, len(sets), size):
            some = slice(first, first + size)
            block = np.zeros((num_nodes, len(sets[some])), dtype=np.float32)
            for column, members in enumerate(sets[some]):
                block[members, column] = start[members] / max(len(members), 1)
            after = np.zeros_like(block)
            for _ in range(self.num_steps):
                self._walk.combine(block, after, of_product=DAMPING)
                block, after = after, block
                yield some, block
