"""Cells of a CSV file that a spreadsheet takes for text, whatever they begin with.

A spreadsheet runs a cell that begins with = as a formula, and quotes do not keep it from that.
Such a cell gets an apostrophe in front, as the spreadsheets' own users write it. So that nothing is
lost, a cell that begins with apostrophes and then = gets one more; reading takes one away.
"""

from __future__ import annotations

import re

STARTS = "=+\\-@\t\r\n＝＋－＠"
DANGEROUS = f"^('*[{STARTS}])"
_dangerous = re.compile(DANGEROUS)
_made_safe = re.compile(f"^'('*[{STARTS}])")


def safe_cell(text: str) -> str:
    """`text` as a cell that no spreadsheet runs."""
    return f"'{text}" if _dangerous.match(text) else text


def read_cell(text: str) -> str:
    """The text that `safe_cell` made the cell of."""
    return text[1:] if _made_safe.match(text) else text
