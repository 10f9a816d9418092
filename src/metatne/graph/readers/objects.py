"""Graphs of other libraries: NetworkX and PyTorch Geometric, if they are installed.

Neither is imported here: an object of theirs can only come from a program that did.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from metatne.errors import GraphError, LabelError
from metatne.graph.node_ids import id_array
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.readers.graphml import LABELS
from metatne.graph.readers.label_states import split_labels
from metatne.graph.readers.matrices import labels_from_matrix
from metatne.graph.readers.tables import labels_from_mapping


def is_networkx(source: object) -> bool:
    """Whether `source` is a NetworkX graph."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(source, networkx.Graph)


def is_pyg(source: object) -> bool:
    """Whether `source` looks like a `Data` object of PyTorch Geometric."""
    return type(source).__module__.split(".")[0] == "torch_geometric"


def read_networkx(
    graph: Any, *, label_attribute: str | None = None, weighted: bool | None = None
) -> tuple[RawEdges, RawLabels | None]:
    """The edges of a NetworkX graph with their attribute "weight", and its nodes' labels.

    Labels are a list (or text separated by ; or |) under the node attribute "labels".
    """
    nodes = list(graph.nodes)
    position = {node: place for place, node in enumerate(nodes)}
    ids = id_array(nodes)
    ends = np.array(
        [(position[source], position[target]) for source, target in graph.edges()], dtype=np.int64
    ).reshape(-1, 2)
    given = [weight for _, _, weight in graph.edges(data="weight")]
    weights = None
    if weighted is not False and any(weight is not None for weight in given):
        try:
            # NetworkX takes 1 where the attribute is missing.
            weights = np.array([1 if w is None else float(w) for w in given], dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise GraphError(f"the edge attribute 'weight' must be a number: {error}") from error
    elif weighted:
        raise GraphError("no edge of the NetworkX graph has the attribute 'weight'")
    edges = RawEdges(
        ids.take(pa.array(ends[:, 0])),
        ids.take(pa.array(ends[:, 1])),
        weights,
        is_directed=bool(graph.is_directed()),
        nodes=ids,
    )
    attribute = label_attribute or LABELS
    held = {
        node: split_labels(value) if isinstance(value, str) else value
        for node, value in graph.nodes(data=attribute)
        if value is not None
    }
    if held:
        return edges, labels_from_mapping(held, source=f"node attribute {attribute!r}")
    if label_attribute is not None:
        raise LabelError(f"no node of the NetworkX graph has the attribute {label_attribute!r}")
    return edges, None


def read_pyg(data: Any, *, weighted: bool | None = None) -> tuple[RawEdges, RawLabels | None]:
    """The edges of a PyTorch Geometric `Data`, its `edge_weight`, and its labels `y`.

    A matrix `y` is (node, label) of 0 and 1; a vector of integers is one class a node, and
    a negative class is an unannotated node.
    """
    if getattr(data, "edge_index", None) is None:
        raise GraphError("the PyTorch Geometric object has no edge_index")
    ends = _numpy(data.edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise GraphError(f"edge_index must be integers of shape (2, edges), not {ends.shape}")
    ids = pa.array(np.arange(int(data.num_nodes), dtype=np.int64))
    weight = None if weighted is False else getattr(data, "edge_weight", None)
    if weight is None and weighted:
        raise GraphError("the PyTorch Geometric object has no edge_weight")
    edges = RawEdges(
        pa.array(ends[0].astype(np.int64)),
        pa.array(ends[1].astype(np.int64)),
        None if weight is None else _numpy(weight).astype(np.float32).reshape(-1),
        is_directed=bool(data.is_directed()),
        nodes=ids,
    )
    return edges, _pyg_labels(getattr(data, "y", None))


def _pyg_labels(y: Any) -> RawLabels | None:
    if y is None:
        return None
    values = _numpy(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        return labels_from_matrix(values, source="y")
    if values.dtype.kind not in "iu":
        raise LabelError("y must be a matrix of 0 and 1, or a vector of classes")
    is_known = values >= 0
    nodes = np.arange(len(values), dtype=np.int64)
    return RawLabels(
        pa.array(nodes[is_known]),
        pa.array(values[is_known].astype(np.int64)).cast(pa.large_string()),
        unannotated=pa.array(nodes[~is_known]),
        source="y",
    )


def _numpy(tensor: Any) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor)
