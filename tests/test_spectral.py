"""The spectral start: eigenvectors of the graph and its known labels, whoever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from graphs import hand_made, held_by
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.spectral import spectral_embeddings


def start_of(graph: Graph, dim: int, labels: Sequence[int] = ()) -> Any:
    return spectral_embeddings(graph, np.array(labels, dtype=np.int64), dim, seed=0)


def cosines(graph: Graph, dim: int, labels: Sequence[int] = ()) -> Any:
    rows = start_of(graph, dim, labels)
    return rows @ rows.T / dim


@pytest.mark.parametrize("labels", [(), (0, 3, 4)])
def test_rows_are_of_mean_square_one(planted: Graph, labels: Sequence[int]) -> None:
    rows = start_of(planted, 16, labels)
    assert rows.shape == (300, 16)
    np.testing.assert_allclose((rows**2).mean(axis=1), 1, rtol=1e-5)


def test_by_hand() -> None:
    """A path a - b - c: the normalised adjacency has the eigenvalues s, 0, -s."""
    rows = start_of(hand_made([("a", "b"), ("b", "c")]), 2)
    # Of the two leading vectors the second has eigenvalue 0 and so weighs nothing.
    np.testing.assert_allclose(np.abs(rows), [[0, np.sqrt(2)]] * 3, atol=1e-5)
    assert (rows[:, 1] > 0).all()


def test_circles_of_friends_are_told_apart(friends: Graph) -> None:
    alike = cosines(friends, 2)
    anna, bela, hans = friends.node_ids.positions(["anna", "bela", "hans"])
    assert alike[anna, bela] > 0.9
    assert alike[anna, hans] < 0.2


RING = [(f"n{i}", f"n{(i + 1) % 12}") for i in range(12)]


def test_nodes_with_a_label_in_common_come_close() -> None:
    """On a ring n0 and n6 are as far apart as can be."""
    graph = hand_made(RING, {"far": held_by("n0", "n6"), "near": held_by("n3", "n4")})
    assert cosines(graph, 4, [0])[0, 6] > cosines(graph, 4)[0, 6] + 0.1
    assert cosines(graph, 4, [1])[0, 6] < cosines(graph, 4)[0, 6] + 0.1


def test_labels_that_are_not_known_are_not_looked_at() -> None:
    labels = {"known": held_by("n0", "n6"), "novel": held_by("n1", "n8")}
    one = hand_made(RING, labels)
    other = hand_made(RING, labels | {"novel": held_by("n2", "n3", "n4")})
    assert np.array_equal(start_of(one, 4, [0]), start_of(other, 4, [0]))
    assert not np.array_equal(start_of(one, 4, [0, 1]), start_of(other, 4, [0, 1]))


def test_isolated_nodes_start_at_zero() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    graph = hand_made(edges, {"label": held_by("a", "hermit")}, nodes=["a", "b", "c", "hermit"])
    rows = start_of(graph, 3)
    assert (rows[3] == 0).all()
    assert (np.abs(rows[:3]).max(axis=1) > 0).all()
    assert (start_of(graph, 3, [0])[3] != 0).any()  # a label links it


def test_more_dimensions_than_nodes(friends: Graph) -> None:
    rows = start_of(friends, 20)
    assert rows.shape == (8, 20)
    assert (rows[:, 8:] == 0).all()


def test_both_solvers_agree(planted: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = cosines(planted, 8, [1, 2])
    monkeypatch.setattr("metatne.spectral.SMALL", 10)
    sparse = cosines(planted, 8, [1, 2])
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
    np.testing.assert_allclose(start_of(planted, 4), np.tile([2.0, 0, 0, 0], (300, 1)), atol=1e-6)


def test_the_same_graph_starts_the_same() -> None:
    graph = planted_graph(600, num_labels=4, seed=1).graph
    first, second = (start_of(graph, 8, [0, 1]) for _ in range(2))
    assert np.array_equal(first, second)
