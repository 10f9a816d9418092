"""Which step a training keeps, when it ends, and what those who watch it are told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from metatne.decisions import FORGONE
from metatne.graph.store import Graph
from metatne.metrics import f1, roc_auc
from metatne.sampling.tasks import TaskSampler
from metatne.schedule import structural_probability
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator
from metatne.training.trainer import Validation, validation_shape
from training.trainers import SPLIT, assert_same, trainer_of, weights_of


def test_the_best_step_by_validation_is_returned(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, num_steps=25, validate_every=7)
    seen = {0: weights_of(trainer.network)}
    network = trainer.run(at_step_end=lambda t: seen.update({t.state.step: weights_of(t.network)}))
    history = trainer.state.history
    assert [validation.step for validation in history] == [0, 7, 14, 21, 25]
    scores = [validation.auc + validation.f1 for validation in history]
    assert trainer.state.best_step == history[int(np.argmax(scores))].step
    assert_same(weights_of(network), seen[trainer.state.best_step])
    assert not network.training

    tasks = TaskSampler(planted.labels, SPLIT.validation, validation_shape(trainer.config)).draw(
        trainer.config.validation_tasks, numpy_generator(trainer.config.seed, "validation tasks")
    )
    logits = score_tasks(network, tasks)
    best = max(history, key=lambda validation: validation.score)
    assert best.auc == pytest.approx(roc_auc(logits, tasks.is_positive).mean(), abs=1e-6)
    assert best.f1 == pytest.approx(f1(logits > 0, tasks.is_positive).mean(), abs=1e-6)


def test_decisions_change_at_the_line_that_validation_tasks_choose(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """Nobody gets another rank by it, and no other line has much higher an F1."""
    plain, lined = (
        trainer_of(planted, small_settings, num_steps=10, validated_line=chosen)
        for chosen in (False, True)
    )
    networks = plain.run(), lined.run()
    assert [v.auc for v in plain.state.history] == [v.auc for v in lined.state.history]
    tasks = lined.validation_tasks
    exact, truth = score_tasks(networks[1], tasks).astype(float), tasks.is_positive
    line = networks[1].line.item()
    best = max(lined.state.history, key=lambda validation: validation.score)
    assert best.f1 == pytest.approx(f1(exact > line, truth).mean(), abs=1e-6)

    def pooled_f1(line: float) -> float:
        called = exact > line
        return float(2 * (called & truth).sum() / (called.sum() + truth.sum()))

    enough = (1 - FORGONE) * max(pooled_f1(line) for line in np.unique(exact))
    assert pooled_f1(line) >= enough - 1e-9
    assert line != 0
    assert networks[0].line.item() == 0
    assert "line" not in networks[0].state_dict()


def test_a_start_that_training_spoils_is_kept(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    spoilt = {"structural_rate": 10.0, "meta_rate": 10.0, "num_steps": 8, "validate_every": 4}
    trainer = trainer_of(planted, small_settings, **spoilt)
    start = weights_of(trainer.network)
    network = trainer.run()
    assert [validation.step for validation in trainer.state.history] == [0, 4, 8]
    assert trainer.state.best_step == 0
    assert_same(weights_of(network), start)


class Notebook:
    """An observer that writes everything down."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, float]] = []
        self.validations: list[tuple[Validation, bool]] = []

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        self.steps.append((step, num_steps, tau))

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        self.validations.append((validation, is_best))


def test_observers_see_every_step_and_validation(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    notebook = Notebook()
    trainer = trainer_of(planted, small_settings, num_steps=12, validate_every=5, decay_period=5)
    trainer.run([notebook])
    taus = [structural_probability(s, decay_rate=0.1, decay_period=5) for s in range(12)]
    assert notebook.steps == [(step + 1, 12, taus[step]) for step in range(12)]
    assert [validation for validation, _ in notebook.validations] == trainer.state.history
    assert [v.tau for v, _ in notebook.validations] == [1.0, taus[4], taus[9], taus[11]]
    best = -math.inf
    for validation, is_best in notebook.validations:
        assert is_best == (validation.score > best)
        best = max(best, validation.score)


@pytest.mark.parametrize("patience", [1, 2, 4])
def test_patience_ends_training(
    planted: Graph, small_settings: dict[str, Any], patience: int
) -> None:
    settings = small_settings | {"validate_every": 2, "meta_rate": 1e-3}
    patient = trainer_of(planted, settings)
    patient.run()
    trainer = trainer_of(planted, settings, patience=patience)
    trainer.run()
    scores = [validation.score for validation in patient.state.history]
    waited, expected = 0, len(scores)
    for number, score in enumerate(scores):
        waited = 0 if score > max(scores[:number], default=-math.inf) else waited + 1
        if waited == patience:
            expected = number + 1
            break
    assert expected < len(scores), "choose settings that get worse now and then"
    assert [validation.score for validation in trainer.state.history] == scores[:expected]
