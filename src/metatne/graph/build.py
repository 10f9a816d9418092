"""From edges and labels by id to the store: the one place where a graph is cleaned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from metatne.errors import MAX_SHOWN, GraphError, LabelError
from metatne.graph.adjacency import MAX_NODES, Adjacency, merge_edges
from metatne.graph.node_ids import NodeIds, id_array
from metatne.graph.numbering import as_text, number_ends, renumber
from metatne.graph.raw import NumberedEdges, RawEdges, RawLabels
from metatne.graph.report import BuildReport
from metatne.graph.statements import Statements, place_statements
from metatne.graph.store import Graph

__all__ = ["BuildReport", "build_graph"]


def build_graph(
    edges: RawEdges | NumberedEdges,
    labels: RawLabels | None = None,
    *,
    name: str,
    keep_unlinked: bool = False,
    drop_isolated: bool = False,
    labelled_only: bool = False,
) -> Graph:
    """The graph of these edges and labels, undirected, without self-loops or repeats.

    A repeated edge, in either direction, counts once; where the weights differ the largest
    stays, so that stating an edge again changes nothing. Nodes keep the order of
    `edges.nodes`; without it integers ascend and strings come as they first appear.
    `NumberedEdges` are used up.

    `keep_unlinked` adds nodes that only the labels name (else that is an error);
    `labelled_only` keeps the nodes whose labels are stated and the edges among them;
    `drop_isolated` then leaves out nodes without an edge.
    """
    if labelled_only and labels is None:
        raise LabelError("only labelled nodes are wanted, but no labels are given")
    numbered = number_ends(edges) if isinstance(edges, RawEdges) else edges
    numbered, label_ids = _one_type(numbered, _label_ids(labels), keep_unlinked)
    if numbered.nodes is not None:
        numbered = _place_among_listed(numbered)
    ids = numbered.ids
    report = BuildReport(num_input_edges=numbered.num_edges, was_directed=edges.is_directed)
    adjacency, report = _merge(numbered, report)
    if labels is not None and keep_unlinked:
        ids, num_added = _add_missing(ids, label_ids)
        report = replace(report, num_unlinked_label_nodes=num_added)
        adjacency = adjacency.with_more_nodes(len(ids))
    node_ids = NodeIds(ids)
    statements = None if labels is None else place_statements(labels, label_ids, node_ids)
    keep = np.ones(len(node_ids), dtype=bool)
    if statements is not None and labelled_only:
        keep = statements.annotated()
        report = replace(report, num_unlabelled_dropped=int((~keep).sum()))
        adjacency, node_ids, statements = _among(keep, adjacency, node_ids, statements)
    is_linked = np.diff(adjacency.indptr) > 0
    num_isolated = len(is_linked) - int(is_linked.sum())
    report = replace(report, num_isolated=num_isolated, was_isolated_dropped=drop_isolated)
    if not len(adjacency.indices):
        raise GraphError(_nothing_left(report))
    if drop_isolated:
        adjacency, node_ids, statements = _among(is_linked, adjacency, node_ids, statements)
    graph_labels = None
    if statements is not None:
        graph_labels, num_repeated = statements.labels_of(len(node_ids))
        report = replace(
            report,
            num_unlisted=int((~statements.annotated() & ~statements.unannotated).sum()),
            num_statements=len(statements.nodes),
            num_repeated_statements=num_repeated,
        )
    return Graph(
        adjacency.indptr,
        adjacency.indices,
        node_ids,
        graph_labels,
        weights=adjacency.weights,
        name=name,
        report=report,
    )


def _label_ids(labels: RawLabels | None) -> Any:
    """The ids that the labels name: of the statements, the unannotated, the complete nodes."""
    if labels is None:
        return pa.array([], pa.int64())
    columns = [
        id_array(column)
        for column in (labels.nodes, labels.unannotated, labels.complete)
        if column is not None and len(column)
    ]
    if not all(pa.types.is_int64(column.type) for column in columns):
        columns = [column.cast(pa.large_string()) for column in columns]
    return pa.concat_arrays(columns) if columns else pa.array([], pa.int64())


def _one_type(
    edges: NumberedEdges, label_ids: Any, keep_unlinked: bool
) -> tuple[NumberedEdges, Any]:
    """All ids as int64 if the edges' are, else all as strings."""
    is_integer = pa.types.is_int64(edges.ids.type)
    if edges.nodes is not None:
        listed = id_array(edges.nodes)
        edges = replace(edges, nodes=listed)
        is_integer = is_integer and pa.types.is_int64(listed.type)
    if is_integer and not pa.types.is_int64(label_ids.type):
        numbers = _integers_or_null(label_ids)
        if numbers.null_count and keep_unlinked:
            is_integer = False  # a label names a node "x", which then is a node
        elif not numbers.null_count:
            label_ids = numbers
        # Otherwise the names that are no integers are reported as missing, as written.
    if not is_integer:
        edges, label_ids = as_text(edges), label_ids.cast(pa.large_string())
    return edges, label_ids


