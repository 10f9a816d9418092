"""Metrics of many tasks at once equal scikit-learn's of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

from metatne.metrics import average_precision, f1, recall, roc_auc

Metric = Callable[[Any, Any], Any]
RANKINGS: list[tuple[Metric, Metric]] = [
    (roc_auc, roc_auc_score),
    (average_precision, average_precision_score),
]
DECISIONS: list[tuple[Metric, Metric]] = [
    (f1, lambda truth, called: f1_score(truth, called, zero_division=0)),
    (recall, lambda truth, called: recall_score(truth, called, zero_division=0)),
]


@st.composite
def scored_tasks(draw: st.DrawFn) -> tuple[Any, Any]:
    """Scores with many ties, and truths in which both classes occur."""
    num_tasks, num_queries = draw(st.integers(1, 5)), draw(st.integers(2, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    num_values = draw(st.sampled_from([1, 2, 5, 1_000]))
    scores = rng.integers(num_values, size=(num_tasks, num_queries)) / 4 - 1
    truth = rng.random((num_tasks, num_queries)) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    truth[:, 0], truth[:, 1] = True, False
    return scores, rng.permuted(truth, axis=1)


@pytest.mark.parametrize(("ours", "theirs"), RANKINGS, ids=["auc", "average precision"])
@given(tasks=scored_tasks())
@settings(max_examples=60, deadline=None)
def test_rankings_are_scikit_learns(ours: Metric, theirs: Metric, tasks: tuple[Any, Any]) -> None:
    scores, truth = tasks
    expected = [theirs(t, s) for t, s in zip(truth, scores, strict=True)]
    np.testing.assert_allclose(ours(scores, truth), expected, rtol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), DECISIONS, ids=["f1", "recall"])
@given(tasks=scored_tasks(), threshold=st.sampled_from([-2.0, -0.5, 0.0, 300.0]))
@settings(max_examples=60, deadline=None)
def test_decisions_are_scikit_learns(
    ours: Metric, theirs: Metric, tasks: tuple[Any, Any], threshold: float
) -> None:
    scores, truth = tasks
    decisions = scores > threshold
    expected = [theirs(t, d) for t, d in zip(truth, decisions, strict=True)]
    np.testing.assert_allclose(ours(decisions, truth), expected, rtol=1e-12)


def test_float32_scores_of_a_network() -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((3, 50)).astype(np.float32)
    truth = rng.random((3, 50)) < 0.3
    for ours, theirs in RANKINGS:
        expected = [theirs(t, s) for t, s in zip(truth, scores, strict=True)]
        np.testing.assert_allclose(ours(scores, truth), expected, rtol=1e-12)


def test_by_hand() -> None:
    scores = np.array([[0.9, 0.8, 0.3, 0.1], [0.1, 0.3, 0.8, 0.9], [0.5, 0.5, 0.5, 0.5]])
    truth = np.tile([True, False, True, False], (3, 1))
    assert roc_auc(scores, truth).tolist() == [0.75, 0.25, 0.5]
    assert average_precision(scores, truth) == pytest.approx([5 / 6, 0.5, 0.5])


def test_one_class_alone_has_no_ranking() -> None:
    scores = np.array([[0.1, 0.2], [0.1, 0.2]])
    truth = np.array([[True, True], [False, False]])
    assert np.isnan(roc_auc(scores, truth)).all()
    precision = average_precision(scores, truth)
    assert precision[0] == 1.0
    assert np.isnan(precision[1])


def test_nothing_called_or_nothing_true_is_zero() -> None:
    decisions = np.array([[False, False], [True, False], [False, False]])
    truth = np.array([[True, False], [False, False], [False, False]])
    assert f1(decisions, truth).tolist() == [0.0, 0.0, 0.0]
    assert recall(decisions, truth).tolist() == [0.0, 0.0, 0.0]
