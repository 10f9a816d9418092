"""Label files as text, in three kinds.

pairs   node, label[, state]            one statement a line
lists   node label label …              or  node,label;label|label
wide    node, <label>, <label>, …       a header, then 1, 0 or an empty cell for each label
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from metatne.errors import LabelError
from metatne.free_memory import check_room
from metatne.graph.raw import RawLabels
from metatne.graph.readers.columns import LABEL_NAMES, LIST_NAMES, is_named_lists, is_named_pairs
from metatne.graph.readers.comments import Comments
from metatne.graph.readers.fields import (
    UNCLOSED,
    WHITESPACE,
    check_delimiter,
    integers_if_all_are,
    is_integer,
    sample_lines,
    sniff_delimiter,
    split_fields,
    usual_count,
)
from metatne.graph.readers.label_states import (
    LABEL_SEPARATOR,
    STATE,
    ambiguous,
    cell_state,
    check_kind,
    split_labels,
    wide_labels,
)
from metatne.graph.readers.text import BadLines, Text, load_text, quoted, wrong_file

_Row = tuple[int, list[str]]

ROW_BYTES, FIELD_BYTES = 150, 70
"""What a line and a field of it take once they are apart."""


def read_label_file(
    path: Path,
    *,
    kind: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    notes: list[str] | None = None,
) -> RawLabels:
    """The labels in a text file; its kind is detected unless told.

    What was taken for granted about the file is added to `notes`.
    """
    return parse_labels(load_text(path), kind=kind, delimiter=delimiter, header=header, notes=notes)


def parse_labels(
    text: Text,
    *,
    kind: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    notes: list[str] | None = None,
) -> RawLabels:
    """The labels in a text; see `read_label_file`."""
    check_kind(kind)
    check_delimiter(delimiter)
    if delimiter is None:
        delimiter = _sniff(text, kind)
    comments = _comments(text, delimiter)
    if notes is not None:
        notes.extend(comments.notes())
    num_fields = sum(map(text.data.count, (b" ", b"\t", b",", b";", b"|")))
    check_room(text.path, ROW_BYTES * text.data.count(b"\n") + FIELD_BYTES * num_fields)
    bad = BadLines(text.path)
    rows: list[_Row] = []
    for number, line in text.lines(comments):
        fields = split_fields(line, delimiter)
        if fields is None:
            bad.add(number, UNCLOSED, quoted(line))
        else:
            rows.append((number, fields))
    bad.raise_if_any()
    if not rows:
        raise wrong_file(text.path, "labels of nodes", "no line that says something")
    if kind is None:
        kind = _detect_kind(text.path, [fields for _, fields in rows], delimiter)
    if kind == "wide":
        if header is False:
            raise LabelError(f"{text.path}: a wide table needs its header, which names the labels")
        return _read_wide(text.path, rows)
    if header is None:
        header = _has_header(kind, [fields for _, fields in rows])
        _note_first_line(text.path, rows, header, notes)
    body = rows[1:] if header else rows
    if not body:
        raise wrong_file(text.path, "labels of nodes below the header", "the header alone")
    return _read_lists(text.path, body) if kind == "lists" else _read_pairs(text.path, body)


def _sniff(text: Text, kind: str | None) -> str:
    sample = sample_lines(text)
    delimiter = sniff_delimiter(text.path, sample)
    # "node label;label" is split at the blank, and the list at its own separator.
    if delimiter == ";" and kind != "wide" and all(" " in line.strip() for _, line in sample):
        return WHITESPACE
    return delimiter


def _comments(text: Text, delimiter: str) -> Comments:
    """The comments of a file whose lines have as many fields as sampled, or two and more."""
    sample = sample_lines(text)
    counts = {len(split_fields(line, delimiter) or []) for _, line in sample}
    num_fields = counts if len(counts) == 1 else range(2, sys.maxsize)
    return Comments.of(text, sample, delimiter, num_fields)


def _detect_kind(source: str, rows: Sequence[list[str]], delimiter: str) -> str:
    first, rest = rows[0], rows[1:]
    if is_named_pairs(first):
        return "pairs"
    if is_named_lists(first):
        return "lists"
    num_fields = usual_count(rows)
    most = max(map(len, rows))
    alike = [row for row in rest if len(row) == len(first)]
    is_table = len(first) == num_fields >= 2 and 2 * len(alike) >= len(rest)
    has_names = is_table and not any(cell_state(cell) is not None for cell in first[1:])
    is_states = bool(alike) and all(
        cell_state(cell) is not None for row in alike for cell in row[1:]
    )
    if has_names and is_states:
        if num_fields == 2:
            raise ambiguous(
                source, f"a wide table with the one label {first[1]!r}", "pairs with labels 0 and 1"
            )
        return "wide"
    has_lists = any(LABEL_SEPARATOR.search(cell) for row in rows for cell in row[1:])
    is_ragged = len({len(row) for row in rows if len(row) > 1}) > 1
    third_is_state = all(cell_state(row[2]) is not None for row in rows if len(row) == 3)
    if delimiter == WHITESPACE or (delimiter == "\t" and is_ragged and not third_is_state):
        if most == 3 and not is_ragged and third_is_state:
            raise ambiguous(source, "pairs with a state", "lists of two labels a node")
        return "lists" if most > 2 or has_lists else "pairs"
    if num_fields == 2:
        return "lists" if has_lists else "pairs"
    if num_fields == 3:
        if is_states or (not rest and cell_state(first[1]) is not None):
            raise ambiguous(
                source, "pairs with labels 0 and 1 and a state", "a wide table without its header"
            )
        return "pairs"
    return "wide" if has_names else "pairs"


def _has_header(kind: str, rows: Sequence[list[str]]) -> bool:
    first, rest = rows[0], rows[1:]
    if len(first) < 2:
        return False
    if first[1].casefold() in (LABEL_NAMES if kind == "pairs" else LIST_NAMES):
        return True
    if kind == "pairs" and len(first) == 3 and cell_state(first[2]) is None:
        states = [row for row in rest if len(row) == 3 and cell_state(row[2]) is not None]
        return 2 * len(states) > len(rest)
    return (
        len(rest) > 0
        and not any(map(is_integer, first))
        and all(is_integer(row[0]) and all(map(is_integer, row[1:2])) for row in rest)
    )


def _note_first_line(
    source: str, rows: Sequence[_Row], is_header: bool, notes: list[str] | None
) -> None:
    """Say what the first line was taken for, if it is a header or might well be one."""
    if notes is None:
        return
    number, first = rows[0]
    place = f"{Path(source).name}:{number} ({quoted(','.join(first))})"
    if is_header:
        notes.append(f"{place} was read as a header; --no-label-header if it is none")
    elif len(rows) > 1 and len(first) > 1 and not any(map(is_integer, first)):
        seen = {field for _, fields in rows[1:] for field in fields}
        if seen.isdisjoint(first[:2]):
            notes.append(f"{place} was read as labels; --label-header if it is a header")


def _read_pairs(source: str, rows: Sequence[_Row]) -> RawLabels:
    bad = BadLines(source)
    num_fields = 3 if usual_count([fields for _, fields in rows]) == 3 else 2
    nodes: list[str] = []
    labels: list[str] = []
    states, lines = array("b"), array("q")
    for number, fields in rows:
        if len(fields) != num_fields:
            asked = "2 fields (node, label)" if num_fields == 2 else "3 fields (node, label, state)"
            found = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
            bad.add(number, asked, f"{found}: {quoted(' '.join(fields))}")
        elif not fields[0] or not fields[1]:
            bad.add(number, "a node and a label", f"an empty one: {quoted(','.join(fields))}")
        else:
            state = cell_state(fields[2]) if num_fields == 3 else 1
            if state is None:
                bad.add(number, f"as the state {STATE}", quoted(fields[2]))
                continue
            nodes.append(fields[0])
            labels.append(fields[1])
            states.append(state)
            lines.append(number)
    bad.raise_if_any()
    return RawLabels(
        nodes=_ids(nodes),
        labels=pa.array(labels, pa.large_string()),
        states=np.array(states, dtype=np.int8),
        source=source,
        lines=np.array(lines, dtype=np.int64),
    )


def _read_lists(source: str, rows: Sequence[_Row]) -> RawLabels:
    bad = BadLines(source)
    nodes: list[str] = []
    labels: list[str] = []
    empty: list[str] = []
    lines = array("q")
    for number, fields in rows:
        if not fields[0]:
            bad.add(number, "a node, then its labels", f"no node: {quoted(','.join(fields))}")
            continue
        held = [label for field in fields[1:] for label in split_labels(field)]
        if not held:
            empty.append(fields[0])  # looked at, and holds nothing
        nodes.extend([fields[0]] * len(held))
        labels.extend(held)
        lines.extend([number] * len(held))
    bad.raise_if_any()
    ids = _ids(nodes + empty)
    return RawLabels(
        nodes=ids[: len(nodes)],
        labels=pa.array(labels, pa.large_string()),
        complete=ids[len(nodes) :],
        source=source,
        lines=np.array(lines, dtype=np.int64),
    )


def _read_wide(source: str, rows: Sequence[_Row]) -> RawLabels:
    bad = BadLines(source)
    header_line, header = rows[0]
    names = header[1:]
    if not names or "" in names or len(set(names)) != len(names):
        raise wrong_file(
            source,
            "a header with a different name for each label",
            quoted(",".join(header)),
            line=header_line,
        )
    first_line: dict[str, int] = {}
    cells: list[list[int]] = []
    for number, fields in rows[1:]:
        if len(fields) != len(header):
            found = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
            bad.add(number, f"{len(header)} fields, as in the header", found)
            continue
        states = [cell_state(cell) for cell in fields[1:]]
        known = [state for state in states if state is not None]
        if not fields[0]:
            bad.add(number, "a node in the first field", "an empty field")
        elif len(known) < len(states):
            label = states.index(None)
            bad.add(number, f"for label {names[label]!r} {STATE}", quoted(fields[1 + label]))
        elif fields[0] in first_line:
            bad.add(
                number,
                "one line a node",
                f"{quoted(fields[0])} again, which line {first_line[fields[0]]} has",
            )
        else:
            first_line[fields[0]] = number
            cells.append(known)
    bad.raise_if_any()
    return wide_labels(
        _ids(list(first_line)),
        names,
        np.array(cells, dtype=np.int8).reshape(len(cells), len(names)),
        source=source,
        lines=np.array(list(first_line.values()), dtype=np.int64),
    )


def _ids(nodes: list[str]) -> pa.Array:
    return integers_if_all_are(pa.array(nodes, pa.large_string()))