def _integers_or_null(texts: Any) -> Any:
    """Canonical decimal integers as int64, null for any other text."""
    is_integer = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")
    return pc.if_else(is_integer, texts, pa.scalar(None, texts.type)).cast(pa.int64())


def _place_among_listed(edges: NumberedEdges) -> NumberedEdges:
    """The same edges by the position of their ends in the list of nodes."""
    if edges.ids.equals(edges.nodes):
        return edges
    places = pc.index_in(edges.ids, value_set=edges.nodes)
    if places.null_count:
        missing = edges.ids.filter(pc.is_null(places))
        raise GraphError(
            f"the edges name {len(missing):,} nodes that the list of nodes lacks: "
            + _shown(missing)
        )
    renumber(edges.ends, np.asarray(places, dtype=np.int64))
    return replace(edges, ids=edges.nodes)


def _merge(edges: NumberedEdges, report: BuildReport) -> tuple[Adjacency, BuildReport]:
    """Each undirected edge once, without self-loops, and the count of what went."""
    if not report.num_input_edges:
        raise GraphError("the graph has no edges; expected at least one edge between two nodes")
    if len(edges.ids) > MAX_NODES:
        raise GraphError(f"a graph has at most {MAX_NODES:,} nodes, not {len(edges.ids):,}")
    _check_weights(edges)
    merged = merge_edges(edges.ends, edges.weights, len(edges.ids))
    num_edges = len(merged.adjacency.indices) // 2
    report = replace(
        report,
        num_self_loops=merged.num_self_loops,
        num_duplicates=merged.num_duplicates,
        num_reciprocal=merged.num_reciprocal,
        was_symmetrised=report.was_directed and merged.num_reciprocal < num_edges,
    )
    return merged.adjacency, report


def _check_weights(edges: NumberedEdges) -> None:
    shown: list[str] = []
    num_bad = 0
    for ends, weights in zip(edges.ends, edges.weights or (), strict=bool(edges.weights)):
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
        num_bad += len(bad)
        for edge in bad[: MAX_SHOWN - len(shown)].tolist():
            source, target = edges.ids.take(pa.array(ends[edge])).to_pylist()
            shown.append(f"{source!r} -- {target!r} has {weights[edge]}")
    if num_bad:
        more = f"; and {num_bad - MAX_SHOWN:,} more" if num_bad > MAX_SHOWN else ""
        raise GraphError(
            f"edge weights must be finite and greater than 0, but {'; '.join(shown)}{more}"
        )


def _add_missing(ids: Any, label_ids: Any) -> tuple[Any, int]:
    missing = pc.unique(label_ids.filter(pc.invert(pc.is_in(label_ids, value_set=ids))))
    return pa.concat_arrays([ids, missing]), len(missing)


def _among(
    keep: Bool[np.ndarray, " node"],
    adjacency: Adjacency,
    node_ids: NodeIds,
    statements: Statements | None,
) -> tuple[Adjacency, NodeIds, Statements | None]:
    """Edges, ids and statements of the nodes that stay."""
    if keep.all():
        return adjacency, node_ids, statements
    return (
        adjacency.among(keep),
        NodeIds(node_ids.array.filter(pa.array(keep))),
        None if statements is None else statements.among(keep),
    )


def _shown(ids: Any) -> str:
    more = f", and {len(ids) - MAX_SHOWN:,} more" if len(ids) > MAX_SHOWN else ""
    return ", ".join(repr(name) for name in ids[:MAX_SHOWN].to_pylist()) + more


def _nothing_left(report: BuildReport) -> str:
    reasons = [f"{report.num_self_loops:,} were self-loops"] if report.num_self_loops else []
    if report.num_unlabelled_dropped:
        reasons.append(f"{report.num_unlabelled_dropped:,} nodes without labels were left out")
    return (
        f"none of the {report.num_input_edges:,} edges is left ({'; '.join(reasons)}); "
        "expected at least one edge between two nodes"
    )
