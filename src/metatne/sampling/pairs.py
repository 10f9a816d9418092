"""Pairs (node, neighbour) with negatives, batch by batch, for the structural module."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int32, Int64, Integer, UInt64

from metatne.compiled import compiled
from metatne.graph.store import Graph
from metatne.sampling.alias import alias_table, drawn
from metatne.sampling.bits import bits, mix, unit
from metatne.seeding import derive_seed

NEGATIVE_EXPONENT = 0.75
_ROUNDS = 4


@dataclass(frozen=True)
class Pairs:
    """A batch: node i, then a 1-hop neighbour j and nodes drawn from degree ** 0.75."""

    nodes: Int64[np.ndarray, " pair"]
    contexts: Int64[np.ndarray, "pair context"]

    @property
    def neighbours(self) -> Int64[np.ndarray, " pair"]:
        """The neighbour j of each pair."""
        return self.contexts[:, 0]

    @property
    def negatives(self) -> Int64[np.ndarray, "pair negative"]:
        """What each node is held against."""
        return self.contexts[:, 1:]


class PairSampler:
    """Batches of pairs by number: batch k is the same whenever and wherever it is asked for.

    Unweighted graphs are passed over in shuffled order, both directions of every edge once
    a pass. In weighted graphs an edge is drawn in proportion to its weight. A draw takes a
    few looks into memory, however large the graph is.
    """

    def __init__(self, graph: Graph, *, batch_size: int, num_negatives: int, seed: int) -> None:
        self.batch_size = batch_size
        self.num_negatives = num_negatives
        self.seed = seed
        # A mapped array as a plain one: compiled code knows no other kind.
        self._indptr = np.asarray(graph.indptr)
        self._indices = np.asarray(graph.indices)
        if graph.weights is None:
            degrees = np.diff(graph.indptr).astype(np.float64)
            self._guide = _guide_to_nodes(self._indptr)
        else:
            # sums[e] is the weight of the entries before e, so a row's degree is a difference.
            self._weight_sums = np.zeros(len(self._indices) + 1)
            np.cumsum(graph.weights, out=self._weight_sums[1:])
            degrees = np.diff(self._weight_sums[self._indptr])
            self._nodes_by_weight = alias_table(degrees)
        self._is_weighted = graph.weights is not None
        self._nodes_by_degree = alias_table(degrees**NEGATIVE_EXPONENT)

    def batch(self, number: int) -> Pairs:
        """Batch `number`, counted from 0 over all passes."""
        nodes = np.empty(self.batch_size, dtype=np.int64)
        contexts = np.empty((self.batch_size, 1 + self.num_negatives), dtype=np.int64)
        if self._is_weighted:
            _draw_edges(
                self._key("edges", number),
                *(self._indptr, self._indices, self._nodes_by_weight, self._weight_sums),
                *(nodes, contexts),
            )
        else:
            entries = self._shuffled_entries(number)
            _look_up_edges(entries, self._indptr, self._indices, self._guide, nodes, contexts)
        _draw_negatives(self._key("negatives", number), self._nodes_by_degree, contexts)
        return Pairs(nodes, contexts)

    def _key(self, name: str, number: int) -> np.uint64:
        return np.uint64(derive_seed(self.seed, name, number))

    def _shuffled_entries(self, number: int) -> Int64[np.ndarray, " pair"]:
        """The adjacency entries of a batch; each pass over them has an order of its own."""
        size = len(self._indices)
        entries = np.empty(self.batch_size, dtype=np.int64)
        done = 0
        while done < self.batch_size:
            number_of_pass, place = divmod(number * self.batch_size + done, size)
            places = np.arange(place, min(size, place + self.batch_size - done))
            key = derive_seed(self.seed, "pass", number_of_pass)
            entries[done : done + len(places)] = shuffled(places, size, key)
            done += len(places)
        return entries


def shuffled(
    places: Int64[np.ndarray, " place"], size: int, key: int
) -> Int64[np.ndarray, " place"]:
    """Where a shuffle of range(size), chosen by `key`, puts these places.

    A Feistel network is a bijection on [0, 4 ** half); walking again from results that
    fall outside keeps it one on [0, size). So a pass over a hundred million edges needs
    neither a permutation in memory nor the state of a generator.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    keys = np.array([derive_seed(key, "feistel", r) for r in range(_ROUNDS)], dtype=np.uint64)
    return _walk(places, np.uint64(size), np.uint64(half), keys)


