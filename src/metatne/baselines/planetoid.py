"""Planetoid-G: embeddings that predict contexts and known labels together (Yang et al., 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.baselines.embedding import Vectors
from metatne.baselines.logistic import score_by_logistic_regression
from metatne.baselines.looks import best_look
from metatne.baselines.node2vec import Node2vec
from metatne.baselines.walks import NO_NODE, biased_walks
from metatne.compiled import compiled
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.sampling.alias import alias_table, drawn
from metatne.sampling.bits import bits
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks
from metatne.seeding import derive_seed, numpy_generator, torch_seed
from metatne.training.row_adam import RowAdam

Look = tuple[int, float, int]
"""Batch size, rate and step."""

NEGATIVE_EXPONENT = 0.75
NUM_LOOKS = 5
"""Times that a training looks at the validation tasks; the best look is kept."""


class PlanetoidSettings(BaselineSettings):
    """Settings of Planetoid-G."""

    dim: int = Field(128, ge=1, description="size of a node's embedding")
    first_walks: int = Field(
        80, ge=1, description="walks from every node that the embedding is first trained on"
    )
    walk_length: int = Field(10, ge=2, description="nodes of a walk")
    walks_per_node: int = Field(10, ge=1, description="walks from every node")
    window: int = Field(3, ge=1, description="how far apart on a walk a node's context is")
    label_contexts: float = Field(
        0.5, ge=0, le=1, description="share of contexts that are holders of a common known label"
    )
    num_negatives: int = Field(5, ge=1, description="negatives of a context")
    batch_choices: tuple[int, ...] = Field(
        (256, 1024), description="contexts, and labelled nodes, of a step: one of these"
    )
    rate_choices: tuple[float, ...] = Field(
        (0.001, 0.003), description="the learning rate is one of these"
    )
    num_steps: int = Field(600, ge=1, description="steps of training")
    strength: float = Field(1.0, gt=0, description="C of the last layer's logistic regression")


class Planetoid(Baseline):
    """One embedding for both: skip-gram on contexts by walks and by labels, and known labels.

    The embedding is first trained on walks alone (skip-gram, as Node2vec with p = q = 1, which
    trials and methods share on disk), then on all three together.

    For a novel label the last layer is replaced by a binary one, fitted on the supports.
    """

    kind_of_settings = PlanetoidSettings
    settings: PlanetoidSettings
    vectors_: Vectors

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Train with every batch size and rate; validation tasks choose, the step too."""
        settings = self.settings
        choices = list(product(settings.batch_choices, settings.rate_choices))

        def train() -> Iterator[tuple[Look, Vectors]]:
            contexts = _Contexts(graph, split, settings)
            first = Node2vec(dim=settings.dim, walks_per_node=settings.first_walks)
            start = first.embed_plainly(graph)
            for choice in choices:
                for step, vectors in self._train(start, contexts, len(split.known), *choice):
                    yield (*choice, step), vectors

        (self.batch_, self.rate_, self.best_step_), self.vectors_ = best_look(
            self, graph, split, train, strength=settings.strength
        )
        self.num_steps_ = len(choices) * settings.num_steps

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """Log-odds by the last layer that the supports give."""
        return score_by_logistic_regression(self.vectors_, tasks, strength=self.settings.strength)

    def _train(
        self, start: Vectors, contexts: _Contexts, num_labels: int, batch: int, rate: float
    ) -> Iterator[tuple[int, Vectors]]:
        """The step and the embedding of every look, from the first training's on."""
        settings = self.settings
        # Contexts begin at 0, so that nodes stay where the first training put them until
        # contexts have something to say.
        tables = [torch.from_numpy(start.copy()), torch.zeros(start.shape)]
        with torch_seed(settings.seed, "Planetoid"):
            last = torch.nn.Linear(settings.dim, num_labels)
        rows = [RowAdam(table, rate=rate) for table in tables]
        optimiser = torch.optim.Adam(last.parameters(), lr=rate)
        look_every = max(1, settings.num_steps // NUM_LOOKS)
        for step in range(settings.num_steps + 1):
            if step % look_every == 0 or step == settings.num_steps:
                for each in rows:
                    each.settle_all()
                yield step, tables[0].numpy().copy()
            if step < settings.num_steps:
                nodes, states = contexts.draw_labelled(batch, step)
                _step(rows, last, optimiser, contexts.draw(batch, step), nodes, states)


def _step(
    rows: list[RowAdam],
    last: torch.nn.Linear,
    optimiser: torch.optim.Optimizer,
    pairs: Int64[np.ndarray, "pair column"],
    nodes: Int64[np.ndarray, " labelled"],
    states: Float32[np.ndarray, "labelled label"],
) -> None:
    """Both losses at once, and a move of the rows that they touch."""
    embeddings, contexts = rows
    own, own_places = torch.unique(
        torch.from_numpy(np.concatenate((pairs[:, 0], nodes))), return_inverse=True
    )
    other, other_places = torch.unique(torch.from_numpy(pairs[:, 1:]), return_inverse=True)
    embeddings.settle(own)
    contexts.settle(other)
    of_nodes = embeddings.table[own].requires_grad_()
    of_contexts = contexts.table[other].requires_grad_()
    vectors = of_nodes[own_places]
    seen = of_contexts[other_places]  # (pair, 1 + negative, dim)
    loss = structural_loss(vectors[: len(pairs)], seen[:, 0], seen[:, 1:])
    loss = loss + _label_loss(last(vectors[len(pairs) :]), torch.from_numpy(states))
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()
    assert of_nodes.grad is not None
    assert of_contexts.grad is not None
    embeddings.step(own, of_nodes.grad)
    contexts.step(other, of_contexts.grad)


def _label_loss(logits: Tensor, states: Tensor) -> Tensor:
    """Cross-entropy of the known states; an unknown pair (NaN) counts for nothing."""
    is_known = ~states.isnan()
    losses = functional.binary_cross_entropy_with_logits(
        logits, states.nan_to_num(), reduction="none"
    )
    return (losses * is_known).sum() / is_known.sum().clamp(min=1)


class _Contexts:
    """Draws pairs of a node and a context, and nodes with their known labels."""

    def __init__(self, graph: Graph, split: LabelSplit, settings: PlanetoidSettings) -> None:
        self._graph, self._known, self._settings = graph, split.known, settings
        self.num_nodes = graph.num_nodes
        self._walks = biased_walks(
            graph,
            length=settings.walk_length,
            walks_per_node=settings.walks_per_node,
            p=1.0,
            q=1.0,
            seed=settings.seed,
        )
        degrees = np.maximum(graph.degrees, 1).astype(np.float64)
        self._negatives = alias_table(degrees**NEGATIVE_EXPONENT)
        labels = graph.labels
        self._holders = [holders for y in split.known if len(holders := labels.holders(int(y))) > 1]
        annotated = np.ones(graph.num_nodes, dtype=bool)
        if split.asked is not None:  # all their known labels are unknown
            annotated &= ~split.asked
        if labels.unannotated is not None:
            annotated &= ~labels.unannotated
        self._labelled = np.flatnonzero(annotated)

    def draw(self, size: int, step: int) -> Int64[np.ndarray, "pair column"]:
        """Columns: node, context, negatives."""
        settings = self._settings
        generator = numpy_generator(settings.seed, "contexts", step)
        num_by_label = int(settings.label_contexts * size) if self._holders else 0
        pairs = np.concatenate(
            (self._by_walk(size - num_by_label, generator), self._by_label(num_by_label, generator))
        )
        key = np.uint64(derive_seed(settings.seed, "negatives", step))
        negatives = _draw_nodes(self._negatives, key, len(pairs), settings.num_negatives)
        return np.concatenate((pairs, negatives), axis=1)

    def _by_walk(self, size: int, generator: np.random.Generator) -> Int64[np.ndarray, "pair 2"]:
        walks, window = self._walks, self._settings.window
        rows = generator.integers(len(walks), size=size)
        places = generator.integers(walks.shape[1], size=size)
        steps = generator.integers(1, window + 1, size=size) * generator.choice([-1, 1], size=size)
        others = np.clip(places + steps, 0, walks.shape[1] - 1)
        pairs = np.stack((walks[rows, places], walks[rows, others]), axis=1).astype(np.int64)
        is_pair = (pairs != NO_NODE).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
        kept: Int64[np.ndarray, "pair 2"] = pairs[is_pair]
        return kept

    def _by_label(self, size: int, generator: np.random.Generator) -> Int64[np.ndarray, "pair 2"]:
        pairs = np.empty((size, 2), dtype=np.int64)
        chosen = generator.integers(max(1, len(self._holders)), size=size)
        for row, label in enumerate(chosen):
            pairs[row] = generator.choice(self._holders[label], size=2)
        return pairs

    def draw_labelled(
        self, size: int, step: int
    ) -> tuple[Int64[np.ndarray, " labelled"], Float32[np.ndarray, "labelled label"]]:
        """Nodes, and which known labels they hold; NaN where that is unknown."""
        generator = numpy_generator(self._settings.seed, "labelled nodes", step)
        nodes = generator.choice(self._labelled, size=size)
        found = self._graph.labels.states(nodes[:, None], self._known[None])
        states = (found == HOLDS).astype(np.float32)
        states[found == UNKNOWN] = np.nan
        return nodes, states


@compiled
def _draw_nodes(
    table: np.ndarray, key: np.uint64, num_rows: int, width: int
) -> Int64[np.ndarray, "row column"]:
    nodes = np.empty((num_rows, width), dtype=np.int64)
    for row in range(num_rows):
        for place in range(width):
            nodes[row, place] = drawn(table, bits(key, row * width + place))
    return nodes
