"""Finished trials as lines of results, and lines of a page as cells."""

from __future__ import annotations

from typing import Any

from metatne.evaluation.methods import check_method
from metatne.evidence.head import VERSION


def row(method: str, trial: int, auc: float, **changes: Any) -> dict[str, Any]:
    return {
        "dataset": "ppi",
        "method": method,
        "preset": "default",
        "positives": 10,
        "negatives": 20,
        "query_positives": 10,
        "query_negatives": 20,
        "protocol": "paper",
        "tasks": 1000,
        "trial": trial,
        "config_hash": f"of {method}",
        "version": VERSION if method == "metatne" else check_method(method).version,
        "auc": auc,
        "f1": 0.5,
        "recall": 0.6,
        "average_precision": 0.4,
        "seconds": 10.0 * trial,
        "steps": 5,
        "memory_gb": 0.5 + trial / 10,
    } | changes


OURS = [row("metatne", trial, 0.70 + trial / 100) for trial in (1, 2, 3, 4)]
LP = [row("lp", trial, 0.60 + trial / 50) for trial in (2, 3, 4, 9)]
MANY = [row("metatne", trial, 0.70 + trial / 100) for trial in range(1, 8)]
MANY_LP = [row("lp", trial, 0.60 + trial / 50) for trial in range(2, 9)]


def line_of(page: str, start: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]
