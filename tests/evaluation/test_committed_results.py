"""The figures in the repository are of the settings in the repository."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from metatne.errors import DatasetError
from metatne.evaluation.protocol import TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import config_hash
from metatne.experiments.report import write_report
from metatne.experiments.studies import STUDIES
from metatne.graph.datasets import load_dataset

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "datasets"


def rows_of(preset: str, dataset: str) -> list[dict[str, Any]]:
    cell = {
        "dataset": dataset,
        "method": "metatne",
        "preset": preset,
        "positives": 10,
        "negatives": 20,
        "protocol": "paper",
    }
    rows = ResultsFile(ROOT / "results/overall.jsonl").rows()
    return [row for row in rows if cell.items() <= row.items()]


PRESETS = pytest.mark.parametrize("preset", ["default", "brief"])


@PRESETS
@pytest.mark.parametrize("dataset", ["ppi", "blogcatalog"])
def test_lines_are_of_todays_presets(preset: str, dataset: str) -> None:
    try:
        graph = load_dataset(dataset, data_dir=DATA, download=False)
    except DatasetError as error:
        pytest.skip(f"needs the files of {dataset}: {error}")
    settings = TrialSettings("metatne", preset, 10, 20, draws_label_zero=False)
    expected = config_hash(graph, settings, trial=1)
    assert {row["config_hash"] for row in rows_of(preset, dataset)} == {expected}


@PRESETS
def test_the_readme_has_the_means_of_the_lines(preset: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for dataset, title in (("ppi", "PPI"), ("blogcatalog", "BlogCatalog")):
        line = next(x for x in readme.splitlines() if x.startswith(f"| {title}, `{preset}`"))
        rows = rows_of(preset, dataset)
        trials = re.search(r"\((\d+) trials\)", line)
        assert trials is not None
        assert int(trials[1]) == len(rows)
        for metric in ("auc", "f1", "recall", "average_precision"):
            mean = statistics.mean(row[metric] for row in rows)
            assert f"{mean:.4f}".removeprefix("0") in line


def test_the_results_page_is_of_the_lines() -> None:
    rows = {name: ResultsFile(ROOT / f"results/{name}.jsonl").rows() for name in STUDIES}
    page = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert page.startswith(write_report(rows)), "stale: run `metatne report`"
