"""MetaTNE with one part taken out or done otherwise: the paper's ablation (Table 3)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.model import MetaTNENetwork, prototype_closeness
from metatne.noise import Noise
from metatne.training.meta import meta_gradients
from metatne.training.trainer import Trainer

FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Of the meta-learning loss in V3; validation chooses."""

STRUCTURAL_SHARE = 0.5
"""Of V4's steps, all of them at the start."""


class PlainNetwork(MetaTNENetwork):
    """V1's network: prototypes of the embeddings themselves."""

    def classify(
        self,
        positives: Float[Tensor, "task positive dim"],
        negatives: Float[Tensor, "task negative dim"],
        queries: Float[Tensor, "task query dim"],
        noise: Noise | None = None,
    ) -> Float[Tensor, "task query"]:
        """Log-odds by the distances to the means of the supports."""
        return _closeness(positives, queries) - _closeness(negatives, queries)


class OneSetNetwork(MetaTNENetwork):
    """V2's network: all nodes of a task, of both signs and all queries, attend to each other."""

    def classify(
        self,
        positives: Float[Tensor, "task positive dim"],
        negatives: Float[Tensor, "task negative dim"],
        queries: Float[Tensor, "task query dim"],
        noise: Noise | None = None,
    ) -> Float[Tensor, "task query"]:
        """Log-odds by the distances to the means of the adapted supports."""
        sizes = [part.shape[1] for part in (positives, negatives, queries)]
        tokens = torch.cat((positives, negatives, queries), dim=1).unsqueeze(1)
        transformation = self.transformation
        for place, block in enumerate((transformation.first_block, *transformation.later_blocks)):
            attended = block.attention(block.attention_norm(tokens) if block.norm_first else tokens)
            tokens = block.feed(tokens + attended * _attended_mask(noise, place))
        tokens = transformation.last_norm(tokens).squeeze(1)
        positives, negatives, queries = torch.split(tokens, sizes, dim=1)
        return _closeness(positives, queries) - _closeness(negatives, queries)


def _attended_mask(noise: Noise | None, place: int) -> Tensor | float:
    """The noise on what attention adds, as drawn for the sets of the two signs."""
    if not noise:
        return 1.0
    positive, negative = noise.positive[place], noise.negative[place]
    parts = (positive.attended_supports, negative.attended_supports, positive.attended_queries)
    return torch.cat(parts, dim=1).unsqueeze(1)


def _closeness(
    supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
) -> Float[Tensor, "task query"]:
    everyone = supports.unsqueeze(1).expand(-1, queries.shape[1], -1, -1)
    return prototype_closeness(everyone, queries)


class PlainTrainer(Trainer):
    """V1's."""

    network_kind = PlainNetwork


class OneSetTrainer(Trainer):
    """V2's."""

    network_kind = OneSetNetwork


class SummingTrainer(Trainer):
    """V3's: every step takes both losses, that of the tasks times a factor."""

    factor: ClassVar[float] = 1.0

    def take_step(self, tau: float) -> None:
        """One step on the sum, whatever tau is: U has one optimiser, and sees one gradient."""
        step = self.state.step
        pairs = self.structural.pairs.batch(self.state.num_structural)
        self.state.num_structural += 1
        tasks = self.tasks_of_step(step)
        of_tasks = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
        nodes, places = torch.unique(
            torch.from_numpy(np.concatenate((pairs.nodes, of_tasks.ravel()))), return_inverse=True
        )
        contexts, context_places = torch.unique(
            torch.from_numpy(pairs.contexts), return_inverse=True
        )
        rows = self.row_optimisers["meta embeddings"]
        context_rows = self.row_optimisers["structural contexts"]
        rows.settle(nodes)
        context_rows.settle(contexts)
        embeddings = rows.table[nodes].requires_grad_()
        of_contexts = context_rows.table[contexts].requires_grad_()
        vectors = of_contexts[context_places]
        pair_places, task_places = places.split([len(pairs.nodes), of_tasks.size])
        loss = structural_loss(embeddings[pair_places], vectors[:, 0], vectors[:, 1:])
        by_nodes, by_contexts = torch.autograd.grad(loss, (embeddings, of_contexts))
        gradients = meta_gradients(
            self.network,
            tasks,
            embeddings.detach()[task_places].view(*of_tasks.shape, -1),
            self.config,
            step=step,
            team=self.team,
        )
        by_nodes.index_add_(0, task_places, gradients.nodes.flatten(0, 1), alpha=self.factor)
        for parameter, gradient in zip(
            self.network.transformation.parameters(), gradients.parameters, strict=True
        ):
            parameter.grad = self.factor * gradient
        self.transformation_optimiser.step()
        rows.step(nodes, by_nodes)
        context_rows.step(contexts, by_contexts)
        self.note_loss(loss.item(), "structural")
        self.note_loss(gradients.loss.item(), "meta")


class FreezingTrainer(Trainer):
    """V4's: structural steps first, then meta steps that leave the embeddings as they are."""

    def take_step(self, tau: float) -> None:
        """A step of the kind whose time it is."""
        if self.state.step < STRUCTURAL_SHARE * self.config.num_steps:
            self.structural_step()
        else:
            self.row_optimisers["meta embeddings"].rate = 0.0
            self.meta_step()


class MetaOnlyTrainer(Trainer):
    """V5's: the meta-learning loss alone."""

    def take_step(self, tau: float) -> None:
        """A meta step, whatever tau is."""
        self.meta_step()


class NoTransformation(MetaTNE):
    """V1: prototypes of the embeddings, which both losses train."""

    trainer_kind = PlainTrainer


class OneAttention(MetaTNE):
    """V2: one self-attention over all support and query nodes of a task."""

    trainer_kind = OneSetTrainer


class SumOfLosses(MetaTNE):
    """V3: the sum of both losses, with the factor that validation labels like best."""

    trainer_kind = SummingTrainer

    def fit(self, graph: Graph, **options: Any) -> Self:
        """Train with every factor and keep the best by validation."""
        best, best_score = None, -math.inf
        for factor in FACTORS:
            attempt = _weighing_by(factor)(**self.get_params())
            score = _best_score(attempt.fit(graph, **options))
            if score > best_score:
                best, best_score, self.factor_ = attempt, score, factor
        assert best is not None
        self.trained_ = best.trained_
        return self


def _weighing_by(weight: float) -> type[MetaTNE]:
    """V3 with this factor."""

    class Weighing(SummingTrainer):
        factor = weight

    class WithFactor(MetaTNE):
        trainer_kind = Weighing

    return WithFactor


def _best_score(model: MetaTNE) -> float:
    """What selection maximised."""
    return float((model.history_["auc"] + model.history_["f1"]).max())


class FrozenEmbeddings(MetaTNE):
    """V4: embeddings learned from the graph, then left as they are."""

    trainer_kind = FreezingTrainer


class OneHotInput(MetaTNE):
    """V5: no structure at all; U starts at random and learns from tasks alone."""

    trainer_kind = MetaOnlyTrainer

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"spectral_scale": 0.0})
