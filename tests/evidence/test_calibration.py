"""Scores as evidence, and decisions at the best F1 or nearly so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from metatne.evidence.calibration import Scored, best_threshold, calibrate


def test_probabilities_are_calibrated_for_a_prior() -> None:
    """Scores with a known likelihood ratio give the probabilities that Bayes' rule gives."""
    generator = np.random.default_rng(5)
    truth = generator.random((400, 30)) < 1 / 3
    scores = np.where(truth, 1.0, -1.0) + generator.normal(size=truth.shape)
    calibration = calibrate([Scored(10, 20, scores, truth)], 0.1)
    evidence = calibration.evidence(np.array([-1.0, 0.0, 1.5]), 10, 20)
    np.testing.assert_allclose(evidence, [-2.0, 0.0, 3.0], atol=0.2)  # 2 x, for these two normals


def _of_no_plane() -> list[Scored]:
    """Tasks of shapes whose scores no plane over the two logarithms makes evidence of."""
    generator = np.random.default_rng(7)
    levels = {(10, 20): 0.0, (10, 6): 1.0, (10, 2): 0.0, (3, 2): -1.0}
    groups = []
    for (positives, negatives), level in levels.items():
        truth = generator.random((400, 20)) < 0.5
        scores = np.where(truth, 1.0, -1.0) + level + generator.normal(size=truth.shape)
        groups.append(Scored(positives, negatives, scores, truth))
    return groups


def test_probabilities_add_up_whatever_the_number_of_supports() -> None:
    """Nearly: shapes near each other share their lifts."""
    prior, groups = 0.05, _of_no_plane()
    calibration = calibrate(groups, prior)
    for group in groups:
        shape = group.positives, group.negatives
        chances = expit(calibration.evidence(group.scores, *shape) + logit(prior))
        mean = prior * chances[group.truth].mean() + (1 - prior) * chances[~group.truth].mean()
        assert mean == pytest.approx(prior, rel=0.2)


def test_many_supports_are_lifted_and_leave_few_as_they_are() -> None:
    """Where the line, which is of few, would make far too much of their scores."""
    prior, few = 0.05, _of_no_plane()
    generator = np.random.default_rng(8)
    truth = generator.random((400, 20)) < 0.5
    scores = np.where(truth, 1.0, -1.0) + 2.0 + generator.normal(size=truth.shape)
    alone, both = calibrate(few, prior), calibrate(few, prior, [Scored(150, 300, scores, truth)])
    for group in few:
        shape = group.positives, group.negatives
        expected = alone.evidence(group.scores, *shape)
        np.testing.assert_allclose(both.evidence(group.scores, *shape), expected, atol=1e-9)
        assert both.threshold(*shape, prior) == pytest.approx(alone.threshold(*shape, prior))
    assert both.slope(150, 300) == both.slope(10, 20) == alone.slope(150, 300)
    sums = []
    for calibration in (alone, both):
        chances = expit(calibration.evidence(scores, 150, 300) + logit(prior))
        sums.append(prior * chances[truth].mean() + (1 - prior) * chances[~truth].mean())
    assert sums[0] > 2 * prior
    assert sums[1] == pytest.approx(prior, rel=1e-3)
    assert both.threshold(120, 240, prior) != both.threshold(10, 20, prior)


def test_a_lift_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metatne.evidence.calibration.MOST_LIFTED", 0.1)
    lifts = calibrate(_of_no_plane(), 0.05).lifts
    assert {-0.1, 0.1} <= set(lifts.tolist())
    assert (np.abs(lifts) <= 0.1).all()


def test_of_a_very_rare_label_few_are_called_holders() -> None:
    """Where no score of the others is so high, the odds say how many of them there would be."""
    generator = np.random.default_rng(6)
    of_holders, of_others = generator.normal(2, 2, 500), generator.normal(-2, 2, 500)
    needed = best_threshold(of_holders, of_others, 1e-6)
    assert needed > of_others.max() + 2
