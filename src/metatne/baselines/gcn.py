"""GCN: a two-layer graph convolution trained on the known labels (Kipf and Welling, 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from metatne.baselines.base import Baseline
from metatne.baselines.embedding import Vectors
from metatne.baselines.gcn_layers import (
    ConvolutionSettings,
    UndirectedGCNConv,
    node_features,
    normalised_adjacency,
)
from metatne.baselines.logistic import score_by_logistic_regression
from metatne.baselines.looks import best_look
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks
from metatne.seeding import torch_seed

Choice = tuple[float, float, float]


class GCNSettings(ConvolutionSettings):
    """Settings of GCN."""

    dropout_choices: tuple[float, ...] = Field(
        (0.0, 0.5), description="the share of hidden units dropped is one of these"
    )
    rate_choices: tuple[float, ...] = Field(
        (0.003, 0.01, 0.03), description="the rate is one of these"
    )
    decay_choices: tuple[float, ...] = Field(
        (0.0, 5e-4), description="the weight decay is one of these"
    )
    num_epochs: int = Field(200, ge=1, description="passes over all nodes at most")
    look_every: int = Field(20, ge=1, description="passes between two looks at validation tasks")
    strength: float = Field(1.0, gt=0, description="C of the last layer's logistic regression")


class Network(nn.Module):
    """A relu(A X W1) W2, where A X is given: the first layer is then an ordinary one."""

    def __init__(self, num_features: int, hidden_dim: int, num_labels: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(num_features, hidden_dim)
        self.last = UndirectedGCNConv(hidden_dim, num_labels, normalize=False)
        self.dropout = dropout

    def hidden(self, averaged: Float[Tensor, "node feature"]) -> Float[Tensor, "node hidden"]:
        """The hidden layer of every node."""
        return functional.relu(self.first(averaged))

    def forward(
        self, averaged: Float[Tensor, "node feature"], adjacency: Tensor
    ) -> Float[Tensor, "node label"]:
        """Log-odds of every label for every node."""
        hidden = functional.dropout(self.hidden(averaged), self.dropout, self.training)
        logits: Tensor = self.last(hidden, adjacency)
        return logits


class GCN(Baseline):
    """Trained for all known labels at once; a novel label gets a last layer of its own."""

    kind_of_settings = GCNSettings
    settings: GCNSettings
    vectors_: Vectors

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Train with every choice; validation tasks choose, the epoch too."""
        settings = self.settings
        choices = list(
            product(settings.dropout_choices, settings.rate_choices, settings.decay_choices)
        )

        def train() -> Iterator[tuple[Choice, Vectors]]:
            adjacency = normalised_adjacency(graph)
            averaged = adjacency @ node_features(graph, settings)
            found = graph.labels.states(np.arange(graph.num_nodes)[:, None], split.known[None])
            truth = torch.from_numpy((found == HOLDS).astype(np.float32))
            is_known = torch.from_numpy(found != UNKNOWN)
            for choice in choices:
                for vectors in self._train(averaged, adjacency, truth, is_known, choice):
                    yield choice, vectors

        self.choice_, self.vectors_ = best_look(
            self, graph, split, train, strength=settings.strength
        )
        self.num_steps_ = len(choices) * settings.num_epochs

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """Log-odds by the last layer that the supports give."""
        return score_by_logistic_regression(self.vectors_, tasks, strength=self.settings.strength)

    def _train(
        self,
        averaged: Float[Tensor, "node feature"],
        adjacency: Tensor,
        truth: Float[Tensor, "node label"],
        is_known: Tensor,
        choice: Choice,
    ) -> Iterator[Vectors]:
        """What the last layer sees of a node at every look: its neighbours' hidden layers,
        averaged.
        """
        dropout, rate, decay = choice
        settings = self.settings
        with torch_seed(settings.seed, "GCN"):
            network = Network(averaged.shape[1], settings.hidden_dim, truth.shape[1], dropout)
            optimiser = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay)
            for epoch in range(settings.num_epochs):
                logits = network(averaged, adjacency)
                losses = functional.binary_cross_entropy_with_logits(
                    logits, truth, reduction="none"
                )
                loss = (losses * is_known).sum() / is_known.sum()
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
                if (epoch + 1) % settings.look_every and epoch + 1 < settings.num_epochs:
                    continue
                with torch.no_grad():
                    found = (adjacency @ network.hidden(averaged)).numpy()
                yield found
