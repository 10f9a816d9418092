"""MetaTNE with one part taken out or done otherwise: the paper's ablation (Table 3)."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from metatne.errors import ConfigError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.model import Block, MetaTNENetwork, prototype_closeness
from metatne.noise import Noise
from metatne.quality import QualityWarning
from metatne.sampling.splits import LabelSplit
from metatne.schedule import expected_structural_steps
from metatne.training.meta import meta_gradients
from metatne.training.trainer import Trainer

FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Of the meta-learning loss in V3; validation chooses."""

TUNING_SHARE = 0.2
"""Of V3's steps, that a factor is tried with; the best is then trained with in full."""


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
    """V2's network: all nodes of a task, of both signs and all queries, attend to each other.

    Dropout is on what the modules add; attention weights, for which no masks over so large a
    set are drawn, are not dropped. Blocks normalise first, as published.
    """

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
            tokens = _fed(block, tokens + attended * _mask(noise, place, "attended"), noise, place)
        tokens = transformation.last_norm(tokens).squeeze(1)
        positives, negatives, queries = torch.split(tokens, sizes, dim=1)
        return _closeness(positives, queries) - _closeness(negatives, queries)


def _fed(block: Block, tokens: Tensor, noise: Noise | None, place: int) -> Tensor:
    """`Block.feed`, with the noise of nodes of both signs."""
    if not block.norm_first:
        tokens = block.attention_norm(tokens)
    fed = block.feedforward(block.feedforward_norm(tokens) if block.norm_first else tokens)
    tokens = tokens + fed * _mask(noise, place, "fed")
    return tokens if block.norm_first else block.feedforward_norm(tokens)


def _mask(noise: Noise | None, place: int, part: str) -> Tensor | float:
    """The noise on what a module adds, as drawn for the sets of the two signs."""
    if not noise:
        return 1.0
    positive, negative = noise.positive[place], noise.negative[place]
    supports = [getattr(masks, f"{part}_supports") for masks in (positive, negative)]
    queries = getattr(positive, f"{part}_queries")
    return torch.cat((*supports, queries), dim=1).unsqueeze(1)


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
    """V3's: every step takes both losses, that of the tasks times a factor.

    U has one optimiser, at the meta rate, and sees one gradient.
    """

    factor: ClassVar[float] = 1.0

    def take_step(self, tau: float) -> None:
        """One step on the sum, whatever tau is."""
        step = self.state.step
        pairs = self.structural.pairs.batch(self.state.num_structural)
        self.state.num_structural += 1
        tasks = self.tasks_of_step(step)
        of_tasks = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
        touched = np.concatenate((pairs.nodes, of_tasks.ravel()))
        nodes, places = torch.unique(torch.from_numpy(touched).to(self.device), return_inverse=True)
        contexts, context_places = torch.unique(
            torch.from_numpy(pairs.contexts).to(self.device), return_inverse=True
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
    """V4's: all structural steps first, then meta steps that leave the embeddings as they are.

    There are as many of the first kind as the schedule has on average.
    """

    start_knows_labels = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._first_meta_step = expected_structural_steps(
            self.config.num_steps,
            decay_rate=self.config.decay_rate,
            decay_period=self.config.decay_period,
        )

    def take_step(self, tau: float) -> None:
        """A step of the kind whose time it is."""
        step = self.state.step
        if step < self._first_meta_step:
            self.structural_step()
            return
        if step == self._first_meta_step and self.average is not None:
            self.settle_embeddings()
            self.average.network.embeddings.data.copy_(self.network.embeddings.data)
        self.row_optimisers["meta embeddings"].rate = 0.0
        self.meta_step()


class MetaOnlyTrainer(Trainer):
    """V5's: the meta-learning loss alone."""

    def take_step(self, tau: float) -> None:
        """A meta step, whatever tau is."""
        self.meta_step()


class Variant(MetaTNE):
    """A `MetaTNE` with the paper's head, whichever the default is."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"head": "prototypes"} | settings)


class NoTransformation(Variant):
    """V1: prototypes of the embeddings, which both losses train."""

    _trainer_kind = PlainTrainer


class OneAttention(Variant):
    """V2: one self-attention over all support and query nodes of a task."""

    _trainer_kind = OneSetTrainer


class SumOfLosses(Variant):
    """V3: the sum of both losses, with the factor that validation labels like best."""

    def fit(self, graph: Graph, *, split: LabelSplit | None = None, **options: Any) -> Self:
        """Train briefly with every factor, and in full with the best by validation.

        No checkpoints are kept.
        """
        if options:
            raise ConfigError(
                f"V3 trains {len(FACTORS) + 1} models: it takes no {', '.join(options)}"
            )
        settings, tuning_steps = self.get_params(), math.ceil(TUNING_SHARE * self.config.num_steps)
        briefly = settings | {"num_steps": tuning_steps}

        def score(factor: float) -> float:
            return _best_score(weighing_by(factor)(**briefly).fit(graph, split=split))

        with warnings.catch_warnings(action="ignore", category=QualityWarning):  # of the tries
            self.factor_ = max(FACTORS, key=score)
        self.trained_ = weighing_by(self.factor_)(**settings).fit(graph, split=split).trained_
        self._num_tuning_steps = len(FACTORS) * tuning_steps
        return self

    @property
    def num_steps_(self) -> int:
        """Those of the tries, too."""
        return self._num_tuning_steps + super().num_steps_


def weighing_by(weight: float) -> type[MetaTNE]:
    """The kind of model that V3 trains with this factor."""

    class Weighing(SummingTrainer):
        factor = weight

    class WithFactor(Variant):
        _trainer_kind = Weighing

    return WithFactor


def _best_score(model: MetaTNE) -> float:
    """The most that selection saw after the start, which is the same for all factors."""
    taught = model.history_[model.history_["step"] > 0]
    return float((taught["auc"] + taught["f1"]).max())


class FrozenEmbeddings(Variant):
    """V4: embeddings learned from the graph alone, then left as they are."""

    _trainer_kind = FreezingTrainer


class OneHotInput(Variant):
    """V5: no structure at all; U starts at random and learns from tasks alone."""

    _trainer_kind = MetaOnlyTrainer

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"spectral_scale": 0.0})
