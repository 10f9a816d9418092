"""The spectral start: eigenvectors of the graph, whoever computes them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from graphs import hand_made
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.spectral import spectral_embeddings


def cosines(graph: Graph, dim: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = spectral_embeddings(graph, dim, seed=0)
    return np.asarray(rows @ rows.T / dim)


def test_rows_are_of_mean_square_one(planted: Graph) -> None:
    rows = spectral_embeddings(planted, 16, seed=0)
    assert rows.shape == (300, 16)
    np.testing.assert_allclose((rows**2).mean(axis=1), 1, rtol=1e-5)


def test_by_hand() -> None:
    """A path a - b - c: the normalised adjacency has the eigenvalues s, 0, -s."""
    graph = hand_made([("a", "b"), ("b", "c")])
    rows = spectral_embeddings(graph, 2, seed=0)
    # Of the two leading vectors the second has eigenvalue 0 and so weighs nothing.
    np.testing.assert_allclose(np.abs(rows), [[0, np.sqrt(2)]] * 3, atol=1e-5)
    assert (rows[:, 1] > 0).all()


def test_circles_of_friends_are_told_apart(friends: Graph) -> None:
    alike = cosines(friends, 2)
    position = {name: friends.node_ids.positions([name])[0] for name in ("anna", "bela", "hans")}
    anna, bela, hans = position.values()
    assert alike[anna, bela] > 0.9
    assert alike[anna, hans] < 0.2


def test_isolated_nodes_start_at_zero() -> None:
    graph = hand_made([("a", "b"), ("b", "c"), ("a", "c")], nodes=["a", "b", "c", "hermit"])
    rows = spectral_embeddings(graph, 3, seed=0)
    assert (rows[3] == 0).all()
    assert (np.abs(rows[:3]).max(axis=1) > 0).all()


def test_more_dimensions_than_nodes(friends: Graph) -> None:
    rows = spectral_embeddings(friends, 20, seed=0)
    assert rows.shape == (8, 20)
    assert (rows[:, 8:] == 0).all()


def test_both_solvers_agree(planted: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = cosines(planted, 8)
    monkeypatch.setattr("metatne.spectral.SMALL", 10)
    sparse = cosines(planted, 8)
    assert not np.array_equal(dense, sparse)  # else the other solver was not asked
    np.testing.assert_allclose(sparse, dense, atol=0.02)


def test_weights_count() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    heavy = cosines(hand_made(edges, weights=[9.0, 1.0, 9.0, 1.0]), 2)
    assert heavy[0, 1] > 0.9
    assert heavy[0, 2] < 0.5


def test_a_solver_that_gives_up_is_used_as_far_as_it_came(
    planted: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, vectors = np.array([0.9]), np.full((300, 1), -0.1)

    def give_up(*args: object, **options: object) -> None:
        raise ArpackNoConvergence("%d of %d", values, vectors)

    monkeypatch.setattr("metatne.spectral.SMALL", 10)
    monkeypatch.setattr("metatne.spectral.eigsh", give_up)
    rows = spectral_embeddings(planted, 4, seed=0)
    np.testing.assert_allclose(rows, np.tile([2.0, 0, 0, 0], (300, 1)), atol=1e-6)


def test_the_same_graph_starts_the_same() -> None:
    graph = planted_graph(600, num_labels=4, seed=1).graph
    first, second = (spectral_embeddings(graph, 8, seed=3) for _ in range(2))
    assert np.array_equal(first, second)
