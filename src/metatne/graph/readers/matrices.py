"""Adjacency and label matrices, sparse or dense."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from metatne.errors import GraphError, LabelError
from metatne.free_memory import check_room
from metatne.graph.raw import HOLDS, UNKNOWN, RawEdges, RawLabels
from metatne.graph.readers.label_states import wide_labels

ENTRY_BYTES = 100
"""What an entry takes while its row, its column and its mirror image are apart."""


def edges_from_matrix(matrix: Any, *, source: str, weighted: bool | None = None) -> RawEdges:
    """The edges of an adjacency matrix: an entry at (i, j) joins the nodes i and j.

    Nodes are called 0 … n-1. Where all entries are 1 the graph has no weights.
    """
    _check_indices(matrix, source)
    _check_size(matrix, source)
    entries: Any = sp.coo_array(matrix)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise GraphError(f"{source}: an adjacency matrix must be square, not {entries.shape}")
    if entries.dtype.kind not in "biuf":
        raise GraphError(f"{source}: an adjacency matrix must hold numbers, not {entries.dtype}")
    entries.sum_duplicates()
    entries.eliminate_zeros()
    ids = pa.array(np.arange(entries.shape[0], dtype=np.int64))
    weights = None
    if weighted or (weighted is None and (entries.data != 1).any()):
        with np.errstate(over="ignore"):
            weights = entries.data.astype(np.float32)
    rows, columns = (ends.astype(np.int64) for ends in entries.coords)
    by_row = entries.tocsr()
    is_directed = bool((by_row != by_row.T).nnz)
    return RawEdges(pa.array(rows), pa.array(columns), weights, is_directed, ids)


def _check_indices(matrix: Any, source: str) -> None:
    """Refuse indices out of range, which SciPy would follow out of its arrays."""
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise GraphError(f"{source}: the sparse matrix is damaged: {error}") from error


def _check_size(matrix: Any, source: str) -> None:
    """Refuse what does not fit apart: of a dense matrix an entry may have been a single byte."""
    num_entries = matrix.nnz if hasattr(matrix, "nnz") else np.count_nonzero(matrix)
    check_room(source, ENTRY_BYTES * int(num_entries))


def labels_from_matrix(matrix: Any, *, source: str) -> RawLabels:
    """Labels from a (node, label) matrix of 0 and 1, with NaN for unknown.

    Nodes and labels are called by their positions, from 0.
    """
    entries: Any
    if sp.issparse(matrix):
        _check_indices(matrix, source)
        entries = sp.coo_array(cast(Any, matrix), copy=True)
        entries.sum_duplicates()
        entries.eliminate_zeros()
    else:
        matrix = np.asarray(matrix)
        if matrix.ndim != 2:
            raise LabelError(f"{source}: labels must be a matrix (node, label), not {matrix.shape}")
        if matrix.dtype.kind == "f" and np.isnan(matrix).any():
            return _dense_labels(matrix, source)
        if matrix.dtype.kind not in "biuf":
            raise LabelError(f"{source}: labels must be numbers 0 and 1, not {matrix.dtype}")
        _check_size(matrix, source)
        entries = sp.coo_array(matrix)
    if entries.dtype.kind not in "biuf" or (entries.data != 1).any():
        raise LabelError(f"{source}: the label matrix must hold 0 and 1 only")
    rows, columns = (ends.astype(np.int64) for ends in entries.coords)
    num_nodes, num_labels = entries.shape
    return RawLabels(
        pa.array(rows),
        pa.array(columns).cast(pa.large_string()),
        complete=pa.array(np.arange(num_nodes, dtype=np.int64)),
        names=[str(label) for label in range(num_labels)],
        source=source,
    )


def _dense_labels(matrix: np.ndarray[Any, Any], source: str) -> RawLabels:
    is_known = ~np.isnan(matrix)
    if not np.isin(matrix[is_known], (0, HOLDS)).all():
        raise LabelError(f"{source}: the label matrix must hold 0, 1 and NaN (unknown) only")
    states = np.where(is_known, matrix, UNKNOWN).astype(np.int8)
    names = [str(label) for label in range(matrix.shape[1])]
    return wide_labels(pa.array(np.arange(len(matrix))), names, states, source=source)
