"""Node2vec's second-order random walks, compiled (Grover and Leskovec, 2016)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int32, Int64, Integer

from metatne.compiled import compiled
from metatne.graph.store import Graph
from metatne.parallel import in_threads
from metatne.sampling.bits import bits, unit
from metatne.seeding import derive_seed, numpy_generator

NO_NODE = -1
"""Where a walk has ended before its time, at a node without neighbours."""


def biased_walks(
    graph: Graph, *, length: int, walks_per_node: int, p: float, q: float, seed: int
) -> Int32[np.ndarray, "walk place"]:
    """Walks from every node, so many from each, in the order of a shuffle for each round.

    From a node reached over an edge from another, the walk goes back with weight w / p, to a
    neighbour of both with weight w, and elsewhere with weight w / q, where w is the weight of
    the edge taken. A step is drawn by the edges' weights and refused with the chance that
    makes up for p and q: no table of a node's neighbours' neighbours is ever made.
    """
    indptr = np.asarray(graph.indptr)
    indices = np.asarray(graph.indices)
    weight_sums = np.zeros(1)
    if graph.weights is not None:
        weight_sums = np.concatenate(([0.0], np.cumsum(graph.weights, dtype=np.float64)))

    def walk_round(number: int) -> Int32[np.ndarray, "walk place"]:
        starts = numpy_generator(seed, "walk starts", number).permutation(graph.num_nodes)
        key = np.uint64(derive_seed(seed, "walks", number))
        return _walk(indptr, indices, weight_sums, starts, length, 1 / p, 1 / q, key)

    return np.concatenate(in_threads(walk_round, range(walks_per_node)))


@compiled
def _walk(
    indptr: Int64[np.ndarray, " bound"],
    indices: Integer[np.ndarray, " entry"],
    weight_sums: Float64[np.ndarray, " bound"],
    starts: Int64[np.ndarray, " walk"],
    length: int,
    back: float,
    away: float,
    key: np.uint64,
) -> Int32[np.ndarray, "walk place"]:
    walks = np.full((len(starts), length), NO_NODE, dtype=np.int32)
    largest = max(back, 1.0, away)
    for walk in range(len(starts)):
        counter = walk << 32  # draws that no other walk makes
        node, before = int(starts[walk]), NO_NODE
        walks[walk, 0] = node
        for place in range(1, length):
            if indptr[node] == indptr[node + 1]:
                break
            while True:
                entry = _draw_entry(indptr, weight_sums, node, unit(bits(key, counter)))
                chance = unit(bits(key, counter + 1)) * largest
                counter += 2
                target = int(indices[entry])
                if before == NO_NODE:
                    break
                if target == before:
                    weight = back
                elif chance < min(1.0, away):
                    break  # taken whether or not it is a neighbour of both
                elif _is_linked(indptr, indices, before, target):
                    weight = 1.0
                else:
                    weight = away
                if chance < weight:
                    break
            walks[walk, place] = target
            before, node = node, target
    return walks


@compiled
def _draw_entry(
    indptr: Int64[np.ndarray, " bound"],
    weight_sums: Float64[np.ndarray, " bound"],
    node: int,
    chance: float,
) -> int:
    """An entry of a node's row, by weight; there is just one sum where there are no weights."""
    first, last = indptr[node], indptr[node + 1] - 1
    if len(weight_sums) == 1:
        return int(first) + int(chance * (last + 1 - first))
    target = weight_sums[first] + chance * (weight_sums[last + 1] - weight_sums[first])
    while first < last:
        middle = (first + last + 1) // 2
        if weight_sums[middle] <= target:
            first = middle
        else:
            last = middle - 1
    return int(first)


@compiled
def _is_linked(
    indptr: Int64[np.ndarray, " bound"],
    indices: Integer[np.ndarray, " entry"],
    node: int,
    other: int,
) -> bool:
    first, last = indptr[node], indptr[node + 1]
    while first < last:
        middle = (first + last) // 2
        if indices[middle] < other:
            first = middle + 1
        else:
            last = middle
    return bool(first < indptr[node + 1] and indices[first] == other)
