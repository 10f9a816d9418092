"""The paper's Figures 4 and 5, of the trials that were run."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metatne.errors import MissingExtraError
from metatne.evaluation.methods import check_method
from metatne.evaluation.protocol import PAPER
from metatne.storage import new_file

FIGURES = {
    "negatives": ("negatives", "positives", "Negatives of support and query (K-)"),
    "queries": ("query_negatives", "query_positives", "Negatives of the query"),
}
"""Study: what goes along the axis, what each picture holds fixed, and the axis' name."""

METRICS = {"auc": "AUC", "f1": "F1"}
Row = dict[str, Any]


def draw_plots(rows_by_study: dict[str, list[Row]], folder: Path, beside: Path) -> str:
    """Draw what there are trials for; Markdown that shows it in a page in `beside`."""
    pictures = []
    for study, axes in FIGURES.items():
        rows = [row for row in rows_by_study.get(study, []) if row["protocol"] == PAPER]
        for dataset in sorted({row["dataset"] for row in rows}):
            path = folder / f"{study}-{dataset}.svg"
            _draw([row for row in rows if row["dataset"] == dataset], *axes, path)
            place = os.path.relpath(path, beside)
            pictures.append(f"![{study}, {dataset}]({place})\n")
    return "\n## Figures\n\n" + "\n".join(pictures) if pictures else ""


def _by_name(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The trials of every method and preset, by the name of their line."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["method"], row["preset"])):
        entry = check_method(row["method"])
        name = f"{entry.title} ({row['preset']})" if entry.has_presets else entry.title
        found.setdefault(name, []).append(row)
    return found


def _draw(rows: Sequence[Row], along: str, fixed: str, label: str, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "plots need the package matplotlib; pip install 'metatne[experiments]'"
        ) from error
    held = sorted({row[fixed] for row in rows})
    figure = Figure(figsize=(4.5 * len(held), 3.2 * len(METRICS)), layout="constrained")
    axes = figure.subplots(len(METRICS), len(held), squeeze=False, sharex=True)
    for column, value in enumerate(held):
        some = [row for row in rows if row[fixed] == value]
        for line, (metric, title) in enumerate(METRICS.items()):
            axis = axes[line][column]
            for name, of_method in _by_name(some).items():
                places = sorted({row[along] for row in of_method})
                groups = [[r[metric] for r in of_method if r[along] == x] for x in places]
                axis.errorbar(
                    places,
                    [statistics.mean(group) for group in groups],
                    [statistics.stdev(g) / len(g) ** 0.5 if len(g) > 1 else 0 for g in groups],
                    marker="o",
                    capsize=3,
                    label=name,
                )
            axis.set_ylabel(title)
            axis.grid(alpha=0.3)
        axes[0][column].set_title(f"{value} positives")
        axes[-1][column].set_xlabel(label)
    axes[0][0].legend()
    with new_file(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
