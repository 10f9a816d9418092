"""Hand-made graphs, a line or two each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metatne.graph.build import build_graph
from metatne.graph.node_ids import NodeId
from metatne.graph.raw import HOLDS, RawEdges, RawLabels
from metatne.graph.store import Graph


def hand_made(
    edges: Sequence[tuple[NodeId, NodeId]],
    statements: Mapping[str, Mapping[NodeId, int]] | None = None,
    *,
    weights: Sequence[float] | None = None,
    nodes: Sequence[NodeId] | None = None,
    unannotated: Sequence[NodeId] | None = None,
    name: str = "hand-made",
) -> Graph:
    """A graph of these edges; `statements` say of a label which node holds it, lacks it, …"""
    said = [
        (node, label, state)
        for label, states in (statements or {}).items()
        for node, state in states.items()
    ]
    labels = RawLabels(
        nodes=pa.array([node for node, _, _ in said], _id_type(edges)),
        labels=pa.array([label for _, label, _ in said], pa.large_string()),
        states=np.array([state for _, _, state in said], dtype=np.int8),
        unannotated=None if unannotated is None else pa.array(list(unannotated), _id_type(edges)),
        names=list(statements or {}),
    )
    return build_graph(
        RawEdges(
            sources=pa.array([source for source, _ in edges]),
            targets=pa.array([target for _, target in edges]),
            weights=None if weights is None else np.array(weights, dtype=np.float32),
            nodes=None if nodes is None else pa.array(list(nodes)),
        ),
        labels if statements else None,
        name=name,
    )


def held_by(*nodes: NodeId) -> dict[NodeId, int]:
    """The statements that these nodes hold a label."""
    return dict.fromkeys(nodes, HOLDS)


def _id_type(edges: Sequence[tuple[NodeId, NodeId]]) -> pa.DataType:
    return pa.int64() if isinstance(edges[0][0], int) else pa.large_string()
