"""What is run once stands in RESULTS.md as it was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metatne.errors import InputError
from metatne.experiments.single_runs import write_single_runs

FOUND = {
    "dataset": "ppi",
    "trial": 3,
    "samples": 8,
    "steps": 1500,
    "published": {"l2": 0.1, "num_heads": 1},
    "found": [
        {"auc": 0.66123, "f1": 0.5, "step": 900, "point": {"l2": 0.01, "num_heads": 4}},
        {"auc": 0.6, "f1": 0.4, "step": 100, "point": {"l2": 0.001, "num_heads": 2}},
    ],
}
COUNTED = [
    {"dataset": "ppi", "nodes": 3860, "edges": 37845, "labels": 50}
    | {"published": {"nodes": 3890, "edges": 76584}, "note": "loops are dropped"},
    {"dataset": "mine", "nodes": 7, "edges": 9, "labels": 2, "published": {}, "note": ""},
]


def test_nothing_was_run(tmp_path: Path) -> None:
    assert write_single_runs(tmp_path, tmp_path / "plots", tmp_path) == ""


def test_what_was_run_is_shown(tmp_path: Path) -> None:
    results, plots = tmp_path / "results", tmp_path / "plots"
    for folder in (results, plots):
        folder.mkdir()
    (results / "search-ppi.json").write_text(json.dumps(FOUND))
    (results / "datasets.json").write_text(json.dumps({"datasets": COUNTED}))
    (plots / "visual-ppi.svg").touch()
    page = write_single_runs(results, plots, tmp_path)
    assert "| ppi | 3,860 | 3,890 | 37,845 | 76,584 | 50 |  | loops are dropped |" in page
    assert "| mine | 7 |  | 9 |  | 2 |  |  |" in page
    assert "AUC 0.6612 and F1 0.5000 after 900 steps" in page
    assert "| `l2` | 0.01 | 0.1 |" in page
    assert "0.001" not in page
    assert "](plots/visual-ppi.svg)" in page


@pytest.mark.parametrize("name", ["datasets.json", "search-ppi.json"])
@pytest.mark.parametrize(
    "text",
    ["[]", "[1]", "{", "{}", '{"datasets": 5, "found": []}', '{"datasets": [{"nodes": "x"}]}', "5"],
)
def test_a_file_that_is_something_else_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rf"{name}: expected what `metatne reproduce`"):
        write_single_runs(tmp_path, tmp_path, tmp_path)
