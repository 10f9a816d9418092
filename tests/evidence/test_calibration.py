"""Scores as evidence, and decisions at the best F1 or nearly so."""

from __future__ import annotations

import numpy as np

from metatne.evidence.calibration import Scored, best_threshold, calibrate


def test_probabilities_are_calibrated_for_a_prior() -> None:
    """Scores with a known likelihood ratio give the probabilities that Bayes' rule gives."""
    generator = np.random.default_rng(5)
    truth = generator.random((400, 30)) < 1 / 3
    scores = np.where(truth, 1.0, -1.0) + generator.normal(size=truth.shape)
    calibration = calibrate([Scored(10, 20, scores, truth)])
    evidence = calibration.evidence(np.array([-1.0, 0.0, 1.5]), 10, 20)
    np.testing.assert_allclose(evidence, [-2.0, 0.0, 3.0], atol=0.2)  # 2 x, for these two normals


def test_of_a_very_rare_label_few_are_called_holders() -> None:
    """Where no score of the others is so high, the odds say how many of them there would be."""
    generator = np.random.default_rng(6)
    of_holders, of_others = generator.normal(2, 2, 500), generator.normal(-2, 2, 500)
    needed = best_threshold(of_holders, of_others, 1e-6)
    assert needed > of_others.max() + 2
