"""Examples in text files."""

from __future__ import annotations

from pathlib import Path

from metatne.graph.readers.node_lists import node_rows
from metatne.graph.readers.text import BadLines, quoted

_SIGNS = {"1": True, "+": True, "0": False, "-": False}


def read_support(path: Path) -> tuple[list[str], list[str]]:
    """Positives and negatives from lines `node,1` and `node,0` (`+` and `-` as well)."""
    positives: list[str] = []
    negatives: list[str] = []
    bad = BadLines(str(path))
    for number, fields in node_rows(path, bad):
        sign = _SIGNS.get(fields[1]) if len(fields) == 2 and fields[0] else None
        if sign is None:
            bad.add(number, "a node and 1 or 0 (node,1)", quoted(",".join(fields)))
        else:
            (positives if sign else negatives).append(fields[0])
    bad.raise_if_any()
    return positives, negatives
