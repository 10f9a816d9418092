"""`metatne reproduce` runs the trials of a study once, and `metatne report` shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run
from metatne.graph.planted import planted_graph


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "town"
    planted_graph(400, num_labels=15, num_communities=5, seed=2).graph.save(path)
    return path


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_trials_are_run_once_and_reported(run: Run, graph: Path) -> None:
    command = [
        *("reproduce", "overall", "--dataset", graph, "--methods", "lp,degree"),
        *("--shots", "10/20", "--tasks", 20, "--trials"),
    ]
    first = run(*command, "1-2")
    assert first.code == 0, first.err
    rows = lines("results/overall.jsonl")
    assert [(row["method"], row["trial"]) for row in rows] == [
        *(("lp", 1), ("lp", 2), ("degree", 1), ("degree", 2))
    ]
    again = run(*command, "1-3")
    assert again.code == 0, again.err
    assert "trial 1:" not in again.err
    after = lines("results/overall.jsonl")
    assert after[:4] == rows
    assert {(row["method"], row["trial"]) for row in after[4:]} == {("lp", 3), ("degree", 3)}
    told = run("report")
    assert told.code == 0, told.err
    page = Path("RESULTS.md").read_text()
    assert "| LP | 3 |" in page
    assert "| Degree | 3 |" in page


def test_graphs_of_one_name_are_told_apart(run: Run, graph: Path, tmp_path: Path) -> None:
    """Trials of one are not compared with those of another."""
    other = tmp_path / "elsewhere" / graph.name
    planted_graph(380, num_labels=15, num_communities=5, seed=3).graph.save(other)
    for one in (graph, other):
        trials = ("--trials", 1, "--tasks", 20, "--shots", "5/10")
        made = run("reproduce", "fewer", "--dataset", one, "--methods", "lp,degree", *trials)
        assert made.code == 0, made.err
    of_studies = [
        {
            "study": "tasks",
            "dataset": "planted",
            "trial": trial,
            "config_hash": f"of {row['graph']}",
        }
        | {"graph": row["graph"], "cases": [{"series": "one", "at": None, "auc": 0.6}]}
        for trial, row in enumerate(lines("results/fewer.jsonl")[1::2], 1)
    ]
    written = "".join(json.dumps(row) + "\n" for row in of_studies)
    Path("results/beyond.jsonl").write_text(written)
    told = run("report")
    first, second = dict.fromkeys(row["graph"] for row in lines("results/fewer.jsonl"))
    names = ["planted", f"planted ({second})"]
    assert f"there are 2 graphs called planted: the later ones are {names[1]}" in told.err
    page = Path("RESULTS.md").read_text()
    assert first not in page
    for name in names:
        assert f"### {name}, 5/10" in page
        assert f"### {name}\n" in page, "of the study beyond the paper too"
    assert page.count("| LP | 1 |") == 2


def test_the_other_protocol_has_lines_of_its_own(run: Run, graph: Path) -> None:
    command = [
        *("reproduce", "fewer", "--dataset", graph, "--methods", "unlabelled"),
        *("--tasks", 20, "--trials", "1", "--shots", "5/10"),
    ]
    assert run(*command).code == 0
    hidden = run(*command, "--protocol", "unlabelled-queries")
    assert hidden.code == 0, hidden.err
    paper, unlabelled = lines("results/fewer.jsonl")
    assert (paper["protocol"], unlabelled["protocol"]) == ("paper", "unlabelled-queries")
    assert unlabelled["auc"] == 0.5  # it says nothing any more


def test_counting_a_graph(run: Run, graph: Path) -> None:
    counted = run("reproduce", "datasets", "--dataset", graph)
    assert counted.code == 0, counted.err
    assert "400" in counted.out
    assert "15" in counted.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("overal",), "STUDY: expected one of datasets, overall, fewer"),
        (("overal",), "found 'overal'; did you mean 'overall'?"),
        (
            ("overall", "--preset", "breif"),
            "preset: expected one of default, short, brief, paper-small, paper",
        ),
        (
            ("visual", "--trials", "1-2"),
            "--trials: the study 'visual' is of one trial, found '1-2'",
        ),
        (("datasets", "--trials", "1"), "--trials: the study 'datasets' does not take it"),
        (("overall", "--methods", "lp,gnc"), "--methods: expected some of lp, line"),
        (("overall", "--methods", "lp,lin"), "found 'lin'; did you mean 'line'?"),
        (("overall", "--shots", "10/30"), "--shots: expected some of 10/20, 10/40, found '10/30'"),
        (("overall", "--trials", "5-1"), "--trials: expected numbers from 1 up"),
        (("overall", "--engine", "spark"), "--engine: expected local or ray"),
        (("overall", "--samples", "3"), "--samples: the study 'overall' does not take it"),
        (("visual", "--tasks", "3"), "--tasks: the study 'visual' does not take it"),
        (("search", "--preset", "brief"), "--preset: the study 'search' does not take it"),
        (("visual", "--engine", "ray"), "--engine: the study 'visual' does not take it"),
        (("datasets", "--address", "a:1"), "--address: the study 'datasets' does not take it"),
        (
            ("overall", "--engine", "ray", "--address", "a:1", "--jobs", "2"),
            "--jobs: the cluster at --address runs as many trials",
        ),
        (("overall", "--protocol", "papre"), "protocol: expected one of paper, unlabelled-queries"),
    ],
)
def test_mistakes(run: Run, graph: Path, arguments: tuple[str, ...], expected: str) -> None:
    made = run("reproduce", *arguments, "--dataset", graph)
    assert made.code == 2
    assert expected in made.err
    assert not Path("results").exists()


def test_a_misspelt_preset_is_told_before_anything_is_fetched(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metatne.cli.single_studies.load_graph", pytest.fail)
    told = run("reproduce", "overall", "--preset", "breif")
    assert told.code == 2
    assert "did you mean 'brief'?" in told.err


def test_nothing_to_report(run: Run) -> None:
    assert "there is no directory results" in run("report").err
    Path("results").mkdir()
    told = run("report")
    assert told.code == 2
    assert "has no lines" in told.err
    assert "run `metatne reproduce`" in told.err
    Path("results/mine").mkdir()
    Path("results/mine/overall.jsonl").touch()
    assert "did you mean results/mine?" in run("report").err
    assert not Path("RESULTS.md").exists()
