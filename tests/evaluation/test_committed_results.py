"""The figures in the repository are of the settings in the repository."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from metatne.cli.report import report
from metatne.errors import DatasetError
from metatne.evaluation.methods import METHODS
from metatne.evaluation.protocol import TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import config_hash
from metatne.experiments.series import is_of_earlier_version
from metatne.experiments.studies import STUDIES
from metatne.graph.datasets import load_dataset

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "datasets"


def rows_of(
    name: str, dataset: str, protocol: str = "paper", negatives: int = 20
) -> list[dict[str, Any]]:
    """Trials of ten examples of a preset of MetaTNE's, or of another method."""
    is_method = name in METHODS
    of_paper = name == "paper-small"
    cell = {
        "dataset": dataset,
        "method": name if is_method else "metatne-paper" if of_paper else "metatne",
        "preset": "default" if is_method else name,
        "positives": 10,
        "negatives": negatives,
        "protocol": protocol,
    }
    rows = ResultsFile(ROOT / "results/overall.jsonl").rows()
    return [row for row in rows if cell.items() <= row.items()]


@pytest.mark.parametrize("dataset", ["ppi", "blogcatalog"])
@pytest.mark.parametrize("study", STUDIES)
def test_lines_are_of_todays_settings(study: str, dataset: str) -> None:
    """But for those that say themselves that the method was another one then."""
    try:
        graph = load_dataset(dataset, data_dir=DATA, download=False)
    except DatasetError as error:
        pytest.skip(f"needs the files of {dataset}: {error}")
    stale = set()
    expected: dict[TrialSettings, str] = {}
    for row in ResultsFile(ROOT / "results" / f"{study}.jsonl").rows():
        if row["dataset"] != dataset or is_of_earlier_version(row):
            continue
        shots = row["positives"], row["negatives"]
        settings = TrialSettings(
            row["method"],
            row["preset"],
            *shots,
            protocol=row["protocol"],
            draws_label_zero=False,
            settings=tuple(row.get("settings", {}).items()),
        )
        if settings not in expected:
            expected[settings] = config_hash(graph, settings, row["trial"])
        if row["config_hash"] != expected[settings]:
            stale.add((row["method"], row["preset"], *shots, row["protocol"]))
    assert stale == set()


ROWS_OF_README = [
    (title, dataset, name, "", "paper", 20)
    for title, dataset in (("PPI", "ppi"), ("BlogCatalog", "blogcatalog"))
    for name in ("default", "brief", "paper-small", "ridge")
] + [
    (title, dataset, name, whose, protocol, negatives)
    for title, dataset in (("PPI", "ppi"), ("BlogCatalog", "blogcatalog"))
    for whose, protocol, negatives, names in (
        (", nodes nobody annotated", "unlabelled-queries", 20, ("default", "ridge")),
        (" at 10/40", "paper", 40, ("default", "paper-small")),
    )
    for name in names
]


@pytest.mark.parametrize(
    ("title", "dataset", "name", "whose", "protocol", "negatives"), ROWS_OF_README
)
def test_the_readme_has_the_means_of_the_lines(
    title: str, dataset: str, name: str, whose: str, protocol: str, negatives: int
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    line = next(x for x in readme.splitlines() if x.startswith(f"| {title}{whose}, `{name}`"))
    rows = rows_of(name, dataset, protocol, negatives)
    trials = re.search(r"\((\d+) trials\)", line)
    assert trials is not None
    assert int(trials[1]) == len(rows)
    for metric in ("auc", "f1", "recall", "average_precision"):
        mean = statistics.mean(row[metric] for row in rows)
        assert f"{mean:.4f}".removeprefix("0") in line


def test_the_results_page_is_of_the_lines(tmp_path: Path) -> None:
    """All of it, though pictures are drawn elsewhere; that of Figure 6 is only shown."""
    figures = tmp_path / "docs" / "figures"
    figures.mkdir(parents=True)
    for picture in (ROOT / "docs" / "figures").glob("visual-*.svg"):
        (figures / picture.name).touch()
    report(results=ROOT / "results", out=tmp_path / "RESULTS.md", plots=figures)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page == (ROOT / "RESULTS.md").read_text(encoding="utf-8"), "stale: run `metatne report`"
