"""Edge lists as text: CSV, TSV or blank-separated, with or without header and weights.

A regular file is read by Arrow. Only when that fails is it read again, line by line, to
name the lines that are wrong; so the common case is fast and the error is exact.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from jaxtyping import Float32, Float64

from metatne.errors import GraphError
from metatne.graph.raw import RawEdges
from metatne.graph.readers.columns import EdgeColumns, name_edge_columns
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
from metatne.graph.readers.text import BadLines, Text, load_text, quoted, wrong_file

SHAPE = "2 or 3 fields (source, target[, weight])"
WEIGHT = "a weight that is a finite number greater than 0"

# Between these a weight stays finite and greater than 0 as a float32.
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = float(np.finfo(np.float32).max)


def read_edge_list(
    path: Path,
    *,
    directed: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    notes: list[str] | None = None,
) -> RawEdges:
    """The edges of a text file; what is not told about its layout is detected.

    `weighted` False leaves a third column aside, True asks for one. What was taken for
    granted about the file is added to `notes`.
    """
    return parse_edge_list(
        load_text(path),
        directed=directed,
        delimiter=delimiter,
        header=header,
        weighted=weighted,
        notes=notes,
    )


def parse_edge_list(
    text: Text,
    *,
    directed: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    notes: list[str] | None = None,
) -> RawEdges:
    """The edges in a text; see `read_edge_list`."""
    layout = _detect_layout(text, delimiter, header, weighted)
    columns = _read_regular(layout)
    if columns is None:
        columns = _read_lines(text, layout)
    sources, targets, weights = columns
    if not len(sources):
        header_note = (
            f"; line {layout.header_line} was read as a header (header=False if it is none)"
        )
        comment_note = "".join(f"\n{note}" for note in layout.comments.notes())
        raise GraphError(
            f"{text.path} has no edges; expected lines of {SHAPE}, and lines that begin with "
            f"# or % are comments{header_note if layout.header_line else ''}{comment_note}"
        )
    ids = integers_if_all_are(pa.concat_arrays([sources, targets]))
    if notes is not None:
        if header is None:
            notes.extend(_first_line_notes(text, layout, ids))
        notes.extend(layout.comments.notes())
    return RawEdges(ids[: len(sources)], ids[len(sources) :], weights, is_directed=directed)


def _first_line_notes(text: Text, layout: _Layout, ids: pa.Array) -> Iterator[str]:
    """What the first line was taken for, if it is a header or might well be one.

    `ids` are the sources, then the targets. Names that no other line has, over ids that are
    text, are an edge apart from the rest of the graph, or a header.
    """
    number, line = next(text.lines())
    place = f"{Path(text.path).name}:{number} ({quoted(line)})"
    if layout.header_line:
        yield f"{place} was read as a header; --no-header if it is none"
        return
    ends = [ids[0], ids[len(ids) // 2]]
    if len(ids) == 2 or any(is_integer(str(end.as_py())) for end in ends):
        return
    if all(pc.sum(pc.equal(ids, end)).as_py() == 1 for end in ends):
        yield f"{place} was read as an edge; --header if it is a header"


@dataclass(frozen=True)
class _Layout:
    """How the lines of a file are laid out."""

    delimiter: str
    num_fields: int
    header_line: int
    """The number of the header's line, 0 without one."""

    columns: EdgeColumns
    comments: Comments


_Columns = tuple[pa.Array, pa.Array, Float32[np.ndarray, " edge"] | None]


def _detect_layout(
    text: Text, delimiter: str | None, header: bool | None, weighted: bool | None
) -> _Layout:
    check_delimiter(delimiter)
    sample = sample_lines(text)
    if delimiter is None:
        delimiter = sniff_delimiter(text.path, sample)
    rows = [split_fields(line, delimiter) or [] for _, line in sample]
    if header is None:
        header = len(rows) > 0 and _is_header(rows[0], rows[1:])
    if header and rows:
        number, names = sample[0][0], rows[0]
        columns = name_edge_columns(names)
        if columns is None:
            raise wrong_file(
                text.path,
                "columns called source and target where there are more than three",
                f"the columns {quoted(', '.join(names))}",
                line=number,
            )
        num_fields = len(names)
    else:
        num_fields = 3 if usual_count(rows) == 3 else 2
        columns = EdgeColumns(0, 1, 2 if num_fields == 3 else None)
        number = 0
    if weighted is False:
        columns = EdgeColumns(columns.source, columns.target, None)
    elif weighted and columns.weight is None:
        raise wrong_file(
            text.path,
            "3 fields (source, target, weight)",
            f"{num_fields} fields",
            line=sample[0][0] if sample else 1,
        )
    comments = Comments.of(text, sample, delimiter, (num_fields,))
    return _Layout(delimiter, num_fields, number, columns, comments)


