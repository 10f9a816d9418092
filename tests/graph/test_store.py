"""A graph is immutable, is saved whole or not at all, and damage to it is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metatne.errors import GraphError, OutputExistsError
from metatne.graph.disk import map_ids
from metatne.graph.labels import Labels
from metatne.graph.node_ids import NodeIds
from metatne.graph.store import Graph
from metatne.integrity import file_checksum, sealed


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(
        [("a", "b", 1.0), ("b", "c", 2.0), ("ä", "c", 0.5)],
        labels={"a": ["x"], "b": {"x": 0, "y": None}, "c": ["x", "y"], "ä": None},
        name="tiny",
    )


def test_the_arrays(graph: Graph) -> None:
    assert graph.indptr.tolist() == [0, 1, 3, 5, 6]
    assert graph.indices.tolist() == [1, 0, 2, 1, 3, 2]
    assert graph.weights is not None
    assert graph.weights.tolist() == [1, 1, 2, 2, 0.5, 0.5]
    assert graph.degrees.tolist() == [1, 2, 2, 1]
    assert graph.neighbours(2).tolist() == [1, 3]
    assert repr(graph) == "Graph('tiny': 4 nodes, 3 edges, weighted, 2 labels)"
    with pytest.raises(IndexError, match=r"0 … 3, not 4"):
        graph.neighbours(4)


def test_arrays_are_read_only(graph: Graph) -> None:
    assert graph.weights is not None
    for array in (graph.indptr, graph.indices, graph.weights, graph.degrees):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_adjacency_shares_the_entries(graph: Graph) -> None:
    matrix = graph.adjacency()
    assert np.shares_memory(matrix.indices, graph.indices)
    assert np.shares_memory(matrix.data, graph.weights)
    assert matrix.toarray()[1].tolist() == [1, 0, 2, 0]
    assert np.array_equal(matrix @ np.ones(4, np.float32), [1, 3, 2.5, 0.5])
    unweighted = Graph.from_edges([(0, 1)])
    assert unweighted.adjacency().toarray().tolist() == [[0, 1], [1, 0]]


def test_summary(graph: Graph) -> None:
    summary = graph.summary()
    fingerprint = summary.pop("fingerprint")
    assert len(fingerprint) == 64
    assert summary == {
        "name": "tiny",
        "nodes": 4,
        "edges": 3,
        "weighted": True,
        "isolated": 0,
        "degree": {"min": 1, "median": 1.5, "max": 2},
        "components": 1,
        "labels": 2,
        "holders": {"min": 1, "median": 1.5, "max": 2},
        "unannotated": 1,
        "held_pairs": 3,
        "unknown_pairs": 3,
    }
    assert json.loads(json.dumps(summary)) == summary
    assert Graph.from_edges([(0, 1)]).summary()["holders"] is None


def test_save_and_open(graph: Graph, tmp_path: Path) -> None:
    graph.save(tmp_path / "g")
    opened = Graph.open(tmp_path / "g")
    assert opened.summary() == graph.summary()
    assert opened.report == graph.report
    assert opened.node_ids.take(range(4)) == ["a", "b", "c", "ä"]
    assert opened.node_ids.positions(["ä", "a"]).tolist() == [3, 0]
    assert opened.labels.names == graph.labels.names
    everywhere = np.arange(4)[:, None]
    assert np.array_equal(
        opened.labels.states(everywhere, [0, 1]), graph.labels.states(everywhere, [0, 1])
    )
    assert not opened.indices.flags.writeable
    opened.verify()
    again = tmp_path / "again"
    opened.save(again)
    assert Graph.open(again).fingerprint == graph.fingerprint


def test_integer_ids_and_no_labels_survive(tmp_path: Path) -> None:
    graph = Graph.from_edges([(5, 7)])
    graph.save(tmp_path / "g")
    opened = Graph.open(tmp_path / "g")
    opened.verify()
    assert opened.node_ids.is_integer
    assert opened.labels.num_labels == 0
    assert opened.fingerprint == graph.fingerprint


def test_saving_does_not_overwrite_unasked(graph: Graph, tmp_path: Path) -> None:
    graph.save(tmp_path / "g")
    other = Graph.from_edges([(0, 1)])
    with pytest.raises(OutputExistsError, match="exists already"):
        other.save(tmp_path / "g")
    assert Graph.open(tmp_path / "g").fingerprint == graph.fingerprint
    other.save(tmp_path / "g", overwrite=True)
    assert Graph.open(tmp_path / "g").fingerprint == other.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["g"]
    (tmp_path / "letters").mkdir()
    with pytest.raises(GraphError, match="is not a saved graph, so it is not overwritten"):
        other.save(tmp_path / "letters", overwrite=True)


def test_the_fingerprint_follows_the_content(graph: Graph) -> None:
    same = Graph.from_edges([("a", "b", 1.0), ("b", "c", 2.0), ("ä", "c", 0.5)], name="other")
    assert same.fingerprint != graph.fingerprint
    assert same.with_labels(graph.labels).fingerprint == graph.fingerprint
    assert graph.with_labels(graph.labels.select([1, 0])).fingerprint != graph.fingerprint
    prints = {
        Graph.from_edges(edges).fingerprint
        for edges in ([(0, 1)], [("0", "1")], [(0, 2)], [(0, 1, 2.0)], [("01", "2")], [("0", "12")])
    }
    assert len(prints) == 6


def test_other_labels_must_be_of_as_many_nodes(graph: Graph) -> None:
    with pytest.raises(GraphError, match="labels are those of 3 nodes, but the graph has 4"):
        graph.with_labels(Labels.none(3))


@pytest.fixture
def saved(graph: Graph, tmp_path: Path) -> Path:
    graph.save(tmp_path / "g")
    return tmp_path / "g"


def test_what_is_no_saved_graph(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="there is no saved graph at"):
        Graph.open(tmp_path / "nowhere")
    with pytest.raises(GraphError, match=r"is not a saved graph: it has no graph\.json"):
        Graph.open(tmp_path)
    (tmp_path / "graph.json").write_text("[]")
    with pytest.raises(GraphError, match="not the header of a saved graph"):
        Graph.open(tmp_path)
    for text in ("{", "[" * 100_000):
        (tmp_path / "graph.json").write_text(text)
        with pytest.raises(GraphError, match="cannot be read as JSON"):
            Graph.open(tmp_path)


@pytest.mark.parametrize("name", ["indices.npy", "ids.arrow", "holds_nodes.npy", "weights.npy"])
def test_a_file_of_another_size_is_named(saved: Path, name: str) -> None:
    with (saved / name).open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(GraphError, match=rf"{name} is damaged: it has .* bytes, but graph\.json"):
        Graph.open(saved)
    (saved / name).unlink()
    with pytest.raises(GraphError, match=f"{name} is damaged: it is missing"):
        Graph.open(saved)


@pytest.mark.parametrize("name", ["indices.npy", "ids.arrow", "id_order.npy", "holds_nodes.npy"])
def test_changed_content_is_found(saved: Path, name: str) -> None:
    data = bytearray((saved / name).read_bytes())
    place = data.rindex("ä".encode()) + 1 if name == "ids.arrow" else len(data) - 4
    data[place] ^= 1
    opened = Graph.open(saved)
    (saved / name).write_bytes(bytes(data))
    told = f"{name} is damaged: its content is not what was saved"
    with pytest.raises(GraphError, match=told):
        opened.verify()  # which reads what is mapped
    with pytest.raises(GraphError, match=told):
        Graph.open(saved)
    as_first_version(saved)
    with pytest.raises(GraphError, match=told):
        Graph.open(saved)


def change_header(saved: Path, *, seal: bool = True, **changes: Any) -> None:
    """As by someone who knows how; unless told not to, the checksum is mended too."""
    header = json.loads((saved / "graph.json").read_text()) | changes
    header.pop("checksum", None)
    (saved / "graph.json").write_text(json.dumps(sealed(header) if seal else header))


def as_first_version(saved: Path) -> None:
    """The header as it was before it had checksums."""
    files = json.loads((saved / "graph.json").read_text())["files"]
    for facts in files.values():
        del facts["checksum"]
    change_header(saved, seal=False, version=1, files=files)


def test_a_graph_of_the_first_version_opens(saved: Path, graph: Graph) -> None:
    as_first_version(saved)
    assert Graph.open(saved).summary() == graph.summary()


def test_a_header_that_was_changed_is_refused(saved: Path) -> None:
    told = r"graph\.json is damaged: its content is not what was saved"
    header = (saved / "graph.json").read_text()
    for before, after in (
        ('"name": "', '"name": "x'),
        ('"checksum"', '"checksun"'),
        ('"version": 2', '"version": 1'),
    ):
        (saved / "graph.json").write_text(header.replace(before, after, 1))
        with pytest.raises(GraphError, match=told):
            Graph.open(saved)


def test_headers_that_lie(saved: Path) -> None:
    change_header(saved, label_names=["x", "z"])
    with pytest.raises(GraphError, match="label names were changed"):
        Graph.open(saved).verify()
    change_header(saved, label_names=["x"])
    with pytest.raises(GraphError, match="number of label names"):
        Graph.open(saved)
    change_header(saved, label_names=3)
    with pytest.raises(GraphError, match="entries are missing or of the wrong kind"):
        Graph.open(saved)
    change_header(saved, version=99)
    with pytest.raises(GraphError, match=r"format version 99.*reads version 2; build the graph"):
        Graph.open(saved)


def replace_file(saved: Path, name: str, array: Any) -> None:
    np.save(saved / name, array)
    files = json.loads((saved / "graph.json").read_text())["files"]
    files[name]["size"] = (saved / name).stat().st_size
    files[name]["checksum"] = file_checksum(saved / name)
    change_header(saved, files=files)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("indices.npy", np.zeros(6, np.float64), "expected one dimension of int32 or int64"),
        ("indices.npy", np.zeros((6, 1), np.int32), "expected one dimension"),
        ("indptr.npy", np.zeros(4, np.int64), "it has 4 values, expected 5"),
        ("weights.npy", np.zeros(5, np.float32), "it has 5 values, expected 6"),
        ("indptr.npy", np.array([0, 1, 1, 1, 2]), r"indptr\.npy .* cut indices\.npy into rows"),
        ("indptr.npy", np.array([0, 9, 1, 1, 6]), r"indptr\.npy .* cut indices\.npy into rows"),
        ("indices.npy", np.array([1, 0, 2, 1, 3, 4], np.int32), "expected nodes from 0 to 3"),
        ("indices.npy", np.array([1, 0, 2, 1, 3, -1], np.int32), "expected nodes from 0 to 3"),
        ("holds_nodes.npy", np.array([0, 2**31 - 1, 2], np.int32), "expected nodes from 0 to 3"),
        ("id_order.npy", np.array([0, 1, 2, 4]), "expected nodes from 0 to 3"),
    ],
)
def test_arrays_of_the_wrong_kind(saved: Path, name: str, array: Any, message: str) -> None:
    replace_file(saved, name, array)
    with pytest.raises(GraphError, match=message):
        Graph.open(saved)


def test_ids_that_lead_out_of_their_text(saved: Path) -> None:
    data = bytearray((saved / "ids.arrow").read_bytes())
    _, bounds, _ = map_ids(saved / "ids.arrow").buffers()
    place = data.index(bytes(bounds[8:24]))  # where the first id ends
    data[place : place + 8] = (2**40).to_bytes(8, "little")
    (saved / "ids.arrow").write_bytes(data)
    files = json.loads((saved / "graph.json").read_text())["files"]
    files["ids.arrow"]["checksum"] = file_checksum(saved / "ids.arrow")
    change_header(saved, files=files)
    with pytest.raises(GraphError, match=r"ids\.arrow is damaged: it cannot be read as Arrow"):
        Graph.open(saved)


def test_files_that_are_something_else(saved: Path) -> None:
    for name in ("indptr.npy", "ids.arrow"):
        before = (saved / name).read_bytes()
        (saved / name).write_bytes(bytes(len(before)))
        files = json.loads((saved / "graph.json").read_text())["files"]
        changed = {name: files[name] | {"checksum": file_checksum(saved / name)}}
        change_header(saved, files=files | changed)
        with pytest.raises(GraphError, match=f"{name} is damaged: it cannot be read as"):
            Graph.open(saved)
        (saved / name).write_bytes(before)
        change_header(saved, files=files)
    files = json.loads((saved / "graph.json").read_text())["files"]
    del files["indices.npy"]
    change_header(saved, files=files)
    with pytest.raises(GraphError, match=r"does not list indices\.npy"):
        Graph.open(saved)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2], [1, 0], None),
        ([0, 1, 1], [1], "both directions"),
        ([0, 1, 2], [0, 1], "no self-loops"),
        ([0, 2, 4], [1, 1, 0, 0], "unique and ascend"),
        ([0, 1, 2], [1, 5], r"0 … 1"),
        ([0, 3, 2], [1, 0], "must not fall"),
    ],
)
def test_verify_checks_the_rows(indptr: list[int], indices: list[int], message: str | None) -> None:
    graph = Graph(np.array(indptr), np.array(indices, np.int32), NodeIds([0, 1]))
    if message is None:
        graph.verify()
    else:
        with pytest.raises(GraphError, match=message):
            graph.verify()


def test_the_constructor_checks_what_is_cheap() -> None:
    ids = NodeIds([0, 1])
    with pytest.raises(GraphError, match="one value more than there are nodes: 3, not 2"):
        Graph(np.array([0, 1]), np.array([1], np.int32), ids)
    with pytest.raises(GraphError, match="from 0 to the number of entries, 2"):
        Graph(np.array([0, 1, 3]), np.array([1, 0], np.int32), ids)


def test_from_edges_takes_arrays_and_frames() -> None:
    array = np.array([[0, 1], [1, 2]])
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    prints = {Graph.from_edges(edges).fingerprint for edges in (array, frame, array.tolist())}
    assert len(prints) == 1
    assert Graph.from_edges(np.array([[0, 1, 0.5]])).weights is not None
    with pytest.raises(GraphError, match="with read_graph"):
        Graph.from_edges("edges.csv")
