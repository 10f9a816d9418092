"""Trials by workers of Ray have the lines of trials in this process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import run  # noqa: F401 - a fixture
from cli.running import Run
from metatne.errors import RunError
from metatne.evaluation.protocol import TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import (
    MAX_RESTARTS,
    Outcome,
    Trial,
    families_of,
    local_engine,
    run_one,
    run_trials,
)
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph

pytest.importorskip("ray", reason="Ray is not installed: pip install 'metatne[cluster]'")

from ray.exceptions import OutOfMemoryError

from metatne.cluster.trials import _given_up, ray_engine


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


@pytest.mark.usefixtures("ray_of_two")
def test_the_trial_of_a_worker_that_dies_is_run_again(
    planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.save(tmp_path / "graph")
    settings = TrialSettings("lp", "default", 4, 6, num_tasks=20)
    trials = [Trial(str(tmp_path / "graph"), settings, number) for number in (1, 2, 3)]
    died = tmp_path / "died"

    def dies_once(trial: Trial) -> Outcome:
        if trial.number == 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return run_one(trial)

    monkeypatch.setattr("metatne.cluster.trials.run_one", dies_once)
    found = run_trials(trials, results=ResultsFile(tmp_path / "lines"), engine=ray_engine())
    assert died.exists()
    assert [row["trial"] for row in found] == [1, 2, 3]
    expected = run_trials(trials, results=ResultsFile(tmp_path / "here"), engine=local_engine(1))
    assert [row["auc"] for row in found] == [row["auc"] for row in expected]


@pytest.mark.usefixtures("ray_of_two")
def test_a_worker_takes_the_trials_that_share_a_training(
    planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells of one trial of GCN differ in their shots; a death between them moves the rest."""
    planted.save(tmp_path / "graph")
    cells = [TrialSettings("gcn", "default", 4, shots, num_tasks=20) for shots in range(4, 10)]
    trials = [Trial(str(tmp_path / "graph"), cell, number) for number in (1, 2) for cell in cells]
    seen = tmp_path / "seen"

    def noted(trial: Trial) -> Outcome:
        with seen.open("a") as file:
            file.write(f"{trial.number} {trial.settings.negatives} {os.getpid()}\n")
        if (trial.number, trial.settings.negatives) == (1, 6) and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return run_one(replace(trial, settings=replace(trial.settings, method="lp")))

    monkeypatch.setattr("metatne.cluster.trials.run_one", noted)
    found = run_trials(trials, results=ResultsFile(tmp_path / "lines"), engine=ray_engine())
    assert len(found) == len(trials)
    by_trial: dict[int, list[tuple[int, int]]] = {1: [], 2: []}
    for line in seen.read_text().splitlines():
        number, shots, worker = map(int, line.split())
        by_trial[number].append((shots, worker))
    assert [shots for shots, _ in by_trial[1]] == [4, 5, 6, 6, 7, 8, 9]  # what has ended is kept
    assert [shots for shots, _ in by_trial[2]] == [4, 5, 6, 7, 8, 9]
    first, again = ({worker for _, worker in part} for part in (by_trial[1][:3], by_trial[1][3:]))
    assert len(first) == len(again) == len({worker for _, worker in by_trial[2]}) == 1
    assert first != again


