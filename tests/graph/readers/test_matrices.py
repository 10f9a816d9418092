"""Adjacency and label matrices, sparse and dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from metatne.errors import GraphError, LabelError
from metatne.graph.readers import read_graph

PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], dtype=float)
GROUP = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=float)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_matrix, sp.csc_array, sp.lil_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_sparse_matrices(kind: Any, dtype: Any) -> None:
    graph = read_graph(kind(PATH.astype(dtype)))
    assert graph.num_edges == 2
    assert graph.node_ids.take(range(4)) == [0, 1, 2, 3]
    assert graph.weights is None
    assert graph.report.num_self_loops == 1
    assert graph.report.num_reciprocal == 2
    assert not graph.report.was_directed


def test_weights_directions_and_zeros() -> None:
    matrix = sp.csr_array(np.array([[0, 2.0], [0, 0]]))
    matrix.data = matrix.data.copy()
    graph = read_graph(matrix)
    assert graph.weights is not None
    assert graph.weights.tolist() == [2, 2]
    assert graph.report.was_symmetrised
    zeros = sp.coo_array(([1.0, 0.0], ([0, 0], [1, 2])), shape=(3, 3))
    assert read_graph(zeros).num_edges == 1
    assert zeros.nnz == 2  # what was given is left as it was
    assert read_graph(sp.csr_array(PATH), weighted=True).weights is not None


def test_label_matrices() -> None:
    for labels in (GROUP, GROUP.astype(int), sp.csr_array(GROUP), sp.coo_matrix(GROUP)):
        graph = read_graph(sp.csr_array(PATH), labels)
        assert graph.labels.names == ("0", "1")
        assert graph.labels.holds_matrix().toarray().tolist() == GROUP.tolist()
    partly = np.where(np.arange(4)[:, None] == 3, np.nan, GROUP)
    graph = read_graph(sp.csr_array(PATH), partly)
    assert graph.labels.unannotated is not None
    assert graph.labels.unannotated.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("matrix", "labels", "message"),
    [
        (sp.csr_array(np.ones((2, 3))), None, "must be square, not .2, 3."),
        (sp.csr_array(np.ones((2, 2), complex)), None, "must hold numbers, not complex"),
        (sp.csr_array(-PATH), None, "finite and greater than 0"),
        (sp.csr_array((4, 4)), None, "no edges"),
        (sp.csr_array(PATH), 2 * GROUP, "0 and 1 only"),
        (sp.csr_array(PATH), GROUP[0], "a matrix .node, label."),
        (sp.csr_array(PATH), GROUP.astype(str), "0 and 1, not"),
        (sp.csr_array(PATH), np.full((4, 1), [[np.nan], [2], [0], [1]]), "0, 1 and NaN"),
        (sp.csr_array(PATH), np.ones((9, 1)), "the graph has no node 4"),
    ],
)
def test_matrices_that_cannot_be(matrix: Any, labels: Any, message: str) -> None:
    with pytest.raises((GraphError, LabelError), match=message):
        read_graph(matrix, labels)


def test_indices_out_of_range_are_refused() -> None:
    matrix = sp.csr_array(PATH)
    matrix.indices = matrix.indices + 7
    with pytest.raises(GraphError, match="the sparse matrix is damaged"):
        read_graph(matrix)
