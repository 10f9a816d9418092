"""Which trials belong together: what a line of a table, or of a plot, is called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metatne.config import Config
from metatne.evaluation.methods import check_method, preset_of, shipped_version

Row = dict[str, Any]
"""A finished trial."""

OURS = "metatne"


def series_name(row: Row) -> str:
    """The method as tables call it, with its preset, and whether it is what is shipped."""
    method = check_method(row["method"])
    name = f"{method.title} ({row['preset']})" if method.has_presets else method.title
    return f"{name}, earlier version" if is_of_earlier_version(row) else name


def is_of_earlier_version(row: Row) -> bool:
    """Whether a trial was run with a method, or a head of MetaTNE's, as it is no longer shipped."""
    params = preset_of(row["method"], row["preset"], row["dataset"]) | row.get("settings", {})
    if row["method"] == OURS:
        params = {"head": Config.model_fields["head"].default} | params
    return bool(row.get("version", 1) != shipped_version(row["method"], params))


def told_apart(rows: Iterable[Row], graphs: dict[str, set[str]]) -> list[Row]:
    """Rows in which graphs of one name have names of their own.

    `graphs` has those of each name that any row is of; rows of before do not say which.
    """
    return [
        row | {"dataset": f"{row['dataset']} ({row['graph']})"}
        if len(graphs.get(row["dataset"], ())) > 1 and "graph" in row
        else row
        for row in rows
    ]


def graphs_by_name(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Which graphs there are of every name."""
    graphs: dict[str, set[str]] = {}
    for row in rows:
        if "graph" in row:
            graphs.setdefault(row["dataset"], set()).add(row["graph"])
    return graphs
