"""Meta-GNN: a two-layer GCN whose start is meta-learned by MAML (Zhou et al., 2019)."""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int64
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from metatne.baselines.base import Baseline
from metatne.baselines.gcn_layers import (
    ConvolutionSettings,
    node_features,
    normalised_adjacency,
    standardised,
)
from metatne.baselines.tuning import Best, learn_best
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler
from metatne.seeding import numpy_generator, torch_seed

QUERIES_AT_A_TIME = 512
"""Queries whose rows of the graph are held at once, over all columns that they have."""

Weights = list[Tensor]
"""W1, b1, W2, b2."""


class MetaGNNSettings(ConvolutionSettings):
    """Settings of Meta-GNN."""

    num_updates: int = Field(2, ge=1, description="inner updates on a task's supports")
    fast_choices: tuple[float, ...] = Field(
        (0.5, 2.0), description="the rate of inner updates is one of these"
    )
    meta_choices: tuple[float, ...] = Field(
        (0.003, 0.01), description="the rate of the start's updates is one of these"
    )
    num_steps: int = Field(500, ge=1, description="updates of the start")
    tuning_steps: int = Field(
        100, ge=1, description="updates of the start while rates are being chosen"
    )
    tasks_per_step: int = Field(5, ge=1, description="tasks of such an update")
    num_looks: int = Field(
        3, ge=1, description="looks at validation tasks on the way; one more at the end"
    )


