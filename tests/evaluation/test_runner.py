"""Many trials: each is run once, written down at once, and not run again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metatne.errors import RunError, TrainingError
from metatne.evaluation.methods import METHODS
from metatne.evaluation.protocol import TrialResult, TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import (
    Outcome,
    Trial,
    _prepare_worker,
    evaluate,
    local_engine,
)
from metatne.evidence.head import VERSION
from metatne.graph.store import Graph
from metatne.parallel import num_threads

SETTINGS = TrialSettings("metatne", "default", positives=4, negatives=6, num_tasks=20)


@pytest.fixture
def saved_graph(planted: Graph, tmp_path: Path) -> str:
    path = tmp_path / "graph"
    planted.save(path)
    return str(path)


@pytest.fixture
def trials_run(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Trials that were run, in order; trial 13 fails."""
    run: list[int] = []

    def run_trial(
        graph: Graph, trial: int, settings: TrialSettings, *, last_fit: object = None
    ) -> TrialResult:
        if trial == 13:
            raise TrainingError("on purpose")
        run.append(trial)
        scores = (0.5 + trial / 100, 0.4, 0.3, 0.2)
        return TrialResult(trial, *scores, seconds=1.0, steps=9, memory_gb=0.5, test_labels=5)

    monkeypatch.setattr("metatne.evaluation.runner.run_trial", run_trial)
    return run


