"""Embeddings of a graph are made once, and known by what they were made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

from metatne.baselines.embedding import cached_vectors, structure_digest
from metatne.baselines.line import LINE
from metatne.baselines.netmf import WINDOW, netmf_vectors
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(200, num_labels=4, num_communities=4, mixing=0.05, seed=0).graph


class Maker:
    def __init__(self, value: float = 1.0) -> None:
        self.value, self.times = value, 0

    def __call__(self) -> np.ndarray:
        self.times += 1
        return np.full((200, 3), self.value, dtype=np.float32)


def test_the_second_time_it_comes_from_disk(graph: Graph, tmp_path: Path) -> None:
    make = Maker()
    first, again = (cached_vectors(graph, "x", {"dim": 3}, make) for _ in range(2))
    assert make.times == 1
    assert np.array_equal(first, again)
    cached_vectors(graph, "x", {"dim": 4}, make)
    cached_vectors(graph, "y", {"dim": 3}, make)
    assert make.times == 3


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\x93NUMPY\x01\x00"])
def test_a_damaged_file_is_made_again(graph: Graph, tmp_path: Path, damage: bytes) -> None:
    make = Maker()
    cached_vectors(graph, "x", {}, make)
    (file,) = (tmp_path / "cache").rglob("*.npy")
    file.write_bytes(damage)
    assert np.array_equal(cached_vectors(graph, "x", {}, make), make())
    assert np.load(file).shape == (200, 3)


def test_labels_do_not_count_and_edges_do(graph: Graph) -> None:
    assert structure_digest(graph.with_labels(graph.labels.select([0]))) == structure_digest(graph)
    other = planted_graph(200, num_labels=4, num_communities=4, mixing=0.05, seed=1).graph
    assert structure_digest(other) != structure_digest(graph)
    weighted = planted_graph(
        200, num_labels=4, num_communities=4, mixing=0.05, weighted=True, seed=0
    ).graph
    assert structure_digest(weighted) != structure_digest(graph)


def test_netmf_is_the_dense_factorisation(graph: Graph) -> None:
    """All eigenpairs of so small a graph are used, so the matrix itself can be written out."""
    adjacency = graph.adjacency().toarray().astype(np.float64)
    degrees = adjacency.sum(axis=1)
    walk = adjacency / degrees[:, None]
    powers = sum(np.linalg.matrix_power(walk, r) for r in range(1, WINDOW + 1)) / WINDOW
    matrix = np.log(np.maximum(degrees.sum() * powers / degrees, 1.0))
    vectors = netmf_vectors(graph, 16)
    values, _ = eigh((matrix + matrix.T) / 2)
    leading = np.sort(np.abs(values))[::-1][:16]
    np.testing.assert_allclose(np.square(vectors).sum(axis=0), leading, rtol=0.03)


def test_line_puts_neighbours_close(graph: Graph) -> None:
    model = LINE(dim=16, samples_per_edge=200).fit(graph)
    is_linked = graph.adjacency().toarray() > 0
    for vectors in (model.vectors_[:, :8], model.vectors_[:, 8:]):  # of the first and second order
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-4)
        closeness = vectors @ vectors.T
        np.fill_diagonal(closeness, np.nan)
        assert np.nanmean(closeness[is_linked]) > np.nanmean(closeness[~is_linked]) + 0.3
