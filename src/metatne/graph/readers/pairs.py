"""Edges from Python: pairs, triples with a weight, or an array with two or three columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from metatne.errors import GraphError
from metatne.graph.node_ids import id_array
from metatne.graph.raw import RawEdges

EXPECTED = "edges must be pairs (source, target) or triples (source, target, weight)"


def edges_from_pairs(
    pairs: Any, *, directed: bool = False, weighted: bool | None = None
) -> RawEdges:
    """The edges in an iterable of pairs or triples, or in the rows of an array."""
    if isinstance(pairs, np.ndarray):
        columns = _columns_of_array(pairs)
    elif isinstance(pairs, Iterable) and not isinstance(pairs, str | bytes | dict):
        columns = _columns_of_rows(list(pairs))
    else:
        raise GraphError(f"{EXPECTED}, not {type(pairs).__name__}")
    num_edges = len(columns[0])
    # One conversion for both ends, so that they get one type.
    ids = id_array([*columns[0], *columns[1]])
    weights = None
    if weighted is not False and len(columns) == 3:
        try:
            with np.errstate(over="ignore"):
                weights = np.array([float(weight) for weight in columns[2]], dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise GraphError(f"{EXPECTED}, and a weight is a number: {error}") from error
    elif weighted:
        raise GraphError(f"{EXPECTED}; weights are asked for, but there are none")
    return RawEdges(ids[:num_edges], ids[num_edges:], weights, is_directed=directed)


def _columns_of_array(array: np.ndarray[Any, Any]) -> list[list[Any]]:
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise GraphError(
            f"{EXPECTED}, so an array must have two or three columns, not shape {array.shape}; "
            "an adjacency matrix is given as a scipy.sparse array"
        )
    columns: list[Any] = [array[:, column] for column in range(array.shape[1])]
    if array.dtype.kind == "f":
        for column in columns[:2]:
            if not (np.isfinite(column) & (column == np.floor(column))).all():
                raise GraphError(f"{EXPECTED}, and an id is not a fraction")
        columns[:2] = [column.astype(np.int64) for column in columns[:2]]
    return [column.tolist() for column in columns]


def _columns_of_rows(rows: list[Any]) -> list[list[Any]]:
    try:
        sizes = {len(row) for row in rows if not isinstance(row, str)}
    except TypeError:
        sizes = {0}
    if any(isinstance(row, str) for row in rows) or sizes not in ({2}, {3}, set()):
        odd = next(
            (row for row in rows if isinstance(row, str) or not hasattr(row, "__len__")),
            next((row for row in rows if hasattr(row, "__len__") and len(row) not in (2, 3)), None),
        )
        found = "a mixture of both" if odd is None else repr(odd)
        raise GraphError(f"{EXPECTED}; found {found}")
    return [list(column) for column in zip(*rows, strict=True)] or [[], []]