def test_rows_say_what_was_run(saved_graph: str, trials_run: list[int], tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    told: list[dict[str, Any]] = []
    rows = evaluate(saved_graph, SETTINGS, [2, 1], results=results, on_result=told.append)
    assert trials_run == [2, 1]
    assert rows == told == results.rows()
    assert rows[0]["config_hash"] == rows[1]["config_hash"]
    assert rows[0] | {"config_hash": "-"} == {
        "dataset": "planted",
        "method": "metatne",
        "preset": "default",
        "positives": 4,
        "negatives": 6,
        "query_positives": 4,
        "query_negatives": 6,
        "protocol": "paper",
        "tasks": 20,
        "trial": 2,
        "config_hash": "-",
        "settings": {},
        "version": VERSION,
        "auc": 0.52,
        "f1": 0.4,
        "recall": 0.3,
        "average_precision": 0.2,
        "seconds": 1.0,
        "steps": 9,
        "memory_gb": 0.5,
        "best_step": None,
        "graph": Graph.open(saved_graph).fingerprint[:8],
        "test_labels": 5,
    }


def test_finished_trials_are_not_run_again(
    saved_graph: str, trials_run: list[int], tmp_path: Path
) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    first = evaluate(saved_graph, SETTINGS, [1, 2], results=results)
    told: list[dict[str, Any]] = []
    again = evaluate(saved_graph, SETTINGS, [1, 2, 3], results=results, on_result=told.append)
    assert trials_run == [1, 2, 3]
    assert again[:2] == first
    assert [row["trial"] for row in told] == [3]


@pytest.mark.parametrize(
    "changed",
    [
        {"negatives": 7},
        {"num_tasks": 21},
        {"settings": (("head_steps", 64),)},
        {"preset": "paper"},
        {"draws_label_zero": False},
    ],
)
def test_other_settings_are_other_trials(
    saved_graph: str, trials_run: list[int], tmp_path: Path, changed: dict[str, Any]
) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    evaluate(saved_graph, SETTINGS, [1], results=results)
    evaluate(saved_graph, replace(SETTINGS, **changed), [1], results=results)
    assert trials_run == [1, 1]
    assert len(results.rows()) == 2


def test_a_setting_that_the_head_does_not_use_makes_no_other_trial(
    saved_graph: str, trials_run: list[int], tmp_path: Path
) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    evaluate(saved_graph, SETTINGS, [1], results=results)
    evaluate(saved_graph, replace(SETTINGS, settings=(("dim", 64),)), [1], results=results)
    assert trials_run == [1]


def test_a_method_that_was_changed_makes_other_trials(
    saved_graph: str, trials_run: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    settings = replace(SETTINGS, method="degree")
    evaluate(saved_graph, settings, [1], results=results)
    monkeypatch.setitem(METHODS, "degree", replace(METHODS["degree"], version=2))
    evaluate(saved_graph, settings, [1], results=results)
    assert trials_run == [1, 1]


def test_another_graph_of_that_name_is_another_trial(
    saved_graph: str, planted: Graph, trials_run: list[int], tmp_path: Path
) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    evaluate(saved_graph, SETTINGS, [1], results=results)
    planted.with_labels(planted.labels.select(range(9))).save(saved_graph, overwrite=True)
    evaluate(saved_graph, SETTINGS, [1], results=results)
    assert trials_run == [1, 1]


def test_a_failed_trial_leaves_the_finished_ones(
    saved_graph: str, trials_run: list[int], tmp_path: Path
) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    with pytest.raises(RunError, match=r"1 of 3 trials failed \(planted metatne 13\).*on purpose"):
        evaluate(saved_graph, SETTINGS, [1, 13, 2], results=results)
    assert [row["trial"] for row in results.rows()] == [1, 2]
    with pytest.raises(TrainingError, match="on purpose"):  # as it is, where there is but one
        evaluate(saved_graph, SETTINGS, [1, 13], results=results)


class InlinePool:
    """A pool of processes that works at once, in this one, and tells what it was made with."""

    made: list[tuple[int, tuple[Any, ...]]]

    def __init__(self, workers: int, *, initargs: tuple[Any, ...], **options: Any) -> None:
        self.made.append((workers, initargs))

    def __enter__(self) -> InlinePool:
        return self

    def __exit__(self, *problem: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments))
        return future


@pytest.mark.parametrize(
    ("cores", "jobs", "num_trials", "expected"),
    [
        (8, 2, 4, (2, 4)),
        (8, 3, 4, (3, 2)),
        (2, 2, 4, (2, 1)),
        (2, 5, 5, (5, 1)),
        (8, 8, 2, (2, 4)),
    ],
    ids=["evenly", "rounded down", "one each", "more jobs than cores", "fewer trials than jobs"],
)
def test_jobs_share_the_cores(
    saved_graph: str,
    trials_run: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    jobs: int,
    num_trials: int,
    expected: tuple[int, int],
) -> None:
    """So that they do not fight for them: (processes, threads of each)."""
    monkeypatch.setenv("OMP_NUM_THREADS", str(cores))
    monkeypatch.setattr(InlinePool, "made", [], raising=False)
    monkeypatch.setattr("metatne.evaluation.runner.ProcessPoolExecutor", InlinePool)
    trials = list(range(1, num_trials + 1))
    results = ResultsFile(tmp_path / "results.jsonl")
    rows = evaluate(saved_graph, SETTINGS, trials, results=results, jobs=jobs)
    assert InlinePool.made == [(1, (expected[1],))] * expected[0]
    assert [row["trial"] for row in rows] == sorted(trials_run) == trials


def test_a_worker_runs_what_shares_a_fit_in_turn(
    saved_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells with other queries, and those of Planetoid with other shots; MetaTNE's are apart."""
    by_pool: list[list[tuple[str, int, int]]] = []

    class NotingPool(InlinePool):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.noted: list[tuple[str, int, int]] = []
            by_pool.append(self.noted)

        def submit(self, call: Callable[[Trial], Outcome], trial: Trial) -> Future[Outcome]:
            settings = trial.settings
            self.noted.append((settings.method, trial.number, settings.negatives))
            return super().submit(call, trial)

    monkeypatch.setattr(InlinePool, "made", [], raising=False)
    monkeypatch.setattr("metatne.evaluation.runner.ProcessPoolExecutor", NotingPool)
    monkeypatch.setattr("metatne.evaluation.runner.run_one", lambda trial: RunError("not run"))
    trials = [
        Trial(saved_graph, replace(SETTINGS, method=method, negatives=negatives), number)
        for method in ("planetoid", "metatne")
        for number in (1, 2)
        for negatives in (6, 8)
    ]
    assert len(list(local_engine(2)(trials))) == len(trials)
    places = {trial: pool for pool, noted in enumerate(by_pool) for trial in noted}
    assert sum(map(len, by_pool)) == len(places) == len(trials)
    for number in (1, 2):
        assert places["planetoid", number, 6] == places["planetoid", number, 8]
    families = {trial.family for trial in trials}
    assert len(families) == 6
    asked = Trial(saved_graph, replace(SETTINGS, query_positives=3), 1)
    assert asked.family in families


def test_a_worker_keeps_to_its_cores_and_leaves_interrupts_to_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = signal.getsignal(signal.SIGINT)
    try:
        _prepare_worker(3)
        assert num_threads() == 3
        assert os.environ["OMP_NUM_THREADS"] == "3"  # also for processes of its own
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