@pytest.mark.usefixtures("ray_of_two")
def test_a_trial_that_always_ends_its_worker_is_given_up(
    planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of its family goes on."""
    planted.save(tmp_path / "graph")
    deaths = tmp_path / "deaths"

    def dies_in_the_second(trial: Trial) -> Outcome:
        if trial.settings.negatives == 5:
            with deaths.open("a") as file:
                file.write("one\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return run_one(replace(trial, settings=replace(trial.settings, method="lp")))

    monkeypatch.setattr("metatne.cluster.trials.run_one", dies_in_the_second)
    cells = [TrialSettings("gcn", "default", 4, shots, num_tasks=20) for shots in (4, 5, 6)]
    trials = [Trial(str(tmp_path / "graph"), cell, 2) for cell in cells]
    assert len(families_of(trials)) == 1
    lines = ResultsFile(tmp_path / "lines")
    with pytest.raises(RunError, match=r"1 of 3 .* Trial 2 of gcn: its worker process died 3 time"):
        run_trials(trials, results=lines, engine=ray_engine())
    assert len(deaths.read_text().splitlines()) == 1 + MAX_RESTARTS
    assert sorted(row["negatives"] for row in lines.rows()) == [4, 6]


def test_what_ray_says_of_a_lost_worker_is_told() -> None:
    reason = "1 worker was killed due to the node running low on memory."
    text = str(_given_up(OutOfMemoryError(f"{reason}\nTop users: …\nRefer to the documentation")))
    assert text.startswith("its worker process died 3 times")
    assert text.endswith(f"Ray says: {reason}")


@pytest.mark.usefixtures("ray_of_two")
def test_where_no_worker_lives_the_run_ends_soon(
    planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.save(tmp_path / "graph")
    deaths = tmp_path / "deaths"

    def dies(trial: Trial) -> Outcome:
        with deaths.open("a") as file:
            file.write("one\n")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    monkeypatch.setattr("metatne.cluster.trials.run_one", dies)
    settings = TrialSettings("lp", "default", 4, 6, num_tasks=20)
    trials = [Trial(str(tmp_path / "graph"), settings, number) for number in range(1, 5)]
    with pytest.raises(RunError, match="its worker process died 3 times"):
        run_trials(trials, results=ResultsFile(tmp_path / "lines"), engine=ray_engine())
    assert len(deaths.read_text().splitlines()) <= len(trials) * (1 + MAX_RESTARTS)


@pytest.mark.usefixtures("ray_of_two")
def test_a_worker_that_dies_with_its_trials_done_does_no_harm(
    planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.save(tmp_path / "graph")

    def in_turn_and_die(
        work: Callable[[Trial], Outcome], trials: Sequence[Trial], name: str
    ) -> Iterator[Outcome]:
        yield from map(work, trials)
        if (tmp_path / "died").exists():
            return
        (tmp_path / "died").touch()
        time.sleep(2)  # for the last outcome to be on its way
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("metatne.cluster.trials._run_in_turn", in_turn_and_die)
    settings = TrialSettings("lp", "default", 4, 6, num_tasks=20)
    trials = [Trial(str(tmp_path / "graph"), settings, number) for number in range(1, 5)]
    found = run_trials(trials, results=ResultsFile(tmp_path / "lines"), engine=ray_engine())
    assert [row["trial"] for row in found] == [1, 2, 3, 4]


@pytest.mark.usefixtures("ray_of_two")
def test_an_engine_that_is_left_lets_no_trial_begin(
    planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.save(tmp_path / "graph")
    begun = tmp_path / "begun"

    def noted(trial: Trial) -> Outcome:
        with begun.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if trial.settings.negatives > 4:
            time.sleep(600)
        return run_one(replace(trial, settings=replace(trial.settings, method="lp")))

    monkeypatch.setattr("metatne.cluster.trials.run_one", noted)
    cells = [TrialSettings("gcn", "default", 4, shots, num_tasks=20) for shots in (4, 5, 6, 7)]
    outcomes = ray_engine()([Trial(str(tmp_path / "graph"), cell, 1) for cell in cells])
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined] # a generator, as engines are
    worker = begun.read_text().split()[0]
    deadline = time.monotonic() + 60
    while Path("/proc", worker).exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path("/proc", worker).exists()
    assert len(begun.read_text().split()) <= 2


@pytest.mark.usefixtures("ray_of_two")
def test_a_graph_that_was_replaced_is_read_again(planted: Graph, tmp_path: Path) -> None:
    """Workers live on between two runs of a session."""
    settings = TrialSettings("lp", "default", 4, 6, num_tasks=20)
    rows: list[tuple[str, float]] = []
    for number, graph in enumerate((planted, planted_graph(300, num_labels=10, seed=9).graph)):
        graph.save(tmp_path / "graph", overwrite=True)
        trials = [Trial(str(tmp_path / "graph"), settings, 1)]
        for engine in (ray_engine(), local_engine(1)):
            lines = ResultsFile(tmp_path / f"{number}-{len(rows)}")
            (row,) = run_trials(trials, results=lines, engine=engine)
            rows.append((row["graph"], row["auc"]))
    assert rows[0] == rows[1] != rows[2] == rows[3]


@pytest.mark.usefixtures("ray_of_two")
def test_reproduce_runs_trials_by_ray(
    planted: Graph,
    tmp_path: Path,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many at a time as --jobs says, and with the lines that this process writes."""
    from metatne.cluster import session

    planted.save(tmp_path / "graph")
    asked = []

    @contextmanager
    def noted(address: str | None = None, *, num_cpus: int | None = None) -> Iterator[None]:
        asked.append((address, num_cpus))
        with session_of_two(address, num_cpus=num_cpus):
            yield

    session_of_two = session.ray_session
    monkeypatch.setattr(session, "ray_session", noted)
    options: list[object] = ["--dataset", tmp_path / "graph", "--methods", "lp,degree"]
    options += ["--trials", "1-2", "--shots", "5/10", "--tasks", 20]
    done = run("reproduce", "fewer", *options, "--engine", "ray", "--jobs", 2, "--out", "by-ray")
    assert done.code == 0
    assert asked == [(None, 2)]
    assert run("reproduce", "fewer", *options, "--out", "here").code == 0
    by_ray, here = (
        sorted(
            (row["method"], row["trial"], row["auc"], row["f1"])
            for row in ResultsFile(Path(name) / "fewer.jsonl").rows()
        )
        for name in ("by-ray", "here")
    )
    assert by_ray == here
    assert len(here) == 4
