"""Trials by workers of Ray have the lines of trials in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from metatne.evaluation.protocol import TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import Trial, local_engine, run_trials
from metatne.graph.store import Graph

pytest.importorskip("ray", reason="Ray is not installed: pip install 'metatne[cluster]'")

from metatne.cluster.trials import ray_engine


@pytest.mark.usefixtures("ray_of_two")
def test_the_same_lines(planted: Graph, tmp_path: Path) -> None:
    planted.save(tmp_path / "graph")
    settings = TrialSettings("lp", "default", 4, 6, num_tasks=20)
    trials = [Trial(str(tmp_path / "graph"), settings, number) for number in (1, 2, 3)]
    rows = {}
    for name, engine in (("here", local_engine(1)), ("ray", ray_engine())):
        found = run_trials(trials, results=ResultsFile(tmp_path / name), engine=engine)
        rows[name] = [row | {"seconds": 0, "memory_gb": 0} for row in found]
    assert rows["here"] == rows["ray"]
    assert len(ResultsFile(tmp_path / "ray").rows()) == 3
