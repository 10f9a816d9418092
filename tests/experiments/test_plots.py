"""Figures 4 and 5 as they are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.rows import row
from metatne.evidence.head import VERSION
from metatne.experiments.plots import by_series, draw_plots


def test_plots_show_all_points_on_one_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    monkeypatch.setattr("metatne.experiments.plots.save_figure", lambda fig, _: drawn.append(fig))
    rows = [
        row("metatne", 1, auc, f1=auc, positives=k, negatives=n, query_negatives=n)
        for k, auc in ((10, 0.6), (20, 0.605))
        for n in (10, 20)
    ]
    rows += [row("planetoid", 1, 0.9, f1=0.3, positives=20)]
    draw_plots({"negatives": rows}, tmp_path, tmp_path)
    (figure,) = drawn
    for axis in figure.axes:
        low, high = axis.get_ylim()
        assert low <= axis.dataLim.y0 <= axis.dataLim.y1 <= high
        assert high - low >= 0.05
        assert axis.get_ylim() == figure.axes[figure.axes.index(axis) // 2 * 2].get_ylim()


def test_plots(tmp_path: Path) -> None:
    rows = [
        row(method, trial, 0.6 + n / 1000, negatives=n, query_negatives=n)
        for method in ("metatne", "planetoid")
        for trial in (1, 2)
        for n in (10, 20)
    ]
    shown = draw_plots({"negatives": rows}, tmp_path / "plots", tmp_path)
    assert "![negatives, ppi](plots/negatives-ppi.svg)" in shown
    first = (tmp_path / "plots" / "negatives-ppi.svg").read_text()
    assert "MetaTNE" in first
    assert draw_plots({}, tmp_path, tmp_path) == ""


def test_plots_tell_trials_of_an_earlier_head_apart() -> None:
    now = [row("metatne", trial, 0.7) for trial in (1, 2)]
    before = [row("metatne", trial, 0.6, version=VERSION - 1) for trial in (1, 2)]
    found = by_series([*now, *before, row("lp", 1, 0.5)])
    assert {name: len(rows) for name, rows in found.items()} == {
        "LP": 1,
        "MetaTNE (default)": 2,
        "MetaTNE (default), earlier version": 2,
    }
