"""`metatne evaluate`: one JSON line a trial, whatever the number of jobs, and a table."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.conftest import Town
from cli.running import TINY, Run, settings
from metatne.cli.evaluate import parse_trials, results_table
from metatne.errors import ConfigError
from metatne.evaluation import runner
from metatne.evaluation.paper import paper_result
from metatne.evaluation.protocol import TrialResult, TrialSettings, run_trial
from metatne.graph.store import Graph
from metatne.sampling.splits import paper_split

FIELDS = [
    *("dataset", "method", "preset", "positives", "negatives", "query_positives"),
    *("query_negatives", "protocol", "tasks", "trial", "config_hash", "graph", "settings"),
    *("version", "auc", "f1", "recall", "average_precision", "seconds", "steps", "memory_gb"),
    *("best_step", "test_labels"),
]
SHAPE = ("--positives", 4, "--negatives", 6, "--tasks", 15)


def test_a_line_a_trial_and_a_table(run: Run, town: Town) -> None:
    evaluate = ("evaluate", town.graph, *SHAPE, *settings(num_steps=20), "--out", "deep/r.jsonl")
    done = run(*evaluate, "--trials", "1,3")
    assert done.code == 0
    rows = _rows("deep/r.jsonl")
    assert [list(row) for row in rows] == [FIELDS, FIELDS]
    assert [row["trial"] for row in rows] == [1, 3]
    for row in rows:
        assert row["dataset"] == "town"
        assert (row["method"], row["preset"]) == ("metatne", "default")
        assert (row["positives"], row["negatives"], row["tasks"], row["steps"]) == (4, 6, 15, 20)
        assert row["settings"] == TINY | {"num_steps": 20}
        assert all(0 < row[metric] <= 1 for metric in ("auc", "f1", "recall", "average_precision"))
    assert [line.split(":")[0] for line in done.err.splitlines()] == ["trial 1", "trial 3"]
    table = done.out.splitlines()
    assert table[0] == "town, 4/6, 15 tasks a trial"
    assert table[1].split() == ["metatne", "(default)"]  # the paper has no such graph
    mean = (rows[0]["auc"] + rows[1]["auc"]) / 2
    assert table[2].split()[:3] == ["auc", f"{mean:.4f}", "±"]
    assert table[-2].split() == ["trials", "2"]
    assert table[-3].split() == ["test", "labels", "2"]
    assert [row["test_labels"] for row in rows] == [2, 2]

    again = run(*evaluate, "--trials", "1-3")  # only trial 2 is new
    assert again.code == 0
    assert [line.split(":")[0] for line in again.err.splitlines()] == ["trial 2"]
    assert [row["trial"] for row in _rows("deep/r.jsonl")] == [1, 3, 2]
    assert "trials" in again.out
    done = run(*evaluate, "--trials", "1-3")
    assert (done.code, done.err, done.out) == (0, "", again.out)
    # Other settings are other trials.
    assert run(*evaluate, "--trials", "1", "--set", "dropout=0.3").code == 0
    assert len({row["config_hash"] for row in _rows("deep/r.jsonl")}) == 2


@pytest.mark.slow  # tests/reliability/test_crashes.py has it for one method
def test_jobs_change_no_number(run: Run, town: Town) -> None:
    # The workers open the graph by this path, so it must not depend on where they are.
    evaluate = ("evaluate", town.graph, *SHAPE, *settings(num_steps=20), "--trials", "1-2")
    assert run(*evaluate, "--jobs", 1, "--out", "one.jsonl").code == 0
    assert run(*evaluate, "--jobs", 2, "--out", "two.jsonl").code == 0
    one, two = (
        sorted(
            ({**row, "seconds": 0, "memory_gb": 0} for row in _rows(name)),
            key=lambda row: row["trial"],
        )
        for name in ("one.jsonl", "two.jsonl")
    )
    assert one == two
    assert len(one) == 2


def test_the_first_label_is_drawn_unless_skipped(run: Run, town: Town) -> None:
    trial = next(trial for trial in range(1, 50) if 0 in paper_split(10, trial).test)
    evaluate = ("evaluate", town.graph, *SHAPE, *settings(num_steps=20), "--trials", trial)
    assert run(*evaluate, "--out", "plain.jsonl").code == 0
    assert run(*evaluate, "--out", "without.jsonl", "--skip-label-zero").code == 0
    assert run(*evaluate, "--out", "with.jsonl", "--draw-label-zero").code == 0
    plain, without, drawn = (
        _rows(f"{name}.jsonl")[0]["auc"] for name in ("plain", "without", "with")
    )
    assert plain == drawn != without


def test_ctrl_c_stops_the_workers_too(run: Run, town: Town) -> None:
    endless = settings(num_steps=10**8)
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    done = run(
        *("evaluate", town.graph, *SHAPE, *endless),
        *("--trials", "1-4", "--jobs", 2, "--out", "r.jsonl"),
    )
    assert done.code == 1
    assert done.err == "error: interrupted\n"
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1-5", [1, 2, 3, 4, 5]), ("7", [7]), ("1,3, 7-9", [1, 3, 7, 8, 9]), ("2-3,1-3", [2, 3, 1])],
)
def test_trials(text: str, numbers: list[int]) -> None:
    assert parse_trials(text) == numbers


@pytest.mark.parametrize("text", ["", "0", "1-", "-3", "5-1", "one", "1,,2", "1.5", "1-2-3", "²"])
def test_bad_trials(text: str) -> None:
    with pytest.raises(ConfigError, match="--trials: expected numbers"):
        parse_trials(text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--trials", "5-1"], "--trials: expected numbers from 1 up, in order, found '5-1'"),
        (["--method", "magic"], "v5, found 'magic'"),
        (
            ["--preset", "papr"],
            "preset: expected one of default, short, brief, paper-small, paper, found 'papr'",
        ),
        (["--set", "dimm=3"], "there is no setting 'dimm'; did you mean 'dim'?"),
        (["--set", "seed=3"], "a trial's number is its seed"),
        (["--jobs", "0"], "expected greater than or equal to 1, found '0'"),
        (["--out", "."], "--out: expected a file, found the directory ."),
        (["--out", "broken.jsonl"], "broken.jsonl:1: expected a JSON object, found 'nonsense'"),
        (["--out", "broken.jsonl/r.jsonl"], "broken.jsonl is not a directory"),
        (["--positives", "100"], "a task takes 100 + "),
    ],
)
def test_mistakes_are_said(run: Run, town: Town, given: list[str], message: str) -> None:
    Path("broken.jsonl").write_text("nonsense\n")
    done = run("evaluate", town.graph, "--out", "r.jsonl", *given)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert [path.name for path in Path().iterdir()] == ["broken.jsonl"]


def test_a_trial_that_fails_keeps_those_before_it(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted_run_trial(
        graph: Graph, trial: int, chosen: TrialSettings, **options: Any
    ) -> TrialResult:
        if trial == 2:
            raise KeyboardInterrupt
        return run_trial(graph, trial, chosen, **options)

    monkeypatch.setattr(runner, "run_trial", interrupted_run_trial)
    evaluate = ("evaluate", town.graph, *SHAPE, *settings(num_steps=10), "--out", "r.jsonl")
    done = run(*evaluate, "--trials", "1-3")
    assert done.code == 1
    assert "error: interrupted" in done.err
    assert [row["trial"] for row in _rows("r.jsonl")] == [1]


def test_the_paper_stands_beside_our_numbers() -> None:
    rows = [_row(auc=0.7), _row(auc=0.6)]
    chosen = TrialSettings(method="metatne", preset="paper", positives=10, negatives=20)
    lines = _lines(rows, chosen)
    paper = paper_result("PPI", 10, 20)
    assert paper is not None
    assert lines[0] == "ppi, 10/20, 1,000 tasks a trial"
    assert lines[1].split() == ["metatne", "(paper)", "MetaTNE", "in", "the", "paper"]
    assert lines[2].split() == [
        *("auc", "0.6500", "±", "0.0707"),
        *(f"{paper['auc']['mean']:.4f}", "±", f"{paper['auc']['std']:.4f}"),
    ]
    assert paper["auc"]["mean"] == 0.6865
    assert lines[5].split() == ["average", "precision", "0.4000", "±", "0.0000", "-"]
    assert lines[6].split() == ["trials", "2", "50"]
    assert lines[7].split() == ["seconds", "90", "-"]
    assert max(map(len, lines)) <= 80  # no number is cut on the narrowest of terminals


def test_the_papers_network_stands_beside_the_papers_numbers() -> None:
    chosen = TrialSettings("metatne-paper", "default", positives=10, negatives=20)
    lines = _lines([_row(auc=0.7)], chosen)
    assert "MetaTNE in the paper" in lines[1]
    assert lines[2].split()[-3] == "0.6865"


def test_where_the_paper_has_no_such_cell_ours_stand_alone() -> None:
    chosen = TrialSettings(method="metatne", preset="paper", positives=3, negatives=7)
    lines = _lines([_row(auc=0.7)], chosen)
    assert "paper" not in lines[1].replace("(paper)", "")
    assert lines[2].split() == ["auc", "0.7000"]  # one trial has no spread


def _row(*, auc: float) -> dict[str, Any]:
    values = {"f1": 0.5, "recall": 0.5, "average_precision": 0.4, "seconds": 90.2, "steps": 10}
    return {"dataset": "ppi", "auc": auc, **values}


def _lines(rows: list[dict[str, Any]], chosen: TrialSettings) -> list[str]:
    text = StringIO()
    Console(file=text, width=80).print(results_table(rows, chosen))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _rows(path: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "checksum"} for row in rows]
