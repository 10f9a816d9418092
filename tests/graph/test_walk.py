"""Products with the walk are those with the matrix D^-1 A, written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphs import hand_made, held_by
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.graph.walk import DEGREE_SHARE, LABEL_SHARE, Adjacency, Walk


def written_down(graph: Graph, labels: Sequence[int]) -> Any:
    adjacency = graph.adjacency().toarray().astype(np.float64)
    held = graph.labels.holds_matrix().toarray()[:, list(labels)]
    links = held * (LABEL_SHARE * adjacency.sum(axis=1).mean())
    both = np.block([[adjacency, links], [links.T, np.zeros((len(labels), len(labels)))]])
    degrees = both.sum(axis=1)
    return both / (degrees + DEGREE_SHARE * degrees.mean())[:, None]


def walk_over(graph: Graph, labels: Sequence[int]) -> Walk:
    known = np.array(labels, dtype=np.int64)
    return Walk(Adjacency.of(graph), graph.labels.holds.select(known))


@pytest.mark.parametrize("labels", [(), (3,), (5, 0, 2)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("links_per_piece", [7, 65_536])
def test_products(
    labels: Sequence[int], weighted: bool, links_per_piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metatne.graph.walk.LINKS_PER_PIECE", links_per_piece)
    graph = planted_graph(200, num_labels=6, mean_degree=7, weighted=weighted, seed=3).graph
    walk, matrix = walk_over(graph, labels), written_down(graph, labels)
    assert walk.num_rows == len(matrix)
    rng = np.random.default_rng(0)
    block, out = rng.standard_normal((2, walk.num_rows, 5)).astype(np.float32)
    expected = 2 * matrix @ block - 3 * block + 0.5 * out
    walk.combine(block, out, of_product=2, of_block=-3, of_out=0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    walk.combine(block, out)
    np.testing.assert_allclose(out, matrix @ block, atol=1e-5)


def test_a_stride_is_two_steps() -> None:
    graph = planted_graph(200, num_labels=6, mean_degree=7, weighted=True, seed=3).graph
    labels = np.array([1, 4], dtype=np.int64)
    matrix = written_down(graph, labels.tolist())
    walk = Walk(Adjacency.of(graph), graph.labels.holds.select(labels), stride=2)
    np.testing.assert_array_equal(walk.degrees, walk_over(graph, labels.tolist()).degrees)
    rng = np.random.default_rng(0)
    block, out = rng.standard_normal((2, walk.num_rows, 5)).astype(np.float32)
    expected = 2 * matrix @ matrix @ block - 3 * block + 0.5 * out
    walk.combine(block, out, of_product=2, of_block=-3, of_out=0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)


def test_degrees_have_their_share_of_the_mean() -> None:
    """A path a - b - c and a lone d, where a label links a and d."""
    graph = hand_made(
        [("a", "b"), ("b", "c")], {"label": held_by("a", "d")}, nodes=["a", "b", "c", "d"]
    )
    link = LABEL_SHARE * 1.0  # the mean degree of the nodes is (1 + 2 + 1 + 0) / 4
    degrees = np.array([1 + link, 2, 1, link, 2 * link])
    walk = walk_over(graph, [0])
    np.testing.assert_allclose(walk.degrees, degrees + DEGREE_SHARE * degrees.mean(), rtol=1e-6)
    assert walk.is_linked.all()
    assert walk_over(graph, []).is_linked.tolist() == [True, True, True, False]


def test_a_graph_on_disk_and_one_of_wide_numbers(tmp_path: Path) -> None:
    graph = planted_graph(100, num_labels=3, seed=1).graph
    graph.save(tmp_path / "stored")
    stored = Graph.open(tmp_path / "stored")
    wide = Graph(graph.indptr, graph.indices.astype(np.int64), graph.node_ids, graph.labels)
    block = np.random.default_rng(1).random((102, 3), dtype=np.float32)
    products = []
    for same in (graph, stored, wide):
        products.append(np.zeros_like(block))
        walk_over(same, [0, 2]).combine(block, products[-1])
    assert np.array_equal(products[0], products[1])
    assert np.array_equal(products[0], products[2])
