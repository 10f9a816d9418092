"""Metrics of many tasks at once, a row a task; the mean over tasks is left to the caller."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

Scores = Float[np.ndarray, "task query"]
Truth = Bool[np.ndarray, "task query"]
PerTask = Float[np.ndarray, " task"]


def roc_auc(scores: Scores, truth: Truth) -> PerTask:
    """Chance that a positive outranks a negative, ties counting half; NaN with one class only."""
    ranks = _mean_ranks(scores)
    num_positives = truth.sum(axis=1)
    num_negatives = truth.shape[1] - num_positives
    wins = (ranks * truth).sum(axis=1) - num_positives * (num_positives + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(wins / (num_positives * num_negatives), dtype=np.float64)


def _mean_ranks(scores: Scores) -> Float[np.ndarray, "task query"]:
    """Ranks from 1 up within each row; equal scores share the mean of their ranks."""
    order = np.argsort(scores, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    places = np.arange(scores.shape[1])
    is_first = np.ones(scores.shape, dtype=bool)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_last = np.roll(is_first, -1, axis=1)  # a run ends where the next begins
    first = np.maximum.accumulate(np.where(is_first, places, 0), axis=1)
    backwards = np.where(is_last, places, scores.shape[1])[:, ::-1]
    last = np.minimum.accumulate(backwards, axis=1)[:, ::-1]
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


def average_precision(scores: Scores, truth: Truth) -> PerTask:
    """Precision averaged over the positives, tied scores taken as one group; NaN with none."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked_scores = np.take_along_axis(scores, order, axis=1)
    hits = np.take_along_axis(truth, order, axis=1).cumsum(axis=1)
    depth = np.arange(1, scores.shape[1] + 1)
    # Only the last of a run of equal scores is a threshold that can be reached.
    is_threshold = np.ones(scores.shape, dtype=bool)
    is_threshold[:, :-1] = ranked_scores[:, 1:] != ranked_scores[:, :-1]
    reached = np.where(is_threshold, hits, 0)
    before = np.zeros_like(reached)
    before[:, 1:] = np.maximum.accumulate(reached, axis=1)[:, :-1]
    gained = np.where(is_threshold, hits - before, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((gained * hits / depth).sum(axis=1) / hits[:, -1], dtype=np.float64)


def f1(decisions: Truth, truth: Truth) -> PerTask:
    """F1 of the positive class; 0 where nothing is positive and nothing was called so."""
    hits = (decisions & truth).sum(axis=1)
    called_or_true = decisions.sum(axis=1) + truth.sum(axis=1)
    return np.asarray(2 * hits / np.maximum(called_or_true, 1), dtype=np.float64)


def recall(decisions: Truth, truth: Truth) -> PerTask:
    """Share of the positives that were called positive; 0 where there are none."""
    hits = (decisions & truth).sum(axis=1)
    return np.asarray(hits / np.maximum(truth.sum(axis=1), 1), dtype=np.float64)
