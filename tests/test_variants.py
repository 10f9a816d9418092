"""The ablation's networks equal what the paper says of them."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from metatne.config import make_config
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.seeding import torch_seed
from metatne.training.trainer import Trainer
from metatne.variants import (
    FACTORS,
    FreezingTrainer,
    OneSetNetwork,
    PlainNetwork,
    SumOfLosses,
    weighing_by,
)
from networks import assert_agree, noise_of, outcome, random_task, randomise, small_config
from reference import reference_one_set_logits
from training.trainers import SPLIT

DOUBLE = 1e-9
"""How far network and reference may differ by rounding, as a share of the largest entry."""

PRE_NORM = [*product([True], (1, 2), (1, 3), (0.0, 0.4))]
# Its noise is of blocks that normalise first, as its docstring says.
POST_NORM = [(False, 1, 3, 0.0), (False, 2, 3, 0.0), (False, 2, 3, 0.4)]


@pytest.mark.parametrize(
    ("norm_first", "num_blocks", "num_heads", "dropout"), [*PRE_NORM, *POST_NORM]
)
def test_v2_is_one_attention_over_all_nodes_of_a_task(
    norm_first: bool, num_blocks: int, num_heads: int, dropout: float
) -> None:
    """In logits and gradients, also where several queries share the attention."""
    config = small_config(
        norm_first=norm_first, num_blocks=num_blocks, num_heads=num_heads, dropout=dropout
    )
    with torch_seed(0, "one set"):
        network, task = OneSetNetwork(1, config).double(), random_task(config, num_queries=3)
        randomise(network)
    noise = noise_of(config, task)
    assert (noise is None) == (dropout == 0)
    expected = outcome(
        network, task, partial(reference_one_set_logits, network, config, noise=noise)
    )
    assert_agree(
        outcome(network, task, partial(network.classify, noise=noise)), expected, tolerance=DOUBLE
    )
    assert expected.logits.std() > 0.1  # else the comparison says little
    # The last norm's shift moves query and prototype alike; all else makes a difference.
    still = [name for name, by in expected.gradients.items() if by.abs().max() < 1e-9]
    assert still == [list(expected.gradients)[-1]]


def test_v1_compares_with_the_means_of_the_embeddings() -> None:
    """Whatever the transformation is: it takes no part."""
    config = small_config()
    with torch_seed(0, "plain"):
        network, task = PlainNetwork(1, config).double(), random_task(config, num_queries=3)
        randomise(network)
    found = outcome(network, task, network.classify)
    positives, negatives, queries = (part.double() for part in task)
    far = [
        (queries - supports.mean(dim=1, keepdim=True)).square().sum(dim=-1)
        for supports in (positives, negatives)
    ]
    torch.testing.assert_close(found.logits, (far[1] - far[0]) / config.dim**0.5)
    moved = {name for name, gradient in found.gradients.items() if gradient.any()}
    assert moved == set(task._fields)


def test_v4_knows_the_graph_and_not_its_labels(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """Neither its start nor its meta steps, which leave the embeddings as they are, tell of them.

    The full model's start does.
    """
    renamed = planted.with_labels(planted.labels.select(range(planted.labels.num_labels)[::-1]))
    four_of_eight = {"num_steps": 8, "decay_rate": 1.0, "decay_period": 2}  # 2 + 1 + 2/3 + 1/2
    config = make_config(small_settings | {"spectral_scale": 0.1} | four_of_eight)

    def embeddings(kind: type[Trainer], graph: Graph, num_steps: int) -> Tensor:
        trainer = kind(graph, SPLIT, config)
        for _ in range(num_steps):
            trainer.take_step(1.0)
            trainer.state.step += 1
        for rows in trainer.row_optimisers.values():
            rows.settle_all()
        return trainer.network.embeddings.detach().clone()

    other_labels = [embeddings(FreezingTrainer, graph, 8) for graph in (planted, renamed)]
    assert torch.equal(*other_labels)
    assert torch.equal(other_labels[0], embeddings(FreezingTrainer, planted, 4))
    assert not torch.equal(*(embeddings(Trainer, graph, 0) for graph in (planted, renamed)))


def test_v3_takes_the_factor_that_a_fifth_of_the_steps_likes_best(
    planted: Graph, small_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is then what a full training with that factor is."""
    factors = FACTORS[::-1]
    monkeypatch.setattr("metatne.variants.FACTORS", factors)
    settings = small_settings | {"num_steps": 30, "validate_every": 5}

    def trained(factor: float, num_steps: int) -> MetaTNE:
        model: MetaTNE = weighing_by(factor)(**settings | {"num_steps": num_steps})
        return model.fit(planted, split=SPLIT)

    scores = {}
    for factor in factors:
        history = trained(factor, num_steps=6).history_[1:]  # all have the same start
        scores[factor] = (history["auc"] + history["f1"]).max()
    chosen = SumOfLosses(**settings).fit(planted, split=SPLIT)
    assert chosen.num_steps_ == 5 * 6 + 30
    assert chosen.factor_ == max(scores, key=lambda factor: scores[factor]) != factors[0]
    whole = trained(chosen.factor_, num_steps=30)
    assert np.array_equal(chosen.embeddings_, whole.embeddings_)
    assert list(chosen.history_["step"]) == list(whole.history_["step"])
    other = trained(next(factor for factor in factors if factor != chosen.factor_), num_steps=30)
    assert not np.array_equal(chosen.embeddings_, other.embeddings_)
