"""What is known of every node: its place in the graph, its labels, and those around it.

The description is cut into *blocks*, each of which will get a weight of its own. Whatever is made
of known labels keeps a column a label, so that a task's own label can be taken out: its column
goes before rows are brought to length 1, since a row's length would give it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int8, Int64

from metatne.config import HeadPart
from metatne.evidence.expected import expected_by_place, expected_labels
from metatne.evidence.place import Place, of_length_one, place_of, rounded
from metatne.evidence.reach import Reach
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.graph.walk import Adjacency, Walk

COARSE_DIM = 32
NUM_HOPS = 3
LABEL_TABLES = NUM_HOPS + 2
"""Tables of numbers with a column a label: around at every hop, and two of what is expected."""

MAX_LABEL_COLUMNS = 256
LABEL_FLOATS = 500_000_000
"""Numbers that the blocks of labels may have in all; on a large graph the labels that most
nodes hold stand for the others."""

NO_LABEL = -1
"""Where a task's label is none of the known ones."""

Nodes = Int64[np.ndarray, "task token"]
Masked = Int64[np.ndarray, " task"]
Rows = Float32[np.ndarray, "node column"]


def nobody(num_tasks: int) -> Masked:
    """For tasks whose labels are none of the known ones: nothing to mask."""
    return np.full(num_tasks, NO_LABEL, dtype=np.int64)


class Block(NamedTuple):
    """A part of the description: columns of a table, as they are or of length 1."""

    name: str
    part: HeadPart
    table: str
    is_of_labels: bool = True
    is_of_length_one: bool = False
    is_mixed: bool = False
    """Whether its columns are also held against those of the other mixed blocks: of labels alone,
    which have the same columns."""

    num_columns: int | None = None


OWN = (
    Block("own labels", "own labels", "held"),
    Block("own labels, of length 1", "own labels", "held", is_of_length_one=True, is_mixed=True),
)
"""Blocks that a node has only if somebody looked at its labels."""

OTHERS = (
    Block("place", "place", "place", is_of_labels=False),
    Block(
        "region",
        "place",
        "place",
        is_of_labels=False,
        is_of_length_one=True,
        num_columns=COARSE_DIM,
    ),
    Block("labels 1 step away", "labels around", "around1"),
    Block(
        "labels 1 step away, of length 1",
        "labels around",
        "around1",
        is_of_length_one=True,
        is_mixed=True,
    ),
    Block(
        "labels 2 steps away, of length 1",
        "labels around",
        "around2",
        is_of_length_one=True,
        is_mixed=True,
    ),
    Block("labels 3 steps away, of length 1", "labels around", "around3", is_of_length_one=True),
    Block("expected labels", "expected labels", "expected"),
    Block(
        "expected labels, of length 1",
        "expected labels",
        "expected",
        is_of_length_one=True,
        is_mixed=True,
    ),
    Block("degree", "degree", "degree", is_of_labels=False),
    # The last, as the youngest: models of before get it at their end.
    Block(
        "labels expected by place, of length 1",
        "expected by place",
        "by_place",
        is_of_length_one=True,
        is_mixed=True,
    ),
)


