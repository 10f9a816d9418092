"""Which trials belong together: what a line of a table, or of a plot, is called."""

from __future__ import annotations

from typing import Any

from metatne.evaluation.methods import check_method
from metatne.evidence.head import VERSION

Row = dict[str, Any]
"""A finished trial."""

OURS = "metatne"


def series_name(row: Row) -> str:
    """The method as tables call it, with its preset, and whether it is what is shipped."""
    method = check_method(row["method"])
    name = f"{method.title} ({row['preset']})" if method.has_presets else method.title
    return f"{name}, earlier head" if is_of_earlier_head(row) else name


def is_of_earlier_head(row: Row) -> bool:
    """Whether a trial of the head `evidence` was run with one that is no longer what is shipped."""
    has_evidence = row.get("settings", {}).get("head", "evidence") == "evidence"
    is_default = (row["method"], row["preset"]) == (OURS, "default")
    return is_default and has_evidence and row.get("version") != VERSION
