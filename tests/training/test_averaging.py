"""Weights that are averaged over the last steps: by hand, in what is kept, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.metrics import roc_auc
from metatne.scoring import score_tasks
from metatne.training.averaging import EVERY
from metatne.training.trainer import Stopped, Trainer
from training.trainers import META_FROM_STEP_1, assert_same, trainer_of, weights_of

SHARE = 0.4


def test_the_average_by_hand(planted: Graph, small_settings: dict[str, Any]) -> None:
    """A look weighs the steps since the last one / (share * step), and at most all.

    Every EVERY steps, before every validation, and after the last step.
    """
    trainer = trainer_of(
        planted,
        small_settings | META_FROM_STEP_1,
        num_steps=63,
        validate_every=17,
        averaging=SHARE,
    )
    seen: dict[int, dict[str, Tensor]] = {}
    averages: dict[int, dict[str, Tensor]] = {}

    def watch(trainer: Trainer) -> None:
        assert trainer.average is not None
        trainer.settle_embeddings()
        seen[trainer.state.step] = weights_of(trainer.network)
        averages[trainer.state.step] = weights_of(trainer.average.network)

    trainer.run(at_step_end=watch)
    looks = sorted({*range(EVERY, 63, EVERY), 17, 34, 51, 63})
    expected, before = seen[looks[0]], looks[0]  # 0.4 * 10 is less than 10 steps: all of the weight
    for step in looks[1:]:
        weight = min(1.0, (step - before) / (SHARE * step))
        expected = {
            name: (1 - weight) * expected[name] + weight * newest
            for name, newest in seen[step].items()
        }
        for name, average in averages[step].items():
            torch.testing.assert_close(average, expected[name], rtol=1e-5, atol=1e-7)
        if step < 63 and step + 1 not in looks:
            assert_same(averages[step + 1], averages[step])
        before = step
    assert any(not torch.equal(expected[name], seen[63][name]) for name in expected)


def test_the_average_is_what_is_judged_and_kept(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    changed = {"num_steps": 80, "validate_every": 20, "averaging": SHARE, "spectral_scale": 0.0}
    trainer = trainer_of(planted, small_settings | META_FROM_STEP_1 | changed)
    assert trainer.average is not None
    judged = {0: weights_of(trainer.average.network)}

    def watch(trainer: Trainer) -> None:
        assert trainer.average is not None
        step, tasks = trainer.state.step, trainer.validation_tasks
        judged[step] = weights_of(trainer.average.network)
        if step % 20 == 0:
            scores = score_tasks(trainer.average.network, tasks)
            expected = roc_auc(scores, tasks.is_positive).mean()
            assert trainer.state.history[-1].auc == pytest.approx(expected, abs=1e-9)

    network = trainer.run(at_step_end=watch)
    assert trainer.state.best_step > 0
    assert_same(weights_of(network), judged[trainer.state.best_step])
    assert not any(weight.requires_grad for weight in trainer.average.network.parameters())


def test_a_training_shorter_than_a_look_is_averaged_too(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, num_steps=EVERY - 1, averaging=SHARE)
    start = weights_of(trainer.network)["embeddings"]
    trainer.run()
    assert trainer.average is not None
    assert not torch.equal(weights_of(trainer.average.network)["embeddings"], start)


def test_averaging_does_not_change_where_the_weights_go(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """Rows of U are settled for each look, which may round otherwise than settling them late."""
    ends = []
    for share in (0.0, SHARE):
        trainer = trainer_of(planted, small_settings, num_steps=30, averaging=share)
        trainer.run(at_step_end=lambda t: ends.append(weights_of(t.network)))
    for name, weight in ends[29].items():
        torch.testing.assert_close(weight, ends[59][name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("stop", [1, 14, 27, 40])
def test_an_averaged_training_is_resumed(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path, stop: int
) -> None:
    settings = small_settings | {"averaging": SHARE, "num_steps": 44, "validate_every": 11}
    checkpoint = tmp_path / "checkpoint.safetensors"
    calls = iter(range(1, 1_000))
    with pytest.raises(Stopped):
        MetaTNE(**settings).fit(
            planted, checkpoint=checkpoint, should_stop=lambda: next(calls) == stop
        )
    resumed = MetaTNE(**settings).fit(planted, checkpoint=checkpoint, resume=True)
    unbroken = MetaTNE(**settings).fit(planted)
    assert_same(weights_of(resumed.trained_.network), weights_of(unbroken.trained_.network))
    histories = [model.history_.drop(columns="seconds") for model in (resumed, unbroken)]
    assert histories[0].equals(histories[1])
