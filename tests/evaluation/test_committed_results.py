"""The figures in the repository are of the settings in the repository."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from metatne.errors import DatasetError
from metatne.evaluation.protocol import TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import config_hash
from metatne.graph.datasets import load_dataset

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "datasets"


@pytest.mark.parametrize("dataset", ["ppi", "blogcatalog"])
def test_lines_are_of_todays_default_preset(dataset: str) -> None:
    try:
        graph = load_dataset(dataset, data_dir=DATA, download=False)
    except DatasetError as error:
        pytest.skip(f"needs the files of {dataset}: {error}")
    rows = [
        r for r in ResultsFile(ROOT / "results/evaluate.jsonl").rows() if r["dataset"] == dataset
    ]
    assert [row["trial"] for row in rows] == list(range(1, 11))
    settings = TrialSettings("metatne", "default", 10, 20, draws_label_zero=False)
    assert {row["config_hash"] for row in rows} == {config_hash(graph, settings, trial=1)}


def test_the_readme_has_the_means_of_the_lines() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = ResultsFile(ROOT / "results/evaluate.jsonl").rows()
    for dataset, title in (("ppi", "PPI"), ("blogcatalog", "BlogCatalog")):
        line = next(x for x in readme.splitlines() if x.startswith(f"| {title}, `default`"))
        for metric in ("auc", "f1", "recall", "average_precision"):
            mean = statistics.mean(row[metric] for row in rows if row["dataset"] == dataset)
            assert f"{mean:.4f}".removeprefix("0") in line
