"""kill -9 at random moments: what is on disk is the old or the new, and work goes on from there."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from cli.conftest import Town, town, write_town
from cli.running import settings
from metatne.errors import RunError
from metatne.estimator import MetaTNE
from metatne.evaluation.results import KEY, MEASURED, ResultsFile
from metatne.evaluation.runner import MAX_RESTARTS, evaluate
from metatne.graph.store import Graph
from metatne.saved import WEIGHTS
from metatne.service.project_database import ProjectDatabase
from metatne.service.projects import ProjectStore
from metatne.training.checkpoint import restore_checkpoint
from reliability import victims
from reliability.figures import record
from reliability.killing import forking, kill_at_random, run_to_the_end

__all__ = ["town"]

STUDY = 100
SETTLE_SECONDS = 60.0


def kills(quick: int) -> pytest.MarkDecorator:
    """So many in `make test`, and a hundred in the study."""
    return pytest.mark.parametrize("kills", [quick, pytest.param(STUDY, marks=pytest.mark.slow)])


def keep(study: str, kills: int, **seen: Any) -> None:
    """Only a whole study is worth a record."""
    if kills >= STUDY:
        record(f"crash: {study}", kills=kills, **seen)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def let_time_pass(folder: Path) -> None:
    """What is there becomes so old that nobody can be about to use it."""
    for entry in folder.rglob("*"):
        os.utime(entry, (0, 0))


@kills(2)
def test_import(kills: int, tmp_path: Path) -> None:
    sources, prints = [], []
    for seed in (2, 3):
        made = Town(*(tmp_path / f"{seed}{name}" for name in ("e.csv", "l.csv", "graph", "model")))
        write_town(victims.small_graph(seed), made)
        run_to_the_end(import_once, made.edges, made.labels, made.graph)
        sources.append((made.edges, made.labels))
        prints.append(Graph.open(made.graph).fingerprint)
    out = tmp_path / "place" / "graph"
    seen = []
    for number in range(kills):
        kill_at_random(victims.import_again_and_again, sources, out, seed=number)
        seen.append(prints.index(Graph.open(out).fingerprint))
    let_time_pass(out.parent)
    run_to_the_end(import_once, *sources[0], out)
    assert names(out.parent) == ["graph"], "what killed imports left is gone"
    keep("graph import", kills, of_each=[seen.count(0), seen.count(1)])


def import_once(say: victims.Say, edges: Path, labels: Path, out: Path) -> None:
    options = ("--labels", labels, "--out", out, "--overwrite")
    victims.command("graph", "import", edges, *options)


@kills(2)
def test_training(kills: int, tmp_path: Path, town: Town) -> None:
    """Killed, resumed, killed again …: every model at the end is that of an unbroken run."""
    same = {"num_steps": 30, "spectral_scale": 0.0, "structural_rate": 0.05, "decay_period": 20}
    unbroken, out = tmp_path / "unbroken", tmp_path / "place" / "model"
    training = (victims.train, town.graph, out, settings(**same))
    begun = time.monotonic()
    run_to_the_end(victims.train, town.graph, unbroken, settings(**same))
    took = time.monotonic() - begun
    run_to_the_end(victims.train, town.graph, out, settings(**same, seed=7))  # then replaced
    old, new = learned(out), learned(unbroken)
    assert old[0] != new[0]
    assert MetaTNE.load(unbroken).best_step_ > 0, "what is compared has been learned"
    num_killed = num_resumed = num_ended = 0
    while num_killed < kills:
        num_resumed += (out.parent / "model.unfinished" / "checkpoint.safetensors").exists()
        death = kill_at_random(*training, seed=num_killed + num_ended, within=took)
        num_killed += death.was_killed
        num_ended += not death.was_killed
        assert learned(out) == new or (learned(out) == old and not num_ended)
    let_time_pass(out.parent)
    run_to_the_end(*training)
    assert learned(out) == new
    assert num_resumed or kills < STUDY, "none was killed between its beginning and its end"
    assert names(out.parent) == ["model"], "what killed trainings left is gone"
    keep("training", kills, resumed=num_resumed, ended_with_the_same_model=num_ended + 1)


def learned(model: Path) -> tuple[bytes, str]:
    """The weights to the bit, and what every validation saw."""
    history = MetaTNE.load(model).history_.drop(columns="seconds")
    return (model / WEIGHTS).read_bytes(), history.to_csv()


@kills(4)
def test_checkpointing(kills: int, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    steps = (3, 5)
    expected = {step: victims.new_trainer(step).network.state_dict() for step in steps}
    seen = []
    for number in range(kills):
        kill_at_random(victims.checkpoint_again_and_again, path, steps, seed=number)
        trainer = victims.new_trainer()
        restore_checkpoint(path, trainer, "print", victims.SPLIT)
        seen.append(trainer.state.step)
        for name, weight in trainer.network.state_dict().items():
            assert weight.equal(expected[trainer.state.step][name])
    keep("checkpointing", kills, of_each=[seen.count(step) for step in steps])


@kills(1)
def test_evaluation_by_several_workers(kills: int, tmp_path: Path) -> None:
    """The command is killed; in the end each trial is there, once."""
    graph = tmp_path / "graph"
    victims.small_graph().save(graph)
    trials = range(1, 5 * kills + 6)
    results = ResultsFile(tmp_path / "results.jsonl")
    for number in range(kills):
        death = kill_at_random(victims.evaluate_trials, graph, results.path, trials, seed=number)
        done = {trial for trial, _ in death.said}
        rows = [row["trial"] for row in results.rows()]
        assert done <= set(rows), "what was told of is on disk"
        wait_until_gone({worker for _, workers in death.said for worker in workers})
        if len(rows) == len(trials):
            results.path.unlink()  # all were done before the kill: from the start
    evaluate(str(graph), victims.TRIAL, trials, results=results)
    alone = ResultsFile(tmp_path / "alone.jsonl")
    evaluate(str(graph), victims.TRIAL, trials, results=alone)
    assert by_trial(results) == by_trial(alone)
    lines = results.path.read_text().splitlines()
    assert len(lines) == len(trials), "none is there twice"
    keep("evaluation with two workers", kills, trials=len(lines))


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small one, whose trials are run by workers that start soon."""
    victims.small_graph().save(tmp_path / "graph")
    monkeypatch.setattr("multiprocessing.get_context", lambda method: forking())
    return tmp_path / "graph"


