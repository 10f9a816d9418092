"""How the lines of an edge list are laid out: what is not told is detected from the first ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metatne.graph.readers.columns import EdgeColumns, name_edge_columns
from metatne.graph.readers.comments import Comments
from metatne.graph.readers.fields import (
    check_delimiter,
    is_integer,
    sample_lines,
    sniff_delimiter,
    split_fields,
    usual_count,
)
from metatne.graph.readers.text import Text, quoted, wrong_file

# Between these a weight stays finite and greater than 0 as a float32.
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Layout:
    """How the lines of a file are laid out."""

    delimiter: str
    num_fields: int
    header_line: int
    """The number of the header's line, 0 without one."""

    columns: EdgeColumns
    comments: Comments


def detect_layout(
    text: Text, delimiter: str | None, header: bool | None, weighted: bool | None
) -> Layout:
    """The layout that the first lines of a text have; what is given is not None."""
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
    return Layout(delimiter, num_fields, number, columns, comments)


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
