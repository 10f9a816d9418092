"""The paper's Figures 4 and 5, of the trials that were run."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from metatne.evaluation.protocol import PAPER
from metatne.experiments.series import Row, series_name
from metatne.extras import needs_extra
from metatne.storage import new_file

FIGURES = {
    "negatives": ("negatives", "positives", "Negatives of support and query (K-)"),
    "queries": ("query_negatives", "query_positives", "Negatives of the query"),
}
"""Study: what goes along the axis, what each picture holds fixed, and the axis' name."""

METRICS = {"auc": "AUC", "f1": "F1"}

LEAST_SPAN = 0.05
"""Of an axis of scores."""

MANY_TIMES = 20
"""From where on an axis that grows so much is logarithmic."""


def draw_plots(rows_by_study: dict[str, list[Row]], folder: Path, beside: Path) -> str:
    """Draw what there are trials for; Markdown that shows it in a page in `beside`."""
    pictures = []
    for study, axes in FIGURES.items():
        rows = [row for row in rows_by_study.get(study, []) if row["protocol"] == PAPER]
        for dataset in sorted({row["dataset"] for row in rows}):
            path = folder / f"{study}-{dataset}.svg"
            _draw([row for row in rows if row["dataset"] == dataset], *axes, path)
            place = quote(os.path.relpath(path, beside))
            pictures.append(f"![{study}, {dataset}]({place})\n")
    return "\n## Figures\n\n" + "\n".join(pictures) if pictures else ""


def by_series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The trials of every line of a plot, by its name."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["method"], row["preset"])):
        found.setdefault(series_name(row), []).append(row)
    return found


def _new_figure(width: float, height: float) -> Any:
    with needs_extra("experiments", "a page with plots"):
        from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path) -> None:
    """To a file of the type that its name says; an SVG is the same to the byte each time."""
    from matplotlib import rc_context

    kind = path.suffix.removeprefix(".")
    facts = {"Date": None} if kind == "svg" else {}
    with new_file(path) as temporary, rc_context({"svg.hashsalt": "metatne"}):
        figure.savefig(temporary, format=kind, dpi=150, metadata=facts)


def _curve(axis: Any, name: str, groups: dict[float, list[float]]) -> None:
    """Means with their standard errors."""
    places = sorted(groups)
    axis.errorbar(
        places,
        [statistics.mean(groups[x]) for x in places],
        [
            statistics.stdev(groups[x]) / len(groups[x]) ** 0.5 if len(groups[x]) > 1 else 0
            for x in places
        ],
        marker="o",
        capsize=3,
        label=name,
    )


def draw_curves(
    curves: dict[str, dict[float, list[float]]], along: str, metric: str, path: Path
) -> None:
    """A line for each series: means over trials, with their standard errors."""
    figure = _new_figure(6.4, 4.0)
    axis = figure.subplots()
    for name, groups in curves.items():
        _curve(axis, name, groups)
    places = sorted({x for groups in curves.values() for x in groups})
    if places[0] > 0 and places[-1] / places[0] > MANY_TIMES:
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{x:g}" for x in places])
    axis.set_xlabel(along)
    axis.set_ylabel(metric)
    axis.grid(alpha=0.3)
    axis.legend()
    save_figure(figure, path)


def _draw(rows: Sequence[Row], along: str, fixed: str, label: str, path: Path) -> None:
    held = sorted({row[fixed] for row in rows})
    figure = _new_figure(4.5 * len(held), 3.2 * len(METRICS))
    axes = figure.subplots(len(METRICS), len(held), squeeze=False, sharex=True, sharey="row")
    for column, value in enumerate(held):
        some = [row for row in rows if row[fixed] == value]
        for line, (metric, title) in enumerate(METRICS.items()):
            axis = axes[line][column]
            for name, of_method in by_series(some).items():
                places = {row[along] for row in of_method}
                groups = {x: [r[metric] for r in of_method if r[along] == x] for x in places}
                _curve(axis, name, groups)
            axis.set_ylabel(title)
            axis.grid(alpha=0.3)
        axes[0][column].set_title(f"{value} positives")
        axes[-1][column].set_xlabel(label)
    for of_metric in axes:  # one scale a row, once all is drawn
        _widen(of_metric[0])
    axes[0][0].legend()
    counts = sorted({len({row["trial"] for row in of}) for of in by_series(rows).values()})
    tasks = ", ".join(f"{each:,}" for each in sorted({row["tasks"] for row in rows}))
    trials = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    figure.suptitle(f"{rows[0]['dataset']}: {trials} trials of {tasks} tasks", fontsize="medium")
    save_figure(figure, path)


def _widen(axis: Any) -> None:
    """What trials differ by anyway should not look like a cliff."""
    low, high = axis.get_ylim()
    lacking = max(0.0, LEAST_SPAN - (high - low))
    axis.set_ylim(low - lacking / 2, high + lacking / 2)
