"""Biased walks: along edges, by weight, and back or away as p and q say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from graphs import hand_made
from metatne.baselines.walks import NO_NODE, biased_walks
from metatne.graph.store import Graph


def walk(
    graph: Graph,
    *,
    length: int = 20,
    walks_per_node: int = 50,
    p: float = 1.0,
    q: float = 1.0,
    seed: int = 0,
) -> np.ndarray:
    return biased_walks(graph, length=length, walks_per_node=walks_per_node, p=p, q=q, seed=seed)


@pytest.fixture
def kite() -> Graph:
    """A triangle a b c with a tail c d e."""
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e")]
    return hand_made(edges, {}, name="kite")


def test_walks_go_along_edges(kite: Graph) -> None:
    walks = walk(kite)
    assert walks.shape == (50 * 5, 20)
    assert np.bincount(walks[:, 0]).tolist() == [50] * 5
    linked = kite.adjacency().toarray() > 0
    for before, after in pairwise(walks.T):
        assert linked[before, after].all()


def test_a_small_p_turns_back(kite: Graph) -> None:
    def share_of_returns(p: float) -> float:
        walks = walk(kite, p=p)
        return float((walks[:, 2:] == walks[:, :-2]).mean())

    assert share_of_returns(0.1) > 0.7 > 0.5 > share_of_returns(10.0)


@pytest.mark.parametrize(("p", "q"), [(0.25, 4.0), (4.0, 0.25), (1.0, 2.0)])
def test_second_steps_have_their_chances(kite: Graph, p: float, q: float) -> None:
    """From a over c: back to a with 1 / p, to the common neighbour b with 1, to d with 1 / q."""
    walks = walk(kite, p=p, q=q, length=3, walks_per_node=20_000)
    a, b, c, d = (kite.node_ids.positions([name])[0] for name in "abcd")
    third = walks[(walks[:, 0] == a) & (walks[:, 1] == c), 2]
    weights = np.array([1 / p, 1.0, 1 / q])
    found = np.array([(third == node).mean() for node in (a, b, d)])
    np.testing.assert_allclose(found, weights / weights.sum(), atol=0.015)


def test_heavy_edges_are_taken_more_often() -> None:
    graph = Graph.from_edges([("hub", "x", 1.0), ("hub", "y", 3.0), ("hub", "z", 6.0)])
    walks = walk(graph, length=2, walks_per_node=20_000)
    hub = graph.node_ids.positions(["hub"])[0]
    second = walks[walks[:, 0] == hub, 1]
    others = [graph.node_ids.positions([name])[0] for name in "xyz"]
    shares = [(second == node).mean() for node in others]
    np.testing.assert_allclose(shares, [0.1, 0.3, 0.6], atol=0.015)


def test_a_node_without_neighbours_stays_alone() -> None:
    graph = hand_made([("a", "b")], nodes=["a", "b", "lonely"])
    walks = walk(graph, walks_per_node=1)
    lonely = graph.node_ids.positions(["lonely"])[0]
    (alone,) = walks[walks[:, 0] == lonely].tolist()
    assert alone == [lonely] + [NO_NODE] * 19


def test_the_seed_and_not_the_threads_decide(kite: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    one = walk(kite)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert np.array_equal(walk(kite), one)
    assert not np.array_equal(walk(kite, seed=1), one)
