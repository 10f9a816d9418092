"""Examples and candidates in text files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metatne.graph.readers.fields import UNCLOSED, split_fields
from metatne.graph.readers.text import BadLines, load_text, quoted

_SIGNS = {"1": True, "+": True, "0": False, "-": False}
_HEADER = ("node", "id")


def read_support(path: Path) -> tuple[list[str], list[str]]:
    """Positives and negatives from lines `node,1` and `node,0` (`+` and `-` as well)."""
    positives: list[str] = []
    negatives: list[str] = []
    bad = BadLines(str(path))
    for number, fields in _rows(path, bad):
        sign = _SIGNS.get(fields[1]) if len(fields) == 2 and fields[0] else None
        if sign is None:
            bad.add(number, "a node and 1 or 0 (node,1)", quoted(",".join(fields)))
        else:
            (positives if sign else negatives).append(fields[0])
    bad.raise_if_any()
    return positives, negatives


def read_candidates(path: Path) -> list[str]:
    """Node ids, one a line."""
    nodes: list[str] = []
    bad = BadLines(str(path))
    for number, fields in _rows(path, bad):
        if len(fields) == 1:
            nodes.append(fields[0])
        else:
            bad.add(number, "one node (in quotes if it has a comma)", quoted(",".join(fields)))
    bad.raise_if_any()
    return nodes


def _rows(path: Path, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line that says something; a header is passed over."""
    for place, (number, line) in enumerate(load_text(path).lines()):
        fields = split_fields(line, ",")
        if fields is None:
            bad.add(number, UNCLOSED, quoted(line))
        elif place or fields[0].casefold() not in _HEADER or fields[1:2] in (["1"], ["0"]):
            yield number, fields
