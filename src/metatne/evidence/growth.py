"""A trained model on a graph that has grown: new nodes are placed by their edges."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from metatne.errors import GraphMismatchError, UnknownNodeError
from metatne.evidence.description import describe
from metatne.evidence.model import EvidenceModel
from metatne.evidence.place import Place, of_length_one, rounded
from metatne.graph.node_ids import NodeIds
from metatne.graph.raw import LACKS, UNKNOWN
from metatne.graph.store import Graph
from metatne.graph.walk import Adjacency, Walk

NUM_ROUNDS = 4
"""In which places spread to new nodes: those that only new nodes link to need more than one."""


def grown(model: EvidenceModel, node_ids: NodeIds, graph: Graph) -> EvidenceModel:
    """The model for `graph`, which has all nodes of before and may have more, and other edges."""
    before = _positions_of_before(node_ids, graph)
    missing = sorted(set(model.label_names) - set(graph.labels.names))
    if missing:
        raise GraphMismatchError(
            f"update: the model knows the label {missing[0]!r} ({len(missing)} in all), which the "
            "new graph lacks; give the labels of before with it"
        )
    place = _placed(model.description.place, before, graph)
    columns = np.array([graph.labels.position(name) for name in model.label_names], dtype=np.int64)
    # What a head has learned to weigh, whatever the new graph would afford.
    reach = model.description.reach.on(Adjacency.of(graph))
    description = describe(graph, columns, seed=0, place=place, reach=reach, in_this_order=True)
    return replace(model, description=description)


class Judgements(NamedTuple):
    """Nodes that hold no label of the model's, by what was taken for granted of them."""

    now_lacking: int
    """Of before, that lack every label now, and of whose labels none was known."""

    now_unknown: int
    """Of before, of whose labels none is known now, and that lacked every label."""

    new_lacking: int
    """New, that lack every label."""


def judgements(
    old: EvidenceModel, node_ids: NodeIds, new: EvidenceModel, graph: Graph
) -> Judgements:
    """What a growing of `old` to `new` took nodes for."""
    places = _positions_of_before(node_ids, graph)
    is_new = np.ones(graph.num_nodes, dtype=bool)
    is_new[places] = False
    states, before = new.description.states, old.description.states

    def are(found: np.ndarray, state: int) -> np.ndarray:
        return np.asarray((found == state).all(axis=1))

    lacking, unknown = are(states, LACKS), are(states, UNKNOWN)
    return Judgements(
        now_lacking=int((are(before, UNKNOWN) & lacking[places]).sum()),
        now_unknown=int((are(before, LACKS) & unknown[places]).sum()),
        new_lacking=int((lacking & is_new).sum()),
    )


def _positions_of_before(node_ids: NodeIds, graph: Graph) -> Int64[np.ndarray, " node"]:
    """Where the nodes that were there are now."""
    ids = node_ids.take(np.arange(len(node_ids)))
    if len(ids) > 1 and (graph.node_ids.find(ids) < 0).all():
        raise GraphMismatchError(
            f"update: expected the graph of before, with more nodes or other edges, but "
            f"{graph.name!r} has none of the model's {len(ids):,} nodes: is it another graph?"
        )
    try:
        return graph.node_ids.positions(ids)
    except UnknownNodeError as error:
        raise GraphMismatchError(
            f"update: a node of the model is not in {graph.name!r}, and nodes may be added, "
            f"not taken away: {error}"
        ) from error


def _placed(place: Place, before: Int64[np.ndarray, " node"], graph: Graph) -> Place:
    rows = np.zeros((graph.num_nodes, place.rows.shape[1]), dtype=np.float32)
    rows[before] = place.rows
    is_new = np.ones(graph.num_nodes, dtype=bool)
    is_new[before] = False
    walk = Walk(Adjacency.of(graph), stride=place.stride)
    for _ in range(NUM_ROUNDS if is_new.any() else 0):
        around = np.zeros_like(rows)
        walk.combine(rows, around)
        rows[is_new] = of_length_one(around[is_new])
    return Place(rounded(rows), place.stride)
