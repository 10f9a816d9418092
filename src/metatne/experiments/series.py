"""Which trials belong together: what a line of a table, or of a plot, is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def told_apart(rows: Iterable[Row], graphs: Mapping[str, Sequence[str]]) -> list[Row]:
    """Rows in which graphs of one name have names of their own, but for the first.

    `graphs` has those of each name, in order; rows of before, which do not say, are of the first.
    """
    return [
        row | {"dataset": f"{row['dataset']} ({row['graph']})"}
        if row.get("graph") in graphs.get(row["dataset"], ())[1:]
        else row
        for row in rows
    ]


def graphs_by_name(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Which graphs there are of every name, in the order of the rows."""
    graphs: dict[str, dict[str, None]] = {}
    for row in rows:
        if "graph" in row:
            graphs.setdefault(row["dataset"], {})[row["graph"]] = None
    return {name: list(those) for name, those in graphs.items()}