@compiled
def _walk(
    places: Int64[np.ndarray, " place"],
    size: np.uint64,
    half: np.uint64,
    keys: UInt64[np.ndarray, " round"],
) -> Int64[np.ndarray, " place"]:
    mask = (np.uint64(1) << half) - np.uint64(1)
    results = np.empty(len(places), dtype=np.int64)
    for i in range(len(places)):
        value = np.uint64(places[i])
        while True:
            left, right = value >> half, value & mask
            for key in keys:
                left, right = right, left ^ (mix(right ^ key) & mask)
            value = (left << half) | right
            if value < size:
                break
        results[i] = value
    return results


@compiled
def _guide_to_nodes(indptr: Int64[np.ndarray, " bounds"]) -> Int32[np.ndarray, " block"]:
    """The node of every so many-th entry and of the last; as many blocks as nodes, or fewer.

    The node of any entry lies between those of its block's ends: most often it is one of them.
    """
    num_nodes, num_entries = len(indptr) - 1, indptr[-1]
    shift = _shift(num_nodes, num_entries)
    guide = np.empty(((num_entries - 1) >> shift) + 2, dtype=np.int32)
    node = 0
    for block in range(len(guide)):
        entry = min(block << shift, num_entries - 1)
        while indptr[node + 1] <= entry:
            node += 1
        guide[block] = node
    return guide


@compiled
def _shift(num_nodes: int, num_entries: int) -> int:
    """A block of entries has 2 ** shift."""
    shift = 0
    while num_entries >> shift > num_nodes:
        shift += 1
    return shift


@compiled
def _look_up_edges(
    entries: Int64[np.ndarray, " pair"],
    indptr: Int64[np.ndarray, " bounds"],
    indices: Integer[np.ndarray, " entry"],
    guide: Int32[np.ndarray, " block"],
    nodes: Int64[np.ndarray, " pair"],
    contexts: Int64[np.ndarray, "pair context"],
) -> None:
    shift = _shift(len(indptr) - 1, len(indices))
    for pair in range(len(entries)):
        entry = entries[pair]
        block = entry >> shift
        first, last = guide[block], guide[block + 1]
        while first < last:
            middle = (first + last + 1) // 2
            if indptr[middle] <= entry:
                first = middle
            else:
                last = middle - 1
        nodes[pair] = first
        contexts[pair, 0] = indices[entry]


@compiled
def _draw_edges(
    key: np.uint64,
    indptr: Int64[np.ndarray, " bounds"],
    indices: Integer[np.ndarray, " entry"],
    nodes_by_weight: UInt64[np.ndarray, " node"],
    weight_sums: Float64[np.ndarray, " bound"],
    nodes: Int64[np.ndarray, " pair"],
    contexts: Int64[np.ndarray, "pair context"],
) -> None:
    """A node by the weight of its edges, then one of them by its own."""
    for pair in range(len(nodes)):
        node = drawn(nodes_by_weight, bits(key, 2 * pair))
        first, last = indptr[node], indptr[node + 1] - 1
        below, above = weight_sums[first], weight_sums[last + 1]
        target = below + unit(bits(key, 2 * pair + 1)) * (above - below)
        while first < last:
            middle = (first + last + 1) // 2
            if weight_sums[middle] <= target:
                first = middle
            else:
                last = middle - 1
        nodes[pair] = node
        contexts[pair, 0] = indices[first]


@compiled
def _draw_negatives(
    key: np.uint64,
    nodes_by_degree: UInt64[np.ndarray, " node"],
    contexts: Int64[np.ndarray, "pair context"],
) -> None:
    num_pairs, width = contexts.shape
    for pair in range(num_pairs):
        for place in range(1, width):
            contexts[pair, place] = drawn(nodes_by_degree, bits(key, pair * width + place))
