"""Numbers for the nodes: from edges by id to edges by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int32, Int64

from metatne.errors import GraphError
from metatne.graph.loops import loop
from metatne.graph.node_ids import id_array
from metatne.graph.ranks import Ranks
from metatne.graph.raw import NumberedEdges, RawEdges
from metatne.parallel import in_threads

MAX_SPREAD = 2**24
"""Integers that lie within so many may always be ranked by a bit for each: 4 MB."""

PIECE = 2**19


def number_ends(edges: RawEdges) -> NumberedEdges:
    """The same edges by position: integers ascend, strings come as they first appear.

    Sources and targets become strings unless both are integers.
    """
    sources, targets = id_array(edges.sources), id_array(edges.targets)
    num_edges = len(sources)
    if num_edges != len(targets):
        raise GraphError(f"{num_edges:,} edge sources do not pair with {len(targets):,} targets")
    if edges.weights is not None and len(edges.weights) != num_edges:
        raise GraphError(f"{num_edges:,} edges need as many weights, not {len(edges.weights):,}")
    if sources.null_count or targets.null_count:
        is_null = np.asarray(pc.is_null(sources)) | np.asarray(pc.is_null(targets))
        raise GraphError(f"edge {np.flatnonzero(is_null)[0] + 1} has no source or no target")
    if sources.type != targets.type:
        sources, targets = sources.cast(pa.large_string()), targets.cast(pa.large_string())
    weights = None if edges.weights is None else [edges.weights]
    ends = np.empty((num_edges, 2), dtype=np.int32)
    if not num_edges:
        ids = sources
    elif pa.types.is_int64(sources.type):
        ids = _number_integers(sources, targets, ends)
    else:
        ids = _number_texts(sources, targets, ends)
    return NumberedEdges(ids, [ends], weights, edges.is_directed, edges.nodes)


def _number_integers(sources: Any, targets: Any, ends: Int32[np.ndarray, "edge 2"]) -> Any:
    columns = sources.to_numpy(), targets.to_numpy()
    low = min(int(column.min()) for column in columns)
    high = max(int(column.max()) for column in columns)
    if high - low < max(MAX_SPREAD, 8 * len(ends)):
        ranks = Ranks(low, high, [piece for column in columns for piece in _pieces([column])])
        for end, column in enumerate(columns):
            ranks.rank(column, ends[:, end])
        return pa.array(ranks.members())
    return sort_integers(_encode(sources, targets, ends), [ends])


def _number_texts(sources: Any, targets: Any, ends: Int32[np.ndarray, "edge 2"]) -> Any:
    found = _encode(sources, targets, ends)
    return found.take(pa.array(_number_by_appearance([ends], len(found))))


def _encode(sources: Any, targets: Any, ends: Int32[np.ndarray, "edge 2"]) -> Any:
    """The distinct ids in any order; `ends` has their places among them."""
    encoded = pa.chunked_array([sources, targets]).dictionary_encode().unify_dictionaries()
    for end in range(2):
        ends[:, end] = encoded.chunk(end).indices.to_numpy()
    return encoded.chunk(0).dictionary


def sort_integers(ids: Any, ends: Sequence[Int32[np.ndarray, "_edge 2"]]) -> Any:
    """Integer ids in ascending order; `ends`, places among them, are renumbered."""
    order = np.argsort(ids.to_numpy())
    renumber(ends, _inverse(order))
    return ids.take(pa.array(order))


def as_text(edges: NumberedEdges) -> NumberedEdges:
    """The same edges with text for ids, and so in the order of their first appearance."""
    nodes = None if edges.nodes is None else id_array(edges.nodes).cast(pa.large_string())
    if not pa.types.is_int64(edges.ids.type):
        return replace(edges, nodes=nodes)
    order = _number_by_appearance(edges.ends, len(edges.ids))
    ids = edges.ids.cast(pa.large_string()).take(pa.array(order))
    return replace(edges, ids=ids, nodes=nodes)


def renumber(
    ends: Sequence[Int32[np.ndarray, "_edge 2"]], number: Int64[np.ndarray, " node"]
) -> None:
    """Replace every end by its number, in place."""

    def work(piece: Int32[np.ndarray, "edge 2"]) -> None:
        piece[...] = number[piece]

    if not np.array_equal(number, np.arange(len(number))):
        in_threads(work, _pieces(ends))


def rank_integers(ends: Sequence[Int32[np.ndarray, "_edge 2"]]) -> Any:
    """The integers in `ends`, ascending, as ids; each end becomes its place among them."""
    pieces = list(_pieces(ends))
    low = min(int(low) for low in in_threads(np.min, pieces))
    high = max(int(high) for high in in_threads(np.max, pieces))
    ranks = Ranks(low, high, pieces)
    if len(ranks) == high + 1:
        return pa.array(ranks.members())  # 0 … n-1, which are their own ranks
    in_threads(lambda piece: ranks.rank(piece, piece), pieces)
    return pa.array(ranks.members())


def _pieces(arrays: Sequence[Any]) -> Iterator[Any]:
    """Views of the arrays that keep a thread busy for some milliseconds each."""
    for array in arrays:
        yield from (array[start : start + PIECE] for start in range(0, len(array), PIECE))


def _inverse(order: Int64[np.ndarray, " node"]) -> Int64[np.ndarray, " node"]:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse


def _number_by_appearance(
    ends: Sequence[Int32[np.ndarray, "_edge 2"]], num_nodes: int
) -> Int64[np.ndarray, " node"]:
    """Renumber the nodes as they come along the lines; the old number of each new one."""
    number = np.full(num_nodes, -1, dtype=np.int32)
    num_seen = 0
    for block in ends:
        num_seen = _renumber_along(block, number, num_seen)
    return _inverse(number.astype(np.int64))


@loop
def _renumber_along(
    ends: Int32[np.ndarray, "edge 2"], number: Int32[np.ndarray, " node"], num_seen: int
) -> int:
    for edge in range(len(ends)):
        for end in range(2):
            node = ends[edge, end]
            if number[node] < 0:
                number[node] = num_seen
                num_seen += 1
            ends[edge, end] = number[node]
    return num_seen
