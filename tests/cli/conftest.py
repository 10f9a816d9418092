"""A small town on disk, and the command line run on it."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.running import TINY, Finished, Run
from metatne.cli import main
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.readers import read_graph
from metatne.graph.store import Graph


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in an empty directory; what it raises past its exit code fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("METATNE_DATA", raising=False)

    def run_command(*arguments: object) -> Finished:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["metatne", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Finished(ended.value.code, out, err)

    return run_command


@dataclass(frozen=True)
class Town:
    """People who know each other and belong to clubs."""

    edges: Path
    labels: Path
    graph: Path
    model: Path


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    """Two CSV files with string ids, the stored graph and a model; tests must not change them."""
    folder = tmp_path_factory.mktemp("town")
    planted = planted_graph(150, num_labels=10, num_communities=6, seed=2).graph
    town = Town(*(folder / name for name in ("edges.csv", "labels.csv", "graph", "model")))
    write_town(planted, town)
    graph = read_graph(town.edges, town.labels, name="town")
    graph.save(town.graph)
    MetaTNE(**TINY).fit(graph).save(town.model)
    return town


def write_town(graph: Graph, town: Town) -> None:
    """The graph as two CSV files: edges, and pairs of a node and a label."""
    pairs = [
        (person(node), person(neighbour))
        for node in range(graph.num_nodes)
        for neighbour in graph.neighbours(node).tolist()
        if node < neighbour
    ]
    _write(town.edges, [("source", "target"), *pairs])
    held = [
        (person(node), name)
        for label, name in enumerate(graph.labels.names)
        for node in graph.labels.holders(label).tolist()
    ]
    _write(town.labels, [("node", "label"), *held])


def person(number: int) -> str:
    """The name of a node."""
    return f"person {number}, Main Street"


def _write(path: Path, rows: list[tuple[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
