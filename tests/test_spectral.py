"""The spectral start: eigenvectors of the graph and its known labels, whoever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphs import hand_made, held_by, opposites
from metatne.graph.node_ids import NodeIds
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.graph.walk import DEGREE_SHARE, LABEL_SHARE
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
    np.testing.assert_allclose(rows * np.sign(rows[0, 0]), [[np.sqrt(2), 0]] * 3, atol=1e-5)


def test_circles_of_friends_are_told_apart(friends: Graph) -> None:
    alike = cosines(friends, 2)
    anna, bela, hans = friends.node_ids.positions(["anna", "bela", "hans"])
    assert alike[anna, bela] > 0.9
    assert alike[anna, hans] < 0.2


RING = [(f"n{i}", f"n{(i + 1) % 12}") for i in range(12)]


def test_nodes_with_a_label_in_common_come_close() -> None:
    """On a ring n0 and n6 are as far apart as can be.

    Its eigenvalues come in pairs after the first: an even number of dimensions would cut a pair,
    and which half is left is up to the machine.
    """
    graph = hand_made(RING, {"far": held_by("n0", "n6"), "near": held_by("n3", "n4")})
    assert cosines(graph, 5, [0])[0, 6] > cosines(graph, 5)[0, 6] + 0.1
    assert cosines(graph, 5, [1])[0, 6] < cosines(graph, 5)[0, 6] + 0.1


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
    for unit in (1e-30, 1e30):  # of no account, however the weights are measured
        weights = [9.0 * unit, unit, 9.0 * unit, unit]
        np.testing.assert_allclose(cosines(hand_made(edges, weights=weights), 2), heavy, atol=1e-5)


def test_filtering_follows_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against eigenvectors of the matrix as it is written down."""
    graph = planted_graph(900, num_labels=6, num_communities=12, weighted=True, seed=2).graph
    holds = graph.labels.holds_matrix().toarray()[:, [1, 4]].astype(np.float64)
    adjacency = graph.adjacency().toarray().astype(np.float64)
    holds *= LABEL_SHARE * adjacency.sum(axis=1).mean()
    both = np.block([[adjacency, holds], [holds.T, np.zeros((2, 2))]])
    degrees = both.sum(axis=1)
    roots = np.sqrt(degrees + DEGREE_SHARE * degrees.mean())
    values, vectors = np.linalg.eigh(both / roots / roots[:, None])
    expected = (vectors * values)[:900, -12:]  # as many as there are communities: then a gap
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    monkeypatch.setattr("metatne.spectral.SETTLED", 1e-6)
    np.testing.assert_allclose(cosines(graph, 12, [1, 4]), expected @ expected.T, atol=1e-3)


@pytest.mark.parametrize("num_nodes", [160, 900])
def test_in_strides_of_two_both_ends_lead(num_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever solver: the eigenvectors with the largest eigenvalues, without their signs."""
    graph = opposites(num_nodes, num_pairs=4, within=0.2)
    adjacency = graph.adjacency().toarray().astype(np.float64)
    degrees = adjacency.sum(axis=1)
    roots = np.sqrt(degrees + DEGREE_SHARE * degrees.mean())
    values, vectors = np.linalg.eigh(adjacency / roots / roots[:, None])
    leading = np.argsort(-np.abs(values))[:8]  # as many as there are communities: then a gap
    assert (values[leading] < 0).sum() == 4
    expected = (vectors * np.abs(values))[:, leading]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    monkeypatch.setattr("metatne.spectral.SETTLED", 1e-6)
    rows = spectral_embeddings(graph, np.empty(0, dtype=np.int64), 8, seed=0, stride=2)
    np.testing.assert_allclose(rows @ rows.T / 8, expected @ expected.T, atol=2e-3)


@pytest.mark.parametrize("changed", [{"OVERSAMPLING": 0}, {"MAX_DEGREE": 1}, {"MAX_PASSES": 2}])
def test_settings_of_the_filter_change_how_fast_not_whether(
    changed: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = planted_graph(600, num_labels=4, num_communities=6, seed=1).graph
    exact = cosines(graph, 6)
    for name, value in changed.items():
        monkeypatch.setattr(f"metatne.spectral.{name}", value)
    rough = cosines(graph, 6)
    assert not np.array_equal(exact, rough)
    assert np.corrcoef(exact.ravel(), rough.ravel())[0, 1] > 0.9


def test_fewer_links_than_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block has vectors to spare then; isolated nodes stay at 0 and nothing turns NaN."""
    nodes = [f"n{i}" for i in range(100)]
    edges = [("n0", "n1"), ("n1", "n2"), ("n5", "n6")]
    graph = hand_made(edges, {"label": held_by("n0", "n9")}, nodes=nodes)
    dense = cosines(graph, 16, [0])
    monkeypatch.setattr("metatne.spectral.SMALL", 10)
    sparse = cosines(graph, 16, [0])
    is_linked = [f"n{i}" in {"n0", "n1", "n2", "n5", "n6", "n9"} for i in range(100)]
    np.testing.assert_allclose(np.diag(sparse), is_linked, atol=1e-5)
    np.testing.assert_allclose(sparse, dense, atol=0.02)
    assert (start_of(graph, 16)[9] == 0).all()


def test_no_links_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(
        np.zeros(101, dtype=np.int64), np.zeros(0, dtype=np.int32), NodeIds(pa.array(range(100)))
    )
    assert (start_of(graph, 4) == 0).all()
    monkeypatch.setattr("metatne.spectral.SMALL", 10)
    assert (start_of(graph, 4) == 0).all()


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(2_000, num_labels=4, seed=1).graph
    monkeypatch.setattr("metatne.spectral.ROWS_PER_PIECE", 300)
    monkeypatch.setattr("metatne.graph.walk.LINKS_PER_PIECE", 3_000)
    starts = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        starts.append(start_of(graph, 8, [0, 1]))
    assert np.array_equal(starts[0], starts[1])
    assert np.array_equal(starts[0], starts[2])


def test_pieces_are_for_speed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(2_000, num_labels=4, num_communities=8, seed=1).graph
    monkeypatch.setattr("metatne.spectral.SETTLED", 1e-6)
    whole = cosines(graph, 8, [0, 1])
    for name, value in (("ROWS_PER_PIECE", 123), ("PIECES_AT_A_TIME", 3)):
        monkeypatch.setattr(f"metatne.spectral.{name}", value)
    # Pieces draw their part of the start themselves, so it is another one.
    np.testing.assert_allclose(cosines(graph, 8, [0, 1]), whole, atol=1e-3)


def test_the_same_graph_starts_the_same() -> None:
    graph = planted_graph(600, num_labels=4, seed=1).graph
    first, second = (start_of(graph, 8, [0, 1]) for _ in range(2))
    assert np.array_equal(first, second)
