"""Examples in text files."""

from __future__ import annotations

from pathlib import Path

from metatne.graph.readers.node_lists import node_rows
from metatne.graph.readers.text import BadLines, quoted
from metatne.service.plain_cells import read_cell

_SIGNS = {"1": True, "+": True, "0": False, "-": False}
_MARKS = {"holds": True, "lacks": False}
"""As a label project is exported, whose names are written so that no spreadsheet runs them."""


def read_support(path: Path) -> tuple[list[str], list[str]]:
    """Positives and negatives from lines `node,1` and `node,0` (`+` and `-` as well).

    The file may be a label project's, with `holds` and `lacks`.
    """
    positives: list[str] = []
    negatives: list[str] = []
    bad = BadLines(str(path))
    for number, fields in node_rows(path, bad):
        node, sign = (fields[0], fields[1]) if len(fields) == 2 and fields[0] else ("", "")
        holds = _SIGNS.get(sign, _MARKS.get(sign.casefold()))
        if holds is None:
            bad.add(number, "a node and 1 or 0 (node,1)", quoted(",".join(fields)))
        else:
            name = node if sign in _SIGNS else read_cell(node)
            (positives if holds else negatives).append(name)
    bad.raise_if_any()
    return positives, negatives