class MetaGNN(Baseline):
    """Two steps of gradient descent on the supports, from a start from which they go far.

    Two things the published method does not do, without which its rows on BlogCatalog are lower
    (LOG.md). The neighbours' features are averaged and then brought to one size, column by column.
    And holders of a label count as much in a loss as those that lack it, however many there are:
    else two steps move the bias to where the many are, and little else.

    A task reads only the rows of the graph that its nodes have, so the cost of a step grows
    with their degrees and not with the graph.
    """

    kind_of_settings = MetaGNNSettings
    settings: MetaGNNSettings

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Try every pair of rates for some steps, then train with the best; validation tasks
        choose, the step too.
        """
        adjacency = normalised_adjacency(graph)
        # Of many neighbours the average is small, and two steps of one rate do not get far from it.
        self._averaged = standardised(adjacency @ node_features(graph, self.settings))
        self._rows = sp.csr_array(
            (
                adjacency.values().numpy(),
                adjacency.col_indices().numpy(),
                adjacency.crow_indices().numpy(),
            ),
            shape=(graph.num_nodes, graph.num_nodes),
        )
        known = TaskSampler(graph.labels, split.known, self.task_shape)
        tasks = self.draw_validation_tasks(graph, split)
        choices = list(product(self.settings.fast_choices, self.settings.meta_choices))
        num_steps = self.settings.num_steps
        tuning_steps = num_steps
        if len(choices) > 1:
            tuning_steps = min(self.settings.tuning_steps, num_steps)
        best, self._start = learn_best(
            choices, lambda choice: self._train(known, tasks, *choice, num_steps=tuning_steps)
        )
        self.num_steps_ = len(choices) * tuning_steps
        if tuning_steps < num_steps:
            _, self._start = self._train(known, tasks, *best, num_steps=num_steps)
            self.num_steps_ += num_steps
        self.fast_rate_, self.meta_rate_ = best

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """Log-odds after the inner updates on each task's supports."""
        return self._score(tasks, self._start, self.fast_rate_)

    def _score(
        self, tasks: Tasks, start: Weights, fast_rate: float
    ) -> Float[np.ndarray, "task query"]:
        scores = []
        for number in range(len(tasks)):
            logits, _ = self._adapted(tasks[number : number + 1], start, fast_rate, is_last=True)
            scores.append(logits.detach().numpy())
        return np.stack(scores)

    def _train(
        self,
        known: TaskSampler,
        tasks: Tasks,
        fast_rate: float,
        meta_rate: float,
        *,
        num_steps: int,
    ) -> tuple[float, Weights]:
        settings = self.settings
        start = self._new_weights()
        optimiser = torch.optim.Adam(start, lr=meta_rate)
        look_every = max(1, num_steps // settings.num_looks)
        best: Best[Weights] = Best()
        for step in range(num_steps):
            batch = known.draw(
                settings.tasks_per_step, numpy_generator(settings.seed, "Meta-GNN tasks", step)
            )
            optimiser.zero_grad()
            for number in range(len(batch)):
                logits, truth = self._adapted(batch[number : number + 1], start, fast_rate)
                loss = balanced_loss(logits, truth)
                torch.autograd.backward(loss / len(batch))
            optimiser.step()
            if (step + 1) % look_every == 0 or step + 1 == num_steps:
                scores = self._score(tasks, start, fast_rate)
                best.look(scores, tasks, lambda: [w.detach().clone() for w in start])
        score, kept = best.found
        return score, [weight.requires_grad_() for weight in kept]

    def _new_weights(self) -> Weights:
        hidden, dim = self.settings.hidden_dim, self._averaged.shape[1]
        with torch_seed(self.settings.seed, "Meta-GNN"):
            first, last = torch.empty(dim, hidden), torch.empty(hidden, 1)
            torch.nn.init.xavier_uniform_(first)
            torch.nn.init.xavier_uniform_(last)
        weights = [first, torch.zeros(hidden), last, torch.zeros(1)]
        return [weight.requires_grad_() for weight in weights]

    def _adapted(
        self, task: Tasks, start: Weights, fast_rate: float, *, is_last: bool = False
    ) -> tuple[Float[Tensor, " query"], Float[Tensor, " query"]]:
        """Log-odds of the queries of one task after the inner updates, and the truth.

        When nothing comes after (`is_last`), no graph is kept for a gradient by the start.
        """
        supports = np.concatenate((task.positives[0], task.negatives[0]))
        truth = torch.zeros(len(supports))
        truth[: task.positives.shape[1]] = 1.0
        averages, columns = self._surroundings(supports)
        inputs = self._averaged[columns]
        weights = start
        for _ in range(self.settings.num_updates):
            logits = _forward(weights, inputs, averages)
            loss = balanced_loss(logits, truth)
            slopes = torch.autograd.grad(loss, weights, create_graph=not is_last)
            weights = [w - fast_rate * s for w, s in zip(weights, slopes, strict=True)]
        logits = torch.cat(
            [
                self._logits(weights, task.queries[0, first : first + QUERIES_AT_A_TIME])
                for first in range(0, task.queries.shape[1], QUERIES_AT_A_TIME)
            ]
        )
        is_positive: Bool[np.ndarray, " query"] = task.is_positive[0]
        return logits, torch.from_numpy(is_positive.astype(np.float32))

    def _logits(
        self, weights: Weights, nodes: Int64[np.ndarray, " node"]
    ) -> Float[Tensor, " node"]:
        averages, columns = self._surroundings(nodes)
        return _forward(weights, self._averaged[columns], averages)

    def _surroundings(
        self, nodes: Int64[np.ndarray, " node"]
    ) -> tuple[Float[Tensor, "node neighbour"], Int64[Tensor, " neighbour"]]:
        """The rows of A of these nodes, over just the columns in which they have something."""
        rows = self._rows[nodes]
        columns, places = np.unique(rows.indices, return_inverse=True)
        dense = np.zeros((len(nodes), len(columns)), dtype=np.float32)
        dense[np.repeat(np.arange(len(nodes)), np.diff(rows.indptr)), places] = rows.data
        return torch.from_numpy(dense), torch.from_numpy(columns.astype(np.int64))


def balanced_loss(
    logits: Float[Tensor, " node"], truth: Float[Tensor, " node"]
) -> Float[Tensor, ""]:
    """The cross-entropy of holders and that of the others, each a half; both must be there."""
    of_holders = functional.softplus(-logits[truth > 0]).mean()
    of_others = functional.softplus(logits[truth == 0]).mean()
    return (of_holders + of_others) / 2


def _forward(
    weights: Weights, inputs: Float[Tensor, "neighbour feature"], averages: Tensor
) -> Float[Tensor, " node"]:
    first, first_bias, last, last_bias = weights
    hidden = functional.relu(inputs @ first + first_bias)
    return (averages @ (hidden @ last) + last_bias).squeeze(1)
