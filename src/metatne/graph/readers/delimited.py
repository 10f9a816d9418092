"""Edge lists as text: CSV, TSV or blank-separated, with or without header and weights.

Plain lines are read by a fast loop, block by block. Where anything asks for care (quotes,
comments among the lines) the text is read by Arrow, and only when that fails is it read
line by line, to name the lines that are wrong. So the common case is fast, the rest right,
and the error exact.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from jaxtyping import Float32, Float64

from metatne.errors import GraphError, InputError
from metatne.graph.numbering import number_ends, sort_integers
from metatne.graph.raw import NumberedEdges, RawEdges
from metatne.graph.readers.fields import (
    NUM_SAMPLED,
    UNCLOSED,
    WHITESPACE,
    integers_if_all_are,
    is_integer,
    sample_lines,
    split_fields,
)
from metatne.graph.readers.layout import LARGEST, SMALLEST, Layout, detect_layout, parse_weight
from metatne.graph.readers.plain_lines import Irregular, Lines, read_plain_lines
from metatne.graph.readers.text import BadLines, Text, check_text, load_text, quoted

SHAPE = "2 or 3 fields (source, target[, weight])"
WEIGHT = "a weight that is a finite number greater than 0"


@dataclass(frozen=True)
class EdgeListOptions:
    """What is told about the layout of an edge list; the rest is detected."""

    directed: bool = False
    delimiter: str | None = None
    header: bool | None = None
    weighted: bool | None = None
    """False leaves a third column aside, True asks for one."""

    def layout_of(self, text: Text) -> Layout:
        """The layout of a text, or of one that begins like it."""
        return detect_layout(text, self.delimiter, self.header, self.weighted)


def read_edge_list(
    path: Path,
    *,
    directed: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    notes: list[str] | None = None,
) -> NumberedEdges:
    """The edges of a text file; what is not told about its layout is detected.

    `weighted` False leaves a third column aside, True asks for one. What was taken for
    granted about the file is added to `notes`.
    """
    options = EdgeListOptions(directed, delimiter, header, weighted)
    # What is no file, such as a pipe, can be read only once.
    found = read_plainly(Lines.of_file(path), options, notes) if path.is_file() else None
    return read_carefully(load_text(path), options, notes) if found is None else found


def parse_edge_list(
    text: Text,
    *,
    directed: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    weighted: bool | None = None,
    notes: list[str] | None = None,
) -> NumberedEdges:
    """The edges in a text; see `read_edge_list`."""
    options = EdgeListOptions(directed, delimiter, header, weighted)
    found = read_plainly(Lines.of_text(text), options, notes)
    return read_carefully(text, options, notes) if found is None else found


def read_plainly(
    lines: Lines, options: EdgeListOptions, notes: list[str] | None = None
) -> NumberedEdges | None:
    """The edges in a text of plain lines, None if it has others or none.

    Equal to what `read_carefully` gives, which a test holds on to.
    """
    try:
        head, start = _head(lines)
        layout = options.layout_of(head)
        edges = read_plain_lines(lines, layout, start + layout.comments.start(layout.header_line))
    except (Irregular, InputError):  # what is wrong is said by the careful reader
        return None
    return _noted(edges, head, layout, options, notes)


def _head(lines: Lines) -> tuple[Text, int]:
    """The first lines, as many as a layout is told by, and at which byte they begin."""
    blocks = lines.blocks()
    data = next(blocks, np.empty(0, np.uint8)).tobytes()
    head = check_text(lines.path, data)
    if len(sample_lines(head)) < NUM_SAMPLED and next(blocks, None) is not None:
        raise Irregular("a block of comments")
    return head, len(data) - len(head.data)  # a byte order mark


def read_carefully(
    text: Text, options: EdgeListOptions, notes: list[str] | None = None
) -> NumberedEdges:
    """The edges in any text, or an error that names its bad lines."""
    layout = options.layout_of(text)
    columns = _read_regular(layout)
    if columns is None:
        columns = _read_lines(text, layout)
    edges = number_ends(RawEdges(*columns))
    if not edges.num_edges:
        header_note = (
            f"; line {layout.header_line} was read as a header (header=False if it is none)"
        )
        comment_note = "".join(f"\n{note}" for note in layout.comments.notes())
        raise GraphError(
            f"{text.path} has no edges; expected lines of {SHAPE}, and lines that begin with "
            f"# or % are comments{header_note if layout.header_line else ''}{comment_note}"
        )
    ids = integers_if_all_are(edges.ids)
    if pa.types.is_int64(ids.type):
        edges = replace(edges, ids=sort_integers(ids, edges.ends))
    return _noted(edges, text, layout, options, notes)


def _noted(
    edges: NumberedEdges,
    text: Text,
    layout: Layout,
    options: EdgeListOptions,
    notes: list[str] | None,
) -> NumberedEdges:
    """The edges as asked for, when it is noted what was taken for granted about the text."""
    if notes is not None:
        if options.header is None:
            notes.extend(_first_line_notes(text, layout, edges))
        notes.extend(layout.comments.notes())
    return replace(edges, is_directed=options.directed)


def _first_line_notes(text: Text, layout: Layout, edges: NumberedEdges) -> Iterator[str]:
    """What the first line was taken for, if it is a header or might well be one.

    Names that no other line has, over ids that are text, are an edge apart from the rest of
    the graph, or a header.
    """
    number, line = next(text.lines())
    place = f"{Path(text.path).name}:{number} ({quoted(line)})"
    if layout.header_line:
        yield f"{place} was read as a header; --no-header if it is none"
        return
    ends = edges.ends[0][0].tolist()
    if edges.num_edges == 1 or any(is_integer(str(edges.ids[end].as_py())) for end in ends):
        return
    if all(sum(np.count_nonzero(block == end) for block in edges.ends) == 1 for end in ends):
        yield f"{place} was read as an edge; --header if it is a header"


_Columns = tuple[pa.Array, pa.Array, Float32[np.ndarray, " edge"] | None]


def _read_regular(layout: Layout) -> _Columns | None:
    """All edges by Arrow, or None if anything looks irregular."""
    if not layout.delimiter.isascii():
        return None  # Arrow takes no other delimiter
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


def _tidy(layout: Layout) -> bytes:
    """The lines below the header without comments, runs of blanks made one."""
    data = layout.comments.body(layout.header_line)
    if layout.delimiter == WHITESPACE:
        data = data.replace(b"\t", b" ").replace(b"\r\n", b"\n")
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    return data


def _read_lines(text: Text, layout: Layout) -> _Columns:
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


def _expected_fields(layout: Layout, num_found: int) -> str:
    if layout.num_fields not in (2, 3) and layout.header_line:
        return f"{layout.num_fields} fields, as in the header"
    if num_found not in (2, 3):
        return SHAPE
    asked = "(source, target)" if layout.num_fields == 2 else "(source, target, weight)"
    return f"{layout.num_fields} fields {asked} as on most lines"


def _fields_found(fields: list[str], line: str) -> str:
    return f"{len(fields)} field{'' if len(fields) == 1 else 's'}: {quoted(line)}"
