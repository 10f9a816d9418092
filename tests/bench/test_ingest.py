"""The benchmark of reading edge lists: its files, its two ways, and what it says of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from metatne.bench import ingest, ingest_ways
from metatne.bench.edge_files import LINES_A_NODE, write_edge_file
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import PeakMemory
from metatne.errors import RunError
from metatne.graph.store import Graph


@pytest.fixture(autouse=True)
def run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "REPEATS", 1)


@pytest.mark.parametrize(("prefix", "pattern"), [("", r"\d{1,3}"), ("node-", r"node-\d{8}")])
def test_files_of_edges(tmp_path: Path, prefix: str, pattern: str) -> None:
    write_edge_file(tmp_path / "e.tsv", 5000, prefix=prefix)
    frame = pd.read_csv(tmp_path / "e.tsv", sep="\t", header=None, dtype=str)
    ends = pd.concat([frame[0], frame[1]])
    assert len(frame) == 5000
    assert ends.str.fullmatch(pattern).all()
    degrees = ends.value_counts()
    assert len(degrees) <= 5000 // LINES_A_NODE
    assert degrees.iloc[0] > 5 * degrees.mean()  # a few nodes have very many
    write_edge_file(tmp_path / "again.tsv", 5000, prefix=prefix)
    assert (tmp_path / "again.tsv").read_bytes() == (tmp_path / "e.tsv").read_bytes()


@pytest.mark.parametrize("prefix", ["", "node-"])
def test_both_ways_store_the_same_graph(tmp_path: Path, prefix: str) -> None:
    small, large = tmp_path / "small.tsv", tmp_path / "large.tsv"
    write_edge_file(small, 100, prefix=prefix)
    write_edge_file(large, 3000, prefix=prefix)
    ours = ingest_ways.ours(str(small), str(large), str(tmp_path / "ours"))
    pandas = ingest_ways.with_pandas(str(small), str(large), str(tmp_path / "pandas"))
    assert ours["num_nodes"] == pandas["num_nodes"]
    assert ours["num_edges"] == pandas["num_edges"]
    graph = Graph.open(tmp_path / "ours" / "large")
    stored = tmp_path / "pandas" / "large"
    indptr, indices = np.load(stored / "indptr.npy"), np.load(stored / "indices.npy")
    ids = pd.read_feather(stored / "ids.arrow")["id"].tolist()
    for place, node_id in enumerate(ids[:50]):
        (node,) = graph.node_ids.positions([node_id])
        expected = {ids[neighbour] for neighbour in indices[indptr[place] : indptr[place + 1]]}
        assert set(graph.node_ids.take(graph.neighbours(int(node)))) == expected


def test_figures_of_a_small_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "NUM_LINES", (2000, 3000))
    figures = list(ingest.measure(quick=True))
    assert all(isinstance(figure, Figure) and figure.ratio is not None for figure in figures)
    assert [figure.case for figure in figures] == [
        *["2,000 lines, integers"] * 3,
        *["2,000 lines, strings"] * 3,
    ]


def test_what_does_not_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "NUM_LINES", (2000, 2000))
    memory = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=1000))
    monkeypatch.setattr(ingest, "psutil", memory)
    figures = [figure for figure in ingest.measure(quick=True) if isinstance(figure, Figure)]
    assert all(figure.against is None and figure.ratio is None for figure in figures)
    assert str(figures[0].details["pandas"]).startswith("not run: it may need ")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=10))
    assert all(isinstance(figure, Skipped) for figure in ingest.measure(quick=True))


def test_ways_that_differ_are_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "NUM_LINES", (1000,))

    def run(way: str, *args: str) -> PeakMemory:
        counts = {"num_nodes": 5, "num_edges": 7 if way.endswith("ours") else 8}
        return PeakMemory(before=1, peak=2, seconds=1.0, result={"seconds": 1.0, **counts})

    monkeypatch.setattr(ingest, "peak_memory", run)
    with pytest.raises(RunError, match="the two ways differ: num_edges 7 and 8"):
        list(ingest.measure(quick=True))


def test_a_way_that_runs_out_of_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "NUM_LINES", (1000,))

    def run(way: str, *args: str) -> PeakMemory:
        if not way.endswith("ours"):
            raise RunError("it was ended by SIGKILL")
        result = {"seconds": 1.0, "start_seconds": 1.0, "start_memory": 1, "stored": 1}
        return PeakMemory(before=1, peak=2, seconds=1.0, result=result)

    monkeypatch.setattr(ingest, "peak_memory", run)
    figure = next(iter(ingest.measure(quick=True)))
    assert isinstance(figure, Figure)
    assert figure.details["pandas"] == "failed: it was ended by SIGKILL"
    assert figure.value == 1000
