"""Weights that are averaged over the last steps: by hand, in what is kept, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.training.averaging import EVERY
from metatne.training.trainer import Stopped, Trainer
from training.trainers import META_FROM_STEP_1, assert_same, trainer_of, weights_of

SHARE = 0.4


def test_the_average_by_hand(planted: Graph, small_settings: dict[str, Any]) -> None:
    """Each look weighs EVERY / (share * step), and at most all; between looks nothing counts."""
    steps = 6 * EVERY + 3
    trainer = trainer_of(
        planted, small_settings | META_FROM_STEP_1, num_steps=steps, averaging=SHARE
    )
    seen: dict[int, dict[str, Tensor]] = {}
    averages: dict[int, dict[str, Tensor]] = {}

    def watch(trainer: Trainer) -> None:
        assert trainer.average is not None
        trainer.settle_all()
        seen[trainer.state.step] = weights_of(trainer.network)
        averages[trainer.state.step] = weights_of(trainer.average.network)

    trainer.run(at_step_end=watch)
    expected = seen[EVERY]  # a share of 0.4 of step 10 is less than 10 steps: all of the weight
    for step in range(2 * EVERY, steps + 1, EVERY):
        weight = min(1.0, EVERY / (SHARE * step))
        expected = {
            name: (1 - weight) * expected[name] + weight * newest
            for name, newest in seen[step].items()
        }
        for name, average in averages[step].items():
            torch.testing.assert_close(average, expected[name], rtol=1e-5, atol=1e-7)
        assert any(not torch.equal(expected[name], seen[step][name]) for name in expected) == (
            weight < 1
        )
    assert_same(averages[steps], averages[6 * EVERY])


def test_the_average_is_what_is_judged_and_kept(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    changed = {"num_steps": 80, "validate_every": 20, "averaging": SHARE, "spectral_scale": 0.0}
    trainer = trainer_of(planted, small_settings | META_FROM_STEP_1 | changed)
    judged = {0: weights_of(trainer.judged)}
    network = trainer.run(at_step_end=lambda t: judged.update({t.state.step: weights_of(t.judged)}))
    assert trainer.state.best_step > 0
    assert_same(weights_of(network), judged[trainer.state.best_step])
    assert not any(weight.requires_grad for weight in trainer.judged.parameters())


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


@pytest.mark.parametrize("stop", [1, 14, 30])
def test_an_averaged_training_is_resumed(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path, stop: int
) -> None:
    settings = small_settings | {"averaging": SHARE, "num_steps": 34}
    checkpoint = tmp_path / "checkpoint.safetensors"
    calls = iter(range(1, 1_000))
    with pytest.raises(Stopped):
        MetaTNE(**settings).fit(
            planted, checkpoint=checkpoint, should_stop=lambda: next(calls) == stop
        )
    resumed = MetaTNE(**settings).fit(planted, checkpoint=checkpoint, resume=True)
    unbroken = MetaTNE(**settings).fit(planted)
    assert_same(
        weights_of(resumed.trained_.network),
        weights_of(unbroken.trained_.network),
    )
