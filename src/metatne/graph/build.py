"""From edges and labels by id to the store: the one place where a graph is cleaned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from jaxtyping import Bool, Float32, Int64, Integer

from metatne.errors import MAX_SHOWN, GraphError, LabelError
from metatne.graph.node_ids import NodeIds, id_array
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.report import BuildReport
from metatne.graph.statements import Statements, place_statements
from metatne.graph.store import Graph

__all__ = ["BuildReport", "build_graph"]


def build_graph(
    edges: RawEdges,
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

    `keep_unlinked` adds nodes that only the labels name (else that is an error);
    `labelled_only` keeps the nodes whose labels are stated and the edges among them;
    `drop_isolated` then leaves out nodes without an edge.
    """
    if labelled_only and labels is None:
        raise LabelError("only labelled nodes are wanted, but no labels are given")
    label_ids = _label_ids(labels)
    sources, targets, listed, label_ids = _one_type(edges, label_ids, keep_unlinked)
    ids, rows, columns = _number_nodes(sources, targets, listed)
    if len(rows) == 0:
        raise GraphError("the graph has no edges; expected at least one edge between two nodes")
    report = BuildReport(num_input_edges=len(rows), was_directed=edges.is_directed)
    pairs, report = _merge(ids, rows, columns, edges.weights, report)
    if labels is not None and keep_unlinked:
        ids, num_added = _add_missing(ids, label_ids)
        report = replace(report, num_unlinked_label_nodes=num_added)
    node_ids = NodeIds(ids)
    statements = None if labels is None else place_statements(labels, label_ids, node_ids)
    keep = np.ones(len(node_ids), dtype=bool)
    if statements is not None and labelled_only:
        keep = statements.annotated()
        report = replace(report, num_unlabelled_dropped=int((~keep).sum()))
        pairs = pairs.among(keep)
    is_linked = np.zeros(len(node_ids), dtype=bool)
    is_linked[pairs.low] = is_linked[pairs.high] = True
    num_isolated = int((keep & ~is_linked).sum())
    report = replace(report, num_isolated=num_isolated, was_isolated_dropped=drop_isolated)
    if drop_isolated:
        keep &= is_linked
    if len(pairs.low) == 0:
        raise GraphError(_nothing_left(report))
    return _assemble(node_ids, pairs, statements, keep, name, report)


@dataclass(frozen=True)
class _Pairs:
    """Unique undirected edges, low < high, sorted by low, then high."""

    low: Int64[np.ndarray, " edge"]
    high: Int64[np.ndarray, " edge"]
    weights: Float32[np.ndarray, " edge"] | None

    def among(self, keep: Bool[np.ndarray, " node"]) -> _Pairs:
        both = keep[self.low] & keep[self.high]
        weights = None if self.weights is None else self.weights[both]
        return _Pairs(self.low[both], self.high[both], weights)


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
    edges: RawEdges, label_ids: Any, keep_unlinked: bool
) -> tuple[Any, Any, Any | None, Any]:
    """All ids as int64 if the edges' are, else all as strings."""
    columns = [id_array(edges.sources), id_array(edges.targets)]
    if edges.nodes is not None:
        columns.append(id_array(edges.nodes))
    if len(columns[0]) != len(columns[1]):
        raise GraphError(
            f"{len(columns[0]):,} edge sources do not pair with {len(columns[1]):,} targets"
        )
    if edges.weights is not None and len(edges.weights) != len(columns[0]):
        raise GraphError(
            f"{len(columns[0]):,} edges need as many weights, not {len(edges.weights):,}"
        )
    is_integer = all(pa.types.is_int64(column.type) for column in columns)
    if is_integer and not pa.types.is_int64(label_ids.type):
        numbers = _integers_or_null(label_ids)
        if numbers.null_count and keep_unlinked:
            is_integer = False  # a label names a node "x", which then is a node
        elif not numbers.null_count:
            label_ids = numbers
        # Otherwise the names that are no integers are reported as missing, as written.
    if not is_integer:
        columns = [column.cast(pa.large_string()) for column in columns]
        label_ids = label_ids.cast(pa.large_string())
    return columns[0], columns[1], columns[2] if len(columns) == 3 else None, label_ids


def _integers_or_null(texts: Any) -> Any:
    """Canonical decimal integers as int64, null for any other text."""
    is_integer = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")
    return pc.if_else(is_integer, texts, pa.scalar(None, texts.type)).cast(pa.int64())


def _number_nodes(
    sources: Any, targets: Any, listed: Any | None
) -> tuple[Any, Int64[np.ndarray, " edge"], Int64[np.ndarray, " edge"]]:
    """The node ids in order, and each edge's two ends by position."""
    both = pa.concat_arrays([sources, targets])
    if both.null_count:
        edge = int(np.flatnonzero(pc.is_null(both))[0]) % len(sources)
        raise GraphError(f"edge {edge + 1} has no source or no target")
    if listed is not None:
        places = pc.index_in(both, value_set=listed)
        if places.null_count:
            missing = pc.unique(both.filter(pc.is_null(places)))
            raise GraphError(
                f"the edges name {len(missing):,} nodes that the list of nodes lacks: "
                + _shown(missing)
            )
        codes, ids = np.asarray(places, dtype=np.int64), listed
    else:
        encoded = both.dictionary_encode()
        codes, found = np.asarray(encoded.indices, dtype=np.int64), encoded.dictionary
        if pa.types.is_int64(found.type):
            order = np.argsort(np.asarray(found), kind="stable")
        else:
            # Written backwards, so that what stays is each string's first appearance,
            # reading along the lines: source, target, next line.
            first = np.empty(len(found), dtype=np.int64)
            along = codes.reshape(2, -1).T.reshape(-1)
            first[along[::-1]] = np.arange(len(along))[::-1]
            order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        codes, ids = rank[codes], found.take(pa.array(order))
    return ids, codes[: len(sources)], codes[len(sources) :]


