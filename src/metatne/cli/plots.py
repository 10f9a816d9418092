"""Pictures of a ranking and of a training (the extra `plot`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metatne.cli.options import check_new_file
from metatne.errors import InputError
from metatne.extras import needs_extra
from metatne.storage import new_file

MAX_DRAWN = 40
"""Rows of a ranking that still have names beside them."""

HOLDS, LACKS = "#0072b2", "#999999"  # which people who see few colours tell apart too
SUFFIXES = (".png", ".svg", ".pdf")


def check_plot(file: Path | None) -> None:
    """Refuse a picture that cannot be drawn, before there is work that would be lost."""
    if file is None:
        return
    if file.suffix not in SUFFIXES:
        raise InputError(
            f"--plot: expected a file that ends in {', '.join(SUFFIXES)}, found {file.name!r}"
        )
    check_new_file("--plot", file)
    _figure_kind()


def plot_ranking(table: pd.DataFrame, file: Path) -> None:
    """The likeliest nodes: probabilities, intervals, and where the decision changes.

    Nodes that nobody annotated have a line of their own, so a few may lie on the other side.
    """
    shown, line = table.head(MAX_DRAWN), table.attrs["decision_line"]
    figure = _figure_kind()(figsize=(7, 1.2 + 0.22 * len(shown)), layout="constrained")
    axis = figure.subplots()
    places = np.arange(len(shown))
    chances = shown["probability"].to_numpy()
    holds = shown["holds"].to_numpy() if "holds" in shown else chances >= line
    if "low" in shown:
        axis.hlines(places, shown["low"], shown["high"], color="#cccccc", lw=5, zorder=1)
    for wanted, colour, name in ((True, HOLDS, "holds it"), (False, LACKS, "does not")):
        some = holds == wanted
        axis.scatter(chances[some], places[some], color=colour, label=name, zorder=2)
    axis.axvline(line, color="#d55e00", ls="--", lw=1, label=f"decision ({line:.3f})")
    axis.set_yticks(places, [str(node) for node in shown["node"]], parse_math=False)
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel("probability, with an interval of 95 %" if "low" in shown else "probability")
    axis.grid(axis="x", alpha=0.3)
    axis.legend(loc="lower right")
    _save(figure, file)


def plot_history(history: pd.DataFrame, best_step: int, file: Path) -> None:
    """What each validation saw: AUC and F1 by step, and which step was kept."""
    figure = _figure_kind()(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    for column, name, colour in (("auc", "AUC", HOLDS), ("f1", "F1", "#009e73")):
        axis.plot(history["step"], history[column], marker="o", color=colour, label=name)
    axis.axvline(best_step, color="#d55e00", ls="--", lw=1, label=f"kept (step {best_step})")
    axis.set_xlabel("step")
    axis.set_ylabel("on the validation labels")
    axis.grid(alpha=0.3)
    axis.legend()
    _save(figure, file)


def _figure_kind() -> Any:
    with needs_extra("plot", "--plot"):
        from matplotlib.figure import Figure

    return Figure


def _save(figure: Any, file: Path) -> None:
    with new_file(file) as temporary:
        figure.savefig(temporary, format=file.suffix[1:], dpi=120)