def mixed_places(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Where the mixed ones are."""
    return tuple(place for place, block in enumerate(blocks) if block.is_mixed)


@dataclass(frozen=True)
class Description:
    """Tables with a row a node; those of labels have a column for each of `columns`."""

    columns: Int64[np.ndarray, " column"]
    """The labels that take part, by their position in the graph."""

    states: Int8[np.ndarray, "node column"]
    """Whether the node holds the label, lacks it, or it is not known."""

    place: Place
    """In the leading eigenvectors of the graph."""

    around: Float32[np.ndarray, "hop node column"]
    """What the known labels 1, 2, 3 steps away have more than all nodes have on average."""

    expected: Float32[np.ndarray, "node column"]
    """What place and surroundings let one expect of the node's own labels."""

    by_place: Float32[np.ndarray, "node column"]
    """What the place alone lets one expect: what labels make of it, one direction a label."""

    degree: Float32[np.ndarray, " node"]
    """Its logarithm, of mean 0 and variance 1."""

    around_known: Float32[np.ndarray, " node"]
    """Share of the neighbours whose labels are known, less where there are few neighbours."""

    share: Float32[np.ndarray, " column"]
    """Of the nodes of which it is known, those that hold the label."""

    rarity: Float32[np.ndarray, " column"]
    """What a held label counts: the inverse root of the share of nodes that hold it."""

    is_known_by_holding: bool
    """Whether a node counts as annotated only if it holds something."""

    reach: Reach
    """What no table has: walks from whatever examples there will be."""

    @property
    def num_nodes(self) -> int:
        """Of the graph."""
        return len(self.place.rows)

    @cached_property
    def is_annotated(self) -> Bool[np.ndarray, " node"]:
        """Whether anything is known of a node's labels."""
        annotated: Bool[np.ndarray, " node"] = (self.states != UNKNOWN).any(axis=1)
        return annotated

    def block(self, block: Block, nodes: Nodes, masked: Masked) -> Float[np.ndarray, "*any"]:
        """The rows of a block for the nodes of some tasks, each without its task's own label."""
        rows = self._table(block.table, nodes)[..., : block.num_columns]
        if block.is_of_labels:
            rows = rows * self.unmasked(masked)
        return of_length_one(rows) if block.is_of_length_one else rows

    def unmasked(self, masked: Masked) -> Float32[np.ndarray, "task 1 column"]:
        """0 in the column of a task's own label, where it has one; else 1."""
        kept = np.ones((len(masked), 1, len(self.columns)), dtype=np.float32)
        (own,) = np.nonzero(masked != NO_LABEL)
        kept[own, 0, masked[own]] = 0
        return kept

    def annotated(self, nodes: Nodes, masked: Masked) -> Bool[np.ndarray, "task token"]:
        """Whether anything is known of the nodes' labels besides their task's own."""
        states = self.states[nodes]
        tells = states == HOLDS if self.is_known_by_holding else states != UNKNOWN
        told: Bool[np.ndarray, "task token"] = (tells & (self.unmasked(masked) > 0)).any(axis=2)
        return told

    def traits(self, nodes: Nodes, masked: Masked) -> Float32[np.ndarray, "task token trait"]:
        """A few numbers that say how likely a node is to hold any label at all (`TRAITS`)."""
        kept = self.unmasked(masked)
        held = ((self.states[nodes] == HOLDS) * kept).sum(axis=2)
        is_annotated = self.annotated(nodes, masked)
        width = np.sqrt(max(len(self.columns), 1))
        degree = self.degree[nodes]
        traits = (
            (held == 0) & is_annotated,  # of what is known
            np.log1p(held),
            degree,
            degree**2 - 1,
            (self.around[0][nodes] * kept).sum(axis=2) / width,
            (self.expected[nodes] * kept).sum(axis=2) / width,
            self.around_known[nodes],
        )
        return np.stack([np.asarray(trait, dtype=np.float32) for trait in traits], axis=-1)

    def _table(self, name: str, nodes: Nodes) -> Float32[np.ndarray, "task token column"]:
        if name == "held":
            states = self.states[nodes]
            # What is unknown is taken to be as common as among the others: neither for nor against.
            held = np.where(states == UNKNOWN, self.share, states == HOLDS)
            return np.asarray(held * self.rarity)
        if name == "degree":
            return np.asarray(self.degree[nodes][..., None])
        if name == "place":
            return np.asarray(self.place.rows[nodes])
        table: np.ndarray = (
            self.around[int(name.removeprefix("around")) - 1]
            if name.startswith("around")
            else getattr(self, name)
        )
        return np.asarray(table[nodes])


TRAITS: tuple[tuple[str, HeadPart], ...] = (
    ("holds no known label", "own labels"),
    ("number of known labels", "own labels"),
    ("degree", "degree"),
    ("degree, squared", "degree"),
    ("labels around", "labels around"),
    ("labels expected", "expected labels"),
    ("share of neighbours whose labels are known", "labels around"),
)
"""Each with the part of the head that it goes with."""

OWN_TRAITS = 2
"""How many of the first traits need the node's own labels."""


def describe(
    graph: Graph,
    known: Int64[np.ndarray, " label"],
    *,
    seed: int,
    hidden: Bool[np.ndarray, " node"] | None = None,
    place: Place | None = None,
    reach: Reach | None = None,
    in_this_order: bool = False,
) -> Description:
    """All that is known, as if the labels of the `hidden` nodes were not.

    `place`, of which labels choose the stride alone, and `reach`, which no label changes, are made
    unless they are given. The known labels with the most holders get a column each; or all of them
    do, `in_this_order`.
    """
    columns = known if in_this_order else _columns(graph, known)
    states = graph.labels.table(columns)
    if hidden is not None:
        states[hidden] = UNKNOWN
    if graph.labels.is_known_by_holding:  # what holds none of these is known by another label
        states[~(states == HOLDS).any(axis=1)] = UNKNOWN
    adjacency = Adjacency.of(graph)
    walk = Walk(adjacency)
    if place is None:  # before the tables of labels take memory
        place = place_of(graph, walk, states, seed=seed)
    is_known = states != UNKNOWN
    num_known = np.maximum(is_known.sum(axis=0), 1)
    share = (states == HOLDS).sum(axis=0) / num_known
    rarity = (1 / np.sqrt(np.maximum(share, 1 / num_known))).astype(np.float32)
    surplus = np.where(is_known, (states == HOLDS) - share, 0) * rarity
    around = _around(walk, surplus.astype(np.float32))
    by_place = expected_by_place(place.rows, states, share)
    is_annotated = is_known.any(axis=1)
    around_known = np.zeros((graph.num_nodes, 1), dtype=np.float32)
    walk.combine(is_annotated.astype(np.float32)[:, None], around_known)
    return Description(
        columns=columns,
        states=states,
        place=place,
        around=rounded(around),
        expected=rounded(expected_labels(by_place, around, states, share) * rarity),
        by_place=rounded(by_place * rarity),
        degree=_standardised(np.log1p(graph.degrees.astype(np.float64))),
        around_known=around_known[:, 0],
        share=share.astype(np.float32),
        rarity=rarity,
        is_known_by_holding=graph.labels.is_known_by_holding,
        reach=reach or Reach.affordable(adjacency),
    )


def _columns(graph: Graph, known: Int64[np.ndarray, " label"]) -> Int64[np.ndarray, " column"]:
    """The known labels that are held, or those of them that most nodes hold, ascending."""
    counts = graph.labels.holds.counts[known]
    most = num_columns(graph.num_nodes, int((counts > 0).sum()))
    return np.sort(known[np.argsort(-counts, kind="stable")][:most])


def num_columns(num_nodes: int, num_labels: int) -> int:
    """Labels that get a column: all, unless they are too many for a graph of this size."""
    room = LABEL_FLOATS // (LABEL_TABLES * max(num_nodes, 1)) + 1
    return min(num_labels, MAX_LABEL_COLUMNS, room)


def _around(
    walk: Walk, surplus: Float32[np.ndarray, "node column"]
) -> Float32[np.ndarray, "hop node column"]:
    around = np.zeros((NUM_HOPS, *surplus.shape), dtype=np.float32)
    before = surplus
    for hop in around:
        walk.combine(before, hop)
        before = hop
    return around


def _standardised(values: Float[np.ndarray, " node"]) -> Float32[np.ndarray, " node"]:
    spread = float(values.std()) or 1.0
    return np.asarray((values - values.mean()) / spread, dtype=np.float32)
