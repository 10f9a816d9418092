"""Examples and candidates in text files."""

from __future__ import annotations

import csv
from pathlib import Path

from metatne.errors import BadLine, FileFormatError

_SIGNS = {"1": True, "+": True, "0": False, "-": False}
_HEADER = ("node", "id")


def read_support(path: Path) -> tuple[list[str], list[str]]:
    """Positives and negatives from lines `node,1` and `node,0` (`+` and `-` as well)."""
    positives: list[str] = []
    negatives: list[str] = []
    bad = []
    for number, row in _rows(path):
        sign = _SIGNS.get(row[1].strip()) if len(row) == 2 else None
        if sign is None:
            if number == 1 and row[0].strip().lower() in _HEADER:
                continue
            bad.append(BadLine(number, "a node and 1 or 0 (node,1)", repr(",".join(row))))
            continue
        (positives if sign else negatives).append(row[0].strip())
    if bad:
        raise FileFormatError(path, bad)
    return positives, negatives


def read_candidates(path: Path) -> list[str]:
    """Node ids, one a line; a header `node` is passed over."""
    nodes, bad = [], []
    for number, row in _rows(path):
        if len(row) != 1:
            bad.append(BadLine(number, "one node", f"{len(row)} fields"))
        elif not (number == 1 and row[0].strip().lower() in _HEADER):
            nodes.append(row[0].strip())
    if bad:
        raise FileFormatError(path, bad)
    return nodes


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Line number and fields of every line that is not blank."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            return [(reader.line_num, row) for row in reader if any(field.strip() for field in row)]
    except FileNotFoundError as error:
        raise FileFormatError(path, [BadLine(0, "a readable file", "no such file")]) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(path, [BadLine(1, "UTF-8 text in CSV", str(error))]) from error
