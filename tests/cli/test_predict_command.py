"""`metatne predict`: examples in, a ranking out, and every mistake in the examples named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Town, person
from cli.running import MAIN, TINY, Run, files_up_to
from metatne.cli.support_file import read_support
from metatne.estimator import MetaTNE
from metatne.graph.readers import read_graph
from metatne.graph.store import Graph
from metatne.saved import WEIGHTS
from metatne.service.project_csv import write_examples

FIVE = [part for number in range(5) for part in ("-p", person(number))]
HEADS = ["#", "prob.", "node"]
NEGATIVES = [part for number in range(90, 96) for part in ("--negative", person(number))]


def test_five_positives_and_no_negatives(run: Run, town: Town) -> None:
    done = run("predict", town.model, *FIVE)
    assert done.code == 0
    ranking = _parse(done.out)
    expected = MetaTNE.load(town.model).rank(positives=[person(number) for number in range(5)])
    assert ranking["node"].tolist() == expected["node"].tolist()[:20]
    assert ranking["rank"].tolist() == list(range(1, 21))
    assert ranking["probability"].tolist() == expected["probability"][:20].round(4).tolist()
    weak = expected.attrs["weak_negatives"]
    assert f"no negatives were given: {len(weak)} weak negatives" in done.err
    assert weak[0] in done.err
    assert "… and 125 more; --top N shows more, --output FILE keeps all" in done.err


def test_with_negatives_nothing_is_drawn(run: Run, town: Town) -> None:
    done = run("predict", town.model, *FIVE, *NEGATIVES, "--top", 7)
    assert (done.code, done.err.split()) == (0, HEADS)
    assert len(_parse(done.out)) == 7


def test_a_support_file_says_the_same_as_options(run: Run, town: Town) -> None:
    rows = [f'"{person(number)}",1' for number in range(5)]
    rows += [f'"{person(number)}", 0' for number in range(90, 96)]
    Path("support.csv").write_text("node,holds\n" + "\n".join(rows) + "\n\n")
    by_file = run("predict", town.model, "--support", "support.csv", "--top", 30)
    by_options = run("predict", town.model, *FIVE, *NEGATIVES, "--top", 30)
    assert by_file == by_options
    assert by_file.code == 0
    signs = Path("support.csv").read_text().replace('",1', '",+').replace('", 0', '",-')
    Path("signs.csv").write_text(signs.split("\n", 1)[1])
    assert run("predict", town.model, "--support", "signs.csv", "--top", 30) == by_options


def test_examples_may_begin_with_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "support.csv"
    path.write_text("#py,1\n%go,0\nnode,1\n")
    assert read_support(path) == (["#py", "node"], ["%go"])


def test_examples_of_a_label_project(tmp_path: Path) -> None:
    """As the service exports them, names that a spreadsheet would run among them."""
    path = tmp_path / "project.csv"
    path.write_text(write_examples(["ann", "=bob"], ["it's"]))
    assert read_support(path) == (["ann", "=bob"], ["it's"])


def test_only_the_candidates_are_ranked(run: Run, town: Town) -> None:
    nodes = [person(number) for number in (30, 41, 52)]
    Path("candidates.txt").write_text("node\n" + "".join(f'"{node}"\n' for node in nodes))
    arguments = (*FIVE, *NEGATIVES, "--candidates", "candidates.txt")
    done = run("predict", town.model, *arguments)
    assert (done.code, done.err.split()) == (0, HEADS)
    assert sorted(_parse(done.out)["node"]) == sorted(nodes)
    done = run("predict", town.model, *arguments, "--top", 1)
    assert len(_parse(done.out)) == 1
    named = ("--node", person(60), "--node", nodes[0], "--node", person(60))
    done = run("predict", town.model, *arguments, *named)
    assert sorted(_parse(done.out)["node"]) == sorted([*nodes, person(60)])
    done = run("predict", town.model, *FIVE, *NEGATIVES, "--node", person(60))
    assert _parse(done.out)["node"].tolist() == [person(60)]
    done = run("predict", town.model, *FIVE, *NEGATIVES, "--node", "nobody")
    assert done.code == 2
    assert "'nobody'" in done.err


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_the_whole_ranking_goes_to_a_file(run: Run, town: Town, ending: str) -> None:
    out = Path(f"results/ranking.{ending}")
    done = run("predict", town.model, *FIVE, *NEGATIVES, "--output", out)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"wrote 139 ranked nodes to {out}\n"
    found = _read(out)
    expected = MetaTNE.load(town.model).rank(
        positives=[person(number) for number in range(5)],
        negatives=[person(number) for number in range(90, 96)],
    )
    assert found.columns.tolist() == ["node", "probability", "rank"]
    assert found["node"].tolist() == expected["node"].tolist()
    assert found["probability"].to_numpy() == pytest.approx(expected["probability"].to_numpy())
    done = run("predict", town.model, *FIVE, *NEGATIVES, "-o", out, "--top", 3)
    assert done.code == 0
    assert len(_read(out)) == 3  # a file of ours is replaced


def test_no_spreadsheet_runs_a_name_and_no_terminal_obeys_one(
    run: Run, planted: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula, command = '=HYPERLINK("http://evil.example")', "\x1b]0;owned\x07"
    names = {0: formula, 1: "@SUM(1)", 2: "-1+1", 3: "'=1", 4: command}
    rows = np.repeat(np.arange(planted.num_nodes), planted.degrees)
    ends = [
        [names.get(node, f"n{node}") for node in side]
        for side in (rows.tolist(), planted.indices.tolist())
    ]
    held: dict[str, list[str]] = {}
    for label in range(planted.labels.num_labels):
        for node in planted.labels.holders(label).tolist():
            held.setdefault(names.get(node, f"n{node}"), []).append(f"label {label}")
    MetaTNE(**TINY).fit(read_graph(list(zip(*ends, strict=True)), held)).save(tmp_path / "model")
    examples = ["-p", "n20", "-p", "n21", "-n", "n30", "-n", "n31"]
    assert run("predict", "model", *examples, "-o", "ranking.csv").code == 0
    nodes = set(pd.read_csv("ranking.csv")["node"])
    assert {f"'{formula}", "'@SUM(1)", "'-1+1", "''=1"} <= nodes
    assert not any(node.startswith(("=", "@", "-", "+")) for node in nodes)
    shown = run("predict", "model", *examples, "--top", 300)
    assert command in shown.out  # for a program as it is
    monkeypatch.setattr("metatne.cli.console.is_terminal", lambda: True)
    shown = run("predict", "model", *examples, "--top", 300)
    assert "\x1b" not in shown.out
    assert r"\x1b]0;owned\x07" in shown.out
    failed = run("predict", "model", "-p", command)
    assert "\x1b" not in failed.err


def test_a_file_is_replaced_whole_or_not_at_all(run: Run, town: Town) -> None:
    Path("ranking.csv").write_text("the old one")
    with files_up_to(1024):
        done = run("predict", town.model, *FIVE, "--output", "ranking.csv")
    assert done.code == 1
    assert "File too large" in done.err
    assert Path("ranking.csv").read_text() == "the old one"
    assert [path.name for path in Path().iterdir()] == ["ranking.csv"]


def test_unknown_nodes_are_answered_with_the_nearest(run: Run, town: Town) -> None:
    done = run("predict", town.model, "-p", "person 7, Main Stret", "-n", "Person 90")
    assert (done.code, done.out) == (2, "")
    first, second = done.err.splitlines()
    assert "has no node 'person 7, Main Stret'; did you mean 'person 7, Main Street'" in first
    assert "has no node 'Person 90'" in second


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "name it with --positive NODE, or in a file with --support FILE"),
        (["-n", person(1)], "positives: expected at least 1 node"),
        (["-p", person(1), "-p", person(1)], f"found twice: '{person(1)}'"),
        (["-p", person(1), "-n", person(1)], f"found in both: '{person(1)}'"),
        (["-p", person(1), "--support", "good.csv"], "with --support, or with --positive"),
        (["--support", "empty.txt"], "empty.txt: expected at least 1 node that holds the label"),
        (["--support", "lacking.csv"], "lacking.csv: expected at least 1 node that holds the"),
        (["--support", "missing.csv"], "there is no file missing.csv"),
        (["--support", "folder"], "folder is a directory, but a file was expected"),
        (["--support", "bad.csv"], "bad.csv:2: expected a node and 1 or 0 (node,1), found 'b,2'"),
        (["--support", "bad.csv"], "bad.csv:4: expected quotes that close"),
        (["--support", "bad.csv"], "bad.csv:5: expected a node and 1 or 0 (node,1), found ',1'"),
        (["--support", "latin.csv"], "latin.csv:1: expected UTF-8 text"),
        (["--support", "good.csv", "--candidates", "good.csv"], "good.csv:1: expected one node"),
        (["--support", "good.csv", "--candidates", "example.txt"], "is an example already"),
        (["--support", "good.csv", "--candidates", "empty.txt"], "expected at least 1 node"),
        (["--support", "good.csv", "--candidates", "missing.txt"], "no file missing.txt"),
        (["-p", person(1), "--output", "r.xlsx"], "ends in .csv, .parquet, .json, found 'r.xlsx'"),
        (["-p", person(1), "--output", "d.csv"], "expected a file, found the directory d.csv"),
        (["-p", person(1), "--output", "empty.txt/r.csv"], "empty.txt is not a directory"),
        (["-p", person(1), "--top", "0"], "expected greater than or equal to 1, found '0'"),
        (["-p", person(1), "--top", "x"], "unable to parse string as an integer, found 'x'"),
    ],
)
def test_mistakes_are_said(run: Run, town: Town, given: list[str], message: str) -> None:
    Path("good.csv").write_text(f'"{person(1)}",1\n"{person(2)}",0\n')
    Path("lacking.csv").write_text(f'"{person(2)}",0\n')
    Path("bad.csv").write_text('a,1\nb,2\n\n"c,1\n,1\n')
    Path("latin.csv").write_bytes("Müller,1\n".encode("latin-1"))
    Path("example.txt").write_text(f'"{person(1)}"\n')
    Path("empty.txt").touch()
    Path("folder").mkdir()
    Path("d.csv").mkdir()
    before = sorted(Path().rglob("*"))
    done = run("predict", town.model, *given)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert sorted(Path().rglob("*")) == before


def test_a_model_of_another_graph_is_refused(run: Run, town: Town) -> None:
    assert run("predict", town.model, *FIVE, "--graph", town.graph).code == 0
    edges = "".join(town.edges.read_text().splitlines(keepends=True)[:-5])
    Path("fewer.csv").write_text(edges)
    read_graph("fewer.csv", town.labels, keep_unlinked=True).save("fewer")
    done = run("predict", town.model, *FIVE, "--graph", "fewer")
    assert done.code == 2
    assert "was trained on the graph 'town'" in done.err
    assert "not on 'fewer'" in done.err
    done = run("predict", town.model, *FIVE, "--graph", "fewr")
    assert done.code == 2
    assert "there is no data set 'fewr'" in done.err


def test_damaged_models_are_refused(run: Run, town: Town) -> None:
    shutil.copytree(town.model, "cut")
    weights = Path("cut") / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-100])
    done = run("predict", "cut", *FIVE)
    assert done.code == 2
    assert f"{weights} is damaged" in done.err
    assert "(cut short)" in done.err
    done = run("predict", "nothing", *FIVE)
    assert done.code == 2
    assert "there is no model at nothing; train one with `metatne train`" in done.err
    done = run("predict", town.graph, *FIVE)
    assert done.code == 2
    assert "is not a saved model" in done.err
    Path("file").touch()
    assert run("predict", "file", *FIVE).code == 2


def test_ids_are_shown_as_they_are(run: Run) -> None:
    strange = ["[bold]a[/]", "b:cat:c", "d" * 300, "e  f", "g\\[h", "名前"]
    Path("edges.tsv").write_text(
        "\n".join(f"{a}\t{b}" for a in [*strange, "hub"] for b in strange if a != b) + "\n"
    )
    graph = read_graph("edges.tsv", delimiter="\t", header=False)
    assert set(strange) <= set(graph.node_ids.take(range(7)))
    trained = MetaTNE(
        **{"dim": 4, "attention_dim": 4, "num_heads": 1, "num_steps": 1, "validation_tasks": 1},
        head="prototypes",
        **{"positives": 1, "negatives": 1, "query_positives": 1, "query_negatives": 1},
    )
    labels = {node: ["x", "y"] for node in strange[:3]}
    trained.fit(read_graph("edges.tsv", labels, delimiter="\t", header=False)).save("m")
    done = run("predict", "m", "-p", "hub")
    assert sorted(_parse(done.out)["node"]) == sorted(strange)
    done = run("predict", "m", "-p", "[bold]a[/", "-p", ":cat:")
    assert "has no node '[bold]a[/'; did you mean '[bold]a[/]'?" in done.err
    assert "has no node ':cat:'" in done.err


def test_whoever_stops_reading_is_no_error(town: Town) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "predict", town.model, *FIVE, "--top", "100"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read().decode()
    assert process.wait(timeout=120) == 1
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
    process.stderr.close()


def _parse(out: str) -> pd.DataFrame:
    rows = [line.lstrip().split("  ", 2) for line in out.splitlines()]
    table = pd.DataFrame(rows, columns=["rank", "probability", "node"])
    return table.astype({"rank": int, "probability": float})


def _read(path: Path) -> pd.DataFrame:
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": pd.read_csv,
        ".parquet": pd.read_parquet,
        ".json": pd.read_json,
    }
    return readers[path.suffix](path)
