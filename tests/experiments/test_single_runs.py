"""What is run once stands in RESULTS.md as it was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metatne.errors import FileFormatError, InputError
from metatne.evaluation.results import KEY, MEASURED, ResultsFile
from metatne.experiments.search_space import published_point, search_file
from metatne.experiments.single_runs import write_single_runs

TRIED = {"dataset": "ppi", "trial": 3, "num_steps": 1500, "validation_tasks": 9, "seconds": 2}
TRIED |= {"config_hash": "c"}
OTHER_POINT = published_point("ppi") | {"l2": 0.01, "num_heads": 4}
FOUND = [
    TRIED
    | {"point_hash": "a", "score": 1, "auc": 0.6, "f1": 0.4, "step": 100, "steps": 150}
    | {"point": published_point("ppi")},
    TRIED
    | {"point_hash": "b", "score": 2, "auc": 0.66123, "f1": 0.5, "step": 900, "steps": 1500}
    | {"point": OTHER_POINT},
]
COUNTED = [
    {"dataset": "ppi", "nodes": 3860, "edges": 37845, "labels": 50}
    | {"published": {"nodes": 3890, "edges": 76584}, "note": "loops are dropped"},
    {"dataset": "mine", "nodes": 7, "edges": 9, "labels": 2, "published": {}, "note": ""},
]


def trial(method: str, **facts: object) -> dict[str, object]:
    """A line as `metatne evaluate` writes it."""
    shape = {"positives": 10, "negatives": 20, "query_positives": 10, "query_negatives": 20}
    key = {"dataset": "ppi", "method": method, "preset": "default", **shape, "protocol": "paper"}
    key |= {"tasks": 50, "trial": 1, "config_hash": "c"}
    assert tuple(key) == KEY
    measured = dict.fromkeys(MEASURED, 0.7) | {"seconds": 2.0, "memory_gb": 0.5, "steps": 7}
    return key | measured | facts


def test_nothing_was_run(tmp_path: Path) -> None:
    assert write_single_runs(tmp_path, tmp_path / "plots", tmp_path) == ""


def test_what_was_run_is_shown(tmp_path: Path) -> None:
    results, plots = tmp_path / "results", tmp_path / "plots"
    for folder in (results, plots):
        folder.mkdir()
    for row in FOUND:
        search_file(results / "search.jsonl").append(row)
    (results / "datasets.json").write_text(json.dumps({"datasets": COUNTED}))
    (plots / "visual-ppi.svg").touch()
    page = write_single_runs(results, plots, tmp_path)
    assert "| ppi | 3,860 | 3,890 | 37,845 | 76,584 | 50 |  | loops are dropped |" in page
    assert "| mine | 7 |  | 9 |  | 2 |  |  |" in page
    assert "| `l2` | 0.01 | 0.1 |" in page
    assert "| validation AUC | 0.6612 | 0.6000 |" in page
    assert "| best step, of steps taken | 900 of 1,500 | 100 of 150 |" in page
    assert "](plots/visual-ppi.svg)" in page


def test_trials_with_settings_of_their_own_are_a_table_of_their_own(tmp_path: Path) -> None:
    ours = trial("metatne", preset="paper", steps=5000, settings={"num_steps": 5000})
    other = trial("lp", protocol="unlabelled-queries", memory_gb=1.26)
    before = trial("metagnn")  # a line of its first version
    more = ours | {"trial": 2, "auc": 0.8}
    for name, row in (("a", ours), ("a", more), ("b", other), ("b", before)):
        ResultsFile(tmp_path / "evaluate" / f"{name}.jsonl").append(row)
    page = write_single_runs(tmp_path, tmp_path, tmp_path)
    assert "| ppi, 10/20 | MetaTNE (paper) | 2 | 50 | 0.7500 |" in page
    assert "| 5,000 | 2 | 0.5 | `num_steps=5000` |" in page
    assert "| ppi, 10/20, unlabelled-queries | LP | 1 |" in page
    assert "| ppi, 10/20 | Meta-GNN, earlier version | 1 |" in page
    assert page.count("| ppi, 10/20 ") == 2
    assert "not written down" in page  # LP's line is of before


@pytest.mark.parametrize(
    "wrong", [{"method": "magic"}, {"auc": None}, {"f1": "0.7"}, {"settings": [1]}]
)
def test_a_line_that_nobody_of_ours_wrote_is_told_with_its_file(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    ResultsFile(tmp_path / "evaluate" / "mine.jsonl").append(trial("lp") | wrong)
    with pytest.raises(InputError, match=r"mine.jsonl: expected what `metatne` writes there"):
        write_single_runs(tmp_path, tmp_path, tmp_path)


def test_a_trial_in_two_files_is_one_row_and_names_do_not_break_it(tmp_path: Path) -> None:
    row = trial("lp", dataset="ti|ny", query_negatives=50, settings={})
    for name in ("a", "b"):
        ResultsFile(tmp_path / "evaluate" / f"{name}.jsonl").append(row)
    page = write_single_runs(tmp_path, tmp_path, tmp_path)
    assert page.count("| ti\\|ny, 10/20, queries 10/50 | LP |") == 1


def test_a_search_that_never_tried_the_published_point(tmp_path: Path) -> None:
    search_file(tmp_path / "search.jsonl").append(FOUND[1])
    page = write_single_runs(tmp_path, tmp_path, tmp_path)
    assert "| validation AUC | 0.6612 | not tried |" in page


def test_searches_of_other_validation_tasks_are_tables_of_their_own(tmp_path: Path) -> None:
    for row in (FOUND[0], FOUND[1] | {"validation_tasks": 5}):
        search_file(tmp_path / "search.jsonl").append(row)
    page = write_single_runs(tmp_path, tmp_path, tmp_path)
    assert "| validation AUC | 0.6000 | 0.6000 |" in page
    assert "| validation AUC | 0.6612 | not tried |" in page


def test_points_of_another_space_are_refused(tmp_path: Path) -> None:
    search_file(tmp_path / "search.jsonl").append(FOUND[0] | {"point": {"l2": 1}})
    with pytest.raises(InputError, match=r"search\.jsonl: expected points with pairs_per_step"):
        write_single_runs(tmp_path, tmp_path, tmp_path)


def test_lines_that_are_something_else_are_named(tmp_path: Path) -> None:
    (tmp_path / "search.jsonl").write_text('{"dataset": "ppi"}\n')
    with pytest.raises(FileFormatError, match=r"search\.jsonl"):
        write_single_runs(tmp_path, tmp_path, tmp_path)


@pytest.mark.parametrize(
    "text",
    ["[]", "[1]", "{", "{}", '{"datasets": 5, "found": []}', '{"datasets": [{"nodes": "x"}]}', "5"],
)
def test_a_file_that_is_something_else_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "datasets.json").write_text(text)
    with pytest.raises(InputError, match=r"datasets.json: expected what `metatne` writes"):
        write_single_runs(tmp_path, tmp_path, tmp_path)