def _is_header(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the first line names the columns: by its words, or by being unlike the rest."""
    named = name_edge_columns(first)
    if named is not None and named.is_by_name:
        # A small graph may well have nodes called u and v; a header's names do not come again.
        ends = {first[named.source], first[named.target]}
        return not any(ends.intersection(row) for row in rest)
    alike = [row for row in rest if len(row) == len(first)]
    if len(first) not in (2, 3) or 2 * len(alike) <= len(rest) or not alike:
        return False
    if len(first) == 3 and not _is_number(first[2]):
        num_weights = sum(parse_weight(row[2]) is not None for row in alike)
        return 2 * num_weights > len(alike) and not any(map(is_integer, first[:2]))
    return not any(map(is_integer, first[:2])) and all(
        is_integer(row[0]) and is_integer(row[1]) for row in alike
    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def parse_weight(field: str) -> float | None:
    """The weight that a field says, or None if it cannot be one."""
    try:
        value = float(field)
    except ValueError:
        return None
    is_plain = field.isascii() and "_" not in field  # float() also reads "1_0" and "١"
    return value if is_plain and SMALLEST <= value <= LARGEST else None


def _read_regular(layout: _Layout) -> _Columns | None:
    """All edges by Arrow, or None if anything looks irregular."""
    data = _tidy(layout)
    chosen = [layout.columns.source, layout.columns.target]
    types = {f"f{column}": pa.large_string() for column in chosen}
    if layout.columns.weight is not None:
        chosen.append(layout.columns.weight)
        types[f"f{layout.columns.weight}"] = pa.float64()
    names = [f"f{column}" for column in chosen]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            read_options=pyarrow.csv.ReadOptions(
                column_names=[f"f{column}" for column in range(layout.num_fields)],
                use_threads=False,
                block_size=2**24,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char=False if layout.delimiter == WHITESPACE else '"',
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, include_columns=names, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    # Blanks and quotes can only matter where the file has any, which is quick to ask.
    is_quoted = layout.delimiter != WHITESPACE and b'"' in data
    is_padded = layout.delimiter != WHITESPACE and (b" " in data or b"\t" in data)
    ends = []
    for name in names[:2]:
        ids = pa.concat_arrays(table.column(name).chunks)
        if is_quoted and pc.any(pc.match_substring_regex(ids, r'^\s*"|[\r\n]')).as_py():
            return None
        if is_padded:
            ids = pc.utf8_trim(ids, characters=" \t")
        if pc.any(pc.equal(pc.binary_length(ids), 0)).as_py():
            return None
        ends.append(ids)
    weights = None
    if layout.columns.weight is not None:
        values: Float64[np.ndarray, " edge"] = table.column(names[2]).to_numpy()
        if not ((values >= SMALLEST) & (values <= LARGEST)).all():
            return None
        weights = values.astype(np.float32)
    return ends[0], ends[1], weights


def _tidy(layout: _Layout) -> bytes:
    """The lines below the header without comments, runs of blanks made one."""
    data = layout.comments.body(layout.header_line)
    if layout.delimiter == WHITESPACE:
        data = data.replace(b"\t", b" ").replace(b"\r\n", b"\n")
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    return data


def _read_lines(text: Text, layout: _Layout) -> _Columns:
    """All edges line by line; raises with the lines that are wrong."""
    bad = BadLines(text.path)
    sources: list[str] = []
    targets: list[str] = []
    weights = array("f")
    for number, line in text.lines(layout.comments):
        if number == layout.header_line:
            continue
        fields = split_fields(line, layout.delimiter)
        if fields is None:
            bad.add(number, UNCLOSED, quoted(line))
            continue
        if len(fields) != layout.num_fields:
            bad.add(number, _expected_fields(layout, len(fields)), _fields_found(fields, line))
            continue
        source, target = fields[layout.columns.source], fields[layout.columns.target]
        if not source or not target:
            bad.add(number, "a source and a target", f"an empty one: {quoted(line)}")
            continue
        if layout.columns.weight is not None:
            field = fields[layout.columns.weight]
            weight = parse_weight(field)
            if weight is None:
                bad.add(number, WEIGHT, quoted(field))
                continue
            weights.append(weight)
        sources.append(source)
        targets.append(target)
    bad.raise_if_any()
    kind = pa.large_string()
    found = None if layout.columns.weight is None else np.array(weights, dtype=np.float32)
    return pa.array(sources, kind), pa.array(targets, kind), found


def _expected_fields(layout: _Layout, num_found: int) -> str:
    if layout.num_fields not in (2, 3) and layout.header_line:
        return f"{layout.num_fields} fields, as in the header"
    if num_found not in (2, 3):
        return SHAPE
    asked = "(source, target)" if layout.num_fields == 2 else "(source, target, weight)"
    return f"{layout.num_fields} fields {asked} as on most lines"


def _fields_found(fields: list[str], line: str) -> str:
    return f"{len(fields)} field{'' if len(fields) == 1 else 's'}: {quoted(line)}"
