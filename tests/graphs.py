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


def opposites(
    num_nodes: int, *, num_pairs: int = 4, degree: int = 8, within: float = 0.1, seed: int = 0
) -> Graph:
    """Communities in pairs: a node links to its community's opposite, or `within` its own.

    Node i is of the community i modulo 2 `num_pairs`, opposite of that one up or down; every
    community has a label of its own, which four out of five of its nodes hold.
    """
    generator = np.random.default_rng(seed)
    num_communities = 2 * num_pairs
    community = np.arange(num_nodes) % num_communities
    is_within = generator.random((num_nodes, degree // 2)) < within
    edges = [
        (node, int(generator.choice(np.flatnonzero(community == community[node] ^ (not stays)))))
        for node in range(num_nodes)
        for stays in is_within[node]
    ]
    holds = generator.random(num_nodes) < 0.8
    labels = {
        f"of {number}": held_by(*np.flatnonzero(holds & (community == number)).tolist())
        for number in range(num_communities)
    }
    return hand_made(edges, labels, nodes=list(range(num_nodes)), name="opposites")
