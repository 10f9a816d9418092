"""Readers, one format a file; `read_graph` is their door."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from metatne.errors import ConfigError, GraphError, InputError, LabelError
from metatne.graph.build import build_graph
from metatne.graph.disk import HEADER
from metatne.graph.node_ids import id_array
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.readers.asu import read_asu
from metatne.graph.readers.delimited import read_edge_list
from metatne.graph.readers.detect import FORMATS, detect_format, stem
from metatne.graph.readers.fields import integers_if_all_are
from metatne.graph.readers.graphml import read_graphml
from metatne.graph.readers.label_text import read_label_file
from metatne.graph.readers.matrices import edges_from_matrix, labels_from_matrix, read_matlab
from metatne.graph.readers.objects import is_networkx, is_pyg, read_networkx, read_pyg
from metatne.graph.readers.pairs import edges_from_pairs
from metatne.graph.readers.tables import (
    edges_from_table,
    labels_from_mapping,
    labels_from_table,
    read_parquet,
    table_of,
)
from metatne.graph.readers.text import load_text
from metatne.graph.store import Graph

__all__ = ["FORMATS", "read_edges", "read_graph", "read_labels"]


def read_graph(
    source: Any,
    labels: Any = None,
    *,
    format: str | None = None,
    label_format: str | None = None,
    label_attribute: str | None = None,
    unannotated: Any = None,
    unlisted_unknown: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    directed: bool = False,
    keep_unlinked: bool = False,
    drop_isolated: bool = False,
    labelled_only: bool = False,
    name: str | None = None,
) -> Graph:
    """The graph in a file or in an object of another library, cleaned and ready.

    `source` is a path, a NetworkX graph, a SciPy sparse matrix, a pandas DataFrame, a
    PyTorch Geometric `Data`, or pairs. `labels` is a path, a DataFrame, a mapping from
    nodes to labels, or a (node, label) matrix; they replace labels that `source` brings.

    format: one of `FORMATS`, where the path does not tell.
    label_format: "pairs", "lists" or "wide", where the labels do not tell.
    label_attribute: the node attribute with the labels (GraphML, NetworkX).
    unannotated: nodes (or a file of them) whose labels nobody knows.
    unlisted_unknown: nodes that the labels do not name are unknown, not without labels.
    delimiter, header, weighted: the layout of an edge list, where it is not to be detected.
    directed: the edge list is directed; it is made undirected, and the report says so.
    keep_unlinked, drop_isolated, labelled_only: see `build_graph`.
    """
    edges, own_labels = read_edges(
        source,
        format=format,
        label_attribute=label_attribute,
        delimiter=delimiter,
        header=header,
        weighted=weighted,
        directed=directed,
    )
    raw = own_labels if labels is None else read_labels(labels, label_format=label_format)
    if raw is None and (unannotated is not None or unlisted_unknown or label_format is not None):
        raise LabelError("it is said how to read labels, but no labels are given")
    if raw is not None:
        raw = _mark_unknown(raw, unannotated, unlisted_unknown)
    if name is None:
        name = stem(Path(source)) if isinstance(source, str | Path) else "graph"
    return build_graph(
        edges,
        raw,
        name=name,
        keep_unlinked=keep_unlinked,
        drop_isolated=drop_isolated,
        labelled_only=labelled_only,
    )


def read_edges(
    source: Any,
    *,
    format: str | None = None,
    label_attribute: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    directed: bool = False,
) -> tuple[RawEdges, RawLabels | None]:
    """The edges as they were written, and the labels that came with them."""
    if format is not None and format not in FORMATS:
        raise ConfigError(f"a graph format is one of {', '.join(FORMATS)}, not {format!r}")
    own_labels: RawLabels | None = None
    if isinstance(source, str | Path):
        path = Path(source)
        match _format_of(path) if format is None else format:
            case "parquet":
                edges = edges_from_table(
                    read_parquet(path), source=str(path), directed=directed, weighted=weighted
                )
            case "graphml":
                edges, own_labels = read_graphml(
                    path, label_attribute=label_attribute, weighted=weighted
                )
            case "matlab":
                edges, own_labels = read_matlab(path)
            case "asu":
                edges, own_labels = read_asu(path)
            case _:
                edges = read_edge_list(
                    path, directed=directed, delimiter=delimiter, header=header, weighted=weighted
                )
    elif format is not None:
        raise ConfigError(f"format={format!r} is for files, not for a {type(source).__name__}")
    elif is_networkx(source):
        edges, own_labels = read_networkx(
            source, label_attribute=label_attribute, weighted=weighted
        )
    elif is_pyg(source):
        edges, own_labels = read_pyg(source, weighted=weighted)
    elif sp.issparse(source):
        edges = edges_from_matrix(source, source="matrix", weighted=weighted)
    elif isinstance(source, pd.DataFrame):
        table = table_of(source, source="DataFrame")
        edges = edges_from_table(table, source="DataFrame", directed=directed, weighted=weighted)
    else:
        edges = edges_from_pairs(source, directed=directed, weighted=weighted)
    if directed and not edges.is_directed:
        edges = replace(edges, is_directed=True)
    return edges, own_labels


def _format_of(path: Path) -> str:
    if (path / HEADER).is_file():
        raise GraphError(f"{path} is a saved graph already; open it with Graph.open")
    return detect_format(path)


def read_labels(source: Any, *, label_format: str | None = None) -> RawLabels:
    """Label statements from a file, a DataFrame, a mapping or a matrix."""
    if isinstance(source, RawLabels):
        return source
    if isinstance(source, str | Path):
        path = Path(source)
        if path.is_dir():
            raise InputError(f"{path} is a directory, but a label file was expected")
        if detect_format(path) == "parquet":
            return labels_from_table(read_parquet(path), source=str(path), kind=label_format)
        return read_label_file(path, kind=label_format)
    if isinstance(source, dict):
        return labels_from_mapping(source)
    if isinstance(source, pd.DataFrame):
        # An index with a meaning is the column of nodes; a plain count of rows is not.
        is_plain = isinstance(source.index, pd.RangeIndex) and source.index.name is None
        frame = source if is_plain else source.reset_index()
        table = table_of(frame, source="labels")
        return labels_from_table(table, source="labels", kind=label_format)
    if sp.issparse(source) or isinstance(source, np.ndarray):
        return labels_from_matrix(source, source="labels")
    raise LabelError(
        "labels must be a path, a DataFrame, a mapping from nodes to labels, or a matrix "
        f"(node, label), not {type(source).__name__}"
    )


def _mark_unknown(raw: RawLabels, unannotated: Any, unlisted_unknown: bool) -> RawLabels:
    if unlisted_unknown:
        raw = replace(raw, is_partial=True)
    if unannotated is None:
        return raw
    ids = _node_list(unannotated)
    if raw.unannotated is not None and len(raw.unannotated):
        own = id_array(raw.unannotated)
        if own.type != ids.type:
            own, ids = own.cast(pa.large_string()), ids.cast(pa.large_string())
        ids = pa.concat_arrays([own, ids])
    return replace(raw, unannotated=ids)


def _node_list(source: Any) -> pa.Array:
    """Node ids from a sequence, or from a file with one a line."""
    if isinstance(source, str | Path):
        lines = [line.strip(" \t") for _, line in load_text(Path(source)).lines()]
        return integers_if_all_are(pa.array(lines, pa.large_string()))
    if not isinstance(source, Iterable):
        raise LabelError("unannotated must be a list of nodes or a file with one node a line")
    return id_array(source)