def test_a_worker_that_dies_is_replaced(graph: Path, tmp_path: Path) -> None:
    """However many do: no trial is lost or doubled, and those of other workers go on."""
    results = ResultsFile(tmp_path / "results.jsonl")
    killed: set[int | None] = set()

    def kill_one_now_and_then(row: dict[str, Any]) -> None:
        """The older one: the trial of one that is starting up should not be hit again and again."""
        if len(results.rows()) % 10 == 0:
            pids = [worker.pid for worker in multiprocessing.active_children()]
            worker = min(map(psutil.Process, pids), key=psutil.Process.create_time)
            killed.add(worker.pid)
            worker.kill()

    evaluate(
        str(graph),
        victims.TRIAL,
        range(1, 100),
        results=results,
        jobs=2,
        on_result=kill_one_now_and_then,
    )
    assert len(killed) == 9
    assert sorted(row["trial"] for row in results.rows()) == list(range(1, 100))


def test_a_trial_that_always_ends_its_worker_is_given_up(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metatne.evaluation.runner.run_one", victims.die_in_trial_3)
    results = ResultsFile(tmp_path / "results.jsonl")
    with pytest.raises(RunError, match=r"1 of 9 .* Trial 3 of degree: its worker .* died 3 times"):
        evaluate(str(graph), victims.TRIAL, range(1, 10), results=results, jobs=2)
    assert sorted(row["trial"] for row in results.rows()) == [1, 2, 4, 5, 6, 7, 8, 9]
    deaths = (graph.parent / "deaths").read_text().splitlines()
    assert len(deaths) == 1 + MAX_RESTARTS


def test_where_no_worker_lives_the_command_says_so_soon(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metatne.evaluation.runner.run_one", victims.die_in_any_trial)
    results = ResultsFile(tmp_path / "results.jsonl")
    with pytest.raises(RunError, match="its worker process died 3 times"):
        evaluate(str(graph), victims.TRIAL, range(1, 30), results=results, jobs=2)
    deaths = (graph.parent / "deaths").read_text().splitlines()
    assert len(deaths) <= 2 * (1 + MAX_RESTARTS)


def by_trial(results: ResultsFile) -> dict[int, dict[str, Any]]:
    varying = ("seconds", "memory_gb")
    return {
        row["trial"]: {key: value for key, value in row.items() if key not in varying}
        for row in results.rows()
    }


def wait_until_gone(processes: set[int]) -> None:
    limit = time.monotonic() + SETTLE_SECONDS
    while left := {pid for pid in processes if is_alive(pid)}:
        assert time.monotonic() < limit, f"workers {left} outlive the command that is gone"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@kills(4)
def test_appending_results(kills: int, tmp_path: Path) -> None:
    row: dict[str, Any] = dict.fromkeys((*KEY, *MEASURED), 1) | {"note": "x" * 20_000}
    results = ResultsFile(tmp_path / "results.jsonl")
    acknowledged: list[int] = []
    for number in range(kills):
        first = len(acknowledged) + 1
        death = kill_at_random(
            victims.append_again_and_again, results.path, first, row, seed=number
        )
        acknowledged += death.said
        rows = [row["trial"] for row in results.rows()]
        # The last may be on disk without that anybody heard of it.
        assert rows in (acknowledged, [*acknowledged, len(acknowledged) + 1])
        acknowledged = rows
    keep("results appended", kills, lines=len(acknowledged))


@kills(4)
def test_label_projects(kills: int, tmp_path: Path) -> None:
    """Every version that was acknowledged is there, and the next is the only other there can be."""
    expected: dict[str, int] = {}
    for number in range(kills):
        death = kill_at_random(victims.write_projects, tmp_path, seed=number)
        project, version = death.said[-1]
        database = ProjectDatabase(tmp_path)
        store = ProjectStore(database)
        now = store.get(project).version
        assert now in (version, version + 1)
        expected[project] = now
        for known, last in expected.items():
            versions = [line.version for line in store.history(known).versions]
            assert versions == list(range(last, 0, -1))
        database.close()
    keep("label projects", kills, versions=sum(expected.values()))
