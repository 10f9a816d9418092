"""The one door: formats are told apart, options reach their readers, errors leave nothing."""

from __future__ import annotations

import gzip
import itertools
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from metatne.errors import ConfigError, FileFormatError, GraphError, InputError, LabelError
from metatne.graph.readers import read_graph
from metatne.graph.readers.detect import detect_format, stem
from metatne.graph.store import Graph

DATASETS = Path(__file__).parents[3].parent / "shared" / "datasets"


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        not (DATASETS / name).is_file(), reason=f"{name} is not at {DATASETS}"
    )


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("a,b\nb,c\nc,d\n")
    return path


def test_edges_and_labels(edges: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("a x y\nb x\n")
    graph = read_graph(str(edges), tmp_path / "labels.txt")
    assert graph.name == "edges"
    assert graph.num_edges == 3
    assert graph.labels.held_by(0) == ["x", "y"]
    assert graph.labels.states(3, 0) == 0
    assert read_graph(edges, directed=True, name="n").report.was_symmetrised


def test_unknown_nodes(edges: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("a,x\nb,x\n")
    (tmp_path / "unknown.txt").write_text("d\n\n")
    labels = tmp_path / "labels.csv"
    states = read_graph(edges, labels, unlisted_unknown=True).labels.states(np.arange(4), 0)
    assert states.tolist() == [1, 1, -1, -1]
    for unannotated in (tmp_path / "unknown.txt", ["d"], np.array(["d"])):
        found = read_graph(edges, labels, unannotated=unannotated).labels.states(np.arange(4), 0)
        assert found.tolist() == [1, 1, 0, -1]
    labels.write_text("node,x,y\na,1,0\nb,,\nc,0,1\n")
    found = read_graph(edges, labels, unannotated=["a", "d"]).labels.states(np.arange(4), 0)
    assert found.tolist() == [1, -1, 0, -1]
    with pytest.raises(LabelError, match="no node 'q'"):
        read_graph(edges, labels, unannotated=["q"])
    with pytest.raises(LabelError, match="unannotated must be"):
        read_graph(edges, labels, unannotated=5)
    with pytest.raises(LabelError, match="no labels are given"):
        read_graph(edges, unannotated=["a"])
    with pytest.raises(LabelError, match="no labels are given"):
        read_graph(edges, label_format="pairs")


def test_options_that_would_do_nothing_are_refused(edges: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"the option delimiter, header says nothing about the source .SciPy"
    ):
        read_graph(sp.eye_array(2), delimiter=",", header=True)
    with pytest.raises(ConfigError, match=r"label_attribute says nothing about the source .edges"):
        read_graph(edges, label_attribute="x")
    with pytest.raises(ConfigError, match="label_format says something about files"):
        read_graph(edges, {"a": ["x"]}, label_format="pairs")
    with pytest.raises(ConfigError, match="label_header says something about text files"):
        read_graph(edges, {"a": ["x"]}, label_header=True)


def test_the_header_of_labels_can_be_told(edges: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("city,mood\na,x\n")
    with pytest.raises(LabelError, match=r"labels\.csv:1: the graph has no node 'city'"):
        read_graph(edges, labels)
    assert read_graph(edges, labels, label_header=True).labels.names == ("x",)
    labels.write_text("node,x,y\na,1,0\n")
    with pytest.raises(LabelError, match="a wide table needs its header"):
        read_graph(edges, labels, label_header=False)


def test_missing_label_nodes(edges: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("a,x\n\nzz,x\n")
    with pytest.raises(LabelError, match=r"labels\.csv:3: the graph has no node 'zz'"):
        read_graph(edges, labels)
    assert read_graph(edges, labels, keep_unlinked=True).num_nodes == 5
    labels.write_text("node,label,state\na,x,1\na,x,0\n")
    with pytest.raises(LabelError, match=r"labels\.csv:3: node 'a' lacks label 'x' here"):
        read_graph(edges, labels)


def test_bionev(tmp_path: Path) -> None:
    (tmp_path / "ppi.edgelist").write_text("0 1 0.5\n1 2 0.25\n")
    (tmp_path / "ppi_labels.txt").write_text("0 21 3\n1 3\n2 21 \n")
    graph = read_graph(tmp_path / "ppi.edgelist", tmp_path / "ppi_labels.txt")
    assert graph.labels.names == ("3", "21")
    assert graph.labels.holders(1).tolist() == [0, 2]
    assert graph.weights is not None
    assert graph.weights.tolist() == [0.5, 0.5, 0.25, 0.25]


def test_formats_are_told_by_ending_or_content(tmp_path: Path) -> None:
    for name, content, expected in (
        ("e.txt", b"1 2\n", "edges"),
        ("e", b"", "edges"),
        ("e.CSV.gz", b"", "edges"),
        ("g.graphml.gz", b"", "graphml"),
        ("g.xml", b"\xef\xbb\xbf <?xml", "graphml"),
        ("g.x", gzip.compress(b"<graphml>"), "graphml"),
        ("m", b"MATLAB 5.0 MAT-file", "matlab"),
        ("p", b"PAR1", "parquet"),
        ("broken.x", b"\x1f\x8b\x08", "edges"),
    ):
        (tmp_path / name).write_bytes(content)
        assert detect_format(tmp_path / name) == expected, name
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("a", "b")
    assert detect_format(tmp_path / "z") == "asu"
    assert stem(Path("x/Blog.csv.gz")) == "Blog"
    assert stem(Path(".csv")) == ".csv"


def test_the_format_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / "edges.mat"
    path.write_text("1 2\n")
    assert read_graph(path, format="edges").num_edges == 1
    with pytest.raises(ConfigError, match="one of edges, parquet, graphml, matlab, asu, not 'csv'"):
        read_graph(path, format="csv")
    with pytest.raises(ConfigError, match="is for files"):
        read_graph([(1, 2)], format="edges")


def test_wrong_paths(edges: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_graph(tmp_path / "nothing")
    with pytest.raises(InputError, match="there is no file"):
        read_graph(edges, tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="is a directory, but a label file"):
        read_graph(edges, tmp_path)
    with pytest.raises(InputError, match="there is no file"):
        read_graph(edges, {"a": ["x"]}, unannotated=tmp_path / "nothing.txt")
    Graph.from_edges([(0, 1)]).save(tmp_path / "saved")
    with pytest.raises(GraphError, match=r"a saved graph already; open it with Graph\.open"):
        read_graph(tmp_path / "saved")


def test_a_bad_label_file_is_named(edges: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(b"a,x\nb,\x00\n")
    with pytest.raises(FileFormatError, match=r"labels\.csv:2: .*NUL"):
        read_graph(edges, tmp_path / "labels.csv")


@needs("BlogCatalog-dataset.zip")
def test_blogcatalog() -> None:
    graph = read_graph(DATASETS / "BlogCatalog-dataset.zip")
    assert (graph.num_nodes, graph.num_edges, graph.labels.num_labels) == (10_312, 333_983, 39)
    assert graph.labels.num_holders.sum() == 14_476
    assert graph.node_ids[0] == 1
    assert graph.report.lines() == ["read 333,983 edges", "read 14,476 label statements"]
    graph.verify()


@needs("Homo_sapiens.mat")
def test_homo_sapiens() -> None:
    graph = read_graph(DATASETS / "Homo_sapiens.mat")
    assert (graph.num_nodes, graph.num_edges, graph.labels.num_labels) == (3_890, 37_845, 50)
    linked = read_graph(DATASETS / "Homo_sapiens.mat", drop_isolated=True)
    assert (linked.num_nodes, linked.num_edges) == (3_860, 37_845)
    assert linked.report.num_self_loops == 894
    assert linked.weights is None


@needs("Mashup_PPI_labels.txt")
def test_mashup_labels() -> None:
    path = DATASETS / "Mashup_PPI_labels.txt"
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    nodes = [int(line[0]) for line in lines]
    chain = list(itertools.pairwise(nodes))
    graph = read_graph(chain, path)
    assert graph.labels.num_labels == 28
    assert len(graph.labels.holds) == sum(len(line) - 1 for line in lines)
    assert graph.labels.held_by(0) == ["21"]


def test_only_the_first_line_is_taken_for_a_header(edges: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("a,x\ncity,mood\n")
    with pytest.raises(LabelError, match="no node 'city'") as error:
        read_graph(edges, labels)
    assert "header" not in str(error.value)
