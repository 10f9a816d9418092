"""The benchmark `memory` trains on small stored graphs, and says how memory grows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metatne.bench import memory
from metatne.bench.measuring import PeakMemory
from metatne.graph.store import Graph

TINY = {"num_steps": 2, "validate_every": 1, "validation_tasks": 2, "dim": 16}


def shrunk(case: memory.Case) -> memory.Case:
    return replace(
        case,
        num_nodes=case.num_nodes // 200,
        num_edges=case.num_edges // (1000 if case.goal else 200),  # else too dense
        num_labels=6,
        changed=case.changed | TINY,
    )


def called_here(function: str, *args: Any) -> PeakMemory:
    """In this process, so that it is fast; the memory is that of the arrays, so to speak."""
    result = getattr(memory, function)(*args)
    graph = Graph.open(args[0])
    peak = graph.num_nodes * 1_000 + graph.num_edges * 10
    return PeakMemory(
        before=7, peak=2 * peak if "plainly" in function else peak, seconds=0.5, result=result
    )


def test_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [shrunk(case) for case in memory.QUICK]
    monkeypatch.setattr(memory, "_in_child", called_here)
    monkeypatch.setattr(memory, "SMALL", cases[0])
    monkeypatch.setattr(memory, "GROWN", tuple(cases[1:3]))
    monkeypatch.setattr(memory, "QUICK", tuple(cases))
    figures = list(memory.measure(quick=True))
    assert [figure.case for figure in figures[:-2:2]] == [case.name for case in cases]
    flickr = figures[6]
    assert (flickr.quantity, flickr.unit, flickr.goal) == ("peak memory of training", "GB", 3.0)
    assert flickr.ratio == 2
    assert flickr.against == 2 * flickr.value
    assert flickr.details["edges"] == pytest.approx(cases[3].num_edges, rel=0.02)
    assert figures[7].details["steps"] == 2
    assert figures[8].ratio is None
    assert [figure.quantity for figure in figures[-2:]] == [
        "peak memory per added node",
        "peak memory per added edge",
    ]
    assert figures[-2].value == pytest.approx(1_000, rel=0.01)
    assert figures[-1].value == pytest.approx(10, rel=0.1)


def test_flickrs_statistics() -> None:
    for case in (memory.FLICKR, memory.PAPERS_FLICKR):
        assert (case.num_nodes, case.num_edges, case.num_labels) == (80_513, 5_899_882, 195)


def test_the_graph_is_read_from_disk(tmp_path: Path) -> None:
    path = str(tmp_path / "graph")
    assert memory.make_graph(path, 400, 4_000, 6) == Graph.open(path).num_edges
    result = memory.train(path, ["short"], TINY)
    assert result["steps"] == 2
    assert 0 <= result["auc"] <= 1
    memory.train_plainly(path)
