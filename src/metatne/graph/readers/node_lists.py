"""Files with one node a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metatne.graph.readers.fields import UNCLOSED, split_fields
from metatne.graph.readers.text import BadLines, load_text, quoted

HEADER = ("node", "id")


def read_node_list(path: Path) -> list[str]:
    """Node ids, one a line, in quotes where they have a comma; a line #python is an id as well."""
    nodes: list[str] = []
    bad = BadLines(str(path))
    for number, fields in node_rows(path, bad):
        if len(fields) == 1:
            nodes.append(fields[0])
        else:
            bad.add(number, "one node (in quotes if it has a comma)", quoted(",".join(fields)))
    bad.raise_if_any()
    return nodes


def node_rows(path: Path, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line that is not blank; a header is passed over."""
    lines = load_text(path).lines(is_comment=lambda number, line: False)
    for place, (number, line) in enumerate(lines):
        fields = split_fields(line, ",")
        if fields is None:
            bad.add(number, UNCLOSED, quoted(line))
        elif place or fields[0].casefold() not in HEADER or fields[1:2] in (["1"], ["0"]):
            yield number, fields
