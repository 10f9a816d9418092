"""Pairs (node, neighbour) with negatives, batch by batch, for the structural module."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt64

from metatne.graph.store import Graph
from metatne.seeding import derive_seed, numpy_generator

NEGATIVE_EXPONENT = 0.75
_ROUNDS = 4


@dataclass(frozen=True)
class Pairs:
    """A batch: node i, a 1-hop neighbour j, and nodes drawn from degree ** 0.75."""

    nodes: Int64[np.ndarray, " pair"]
    neighbours: Int64[np.ndarray, " pair"]
    negatives: Int64[np.ndarray, "pair negative"]


class PairSampler:
    """Batches of pairs by number: batch k is the same whenever and wherever it is asked for.

    Unweighted graphs are passed over in shuffled order, both directions of every edge once
    a pass. In weighted graphs an edge is drawn in proportion to its weight.
    """

    def __init__(self, graph: Graph, *, batch_size: int, num_negatives: int, seed: int) -> None:
        self.batch_size = batch_size
        self.num_negatives = num_negatives
        self.seed = seed
        self._indptr, self._indices = graph.indptr, graph.indices
        self._num_entries = len(graph.indices)
        if graph.weights is None:
            self._weight_sums = None
            degrees = np.diff(graph.indptr).astype(np.float64)
        else:
            # sums[e] is the weight of the entries before e, so a row's degree is a difference.
            self._weight_sums = np.concatenate(([0.0], np.cumsum(graph.weights, dtype=np.float64)))
            degrees = np.diff(self._weight_sums[graph.indptr])
        self._negative_sums = np.cumsum(degrees**NEGATIVE_EXPONENT)

    def batch(self, number: int) -> Pairs:
        """Batch `number`, counted from 0 over all passes."""
        generator = numpy_generator(self.seed, "pairs", number)
        if self._weight_sums is None:
            entries = self._shuffled_entries(number)
        else:
            draws = generator.random(self.batch_size) * self._weight_sums[-1]
            entries = np.searchsorted(self._weight_sums, draws, side="right") - 1
            entries = np.minimum(entries, self._num_entries - 1)
        draws = generator.random((self.batch_size, self.num_negatives)) * self._negative_sums[-1]
        negatives = np.searchsorted(self._negative_sums, draws, side="right")
        return Pairs(
            nodes=np.searchsorted(self._indptr, entries, side="right") - 1,
            neighbours=self._indices[entries].astype(np.int64),
            negatives=np.minimum(negatives, len(self._negative_sums) - 1),
        )

    def _shuffled_entries(self, number: int) -> Int64[np.ndarray, " pair"]:
        """The adjacency entries of a batch; each pass over them has an order of its own."""
        places = np.arange(number * self.batch_size, (number + 1) * self.batch_size)
        passes, places = np.divmod(places, self._num_entries)
        entries = np.empty(self.batch_size, dtype=np.int64)
        for each in np.unique(passes):
            here = passes == each
            key = derive_seed(self.seed, "pass", int(each))
            entries[here] = shuffled(places[here], self._num_entries, key)
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
    results = _feistel(places.astype(np.uint64), half, key)
    while (outside := results >= size).any():
        results[outside] = _feistel(results[outside], half, key)
    return results.astype(np.int64)


def _feistel(
    values: UInt64[np.ndarray, " place"], half: int, key: int
) -> UInt64[np.ndarray, " place"]:
    mask, shift = np.uint64((1 << half) - 1), np.uint64(half)
    left, right = values >> shift, values & mask
    for round_ in range(_ROUNDS):
        round_key = np.uint64(derive_seed(key, "feistel", round_))
        left, right = right, left ^ (_mix(right ^ round_key) & mask)
    return (left << shift) | right


def _mix(values: UInt64[np.ndarray, " place"]) -> UInt64[np.ndarray, " place"]:
    """Spread every bit over the word (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
