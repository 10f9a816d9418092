"""Graphs of NetworkX and PyTorch Geometric."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from metatne.errors import GraphError, InputError, LabelError
from metatne.graph.readers import read_graph


def test_networkx() -> None:
    source = nx.Graph()
    source.add_node("c", labels=["x", "y"])
    source.add_edge("a", "b", weight=2)
    source.add_edge("b", "c")
    source.nodes["a"]["labels"] = "x|z"
    graph = read_graph(source)
    assert graph.node_ids.take(range(3)) == ["c", "a", "b"]
    assert graph.weights is not None
    assert graph.weights.tolist() == [1, 2, 1, 2]
    assert graph.labels.names == ("x", "y", "z")
    assert graph.labels.held_by(1) == ["x", "z"]
    assert read_graph(source, weighted=False).weights is None
    assert read_graph(source, {"b": ["q"]}).labels.names == ("q",)


def test_networkx_kinds() -> None:
    directed = read_graph(nx.DiGraph([(0, 1), (1, 0), (1, 2)]))
    assert directed.report.was_symmetrised
    multi = nx.MultiGraph([(0, 1), (0, 1)])
    assert read_graph(multi).report.num_duplicates == 1
    assert read_graph(nx.karate_club_graph()).num_edges == 78


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (nx.Graph(), {}, "no edges"),
        (nx.Graph([((0, 0), (0, 1))]), {}, "integers or text, not tuple"),
        (nx.Graph([(1, "1")]), {}, "unique"),
        (nx.Graph([(0, 1, {"weight": "heavy"})]), {}, "must be a number"),
        (nx.Graph([(0, 1, {"weight": -1})]), {}, "greater than 0"),
        (nx.Graph([(0, 1)]), {"weighted": True}, "has the attribute 'weight'"),
        (nx.Graph([(0, 1)]), {"label_attribute": "club"}, "has the attribute 'club'"),
    ],
)
def test_networkx_graphs_that_cannot_be(source: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_graph(source, **options)


class Data:
    """A stand-in for torch_geometric's, with what the reader asks of it."""

    def __init__(self, edge_index: Any, num_nodes: int, **values: Any) -> None:
        self.edge_index, self.num_nodes = edge_index, num_nodes
        for name, value in values.items():
            setattr(self, name, value)

    def is_directed(self) -> bool:
        ends = {tuple(pair) for pair in self.edge_index.T.tolist()}
        return ends != {pair[::-1] for pair in ends}


Data.__module__ = "torch_geometric.data.data"
ENDS = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_pyg() -> None:
    y = torch.tensor([[1, 0], [0, 1], [1, 1], [0, 0]])
    graph = read_graph(Data(ENDS, 4, y=y, edge_weight=torch.tensor([2.0, 2.0, 3.0, 3.0])))
    assert graph.num_nodes == 4
    assert graph.num_edges == 2
    assert graph.weights is not None
    assert graph.labels.holders(0).tolist() == [0, 2]
    assert not graph.report.was_directed
    classes = read_graph(Data(ENDS, 4, y=torch.tensor([3, 10, 3, -1])))
    assert classes.labels.names == ("3", "10")
    assert classes.labels.unannotated is not None
    assert classes.labels.unannotated.tolist() == [False, False, False, True]
    assert read_graph(Data(ENDS, 3)).labels.num_labels == 0
    column = read_graph(Data(ENDS, 3, y=torch.tensor([[0], [1], [0]])))
    assert column.labels.names == ("0", "1")
    assert read_graph(Data(ENDS[:, :1], 2, y=None)).report.was_symmetrised


def test_pyg_data_that_cannot_be() -> None:
    with pytest.raises(GraphError, match="has no edge_index"):
        read_graph(Data(None, 3))
    with pytest.raises(GraphError, match="edge_index must be integers"):
        read_graph(Data(torch.zeros(3, 3), 3))
    with pytest.raises(GraphError, match="has no edge_weight"):
        read_graph(Data(ENDS, 3), weighted=True)
    with pytest.raises(LabelError, match="y must be a matrix"):
        read_graph(Data(ENDS, 3, y=np.array([0.5, 1.0, 2.0])))


def test_optional_packages_are_not_imported() -> None:
    program = (
        "import sys, metatne.graph as g; g.Graph.from_edges([(0, 1)]); "
        "assert not {'networkx', 'torch_geometric'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
