"""`metatne graph` and `metatne datasets`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Town
from cli.running import Run
from metatne.graph.datasets import list_datasets
from metatne.graph.store import Graph


def test_two_csv_files_become_a_stored_graph(run: Run, town: Town) -> None:
    done = run("graph", "import", town.edges, "--labels", town.labels, "--out", "mine")
    assert (done.code, done.out) == (0, "")
    graph = Graph.open("mine")
    assert graph.num_nodes == 150
    assert graph.name == "mine"
    assert "person 7, Main Street" in graph.node_ids
    assert graph.fingerprint == Graph.open(town.graph).fingerprint
    assert f"read {graph.num_edges:,} edges" in done.err
    assert f"stored {graph!r} in mine" in done.err


def test_what_was_cleaned_is_said(run: Run) -> None:
    Path("edges.txt").write_text("1 2\n2 1\n1 2\n3 3\n2 3\n")
    name = "little :cat: [b]"
    done = run("graph", "import", "edges.txt", "--out", "g", "--directed", "--name", name)
    assert done.code == 0
    assert "removed 1 self-loop" in done.err
    assert "every edge now goes both ways" in done.err
    assert "stored Graph('little :cat: [b]': 3 nodes" in done.err
    assert Graph.open("g").name == name


def test_layout_options_reach_the_reader(run: Run) -> None:
    Path("edges.data").write_text("a|b|2\nb|c|3\n")
    arguments = ("graph", "import", "edges.data", "--format", "edges", "--delimiter", "|")
    assert run(*arguments, "--no-header", "--weighted", "--out", "weighted").code == 0
    assert run(*arguments, "--no-header", "--unweighted", "--out", "plain").code == 0
    assert run(*arguments, "--header", "--out", "headed").code == 0
    weights = Graph.open("weighted").weights
    assert weights is not None
    assert sorted(weights.tolist()) == [2, 2, 3, 3]
    assert Graph.open("plain").weights is None
    assert Graph.open("headed").num_edges == 1
    Path("edges.txt").write_text("a\tb\nb\tc d\n")
    assert run("graph", "import", "edges.txt", "--delimiter", r"\t", "--out", "tabs").code == 0
    assert Graph.open("tabs").node_ids.take([0, 1, 2]) == ["a", "b", "c d"]


def test_the_format_can_be_told(run: Run) -> None:
    Path("graph.data").write_text(
        '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<graph edgedefault="undirected"><node id="a"/><node id="b"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    assert run("graph", "import", "graph.data", "--format", "graphml", "--out", "g").code == 0
    assert Graph.open("g").num_edges == 1
    done = run("graph", "import", "graph.data", "--format", "graphlm", "--out", "h")
    assert done.code == 2
    assert "edges, parquet, graphml, matlab, asu, not 'graphlm'" in done.err


def test_which_nodes_stay_and_what_is_unknown(run: Run) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,d\n")
    Path("labels.csv").write_text("node,label\na,x\nb,x\nz,y\n")
    labelled = ("graph", "import", "edges.csv", "--labels", "labels.csv")
    assert run(*labelled, "--out", "g").code == 2  # z has no edge
    assert run(*labelled, "--keep-unlinked", "--out", "all").code == 0
    assert Graph.open("all").num_nodes == 5
    assert run(*labelled, "--keep-unlinked", "--drop-isolated", "--out", "linked").code == 0
    assert Graph.open("linked").num_nodes == 4
    assert run(*labelled, "--keep-unlinked", "--labelled-only", "--out", "labelled").code == 0
    assert Graph.open("labelled").node_ids.take([0, 1, 2]) == ["a", "b", "z"]
    assert run(*labelled, "--keep-unlinked", "--unlisted-unknown", "--out", "partial").code == 0
    assert Graph.open("partial").summary()["unannotated"] == 2
    Path("unknown.txt").write_text("d\n")
    arguments = ("--keep-unlinked", "--unannotated", "unknown.txt", "--out", "one")
    assert run(*labelled, *arguments).code == 0
    assert Graph.open("one").summary()["unannotated"] == 1


def test_an_existing_graph_is_replaced_only_on_request(run: Run, town: Town) -> None:
    Path("edges.csv").write_text("a,b\n")
    assert run("graph", "import", "edges.csv", "--out", "g").code == 0
    before = Graph.open("g").fingerprint
    done = run("graph", "import", town.edges, "--out", "g")
    assert done.code == 2
    assert "g exists already; name another, or add --overwrite" in done.err
    assert Graph.open("g").fingerprint == before
    assert run("graph", "import", town.edges, "--out", "g", "--overwrite").code == 0
    assert Graph.open("g").num_nodes == 150


def test_something_else_is_never_replaced_by_a_graph(run: Run, town: Town) -> None:
    precious = Path("home/thesis.tex")
    precious.parent.mkdir()
    precious.write_text("years of work")
    done = run("graph", "import", town.edges, "--out", "home", "--overwrite")
    assert done.code == 2
    assert precious.read_text() == "years of work"


def test_bad_lines_are_all_named_and_nothing_is_written(run: Run) -> None:
    lines = [f"{i},{i + 1}" for i in range(1000)]
    lines[499], lines[700] = "12,13,14,15", "77"
    Path("edges.csv").write_text("\n".join(lines))
    done = run("graph", "import", "edges.csv", "--out", "deep/g")
    assert done.code == 2
    assert [line.split(": expected")[0] for line in done.err.splitlines()] == [
        "error: edges.csv:500",
        "error: edges.csv:701",
    ]
    assert [path.name for path in Path().iterdir()] == ["edges.csv"]


def test_info_is_whole_however_narrow_the_screen(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    done = run("graph", "info", town.graph)
    graph = Graph.open(town.graph)
    facts = dict(line.split("  ", 1) for line in done.out.splitlines())
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    assert done.code == 0
    assert facts["fingerprint"] == graph.fingerprint
    assert facts["nodes"] == "150"
    assert facts["weighted"] == "no"
    assert facts["holders"].startswith("min ")
    assert "read" in done.err  # what was done when it was built is a remark


def test_info_of_a_graph_without_labels(run: Run) -> None:
    Path("edges.csv").write_text("a,b\n")
    run("graph", "import", "edges.csv", "--out", "g")
    done = run("graph", "info", "g")
    assert done.code == 0
    assert "holders        -\n" in done.out


def test_info_as_json_can_be_piped(run: Run, town: Town) -> None:
    done = run("graph", "info", town.graph, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == Graph.open(town.graph).summary()


def test_all_datasets_are_listed_a_line_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    done = run("datasets")
    assert (done.code, done.err) == (0, "")
    header, *lines = done.out.splitlines()
    assert header.split() == ["name", "nodes", "edges", "labels", "source", "about"]
    assert [line.split()[0] for line in lines] == [dataset.name for dataset in list_datasets()]
    for line, dataset in zip(lines, list_datasets(), strict=True):
        assert f"{dataset.num_nodes:,}" in line
        assert f" {dataset.home} " in line
        assert line.endswith(dataset.licence)


def test_a_header_with_names_of_its_own_is_asked_about_and_can_be_told(run: Run) -> None:
    Path("edges.csv").write_text("a,b\nb,c\n")
    Path("labels.csv").write_text("gene,pathway\na,x\nb,x\n")
    arguments = ("graph", "import", "edges.csv", "--labels", "labels.csv")
    done = run(*arguments, "--out", "g")
    assert done.code == 2
    assert "is line 1 a header? say --label-header" in done.err
    done = run(*arguments, "--keep-unlinked", "--out", "kept")
    assert done.code == 0
    assert "labels.csv:1 ('gene,pathway') was read as labels; --label-header if" in done.err
    done = run(*arguments, "--label-header", "--out", "g")
    assert done.code == 0
    assert "gene" not in done.err
    assert Graph.open("g").labels.names == ("x",)
    Path("labels.csv").write_text("a,label\na,x\n")
    done = run(*arguments, "--out", "h")
    assert "labels.csv:1 ('a,label') was read as a header; --no-label-header if" in done.err
    assert run(*arguments, "--no-label-header", "--out", "i").code == 0
    assert Graph.open("i").labels.names == ("label", "x")


def test_a_first_line_that_may_be_a_header_is_pointed_at(run: Run) -> None:
    Path("edges.csv").write_text("bait,prey\na,b\nb,c\n")
    done = run("graph", "import", "edges.csv", "--out", "g")
    note = "edges.csv:1 ('bait,prey') was read as an edge; --header if it is a header"
    assert note in done.err
    assert note in run("graph", "info", "g").err  # it is kept with the graph
    assert "bait" not in run("graph", "import", "edges.csv", "--header", "--out", "h").err
    assert "bait" not in run("graph", "import", "edges.csv", "--no-header", "--out", "i").err
    Path("edges.csv").write_text("gene_a,gene_b\n1,2\n2,3\n")
    done = run("graph", "import", "edges.csv", "--out", "j")
    assert "edges.csv:1 ('gene_a,gene_b') was read as a header; --no-header if" in done.err
    Path("edges.csv").write_text("a,b\nb,c\n")
    assert "header" not in run("graph", "import", "edges.csv", "--out", "k").err


def test_nodes_without_any_label_are_pointed_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("ann,bob\nbob,cat\ncat,dan\n", encoding="utf-8")
    (tmp_path / "l.csv").write_text("ann,jazz\nbob,jazz\n", encoding="utf-8")
    importing = ("graph", "import", tmp_path / "e.csv", "--labels", tmp_path / "l.csv")
    done = run(*importing, "--out", tmp_path / "plain")
    assert "2 nodes are not among the labels and count as lacking all of them" in done.err
    done = run(*importing, "--out", tmp_path / "unknown", "--unlisted-unknown")
    assert "count as lacking" not in done.err
    (tmp_path / "l.csv").write_text("id,jazz,rock\nann,1,0\nbob,1,1\ncat,0,0\ndan,0,0\n")
    done = run(*importing, "--out", tmp_path / "wide")
    assert "count as lacking" not in done.err  # it is said of each of them


def test_labels_that_differ_in_case_alone_are_pointed_out(run: Run) -> None:
    Path("e.csv").write_text("ann,bob\nbob,cat\n")
    Path("l.csv").write_text("ann,Jazz\nbob,jazz\ncat,Folk\n")
    done = run("graph", "import", "e.csv", "--labels", "l.csv", "--out", "g")
    assert "the labels 'Jazz' and 'jazz' differ in case alone, and count as two" in done.err
    assert "Folk" not in done.err


def test_swapped_columns_are_suspected(run: Run) -> None:
    Path("e.csv").write_text("ann,bob\nbob,cat\ncat,dan\n")
    Path("l.csv").write_text("jazz,ann\njazz,bob\nfolk,cat\n")
    done = run("graph", "import", "e.csv", "--labels", "l.csv", "--out", "g")
    assert done.code == 2
    assert "were its columns swapped (expected: a node, then a label)" in done.err
    assert "--keep-unlinked" not in done.err


def test_swapped_files_are_suspected(run: Run, town: Town) -> None:
    done = run("graph", "import", town.labels, "--labels", town.edges, "--out", "g")
    assert done.code == 2
    assert "were the edges and the labels swapped?" in done.err
    Path("edges.csv").write_text("1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n")
    Path("labels.csv").write_text("1,1\n2,1\n3,2\n4,2\n99,1\n")
    done = run("graph", "import", "edges.csv", "--labels", "labels.csv", "--out", "g")
    assert "the graph has no node 99" in done.err
    assert "swapped" not in done.err, "few labels, numbered like nodes"
