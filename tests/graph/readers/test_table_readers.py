"""Edges and labels from Parquet files, DataFrames, mappings and pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metatne.errors import FileFormatError, GraphError, InputError, LabelError
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.readers import read_edges, read_graph, read_labels
from metatne.graph.readers.pairs import edges_from_pairs


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def raw_edges(path: Path, **options: Any) -> RawEdges:
    edges, labels = read_edges(path, **options)
    assert isinstance(edges, RawEdges)
    assert labels is None
    return edges


def said(labels: RawLabels) -> list[tuple[Any, str, int]]:
    nodes, names = labels.nodes.to_pylist(), labels.labels.to_pylist()
    states = [1] * len(nodes) if labels.states is None else labels.states.tolist()
    return list(zip(nodes, names, states, strict=True))


def test_parquet_edges(tmp_path: Path) -> None:
    path = write(tmp_path / "e.parquet", weight=[0.5, 2.0], source=["a", "b"], target=["b", "c"])
    edges = raw_edges(path)
    assert edges.sources.to_pylist() == ["a", "b"]
    assert edges.targets.to_pylist() == ["b", "c"]
    assert edges.weights is not None
    assert edges.weights.tolist() == [0.5, 2]
    assert raw_edges(path, weighted=False).weights is None


def test_parquet_by_place_and_by_content(tmp_path: Path) -> None:
    path = write(
        tmp_path / "edges", p=pa.array([1, 2], pa.int32()), q=[2, 3], r=["x", "y"], s=[1, 1]
    )
    edges = raw_edges(path)
    assert edges.sources.type == pa.int64()
    assert edges.weights is None
    dictionary = pa.array(["a", "b"]).dictionary_encode()
    path = write(tmp_path / "d.pq", p=dictionary, q=dictionary)
    assert raw_edges(path).sources.to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [[1], [2]], "b": [1, 2]}, "expected integers or text in column 'a', found list"),
        ({"a": [{"x": 1}], "b": [1]}, "expected integers or text in column 'a', found struct"),
        ({"a": [1.0, 2.0], "b": [1, 2]}, "expected integers or text in column 'a', found double"),
        ({"a": [1, None], "b": [1, 2]}, r":2: expected an id in column 'a', found an empty value"),
        ({"a": ["x", "y"], "b": ["", "y"]}, r":1: expected an id in column 'b', found an empty"),
        ({"a": pa.array([2**63], pa.uint64()), "b": [1]}, "64-bit integers in column 'a'"),
        ({"a": [1]}, "expected 2 or 3 columns"),
        ({"a": [1], "b": [2], "w": ["x"]}, r"expected numbers .weights. in column 'w'"),
        ({"a": [1, 3], "b": [2, 4], "w": [1.0, -1.0]}, ":2: expected a weight .* found -1.0"),
        ({"a": [1, 3], "b": [2, 4], "w": [1.0, None]}, ":2: expected a weight .* found nan"),
        ({"a": [1], "b": [2], "w": [1e300]}, ":1: expected a weight .* found 1e.300"),
    ],
)
def test_parquet_edges_that_cannot_be(tmp_path: Path, columns: Any, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_edges(write(tmp_path / "e.parquet", **columns))


def test_parquet_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "e.parquet").write_text("1,2\n")
    with pytest.raises(FileFormatError, match="expected a Parquet file, found something else"):
        read_edges(tmp_path / "e.parquet")
    with pytest.raises(InputError, match="there is no file"):
        read_edges(tmp_path / "none.parquet")


def test_parquet_labels(tmp_path: Path) -> None:
    pairs = write(tmp_path / "p.parquet", node=[1, 2], label=["x", "y"], state=[1, None])
    assert said(read_labels(pairs)) == [(1, "x", 1), (2, "y", -1)]
    wide = write(tmp_path / "w.parquet", node=[1, 2, 3], x=[1, 0, None], y=[True, False, None])
    labels = read_labels(wide)
    assert said(labels) == [(1, "x", 1), (1, "y", 1)]
    assert labels.unannotated is not None
    assert labels.unannotated.to_pylist() == [3]
    lists = write(tmp_path / "l.parquet", node=[1, 2, 3], tags=[["x", "y"], [], ["x"]])
    labels = read_labels(lists)
    assert said(labels) == [(1, "x", 1), (1, "y", 1), (3, "x", 1)]
    assert labels.complete is not None
    assert labels.complete.to_pylist() == [2]
    joined = write(tmp_path / "j.parquet", node=[1, 2], labels=["x; y", None])
    assert said(read_labels(joined)) == [(1, "x", 1), (1, "y", 1)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"node": [1]}, "a column of nodes and one of labels, found node"),
        ({"node": [1], "x": [1], "y": [7]}, "expected node, label"),
        ({"node": [1, 2], "x": [1, 0]}, "can be read in two ways"),
        ({"node": [1], "label": [None]}, "expected integers or text in column 'label'"),
        ({"node": [1, 1], "x": [1, 0], "y": [1, 0]}, "a node is repeated"),
        ({"node": [1.5], "label": ["x"]}, "expected integers or text in column 'node'"),
        ({"node": [1], "tags": [[1.5]]}, "lists of text or integers"),
    ],
)
def test_label_tables_that_cannot_be(tmp_path: Path, columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(write(tmp_path / "l.parquet", **columns))


def test_the_kind_of_a_table_can_be_told(tmp_path: Path) -> None:
    path = write(tmp_path / "l.parquet", node=[1, 2], x=[1, 0])
    assert said(read_labels(path, label_format="wide")) == [(1, "x", 1)]
    assert said(read_labels(path, label_format="pairs")) == [(1, "1", 1), (2, "0", 1)]
    with pytest.raises(FileFormatError, match="lists of labels in the second column"):
        read_labels(path, label_format="lists")


def test_data_frames() -> None:
    edges = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "w": [1.0, 2.0]})
    wide = pd.DataFrame({"x": [1, 0, np.nan], "y": [0, 1, np.nan]}, index=["a", "b", "c"])
    graph = read_graph(edges, wide)
    assert graph.labels.names == ("x", "y")
    assert graph.labels.states(np.arange(3)[:, None], [0, 1]).tolist() == [[1, 0], [0, 1], [-1, -1]]
    pairs = pd.DataFrame({"node": ["a"], "label": ["x"]})
    assert read_graph(edges, pairs).labels.holders(0).tolist() == [0]
    with pytest.raises(InputError, match="columns of one type"):
        read_graph(pd.DataFrame({"a": [1, "x", (2,)], "b": [1, 2, 3]}))


def test_mappings() -> None:
    labels = read_labels({1: ["x", "y"], 2: [], 3: None, 4: {"x": 0, "y": None}, 5: "z"})
    assert said(labels) == [
        (1, "x", 1),
        (1, "y", 1),
        (4, "x", 0),
        (4, "y", -1),
        (5, "z", 1),
    ]
    assert labels.complete is not None
    assert labels.complete.to_pylist() == [2]
    assert labels.unannotated is not None
    assert labels.unannotated.to_pylist() == [3]
    with pytest.raises(LabelError, match=r"must be a list of names, not 1\.5"):
        read_labels({1: 1.5})
    with pytest.raises(LabelError, match=r"node 1, label 'x'.*found 'maybe'"):
        read_labels({1: {"x": "maybe"}})
    with pytest.raises(LabelError, match=r"labels must be a path, .* not float"):
        read_labels(1.5)


def test_pairs() -> None:
    edges = edges_from_pairs([("a", 1, 2), ("b", "a", 0.5)])
    assert edges.sources.to_pylist() == ["a", "b"]
    assert edges.targets.to_pylist() == ["1", "a"]
    assert edges.weights is not None
    assert edges.weights.tolist() == [2, 0.5]
    assert edges_from_pairs(pair for pair in [(1, 2)]).targets.to_pylist() == [2]
    assert edges_from_pairs([[1, 2, 3]], weighted=False).weights is None
    assert edges_from_pairs(np.array([["a", "b"]])).sources.to_pylist() == ["a"]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (5, "edges must be pairs .* not int"),
        ({1: 2}, "not dict"),
        (["ab"], "found 'ab'"),
        ([(1, 2), 3], "found 3"),
        ([(1, 2), (1, 2, 3)], "found a mixture of both"),
        ([(1, 2, 3, 4)], r"found \(1, 2, 3, 4\)"),
        ([(1, 2, "x")], "a weight is a number"),
        ([(1, (2, 3))], "integers or text, not tuple"),
        (np.zeros((4, 4)), "two or three columns, not shape .4, 4.; an adjacency matrix"),
        (np.array([[0.5, 1.0]]), "an id is not a fraction"),
    ],
)
def test_pairs_that_are_none(pairs: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        edges_from_pairs(pairs)
    with pytest.raises(GraphError, match="no edges"):
        read_graph([])
    with pytest.raises(GraphError, match="there are none"):
        edges_from_pairs([(1, 2)], weighted=True)
