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

TASKS_AT_A_TIME = 256

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

    which is a small system for each task, all of them in one call.
    """
    parts = range(0, len(tasks), TASKS_AT_A_TIME)
    scores = [_score(vectors, tasks[start : start + TASKS_AT_A_TIME], strength) for start in parts]
    return np.concatenate(scores)


def _score(vectors: Vectors, tasks: Tasks, strength: float) -> Float[np.ndarray, "task query"]:
    supports: Int64[np.ndarray, "task support"] = np.concatenate(
        (tasks.positives, tasks.negatives), axis=1
    )
    x = vectors[supports].astype(np.float64)
    truth = np.zeros(supports.shape)
    truth[:, : tasks.positives.shape[1]] = 1.0
    weights, intercept = _fit(x @ x.transpose(0, 2, 1), truth, strength)
    normals = np.einsum("ts,tsd->td", weights, x)
    queries = vectors[tasks.queries].astype(np.float64)
    return np.asarray(np.einsum("tqd,td->tq", queries, normals) + intercept[:, None])


def _fit(
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
