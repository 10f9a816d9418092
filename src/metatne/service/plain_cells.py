"""Cells of a CSV file that a spreadsheet takes for text, whatever they begin with.

A spreadsheet runs a cell that begins with = as a formula, and quotes do not keep it from that.
Such a cell gets an apostrophe in front, as the spreadsheets' own users write it. So that nothing is
lost, a cell that begins with apostrophes and then = gets one more; reading takes one away. Where a
semicolon parts cells, as spreadsheets have it in most of Europe, what follows one is a cell too.
"""

from __future__ import annotations

import re

STARTS = "=+\\-@\t\r\n＝＋－＠"
DANGEROUS, SAFE = f"(^|;)('*[{STARTS}])", r"\1'\2"
"""The beginning of a cell that would be run, and what is written in its place."""

_dangerous = re.compile(DANGEROUS)
_made_safe = re.compile(f"(^|;)'('*[{STARTS}])")


def safe_cell(text: str) -> str:
    """`text` as a cell that no spreadsheet runs."""
    return _dangerous.sub(SAFE, text)


def read_cell(text: str) -> str:
    """The text that `safe_cell` made the cell of."""
    return _made_safe.sub(r"\1\2", text)
