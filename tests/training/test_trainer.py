"""What a training starts from, what each step changes, and that a seed decides all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from metatne.config import make_config
from metatne.errors import LabelError, TrainingError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import TaskShape
from metatne.training.trainer import Trainer, training_shape, validation_shape
from training.trainers import (
    META_FROM_STEP_1,
    STRUCTURAL_ONLY,
    assert_same,
    trainer_of,
    weights_of,
)


def test_the_spectral_start_is_added_to_the_random_one(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    starts = [
        trainer_of(planted, small_settings, spectral_scale=scale).network.embeddings.detach()
        for scale in (0.0, 0.3)
    ]
    assert starts[0].abs().max().item() <= 0.5 / 16
    added = (starts[1] - starts[0]) / 0.3
    torch.testing.assert_close(added.square().mean(dim=1), torch.ones(300), rtol=1e-3, atol=0)


def test_the_spectral_start_knows_the_known_labels_alone(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """With validation labels in it, the validation would choose what has learned nothing."""

    def start(known: list[int], validation: int) -> Tensor:
        split = LabelSplit(np.array(known), np.array([validation]), np.arange(0))
        trainer = Trainer(planted, split, make_config(small_settings))
        return trainer.network.embeddings.detach()

    assert torch.equal(start([1, 2], 7), start([1, 2], 8))
    assert not torch.equal(start([1, 2], 7), start([1, 3], 7))


def test_structural_steps_leave_the_transformation(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, **STRUCTURAL_ONLY, num_steps=5)
    before, contexts = weights_of(trainer.network), trainer.contexts.clone()
    steps: list[dict[str, Tensor]] = []
    trainer.run(at_step_end=lambda t: steps.append(weights_of(t.network)))
    changed = [name for name in before if not torch.equal(steps[-1][name], before[name])]
    assert changed == ["embeddings"]
    assert not torch.equal(trainer.contexts, contexts)
    validation = trainer.state.history[-1]
    assert validation.meta_loss is None
    assert validation.structural_loss is not None


def test_meta_steps_leave_the_contexts(planted: Graph, small_settings: dict[str, Any]) -> None:
    trainer = trainer_of(planted, small_settings, **META_FROM_STEP_1, num_steps=5)
    contexts: list[Tensor] = []
    weights: list[dict[str, Tensor]] = []

    def look(trainer: Trainer) -> None:
        contexts.append(trainer.contexts.clone())
        weights.append(weights_of(trainer.network))

    trainer.run(at_step_end=look)
    assert torch.equal(contexts[0], contexts[-1])
    unchanged = [name for name in weights[0] if torch.equal(weights[0][name], weights[-1][name])]
    # Its shift moves query and prototype alike, so the last norm may keep it.
    assert set(unchanged) <= {"transformation.last_norm.bias"}


def test_the_penalty_is_on_all_matrices_and_nothing_else(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """The first meta loss with and without it differs by the squares at the start."""
    losses = {}
    for l2 in (0.0, 2.0):
        trainer = trainer_of(
            planted, small_settings, **META_FROM_STEP_1, num_steps=2, l2=l2, num_blocks=2
        )
        start = weights_of(trainer.network)
        trainer.run()
        losses[l2] = trainer.state.history[-1].meta_loss
    matrices = [w for name, w in start.items() if w.ndim == 2 and name != "embeddings"]
    assert len(matrices) == 2 * 6
    squares = sum(float(matrix.square().sum()) for matrix in matrices)
    assert losses[0.0] is not None
    assert losses[2.0] is not None
    assert losses[2.0] - losses[0.0] == pytest.approx(squares, rel=1e-5)


def test_the_seed_decides_bit_for_bit(planted: Graph, small_settings: dict[str, Any]) -> None:
    def trained(seed: int) -> tuple[dict[str, Tensor], list[Any]]:
        trainer = trainer_of(planted, small_settings, seed=seed, num_steps=20, validate_every=10)
        torch.rand(seed + 3)  # what others draw must not matter
        network = trainer.run()
        numbers = [(v.auc, v.f1, v.meta_loss or 0.0) for v in trainer.state.history]
        return weights_of(network), numbers

    first, second, other = trained(0), trained(0), trained(1)
    assert_same(first[0], second[0])
    assert first[1] == second[1]
    assert first[1] != other[1]


def test_the_number_of_threads_does_not_change_a_bit(
    planted: Graph, small_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        trainer = trainer_of(planted, small_settings, num_steps=8, validate_every=4)
        networks.append(weights_of(trainer.run()) | {"contexts": trainer.contexts})
        assert min(len(trainer.state.history), trainer.state.num_structural) > 1
    assert_same(networks[0], networks[1])


def test_meta_steps_are_noisy_and_validations_are_not(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    changed = META_FROM_STEP_1 | {"num_steps": 2, "identity_start": False}
    quiet, noisy = (
        trainer_of(planted, small_settings, dropout=dropout, **changed) for dropout in (0.0, 0.5)
    )
    quiet.run()
    noisy.run()
    before = [(v.auc, v.f1) for v in (quiet.state.history[0], noisy.state.history[0])]
    assert before[0] == before[1]
    assert quiet.state.history[1].meta_loss != noisy.state.history[1].meta_loss


def test_training_leaves_the_callers_generators_alone(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    trainer_of(planted, small_settings, num_steps=10).run()
    assert torch.rand(2).tolist() == expected


@pytest.mark.parametrize("kind", ["structural", "meta"])
def test_a_rate_that_is_too_high(planted: Graph, small_settings: dict[str, Any], kind: str) -> None:
    trainer = trainer_of(planted, small_settings, **{f"{kind}_rate": 1e20}, validate_every=100)
    message = rf"the {kind} loss became \S+ at step \d+: .* smaller {kind}_rate than 1e\+20"
    with pytest.raises(TrainingError, match=message):
        trainer.run()


def test_a_rate_that_is_too_high_in_the_last_step(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, structural_rate=1e30, num_steps=1)
    with pytest.raises(TrainingError, match=r"not finite at step 1: .* structural_rate=1e\+30"):
        trainer.run()


def test_only_labels_of_the_split_are_used(planted: Graph, small_settings: dict[str, Any]) -> None:
    """Without its other labels the graph trains to the same network."""
    kept = np.array([0, 1, 2, 7, 8])
    split = LabelSplit(known=kept[:3], validation=kept[3:], test=np.array([9]))
    config = make_config(small_settings | {"num_steps": 20})
    whole = Trainer(planted, split, config).run()
    part = Trainer(
        planted.with_labels(planted.labels.select(kept)),
        LabelSplit(known=np.arange(3), validation=np.arange(3, 5), test=np.arange(0)),
        config,
    ).run()
    assert_same(weights_of(whole), weights_of(part))


def test_shapes_of_tasks() -> None:
    sizes: dict[str, Any] = {"positives": 3, "negatives": 7}
    config = make_config(sizes | {"query_positives": None, "query_negatives": None})
    assert training_shape(config) == validation_shape(config) == TaskShape(3, 7, 3, 7)
    config = make_config(sizes | {"query_positives": 1, "query_negatives": 2})
    assert training_shape(config) == TaskShape(3, 7, 1, 2)
    assert validation_shape(config) == TaskShape(3, 7, 3, 7)


@pytest.mark.parametrize(
    ("supports", "most", "queries"),
    [
        ((10, 20), 30, (10, 20)),
        ((10, 40), 30, (6, 24)),
        ((10, 20), 12, (4, 8)),
        ((10, 40), 12, (2, 10)),
        ((1, 40), 2, (1, 1)),
        ((40, 1), 2, (1, 1)),
        ((40, 1), 12, (11, 1)),
    ],
)
def test_queries_are_cut_in_their_ratio(
    supports: tuple[int, int], most: int, queries: tuple[int, int]
) -> None:
    config = make_config(
        dict(zip(("positives", "negatives"), supports, strict=True))
        | {"query_positives": None, "query_negatives": None, "most_queries": most}
    )
    assert training_shape(config) == TaskShape(*supports, *queries)
    assert validation_shape(config) == TaskShape(*supports, *supports)


def test_too_few_holders_are_told_before_training(friends: Graph) -> None:
    with pytest.raises(LabelError, match=r"at least 21 holders .*'right' \(4\), 'left' \(4\)"):
        MetaTNE().fit(friends)