def _merge(
    ids: Any,
    rows: Int64[np.ndarray, " edge"],
    columns: Int64[np.ndarray, " edge"],
    weights: Float32[np.ndarray, " edge"] | None,
    report: BuildReport,
) -> tuple[_Pairs, BuildReport]:
    """Each undirected edge once, without self-loops, and the count of what went."""
    _check_weights(ids, rows, columns, weights)
    proper = rows != columns
    rows, columns = rows[proper], columns[proper]
    num_nodes = max(len(ids), 1)
    # The lowest bit is the direction: one sort tells repeats from the two directions of an edge.
    keys = np.minimum(rows, columns) * num_nodes + np.maximum(rows, columns)
    keys = 2 * keys + (rows > columns)
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[proper][order]
    num_directed = _num_runs(keys)
    keys >>= 1
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if weights is not None:
        weights = np.maximum.reduceat(weights, starts) if len(starts) else weights
    low, high = np.divmod(keys[starts], num_nodes)
    num_one_way = 2 * len(starts) - num_directed
    report = replace(
        report,
        num_self_loops=int((~proper).sum()),
        num_duplicates=len(keys) - num_directed,
        num_reciprocal=num_directed - len(starts),
        was_symmetrised=report.was_directed and num_one_way > 0,
    )
    return _Pairs(low, high, weights), report


def _num_runs(ascending: Int64[np.ndarray, " value"]) -> int:
    return int(np.count_nonzero(np.diff(ascending, prepend=-1)))


def _check_weights(
    ids: Any,
    rows: Int64[np.ndarray, " edge"],
    columns: Int64[np.ndarray, " edge"],
    weights: Float32[np.ndarray, " edge"] | None,
) -> None:
    if weights is None:
        return
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        shown = "; ".join(
            f"{ids[rows[edge]].as_py()!r} -- {ids[columns[edge]].as_py()!r} has {weights[edge]}"
            for edge in bad[:MAX_SHOWN].tolist()
        )
        more = f"; and {len(bad) - MAX_SHOWN:,} more" if len(bad) > MAX_SHOWN else ""
        raise GraphError(f"edge weights must be finite and greater than 0, but {shown}{more}")


def _add_missing(ids: Any, label_ids: Any) -> tuple[Any, int]:
    missing = pc.unique(label_ids.filter(pc.invert(pc.is_in(label_ids, value_set=ids))))
    return pa.concat_arrays([ids, missing]), len(missing)


def _assemble(
    node_ids: NodeIds,
    pairs: _Pairs,
    statements: Statements | None,
    keep: Bool[np.ndarray, " node"],
    name: str,
    report: BuildReport,
) -> Graph:
    """Renumber the nodes that stay, and lay the edges out row by row."""
    low, high = pairs.low, pairs.high
    if not keep.all():
        number: Int64[np.ndarray, " node"] = np.cumsum(keep) - 1
        low, high = number[low], number[high]
        node_ids = NodeIds(node_ids.array.filter(pa.array(keep)))
        if statements is not None:
            statements = statements.among(keep)
    num_nodes = len(node_ids)
    labels = None
    if statements is not None:
        labels, num_repeated = statements.labels_of(num_nodes)
        report = replace(
            report, num_statements=len(statements.nodes), num_repeated_statements=num_repeated
        )
    indptr, indices, weights = _rows(low, high, pairs.weights, num_nodes)
    return Graph(indptr, indices, node_ids, labels, weights=weights, name=name, report=report)


def _rows(
    low: Int64[np.ndarray, " edge"],
    high: Int64[np.ndarray, " edge"],
    weights: Float32[np.ndarray, " edge"] | None,
    num_nodes: int,
) -> tuple[
    Int64[np.ndarray, " bounds"],
    Integer[np.ndarray, " entry"],
    Float32[np.ndarray, " entry"] | None,
]:
    index: type[np.signedinteger] = np.int32 if num_nodes < 2**31 else np.int64
    # SciPy's conversion keeps the order within a row. The smaller neighbours of a node come
    # first, then the larger ones, each ascending, so rows come out sorted without a sort.
    rows = np.concatenate([high, low]).astype(index)
    columns = np.concatenate([low, high]).astype(index)
    values: Any = np.ones(len(rows), np.int8) if weights is None else np.tile(weights, 2)
    matrix = sp.coo_array((values, (rows, columns)), shape=(num_nodes, num_nodes)).tocsr()
    indptr = matrix.indptr.astype(np.int64)
    return (
        indptr,
        matrix.indices.astype(index, copy=False),
        None if weights is None else matrix.data,
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
