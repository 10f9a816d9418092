"""Readers, one format a file; `read_graph` is their door."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import scipy.sparse as sp

from metatne.errors import ConfigError, GraphError, LabelError
from metatne.graph.build import build_graph
from metatne.graph.disk import HEADER
from metatne.graph.raw import NumberedEdges, RawEdges, RawLabels
from metatne.graph.readers.asu import read_asu
from metatne.graph.readers.delimited import read_edge_list
from metatne.graph.readers.detect import FORMATS, detect_format, stem
from metatne.graph.readers.graphml import read_graphml
from metatne.graph.readers.label_sources import mark_unknown, read_labels
from metatne.graph.readers.matlab import read_matlab
from metatne.graph.readers.matrices import edges_from_matrix
from metatne.graph.readers.objects import is_networkx, is_pyg, read_networkx, read_pyg
from metatne.graph.readers.pairs import edges_from_pairs
from metatne.graph.readers.parquet import read_parquet
from metatne.graph.readers.tables import edges_from_table, table_of
from metatne.graph.store import Graph

__all__ = ["FORMATS", "read_edges", "read_graph", "read_labels"]


def read_graph(
    source: Any,
    labels: Any = None,
    *,
    format: str | None = None,
    label_format: str | None = None,
    label_header: bool | None = None,
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
    label_header: whether the first line of a label file names its columns.
    label_attribute: the node attribute with the labels (GraphML, NetworkX).
    unannotated: nodes (or a file of them) whose labels nobody knows.
    unlisted_unknown: nodes that the labels do not name are unknown, not without labels.
    delimiter, header, weighted: the layout of an edge list, where it is not to be detected.
    directed: the edge list is directed; it is made undirected, and the report says so.
    keep_unlinked, drop_isolated, labelled_only: see `build_graph`.
    """
    notes: list[str] = []
    edges, own_labels = read_edges(
        source,
        format=format,
        label_attribute=label_attribute,
        delimiter=delimiter,
        header=header,
        weighted=weighted,
        directed=directed,
        notes=notes,
    )
    if labels is None and (label_format is not None or label_header is not None):
        raise LabelError("it is said how to read labels, but no labels are given")
    raw = own_labels
    if labels is not None:
        raw = read_labels(labels, label_format=label_format, label_header=label_header, notes=notes)
    if raw is None and (unannotated is not None or unlisted_unknown):
        raise LabelError("it is said which nodes have unknown labels, but no labels are given")
    if raw is not None:
        raw = mark_unknown(raw, unannotated, unlisted_unknown)
    if name is None:
        name = stem(Path(source)) if isinstance(source, str | Path) else "graph"
    with _named(source):
        graph = build_graph(
            edges,
            raw,
            name=name,
            keep_unlinked=keep_unlinked,
            drop_isolated=drop_isolated,
            labelled_only=labelled_only,
        )
    graph.report = replace(graph.report, notes=notes)
    return graph


@contextmanager
def _named(source: Any) -> Iterator[None]:
    """Name the file in errors of what was read from it; the builder knows none."""
    try:
        yield
    except GraphError as error:
        if not isinstance(source, str | Path) or str(source) in str(error):
            raise
        raise GraphError(f"{source}: {error}") from error


def read_edges(
    source: Any,
    *,
    format: str | None = None,
    label_attribute: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    directed: bool = False,
    notes: list[str] | None = None,
) -> tuple[RawEdges | NumberedEdges, RawLabels | None]:
    """The edges as they were written, and the labels that came with them.

    What was taken for granted about the file is added to `notes`.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(f"a graph format is one of {', '.join(FORMATS)}, not {format!r}")
    edges: RawEdges | NumberedEdges
    own_labels: RawLabels | None = None
    kind = _kind_of(source) if format is None else format
    _refuse_unused(
        kind,
        label_attribute=label_attribute,
        delimiter=delimiter,
        header=header,
        weighted=weighted,
    )
    if isinstance(source, str | Path):
        path = Path(source)
        match kind:
            case "parquet":
                edges = edges_from_table(
                    read_parquet(path), source=str(path), directed=directed, weighted=weighted
                )
            case "graphml":
                edges, own_labels = read_graphml(
                    path, label_attribute=label_attribute, weighted=weighted
                )
            case "matlab":
                edges, own_labels = read_matlab(path, weighted=weighted)
            case "asu":
                edges, own_labels = read_asu(path)
            case _:
                edges = read_edge_list(
                    path,
                    directed=directed,
                    delimiter=delimiter,
                    header=header,
                    weighted=weighted,
                    notes=notes,
                )
    elif format is not None:
        raise ConfigError(f"format={format!r} is for files, not for a {type(source).__name__}")
    elif kind == "NetworkX":
        edges, own_labels = read_networkx(
            source, label_attribute=label_attribute, weighted=weighted
        )
    elif kind == "PyTorch Geometric":
        edges, own_labels = read_pyg(source, weighted=weighted)
    elif kind == "SciPy":
        edges = edges_from_matrix(source, source="matrix", weighted=weighted)
    elif kind == "DataFrame":
        table = table_of(source, source="DataFrame")
        edges = edges_from_table(table, source="DataFrame", directed=directed, weighted=weighted)
    else:
        edges = edges_from_pairs(source, directed=directed, weighted=weighted)
    if directed and not edges.is_directed:
        edges = replace(edges, is_directed=True)
    return edges, own_labels


USED_OPTIONS = {
    "edges": {"delimiter", "header", "weighted"},
    "graphml": {"label_attribute", "weighted"},
    "NetworkX": {"label_attribute", "weighted"},
    "asu": set[str](),
}
"""The options that each kind of source looks at; the others look at `weighted` only."""


def _kind_of(source: Any) -> str:
    if isinstance(source, str | Path):
        path = Path(source)
        if (path / HEADER).is_file():
            raise GraphError(f"{path} is a saved graph already; open it with Graph.open")
        return detect_format(path)
    if is_networkx(source):
        return "NetworkX"
    if is_pyg(source):
        return "PyTorch Geometric"
    if sp.issparse(source):
        return "SciPy"
    return "DataFrame" if isinstance(source, pd.DataFrame) else "pairs"


def _refuse_unused(kind: str, **options: Any) -> None:
    """An option that would be passed over in silence is refused aloud."""
    used = USED_OPTIONS.get(kind, {"weighted"})
    unused = [name for name, value in options.items() if value is not None and name not in used]
    if unused:
        raise ConfigError(f"the option {', '.join(unused)} says nothing about the source ({kind})")
