"""Batches of pairs: complete passes, by number, with negatives by degree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Int64
from scipy.stats import chisquare

from graphs import hand_made
from metatne.graph.store import Graph
from metatne.sampling.pairs import (
    Pairs,
    PairSampler,
    _guide_to_nodes,
    _look_up_edges,
    shuffled,
)

IMPROBABLE = 1e-4
"""Seeds are fixed, so a sound sampler passes always; a wrong one is off by far more."""

STAR = [("hub", leaf) for leaf in "abcdefgh"] + [("a", "b"), ("b", "c")]


@pytest.fixture
def star() -> Graph:
    return hand_made(STAR, nodes=["hub", *"abcdefgh", "hermit"])


def sampler_of(graph: Graph, batch_size: int, seed: int = 0) -> PairSampler:
    return PairSampler(graph, batch_size=batch_size, num_negatives=3, seed=seed)


def directed_edges(graph: Graph) -> Counter[tuple[int, int]]:
    adjacency = graph.adjacency().tocoo()
    return Counter(zip(adjacency.row.tolist(), adjacency.col.tolist(), strict=True))


def pairs_of(*batches: Pairs) -> list[tuple[int, int]]:
    return [
        pair
        for batch in batches
        for pair in zip(batch.nodes.tolist(), batch.neighbours.tolist(), strict=True)
    ]


@given(size=st.integers(1, 3_000), key=st.integers(0, 2**63 - 1))
@settings(max_examples=150, deadline=None)
def test_shuffled_is_a_permutation(size: int, key: int) -> None:
    assert np.array_equal(np.sort(shuffled(np.arange(size), size, key)), np.arange(size))


@given(size=st.integers(1, 2**40), key=st.integers(0, 2**63 - 1), data=st.data())
@settings(max_examples=50, deadline=None)
def test_shuffled_places_one_by_one_or_together(size: int, key: int, data: st.DataObject) -> None:
    """Of a pass that would not fit into memory any part can be asked for."""
    places = np.array(
        data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20, unique=True))
    )
    together = shuffled(places, size, key)
    assert together.tolist() == [
        int(shuffled(places[[i]], size, key)[0]) for i in range(len(places))
    ]
    assert len(set(together.tolist())) == len(places)
    assert together.min() >= 0
    assert together.max() < size


@pytest.mark.parametrize("place", [0, 1, 39])
def test_a_place_may_go_anywhere(place: int) -> None:
    counts = np.bincount([shuffled(np.array([place]), 40, key)[0] for key in range(2_000)])
    assert len(counts) == 40
    assert chisquare(counts).pvalue > IMPROBABLE


def test_neighbours_in_order_are_not_neighbours_in_the_shuffle() -> None:
    order = shuffled(np.arange(1_000), 1_000, key=1)
    assert abs(np.corrcoef(order, np.arange(1_000))[0, 1]) < 0.1
    assert np.mean(np.abs(np.diff(order)) <= 10) < 0.05


@pytest.mark.parametrize("batch_size", [1, 7, 20, 33, 100])
def test_a_pass_has_every_directed_edge_once(star: Graph, batch_size: int) -> None:
    num_entries = 2 * len(STAR)
    sampler = sampler_of(star, batch_size)
    num_passes = 5
    num_batches = -(-num_passes * num_entries // batch_size)
    pairs = pairs_of(*(sampler.batch(number) for number in range(num_batches)))
    for each in range(num_passes):
        seen = pairs[each * num_entries : (each + 1) * num_entries]
        assert Counter(seen) == directed_edges(star)


@given(st.lists(st.integers(0, 5) | st.integers(0, 40), min_size=1, max_size=60), st.data())
@settings(max_examples=60, deadline=None)
def test_an_entry_is_of_the_node_whose_row_it_is_in(
    degrees: list[int], data: st.DataObject
) -> None:
    """Also beside rows without entries, and with rows far longer than the mean."""
    indptr = np.concatenate(([0], np.cumsum([*degrees, 1])))
    num_entries = int(indptr[-1])
    entries = np.arange(num_entries)
    nodes, contexts = np.empty(num_entries, np.int64), np.empty((num_entries, 1), np.int64)
    neighbours = np.array(data.draw(st.permutations(range(num_entries))))
    guide = _guide_to_nodes(indptr)
    _look_up_edges(entries, indptr, neighbours, guide, nodes, contexts)
    assert np.array_equal(nodes, np.repeat(np.arange(len(degrees) + 1), np.diff(indptr)))
    assert np.array_equal(contexts[:, 0], neighbours)
    assert len(guide) <= len(degrees) + 3


def test_a_batch_is_the_same_whenever_it_is_asked_for(star: Graph) -> None:
    one, other = sampler_of(star, 8), sampler_of(star, 8)
    forwards = {number: one.batch(number) for number in range(12)}
    for number in (11, 3, 3, 0):
        again = other.batch(number)
        assert pairs_of(again) == pairs_of(forwards[number])
        assert np.array_equal(again.negatives, forwards[number].negatives)


def test_passes_batches_and_seeds_differ(star: Graph) -> None:
    sampler = sampler_of(star, 2 * len(STAR))
    first, second = sampler.batch(0), sampler.batch(1)
    other_seed = sampler_of(star, 2 * len(STAR), seed=1).batch(0)
    assert pairs_of(first) != pairs_of(second)
    assert pairs_of(first) != pairs_of(other_seed)
    assert not np.array_equal(first.negatives, second.negatives)
    assert not np.array_equal(first.negatives, other_seed.negatives)


def test_weighted_edges_are_drawn_by_weight() -> None:
    weights = [1.0, 2.0, 3.0, 10.0]
    graph = hand_made([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], weights=weights)
    batch = sampler_of(graph, 40_000).batch(0)
    drawn = Counter(pairs_of(batch))
    adjacency = graph.adjacency().tocoo()
    edges = list(zip(adjacency.row.tolist(), adjacency.col.tolist(), strict=True))
    assert set(drawn) == set(edges)
    expected = adjacency.data / adjacency.data.sum() * 40_000
    assert chisquare([drawn[edge] for edge in edges], expected).pvalue > IMPROBABLE
    again = sampler_of(graph, 40_000).batch(0)
    assert pairs_of(batch) == pairs_of(again)


def assert_negatives_follow(graph: Graph, degrees: Int64[np.ndarray, " node"]) -> None:
    negatives = PairSampler(graph, batch_size=6, num_negatives=10_000, seed=0).batch(3).negatives
    counts = np.bincount(negatives.ravel(), minlength=graph.num_nodes)
    weights = degrees**0.75
    assert counts[weights == 0].sum() == 0
    linked = weights > 0
    expected = weights[linked] / weights.sum() * negatives.size
    assert chisquare(counts[linked], expected).pvalue > IMPROBABLE


def test_negatives_follow_degree_to_three_quarters(star: Graph) -> None:
    assert star.degrees[-1] == 0
    assert_negatives_follow(star, star.degrees)


def test_negatives_of_a_weighted_graph_follow_the_weights() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d")]
    graph = hand_made(edges, weights=[16.0, 1.0, 4.0])
    assert_negatives_follow(graph, np.array([16, 17, 5, 4]))


def test_shapes_of_a_batch(star: Graph) -> None:
    batch = PairSampler(star, batch_size=6, num_negatives=4, seed=0).batch(0)
    assert (batch.nodes.shape, batch.neighbours.shape) == ((6,), (6,))
    assert batch.negatives.shape == (6, 4)
