"""The walk over a graph and its labels, as a matrix that is never written down.

Each known label joins the graph as one more node, linked to its holders. With A the adjacency
of nodes and labels together and D its degrees, the walk is P = D^-1 A, or two such steps at once.
A product with P adds up rows, so it needs no copy of the adjacency, weighted or not: a stored graph
is read where it lies.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float32, Int64, Integer

from metatne.compiled import compiled
from metatne.graph.label_pairs import LabelPairs
from metatne.graph.store import Graph
from metatne.parallel import in_threads

DEGREE_SHARE = 0.1
"""Share of the mean degree that is added to every degree. Without it each small component
has an eigenvalue of 1, and in a graph of many pieces the pieces use up all dimensions."""

LABEL_SHARE = 0.3
"""Weight of a link to a label, in mean degrees: what a label says against what links say."""

LINKS_PER_PIECE = 65_536

Block = Float32[np.ndarray, "row column"]
"""A vector a column; a row for each node, then for each known label."""


class Adjacency(NamedTuple):
    """A graph's edges alone: what is left of it in a model."""

    indptr: Int64[np.ndarray, " bounds"]
    indices: Integer[np.ndarray, " entry"]
    weights: Float32[np.ndarray, " weight"]
    """Of the entries; empty where all weigh the same."""

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The edges of this graph, where they lie."""
        weights = np.empty(0, dtype=np.float32) if graph.weights is None else graph.weights
        return cls(graph.indptr, graph.indices, weights)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.indptr) - 1

    def neighbours(self, node: int) -> Integer[np.ndarray, " neighbour"]:
        """The neighbours of a node, ascending."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]


class Walk:
    """P over nodes and known labels; `degrees` are D's, with their share of the mean."""

    def __init__(
        self,
        adjacency: Adjacency,
        holds: LabelPairs | None = None,
        *,
        stride: int = 1,
    ) -> None:
        """Over these nodes, and over the labels that they hold if they are to take part.

        With a stride of 2 every step is two of them: P is (D^-1 A)^2.
        """
        if stride not in (1, 2):
            raise ValueError(f"stride: expected 1 or 2, found {stride}")
        if holds is None:
            nothing = np.empty(0, dtype=np.int64)
            holds = LabelPairs.of(nothing, nothing, 0, adjacency.num_nodes)
        self._stride = stride
        self.num_rows = adjacency.num_nodes + len(holds.counts)
        self._links = links = _links_of(adjacency, holds)
        self._pieces = _even_pieces(links)
        self._inverse_degrees = np.ones(self.num_rows, dtype=np.float32)
        ones = np.ones((self.num_rows, 1), dtype=np.float32)
        sums = np.zeros_like(ones)
        self._step(ones, ones, sums, (1, 0, 0))  # with D = 1 for now, P is A
        self.is_linked = sums[:, 0] > 0
        degrees = sums[:, 0].astype(np.float64)
        # Without a single link P is 0, whatever D is.
        self.degrees = degrees + DEGREE_SHARE * (degrees.mean() or 1.0)
        self._inverse_degrees = (1 / self.degrees).astype(np.float32)

    @property
    def lowest(self) -> float:
        """No eigenvalue of P is below it."""
        return -1.0 if self._stride == 1 else 0.0

    @cached_property
    def return_chances(self) -> Float32[np.ndarray, " node"]:
        """How likely one is back after two single steps, over links between nodes."""
        chances = np.zeros(len(self._links.indptr) - 1, dtype=np.float32)
        _add_returns(self._links, self._inverse_degrees, chances)
        return chances

    def combine(
        self,
        block: Block,
        out: Block,
        *,
        of_product: float = 1.0,
        of_block: float = 0.0,
        of_out: float = 0.0,
    ) -> None:
        """Make `out` of_product * P block + of_block * block + of_out * out."""
        halfway = block
        if self._stride == 2:
            halfway = np.zeros_like(block)
            self._step(block, block, halfway, (1, 0, 0))
        self._step(halfway, block, out, (of_product, of_block, of_out))

    def _step(
        self, block: Block, kept: Block, out: Block, factors: tuple[float, float, float]
    ) -> None:
        """Make `out` D^-1 A block, kept and out, each times its factor."""
        by = np.array(factors, dtype=np.float32)

        def work(rows: slice) -> None:
            _combine_rows(
                rows.start, rows.stop, self._links, self._inverse_degrees, by, block, kept, out
            )

        in_threads(work, self._pieces)


class _Links(NamedTuple):
    """Who is linked to whom: a node to its neighbours and labels, a label to its holders."""

    indptr: Int64[np.ndarray, " bounds"]
    indices: Integer[np.ndarray, " entry"]
    weights: Float32[np.ndarray, " weight"]
    """Of the entries; empty where all weigh the same."""

    unit: np.float32
    """What a weight is multiplied by: in mean weights, no scale of them is too large."""

    held_indptr: Int64[np.ndarray, " bounds"]
    held: Integer[np.ndarray, " pair"]
    holders_indptr: Int64[np.ndarray, " label_bounds"]
    holders: Integer[np.ndarray, " pair"]
    label_weight: np.float32


