"""L2-regularised logistic regression, fitted on the supports of many tasks at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int64
from scipy.special import expit

from metatne.sampling.tasks import Tasks

NUM_STEPS = 12
"""Of Newton's method; the gradient is then below 1e-8 for embeddings of ordinary size."""

SMALLEST_WEIGHT = 1e-6
"""Of a support in a Newton step, which divides by it."""

NUMBERS_AT_A_TIME = 2**25
"""Of the supports' vectors in the tasks that are worked on together: 256 MB."""

Vectors = Float[np.ndarray, "node dim"]


def score_by_logistic_regression(
    vectors: Vectors, tasks: Tasks, *, strength: float = 1.0
) -> Float[np.ndarray, "task query"]:
    """Log-odds of every query, by the regression that is fitted on the task's supports.

    The weights w and the unpenalised intercept b of a task minimise

        1/2 |w|^2 + strength * sum over supports of log(1 + exp(-y (w . x + b))),

    scikit-learn's `LogisticRegression(C=strength)`. At the minimum w is a sum of the supports
    x_j by numbers a_j that add up to 0, so Newton's method works on these: with z = K a + b,
    p = s(z) and v = p (1 - p), K the supports' inner products, a step solves

        (K + diag(1 / (strength v))) a + b = z + (t - p) / v,  sum a = 0

    which is a small system for each task, all of them in one call. Where there are more supports
    than dimensions the same steps are taken in w and b, whose system is then the smaller one.
    """
    size = tasks.positives.shape[1] + tasks.negatives.shape[1]
    together = max(1, NUMBERS_AT_A_TIME // (size * vectors.shape[1]))
    parts = range(0, len(tasks), together)
    scores = [_score(vectors, tasks[start : start + together], strength) for start in parts]
    return np.concatenate(scores)


def _score(vectors: Vectors, tasks: Tasks, strength: float) -> Float[np.ndarray, "task query"]:
    supports: Int64[np.ndarray, "task support"] = np.concatenate(
        (tasks.positives, tasks.negatives), axis=1
    )
    x = vectors[supports].astype(np.float64)
    truth = np.zeros(supports.shape)
    truth[:, : tasks.positives.shape[1]] = 1.0
    if x.shape[1] <= x.shape[2]:
        weights, intercept = _fit_by_supports(x @ x.transpose(0, 2, 1), truth, strength)
        normals = np.einsum("ts,tsd->td", weights, x)
    else:
        normals, intercept = _fit_by_dimensions(x, truth, strength)
    queries = vectors[tasks.queries].astype(np.float64)
    return np.asarray(np.einsum("tqd,td->tq", queries, normals) + intercept[:, None])


def _fit_by_supports(
    products: Float[np.ndarray, "task support support"],
    truth: Float[np.ndarray, "task support"],
    strength: float,
) -> tuple[Float[np.ndarray, "task support"], Float[np.ndarray, " task"]]:
    """The numbers a and the intercept b of every task."""
    num_tasks, size = truth.shape
    diagonal = np.arange(size)
    system = np.ones((num_tasks, size + 1, size + 1))
    system[:, size, size] = 0.0
    z = np.zeros_like(truth)
    for _ in range(NUM_STEPS):
        p = expit(z)
        v = np.maximum(p * (1 - p), SMALLEST_WEIGHT)
        system[:, :size, :size] = products
        system[:, diagonal, diagonal] += 1.0 / (strength * v)
        target = np.concatenate((z + (truth - p) / v, np.zeros((num_tasks, 1))), axis=1)
        found = np.linalg.solve(system, target[:, :, None])[:, :, 0]
        a, b = found[:, :size], found[:, size]
        z = np.einsum("tij,tj->ti", products, a) + b[:, None]
    return a, b


def _fit_by_dimensions(
    x: Float[np.ndarray, "task support dim"],
    truth: Float[np.ndarray, "task support"],
    strength: float,
) -> tuple[Float[np.ndarray, "task dim"], Float[np.ndarray, " task"]]:
    """The normal w and the intercept b of every task, by the same steps of Newton's method."""
    dim = x.shape[2]
    with_one = np.concatenate((x, np.ones((*truth.shape, 1))), axis=2)
    penalty = np.eye(dim + 1)
    penalty[dim, dim] = 0.0
    z = np.zeros_like(truth)
    for _ in range(NUM_STEPS):
        p = expit(z)
        v = np.maximum(p * (1 - p), SMALLEST_WEIGHT)
        weighted = (strength * v)[:, :, None] * with_one
        system = weighted.transpose(0, 2, 1) @ with_one + penalty
        target = np.einsum("tsd,ts->td", weighted, z + (truth - p) / v)
        found = np.linalg.solve(system, target[:, :, None])[:, :, 0]
        z = np.einsum("tsd,td->ts", with_one, found)
    return found[:, :dim], found[:, dim]
