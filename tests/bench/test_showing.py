"""Figures as they are read."""

from __future__ import annotations

import pytest

from metatne.bench.figure import Figure
from metatne.bench.showing import HEADINGS, cells, readable


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.01234, "s", "0.0123 s"),
        (45.25, "s", "45.2 s"),
        (144.4, "GFLOP/s", "144 GFLOP/s"),
        (12_345.6, "nodes/s", "12,346 nodes/s"),
        (1_234_567, "pairs/s", "1.23 million pairs/s"),
        (3 * 2**30, "bytes", "3 GiB"),
        (1.5 * 2**20, "bytes", "1.5 MiB"),
        (12, "bytes", "12 bytes"),
        (0.5, "", "0.5"),
    ],
)
def test_numbers_keep_three_digits(value: float, unit: str, text: str) -> None:
    assert readable(value, unit) == text


def test_a_row_says_whether_the_goal_is_met() -> None:
    alone = Figure("ppi", "step", 2.0, "s")
    assert cells(alone) == ("ppi", "step", "2 s", "", "", "", "")
    met = Figure("ppi", "step", 2.0, "s", against=20.0, ratio=10.0, goal=8, judged="ratio at least")
    assert cells(met)[2:] == ("2 s", "20 s", "10 ×", "≥ 8 ×", "met")
    missed = Figure("ppi", "step", 2.0, "s", goal=1.5)
    assert cells(missed)[5:] == ("≤ 1.5 s", "MISSED")
    fast = Figure("ppi", "pairs", 2e6, "pairs/s", goal=1e6, judged="value at least")
    assert cells(fast)[5:] == ("≥ 1 million pairs/s", "met")
    assert len(cells(fast)) == len(HEADINGS)
