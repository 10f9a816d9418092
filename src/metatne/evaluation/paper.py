"""The paper's numbers, to stand beside ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, TypedDict


class MeanStd(TypedDict):
    """Mean and standard deviation over the paper's 50 trials."""

    mean: float
    std: float


@cache
def _tables() -> dict[str, Any]:
    text = files("metatne.evaluation").joinpath("data/paper_tables.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def paper_result(
    paper_name: str | None, positives: int, negatives: int, method: str = "MetaTNE"
) -> dict[str, MeanStd] | None:
    """auc, f1 and recall of a method in the paper, or None where the paper has no such cell."""
    cells = _tables()["results"]["values"].get(paper_name, {})
    cell: dict[str, MeanStd] | None = cells.get(f"{positives}/{negatives}", {}).get(method)
    return cell


def paper_ablation(paper_name: str | None, shots: str, variant: str) -> float | None:
    """F1 of a variant of MetaTNE in the paper's ablation, or None where it has no such cell."""
    value: float | None = _tables()["ablation_f1"].get(shots, {}).get(paper_name, {}).get(variant)
    return value


def paper_statistics(paper_name: str | None) -> dict[str, int] | None:
    """Nodes, edges and labels of a data set as the paper's Table 1 counts them."""
    found: dict[str, int] | None = _tables()["datasets"].get(paper_name)
    return found
