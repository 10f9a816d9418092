"""LINE: first- and second-order proximity, learned apart and joined (Tang et al., 2015)."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float32, Int32, UInt64
from pydantic import Field

from metatne.baselines.embedding import (
    EmbeddingBaseline,
    EmbeddingSettings,
    Vectors,
    cached_vectors,
)
from metatne.compiled import compiled_in_place, part_in_place
from metatne.controls import weighted_degrees
from metatne.graph.store import Graph
from metatne.sampling.alias import alias_table, drawn
from metatne.sampling.bits import bits
from metatne.sampling.splits import LabelSplit
from metatne.seeding import derive_seed, numpy_generator

NEGATIVE_EXPONENT = 0.75
LAST_RATE = 1e-4
"""Share of the rate that is left at the end, as in the published code."""


class LINESettings(EmbeddingSettings):
    """Settings of LINE; half of the dimensions are for each order."""

    rate: float = Field(0.025, gt=0, description="learning rate at the start")
    num_negatives: int = Field(5, ge=1, description="negatives of an edge")
    samples_per_edge: int = Field(300, ge=1, description="times an edge is drawn, on average")


class LINE(EmbeddingBaseline):
    """Nodes that are linked are alike (first order), and so are those with like neighbours."""

    needs_labels = False
    kind_of_settings = LINESettings
    settings: LINESettings

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Embed the graph; labels play no part."""
        settings = self.settings.model_dump(
            include={"dim", "rate", "num_negatives", "samples_per_edge", "graph_seed"}
        )
        self.vectors_ = cached_vectors(graph, "line", settings, lambda: self.embed(graph))
        self.num_steps_ = 2 * self.settings.samples_per_edge * graph.num_edges

    def embed(self, graph: Graph) -> Vectors:
        """Both orders side by side, each node's vector of each order of length 1."""
        settings = self.settings
        parts = []
        for order, dim in ((1, settings.dim // 2), (2, settings.dim - settings.dim // 2)):
            generator = numpy_generator(settings.graph_seed, "LINE", order)
            start = (generator.random((graph.num_nodes, dim), dtype=np.float32) - 0.5) / dim
            contexts = start if order == 1 else np.zeros_like(start)
            _train(
                start,
                contexts,
                *_edges(graph),
                alias_table(weighted_degrees(graph) ** NEGATIVE_EXPONENT),
                np.uint64(derive_seed(settings.graph_seed, "LINE draws", order)),
                settings.samples_per_edge * graph.num_edges,
                settings.num_negatives,
                settings.rate,
                np.empty(dim, dtype=np.float32),
            )
            lengths = np.linalg.norm(start, axis=1, keepdims=True)
            parts.append(start / np.maximum(lengths, np.finfo(np.float32).tiny))
        return np.concatenate(parts, axis=1)


def _edges(
    graph: Graph,
) -> tuple[Int32[np.ndarray, " entry"], Int32[np.ndarray, " entry"], UInt64[np.ndarray, " entry"]]:
    """Both ends of every entry of the adjacency matrix, and a table to draw them by weight."""
    ends = np.repeat(np.arange(graph.num_nodes, dtype=np.int32), graph.degrees)
    weights = np.ones(len(ends)) if graph.weights is None else graph.weights.astype(np.float64)
    return ends, np.asarray(graph.indices, dtype=np.int32), alias_table(weights)


@compiled_in_place
def _train(
    table: Float32[np.ndarray, "node dim"],
    contexts: Float32[np.ndarray, "node dim"],
    ends: Int32[np.ndarray, " entry"],
    others: Int32[np.ndarray, " entry"],
    entries: UInt64[np.ndarray, " entry"],
    nodes: UInt64[np.ndarray, " node"],
    key: np.uint64,
    num_samples: int,
    num_negatives: int,
    rate: float,
    moved: Float32[np.ndarray, " dim"],
) -> None:
    """Stochastic gradient descent, an edge and its negatives at a time; `moved` is scratch.

    The contexts of the first order are the embeddings themselves.
    """
    width = num_negatives + 2
    for sample in range(num_samples):
        step = np.float32(rate * max(LAST_RATE, 1.0 - sample / num_samples))
        entry = drawn(entries, bits(key, sample * width))
        node = table[ends[entry]]
        for k in range(len(moved)):
            moved[k] = 0.0
        for place in range(num_negatives + 1):
            if place == 0:
                target = np.int64(others[entry])
            else:
                target = drawn(nodes, bits(key, sample * width + place))
                if target == others[entry] or target == ends[entry]:
                    continue
            _pull(node, contexts[target], moved, step, np.float32(place == 0))
        for k in range(len(moved)):
            node[k] += moved[k]


@part_in_place
def _pull(
    node: Float32[np.ndarray, " dim"],
    context: Float32[np.ndarray, " dim"],
    moved: Float32[np.ndarray, " dim"],
    step: np.float32,
    truth: np.float32,
) -> None:
    """Move a context by its gradient, and add up what the node is to move by."""
    closeness = np.float32(0)
    for k in range(len(node)):
        closeness += node[k] * context[k]
    slope = step * (truth - np.float32(1.0 / (1.0 + math.exp(-closeness))))
    for k in range(len(node)):
        moved[k] += slope * context[k]
        context[k] += slope * node[k]
