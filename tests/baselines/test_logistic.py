"""The regressions of many tasks are scikit-learn's, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from metatne.baselines.logistic import score_by_logistic_regression
from metatne.sampling.tasks import Tasks


def draw_tasks(num_tasks: int, positives: int, negatives: int, queries: int) -> Tasks:
    generator = np.random.default_rng(0)
    nodes = np.stack(
        [generator.permutation(200)[: positives + negatives + queries] for _ in range(num_tasks)]
    )
    first, second, third = np.split(nodes, [positives, positives + negatives], axis=1)
    return Tasks(np.zeros(num_tasks, dtype=np.int64), first, second, third, third > 100)


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("positives", "negatives"), [(10, 20), (1, 1), (3, 40)])
@pytest.mark.parametrize("strength", [0.1, 1.0])
@pytest.mark.parametrize("dim", [16, 64])  # fewer than most supports, and more
def test_it_is_scikit_learns(
    positives: int, negatives: int, scale: float, strength: float, dim: int
) -> None:
    vectors = np.random.default_rng(1).normal(size=(200, dim), scale=scale).astype(np.float32)
    tasks = draw_tasks(5, positives, negatives, 7)
    scores = score_by_logistic_regression(vectors, tasks, strength=strength)
    for number in range(len(tasks)):
        supports = np.concatenate((tasks.positives[number], tasks.negatives[number]))
        truth = np.arange(len(supports)) < positives
        model = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000)
        model.fit(vectors[supports].astype(np.float64), truth)
        expected = model.decision_function(vectors[tasks.queries[number]].astype(np.float64))
        np.testing.assert_allclose(scores[number], expected, rtol=1e-3, atol=1e-4)


def test_many_tasks_are_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float32)
    tasks = draw_tasks(9, 4, 6, 5)
    whole = score_by_logistic_regression(vectors, tasks)
    monkeypatch.setattr("metatne.baselines.logistic.NUMBERS_AT_A_TIME", 170)
    np.testing.assert_allclose(score_by_logistic_regression(vectors, tasks), whole)