def _links_of(adjacency: Adjacency, holds: LabelPairs) -> _Links:
    num_nodes, weights = adjacency.num_nodes, adjacency.weights
    held = sp.csc_array(
        (np.ones(len(holds), dtype=np.int8), holds.nodes, holds.indptr),
        shape=(num_nodes, len(holds.counts)),
    ).tocsr()
    for array in adjacency:
        array.flags.writeable = False  # as a graph's are: one type of arrays to compile for
    return _Links(
        indptr=adjacency.indptr,
        indices=adjacency.indices,
        weights=weights,
        unit=np.float32(1 / weights.mean(dtype=np.float64) if len(weights) else 1),
        held_indptr=held.indptr.astype(np.int64),
        held=held.indices.astype(np.int32),
        holders_indptr=holds.indptr,
        holders=holds.nodes,
        label_weight=np.float32(LABEL_SHARE * len(adjacency.indices) / max(num_nodes, 1)),
    )


def _even_pieces(links: _Links) -> list[slice]:
    """Runs of rows with about LINKS_PER_PIECE links each; a row counts as one more."""
    counts = np.concatenate(
        (np.diff(links.indptr) + np.diff(links.held_indptr), np.diff(links.holders_indptr))
    )
    ends = np.cumsum(counts + 1)
    last = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(LINKS_PER_PIECE, last, LINKS_PER_PIECE), side="right")
    bounds = np.unique(np.concatenate(([0], cuts, [len(counts)]))).tolist()
    return [slice(*pair) for pair in pairwise(bounds)]


@compiled
def _combine_rows(
    first: int,
    last: int,
    links: _Links,
    inverse_degrees: Float32[np.ndarray, " row"],
    factors: Float32[np.ndarray, " three"],
    block: Block,
    kept: Block,
    out: Block,
) -> None:
    num_nodes, num_columns = len(links.indptr) - 1, block.shape[1]
    of_product, of_kept, of_out = factors
    label_rows = block[num_nodes:]
    total = np.empty(num_columns, dtype=np.float32)
    from_labels = np.empty(num_columns, dtype=np.float32)
    for row in range(first, last):
        total[:] = 0
        from_labels[:] = 0
        if row < num_nodes:
            begin, end = links.indptr[row], links.indptr[row + 1]
            if len(links.weights):
                _add_weighted_rows(block, links, begin, end, total)
            else:
                _add_rows(block, links.indices, begin, end, total)
            begin, end = links.held_indptr[row], links.held_indptr[row + 1]
            _add_rows(label_rows, links.held, begin, end, from_labels)
        else:
            label = row - num_nodes
            begin, end = links.holders_indptr[label], links.holders_indptr[label + 1]
            _add_rows(block, links.holders, begin, end, from_labels)
        share = of_product * inverse_degrees[row]
        for column in range(num_columns):
            product = share * (total[column] + links.label_weight * from_labels[column])
            rest = of_kept * kept[row, column] + of_out * out[row, column]
            out[row, column] = product + rest


@compiled
def _add_returns(
    links: _Links,
    inverse_degrees: Float32[np.ndarray, " row"],
    chances: Float32[np.ndarray, " node"],
) -> None:
    for node in range(len(chances)):
        total = np.float32(0)
        for entry in range(links.indptr[node], links.indptr[node + 1]):
            weight = links.unit * links.weights[entry] if len(links.weights) else np.float32(1)
            total += weight * weight * inverse_degrees[links.indices[entry]]
        chances[node] = total * inverse_degrees[node]


@compiled
def _add_rows(
    block: Block,
    rows: Integer[np.ndarray, " entry"],
    begin: int,
    end: int,
    total: Float32[np.ndarray, " column"],
) -> None:
    """Add the block's rows `rows[begin:end]`, four at a time: `total` is written less often."""
    entry = begin
    while entry + 4 <= end:
        a, b, c, d = rows[entry], rows[entry + 1], rows[entry + 2], rows[entry + 3]
        for column in range(len(total)):
            total[column] += (block[a, column] + block[b, column]) + (
                block[c, column] + block[d, column]
            )
        entry += 4
    for rest in range(entry, end):
        for column in range(len(total)):
            total[column] += block[rows[rest], column]


@compiled
def _add_weighted_rows(
    block: Block, links: _Links, begin: int, end: int, total: Float32[np.ndarray, " column"]
) -> None:
    for entry in range(begin, end):
        weight, neighbour = links.unit * links.weights[entry], links.indices[entry]
        for column in range(len(total)):
            total[column] += weight * block[neighbour, column]
