"""Edges and labels from tables: Parquet files, pandas DataFrames and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float32, Int8

from metatne.errors import GraphError, LabelError
from metatne.graph.node_ids import id_array, is_text
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN, RawEdges, RawLabels
from metatne.graph.readers.columns import (
    EdgeColumns,
    is_named_lists,
    is_named_pairs,
    name_edge_columns,
)
from metatne.graph.readers.label_states import (
    LABEL_SEPARATOR,
    STATE,
    ambiguous,
    cell_state,
    check_kind,
    wide_labels,
)
from metatne.graph.readers.text import BadLines, wrong_file


def table_of(frame: Any, *, source: str) -> pa.Table:
    """A DataFrame as an Arrow table, without its index."""
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise wrong_file(source, "columns of one type each", str(error)) from error
    return table.rename_columns([str(name) for name in frame.columns])


def edges_from_table(
    table: pa.Table, *, source: str, directed: bool = False, weighted: bool | None = None
) -> RawEdges:
    """The edges in a table: the columns source, target[, weight], or the first two or three."""
    columns = name_edge_columns(table.column_names)
    if columns is None and table.num_columns > 3:
        columns = EdgeColumns(0, 1, None)
    if columns is None:
        raise wrong_file(
            source,
            "2 or 3 columns (source, target[, weight])",
            f"{table.num_columns}: {', '.join(table.column_names)}",
        )
    weight = None if weighted is False else columns.weight
    if weighted and weight is None:
        raise wrong_file(source, "a column of weights", ", ".join(table.column_names))
    bad = BadLines(source)
    ends = [_id_column(table, column, bad) for column in (columns.source, columns.target)]
    bad.raise_if_any()
    weights = None if weight is None else _weight_column(table, weight, bad)
    bad.raise_if_any()
    return RawEdges(ends[0], ends[1], weights, is_directed=directed)


def _id_column(table: pa.Table, column: int, bad: BadLines) -> pa.Array:
    """One column of ids; rows count from 1, as lines do."""
    name, values = table.column_names[column], table.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not is_text(values.type) and not pa.types.is_integer(values.type):
        raise wrong_file(bad.path, f"integers or text in column {name!r}", str(values.type))
    try:
        ids = id_array(values)
    except GraphError as error:
        raise wrong_file(bad.path, f"64-bit integers in column {name!r}", "larger ones") from error
    is_empty = pc.is_null(ids)
    if is_text(values.type):
        is_empty = pc.or_(is_empty, pc.fill_null(pc.equal(pc.binary_length(ids), 0), True))
    for row in np.flatnonzero(is_empty).tolist():
        bad.add(row + 1, f"an id in column {name!r}", "an empty value")
    return ids


def _weight_column(table: pa.Table, column: int, bad: BadLines) -> Float32[np.ndarray, " edge"]:
    name, values = table.column_names[column], table.column(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise wrong_file(bad.path, f"numbers (weights) in column {name!r}", str(values.type))
    numbers = values.cast(pa.float64(), safe=False).to_numpy()
    with np.errstate(over="ignore", under="ignore"):
        weights: Float32[np.ndarray, " edge"] = numbers.astype(np.float32)
    for row in np.flatnonzero(~(np.isfinite(weights) & (weights > 0))).tolist():
        bad.add(row + 1, "a weight that is a finite number greater than 0", str(numbers[row]))
    return weights


def labels_from_table(table: pa.Table, *, source: str, kind: str | None = None) -> RawLabels:
    """The labels in a table whose first column is the node: pairs, lists or wide."""
    check_kind(kind)
    if table.num_columns < 2:
        raise wrong_file(
            source,
            "a column of nodes and one of labels",
            ", ".join(table.column_names) or "nothing",
        )
    bad = BadLines(source)
    nodes = _id_column(table, 0, bad)
    bad.raise_if_any()
    if kind is None:
        kind = _detect_kind(table, source)
    if kind == "pairs":
        return _pairs(table, nodes, source)
    if kind == "lists":
        return _lists(table, nodes, source)
    names = table.column_names[1:]
    if len(set(names)) != len(names):
        raise LabelError(f"{source}: the label columns must have different names")
    if len(pc.unique(nodes)) != len(nodes):
        raise LabelError(f"{source}: a wide table must have one row a node, but a node is repeated")
    states = [_states(table, column, source) for column in range(1, table.num_columns)]
    return wide_labels(nodes, names, np.stack(states, axis=1), source=source)


def _detect_kind(table: pa.Table, source: str) -> str:
    names = table.column_names
    second = table.column(1).type
    if pa.types.is_list(second) or pa.types.is_large_list(second) or is_named_lists(names):
        return "lists"
    if is_named_pairs(names):
        return "pairs"
    if all(_is_states(table, column) for column in range(1, table.num_columns)):
        if table.num_columns == 2 and not pa.types.is_boolean(second):
            raise ambiguous(source, f"a wide table of label {names[1]!r}", "pairs with labels 0, 1")
        return "wide"
    if table.num_columns == 2 or (table.num_columns == 3 and _is_states(table, 2)):
        return "pairs"
    raise wrong_file(
        source,
        "node, label[, state], or a wide table of 1, 0 and empty cells",
        f"the columns {', '.join(names)}",
    )


def _is_states(table: pa.Table, column: int) -> bool:
    try:
        _states(table, column, "")
    except LabelError:
        return False
    return True


def _states(table: pa.Table, column: int, source: str) -> Int8[np.ndarray, " row"]:
    """The states in a column of 1, 0 and nulls, of booleans, or of the words for them."""
    values = table.column(column)
    unique = pc.unique(values)
    states = [_state(value) for value in unique.to_pylist()]
    if None in states:
        odd = unique[states.index(None)].as_py()
        raise LabelError(
            f"{source}: expected in column {table.column_names[column]!r} {STATE}, found {odd!r}"
        )
    # An index into the unique values, with nulls found as a value of their own.
    places = np.asarray(pc.index_in(values, value_set=unique), dtype=np.int64)
    return np.array(states, dtype=np.int8)[places]


def _state(value: object) -> int | None:
    if value is None or value != value:
        return UNKNOWN
    if isinstance(value, str):
        return cell_state(value.strip())
    if isinstance(value, bool | int | float) and value in (HOLDS, LACKS, UNKNOWN):
        return int(value)
    return None


def _pairs(table: pa.Table, nodes: pa.Array, source: str) -> RawLabels:
    if table.num_columns > 3:
        raise wrong_file(source, "node, label[, state]", ", ".join(table.column_names))
    bad = BadLines(source)
    labels = _id_column(table, 1, bad)
    bad.raise_if_any()
    states = _states(table, 2, source) if table.num_columns == 3 else None
    lines = np.arange(1, len(nodes) + 1, dtype=np.int64)
    return RawLabels(nodes, labels.cast(pa.large_string()), states, source=source, lines=lines)


def _lists(table: pa.Table, nodes: pa.Array, source: str) -> RawLabels:
    values = table.column(1).combine_chunks()
    kind = values.type
    if is_text(kind):
        values = pc.split_pattern_regex(
            values.cast(pa.large_string()), pattern=LABEL_SEPARATOR.pattern
        )
    elif not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise wrong_file(source, "lists of labels in the second column", str(kind))
    rows, labels = pc.list_parent_indices(values), pc.list_flatten(values)
    if not (pa.types.is_integer(labels.type) or is_text(labels.type)):
        if len(labels):
            raise wrong_file(source, "lists of text or integers", str(kind))
        labels = pa.array([], pa.large_string())  # empty lists, of whatever they would hold
    labels = pc.utf8_trim_whitespace(labels.cast(pa.large_string()))
    says = pc.fill_null(pc.greater(pc.binary_length(labels), 0), False)
    rows, labels = rows.filter(says), labels.filter(says)
    is_empty = np.ones(len(nodes), dtype=bool)
    is_empty[np.asarray(rows)] = False
    return RawLabels(
        nodes.take(rows), labels, complete=nodes.filter(pa.array(is_empty)), source=source
    )


def labels_from_mapping(mapping: dict[Any, Any], *, source: str = "labels") -> RawLabels:
    """Labels from {node: [label, …]} or {node: {label: 1, 0 or None}}; None is unannotated."""
    nodes: list[Any] = []
    labels: list[str] = []
    states: list[int] = []
    unannotated: list[Any] = []
    complete: list[Any] = []
    for node, held in mapping.items():
        if held is None:
            unannotated.append(node)
            continue
        stated = held if isinstance(held, dict) else dict.fromkeys(_listed(node, held), HOLDS)
        if not stated:
            complete.append(node)
        for label, value in stated.items():
            state = _state(value)
            if state is None:
                raise LabelError(
                    f"{source}: node {node!r}, label {label!r}: expected {STATE}, found {value!r}"
                )
            nodes.append(node)
            labels.append(str(label))
            states.append(state)
    ids = id_array(nodes + unannotated + complete)
    ends = len(nodes), len(nodes) + len(unannotated)
    return RawLabels(
        ids[: ends[0]],
        pa.array(labels, pa.large_string()),
        np.array(states, dtype=np.int8),
        unannotated=ids[ends[0] : ends[1]],
        complete=ids[ends[1] :],
        source=source,
    )


def _listed(node: object, held: object) -> Sequence[Any]:
    if isinstance(held, str | int | np.integer):
        return [held]
    if isinstance(held, list | tuple | set | frozenset | np.ndarray):
        return list(held)
    raise LabelError(f"the labels of node {node!r} must be a list of names, not {held!r}")
