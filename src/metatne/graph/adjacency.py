"""From edges in any order to sorted rows without repeats, in little more memory than theirs.

An edge is first an entry in the row of its smaller end only: the upper triangle of the
adjacency matrix. There rows are sorted and cleaned in place. Then both halves are laid out
row after row, so that the mirrored half comes out sorted by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64, UInt32, UInt64

from metatne.graph.loops import loop
from metatne.parallel import in_threads, num_threads

MAX_NODES = 2**31
"""A node takes 31 bits of an entry, the direction that its edge was stated in one more."""

WEIGHT_BITS = 32
PIECE = 2**20
"""Edges that a thread takes at a time."""

MAX_SHARES = 4
"""Threads that write to rows: each needs its own place in every row."""

SMALL_ROW = 32  # up to here nothing sorts faster than inserting one by one

Entries = UInt32[np.ndarray, " entry"] | UInt64[np.ndarray, " entry"]
"""The larger end of an edge, then one bit that says whether it was stated first, then the
bits of its weight, where there are weights. Of positive numbers these sort like the numbers."""


@dataclass(frozen=True)
class Adjacency:
    """Neighbours row by row: ascending, both directions, no self-loops."""

    indptr: Int64[np.ndarray, " bounds"]
    indices: Int32[np.ndarray, " entry"]
    weights: Float32[np.ndarray, " entry"] | None

    def with_more_nodes(self, num_nodes: int) -> Adjacency:
        """The same edges, and nodes without any behind the last one."""
        num_added = num_nodes + 1 - len(self.indptr)
        indptr = np.pad(self.indptr, (0, num_added), mode="edge")
        return Adjacency(indptr, self.indices, self.weights)

    def among(self, keep: Bool[np.ndarray, " node"]) -> Adjacency:
        """The edges among the nodes that stay, with the nodes renumbered; in place."""
        number = np.cumsum(keep, dtype=np.int64) - 1
        indptr = np.zeros(int(keep.sum()) + 1, dtype=np.int64)
        weights = np.empty(0, np.float32) if self.weights is None else self.weights
        _drop_nodes(self.indptr, self.indices, weights, keep, number, indptr)
        size = int(indptr[-1])
        if size == len(self.indices):
            return Adjacency(indptr, self.indices, self.weights)
        # A copy, so that the memory of what went is given back.
        left = None if self.weights is None else self.weights[:size].copy()
        return Adjacency(indptr, self.indices[:size].copy(), left)


@dataclass(frozen=True)
class Merged:
    """What became of the edges."""

    adjacency: Adjacency
    num_self_loops: int
    num_duplicates: int
    """Edges stated again in the same direction."""

    num_reciprocal: int
    """Edges stated in both directions."""


def merge_edges(
    ends: list[Int32[np.ndarray, "_edge 2"]],
    weights: list[Float32[np.ndarray, " _edge"]] | None,
    num_nodes: int,
) -> Merged:
    """Each edge once and in both directions; where weights differ, the largest stays.

    Edges come in blocks of any length. The lists are emptied on the way: with the blocks of
    a large graph gone, its rows need hardly more memory than the blocks did.
    """
    num_edges = sum(map(len, ends))
    is_weighted = weights is not None
    entries, stops = _upper_triangle(_pieces(ends, weights), num_nodes, is_weighted)
    ends.clear()
    if weights is not None:
        weights.clear()
    sizes = np.empty(num_nodes, dtype=np.int32)
    shares = _equal_shares(stops)
    num_directed = sum(
        in_threads(lambda rows: int(_clean_rows(*rows, entries, stops, sizes)), shares)
    )
    num_unique = int(sizes.sum(dtype=np.int64))
    return Merged(
        _both_halves(entries, stops, sizes, shares, is_weighted),
        num_self_loops=num_edges - len(entries),
        num_duplicates=len(entries) - num_directed,
        num_reciprocal=num_directed - num_unique,
    )


Piece = tuple[Int32[np.ndarray, "_edge 2"], UInt32[np.ndarray, " _edge"]]
"""Ends of edges, and the bits of their weights where they have any."""


def _pieces(
    ends: list[Int32[np.ndarray, "_edge 2"]], weights: list[Float32[np.ndarray, " _edge"]] | None
) -> list[Piece]:
    bits = [np.empty(0, np.float32)] * len(ends) if weights is None else weights
    return [
        (block[start : start + PIECE], weight[start : start + PIECE].view(np.uint32))
        for block, weight in zip(ends, bits, strict=True)
        for start in range(0, len(block), PIECE)
    ]


def _num_shares() -> int:
    return min(num_threads(), MAX_SHARES)


def _equal_shares(stops: Int64[np.ndarray, " row"]) -> list[tuple[int, int]]:
    """Ranges of rows with about as many entries each."""
    shares = np.linspace(0, stops[-1], _num_shares() + 1)[1:-1]
    bounds = [0, *np.searchsorted(stops, shares).tolist(), len(stops)]
    return list(pairwise(bounds))


def _upper_triangle(
    pieces: list[Piece], num_nodes: int, is_weighted: bool
) -> tuple[Entries, Int64[np.ndarray, " row"]]:
    """Entries by row, in any order within a row, and where each row stops.

    Each share of the edges counts its own entries of every row, so that it knows its places
    in the row, and threads never write to one place.
    """
    shares = [pieces[share :: _num_shares()] for share in range(_num_shares())]
    places = np.zeros((len(shares), num_nodes), dtype=np.int64)

    def count(share: int) -> None:
        for ends, _ in shares[share]:
            _count_entries(ends, places[share])

    in_threads(count, range(len(shares)))
    stops = np.empty(num_nodes, dtype=np.int64)
    _places_from_counts(places, np.zeros(num_nodes, dtype=np.int32), stops)
    dtype = np.uint64 if is_weighted else np.uint32
    entries: Entries = np.empty(int(stops[-1]), dtype=dtype)

    def place(share: int) -> None:
        for ends, weight_bits in shares[share]:
            _place_entries(ends, weight_bits, places[share], entries)

    in_threads(place, range(len(shares)))
    return entries, stops


def _both_halves(
    entries: Entries,
    stops: Int64[np.ndarray, " row"],
    sizes: Int32[np.ndarray, " row"],
    shares: list[tuple[int, int]],
    is_weighted: bool,
) -> Adjacency:
    """The rows of the whole matrix, from the clean rows of its upper triangle."""
    places = np.zeros((len(shares), len(stops)), dtype=np.int64)

    def count(share: int) -> None:
        _count_mirrored(*shares[share], entries, stops, sizes, places[share])

    in_threads(count, range(len(shares)))
    indptr = np.zeros(len(stops) + 1, dtype=np.int64)
    _places_from_counts(places, sizes, indptr[1:])
    indices = np.empty(int(indptr[-1]), dtype=np.int32)
    weights = np.empty(len(indices) if is_weighted else 0, dtype=np.float32)

    def lay_out(share: int) -> None:
        _lay_out(
            *shares[share],
            entries,
            stops,
            sizes,
            places[share],
            indptr[1:],
            indices,
            weights.view(np.uint32),
        )

    in_threads(lay_out, range(len(shares)))
    return Adjacency(indptr, indices, weights if is_weighted else None)


@loop
def _places_from_counts(
    counts: Int64[np.ndarray, "share row"],
    sizes: Int32[np.ndarray, " row"],
    stops: Int64[np.ndarray, " row"],
) -> None:
    """Turn how many entries each share has in a row into where they begin.

    A row has the entries of one share after the other, and at its end `sizes[row]` more.
    """
    place = 0
    for row in range(len(stops)):
        for share in range(len(counts)):
            count = counts[share, row]
            counts[share, row] = place
            place += count
        place += sizes[row]
        stops[row] = place


@loop
def _count_entries(ends: Int32[np.ndarray, "edge 2"], counts: Int64[np.ndarray, " row"]) -> None:
    """Add to the count of each row the edges that have their smaller end there."""
    for edge in range(len(ends)):
        if ends[edge, 0] != ends[edge, 1]:
            counts[min(ends[edge, 0], ends[edge, 1])] += 1


@loop
def _place_entries(
    ends: Int32[np.ndarray, "edge 2"],
    weight_bits: UInt32[np.ndarray, " bits"],
    places: Int64[np.ndarray, " row"],
    entries: Entries,
) -> None:
    """Put the edges where `places` says, and move it on."""
    is_weighted = len(weight_bits) > 0
    for edge in range(len(ends)):
        source, target = np.int64(ends[edge, 0]), np.int64(ends[edge, 1])
        low, high = min(source, target), max(source, target)
        if low != high:
            entry = np.uint64(2 * high + (source > target))
            if is_weighted:
                entry = (entry << np.uint64(WEIGHT_BITS)) | np.uint64(weight_bits[edge])
            entries[places[low]] = entry
            places[low] += 1


@loop
def _node_shift(entries: Entries) -> np.uint64:
    """How many bits of an entry come after its node."""
    return np.uint64(1 if entries.itemsize == 4 else 1 + WEIGHT_BITS)


@loop
def _sort(entries: Entries) -> None:
    if len(entries) > SMALL_ROW:
        entries.sort()
        return
    for place in range(1, len(entries)):
        entry = entries[place]
        gap = place
        while gap > 0 and entries[gap - 1] > entry:
            entries[gap] = entries[gap - 1]
            gap -= 1
        entries[gap] = entry


@loop
def _clean_rows(
    first: int,
    last: int,
    entries: Entries,
    stops: Int64[np.ndarray, " row"],
    sizes: Int32[np.ndarray, " row"],
) -> int:
    """Sort each row and merge its repeats at its start; how many differ in node or direction."""
    shift = _node_shift(entries)
    weight_mask = np.uint64(2**WEIGHT_BITS - 1)
    num_directed = 0
    for row in range(first, last):
        start = stops[row - 1] if row > 0 else 0
        _sort(entries[start : stops[row]])
        size = 0
        stated = np.uint64(0)
        for place in range(start, stops[row]):
            entry = np.uint64(entries[place])
            is_new = size == 0 or entry >> shift != stated >> np.uint64(1)
            num_directed += is_new or entry >> (shift - np.uint64(1)) != stated
            stated = entry >> (shift - np.uint64(1))
            if is_new:
                entries[start + size] = entry
                size += 1
            elif shift > WEIGHT_BITS:
                kept = np.uint64(entries[start + size - 1])
                if entry & weight_mask > kept & weight_mask:
                    entries[start + size - 1] = entry
        sizes[row] = size
    return num_directed


@loop
def _count_mirrored(
    first: int,
    last: int,
    entries: Entries,
    stops: Int64[np.ndarray, " row"],
    sizes: Int32[np.ndarray, " row"],
    counts: Int64[np.ndarray, " row"],
) -> None:
    """Add to the count of each row the entries that rows first … last - 1 have for it."""
    shift = _node_shift(entries)
    for row in range(first, last):
        start = stops[row - 1] if row > 0 else 0
        for place in range(start, start + sizes[row]):
            counts[np.int64(np.uint64(entries[place]) >> shift)] += 1


@loop
def _lay_out(
    first: int,
    last: int,
    entries: Entries,
    stops: Int64[np.ndarray, " row"],
    sizes: Int32[np.ndarray, " row"],
    places: Int64[np.ndarray, " row"],
    row_stops: Int64[np.ndarray, " row"],
    indices: Int32[np.ndarray, " entry"],
    weight_bits: UInt32[np.ndarray, " bits"],
) -> None:
    """Lay out both directions of the entries of rows first … last - 1.

    Mirrored ones go where `places` says: as rows ascend, so do they. A row's own are larger
    than all of these and come at its end.
    """
    shift = _node_shift(entries)
    is_weighted = len(weight_bits) > 0
    for row in range(first, last):
        start = stops[row - 1] if row > 0 else 0
        own = row_stops[row] - sizes[row]
        for rank in range(sizes[row]):
            entry = np.uint64(entries[start + rank])
            high = np.int64(entry >> shift)
            indices[places[high]] = row
            indices[own + rank] = high
            if is_weighted:
                weight_bits[places[high]] = entry
                weight_bits[own + rank] = entry
            places[high] += 1


@loop
def _drop_nodes(
    indptr: Int64[np.ndarray, " bounds"],
    indices: Int32[np.ndarray, " entry"],
    weights: Float32[np.ndarray, " entry"],
    keep: Bool[np.ndarray, " node"],
    number: Int64[np.ndarray, " node"],
    new_indptr: Int64[np.ndarray, " new_bounds"],
) -> None:
    """Move the entries that stay to the front, renumbered; where they go is never ahead."""
    size = 0
    for row in range(len(keep)):
        if not keep[row]:
            continue
        for place in range(indptr[row], indptr[row + 1]):
            if keep[indices[place]]:
                indices[size] = number[indices[place]]
                if len(weights) > 0:
                    weights[size] = weights[place]
                size += 1
        new_indptr[number[row] + 1] = size
