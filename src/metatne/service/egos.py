"""The graph around some nodes, small enough to be drawn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int64

from metatne.graph.store import Graph
from metatne.service.answers import EgoAnswer, EgoEdge, EgoNode
from metatne.service.rankings import Ranking
from metatne.service.served_model import ServedModel, neighbours_of

Nodes = Int64[np.ndarray, "_"]


def draw_ego(
    served: ServedModel,
    asked: Nodes,
    positives: Nodes,
    negatives: Nodes,
    ranking: Ranking | None,
    max_nodes: int,
) -> EgoAnswer:
    """The asked nodes, then their neighbours: examples first, then those of most asked nodes."""
    graph = served.needed_graph
    asked = asked[np.sort(np.unique(asked, return_index=True)[1])]  # each once, as given
    near = _neighbours(graph, asked, np.concatenate((positives, negatives)))
    chosen = np.concatenate((asked, near))[:max_nodes]
    held, lacked, first = (set(some.tolist()) for some in (positives, negatives, asked))
    chances = ranking.probabilities(chosen) if ranking is not None else [None] * len(chosen)
    nodes = []
    for name, place, chance in zip(
        served.node_ids.take(chosen), chosen.tolist(), chances, strict=True
    ):
        nodes.append(
            EgoNode(
                id=name,
                degree=int(graph.degrees[place]),
                role="positive"
                if place in held
                else "negative"
                if place in lacked
                else "asked"
                if place in first
                else "neighbour",
                probability=chance,
            )
        )
    return EgoAnswer(
        nodes=nodes,
        edges=_edges(served, graph, chosen),
        cut=len(asked) + len(near) > len(chosen),
    )


def _neighbours(graph: Graph, asked: Nodes, examples: Nodes) -> Nodes:
    """Nodes next to the asked ones, those to be shown first in front."""
    parts = [neighbours_of(graph, node) for node in asked.tolist()]
    every = np.concatenate([near for near, _ in parts])
    weights = np.concatenate([weight for _, weight in parts]).astype(np.float64)
    near, places, counts = np.unique(every, return_inverse=True, return_counts=True)
    total = np.bincount(places, weights, minlength=len(near))
    is_new = ~np.isin(near, asked)
    near, counts, total = near[is_new], counts[is_new], total[is_new]
    is_example = np.isin(near, examples)
    order = np.lexsort((near, -graph.degrees[near], -total, -counts, ~is_example))
    found: Nodes = near[order]
    return found


def _edges(served: ServedModel, graph: Graph, chosen: Nodes) -> list[EgoEdge]:
    rows = graph.adjacency()[chosen]
    between = sp.coo_array(sp.triu(rows[:, chosen], k=1))
    ids = served.node_ids.take(chosen)
    sources, targets = between.coords
    return [
        EgoEdge(source=ids[source], target=ids[target], weight=weight)
        for source, target, weight in zip(
            sources.tolist(), targets.tolist(), between.data.tolist(), strict=True
        )
    ]
