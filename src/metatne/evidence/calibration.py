"""From scores to probabilities and decisions, learned on tasks from known labels.

A logistic regression turns a score into *log evidence*: the logarithm of how much likelier a node
of this score is among holders than among the others. What is added for the prior is the user's:
the log-odds of the share of nodes that hold the label. Scores grow with the number of supports, so
slope and intercept depend on it: along a line in its logarithm, and from there as much higher or
lower as tasks of about so many supports need for their probabilities to add up to the holders.
The line is of few supports; with many, for which few labels have holders enough, it goes on level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit, softmax

from metatne.decisions import best_line

NUM_THRESHOLDS = 512
LEAST_SLOPE = 1e-3
PENALTY = 1e-3
FEW = 3
"""Others with so high a score, of whom fewer say nothing of how many there would be."""

NEAR = 0.5
"""Width of the bell by which shapes count, in logarithms of the numbers of supports."""

MOST_LIFTED = 3.0
"""What is added to log evidence at the most, either way."""


class Scored(NamedTuple):
    """Scores of the queries of tasks of one shape, and whether they hold the label."""

    positives: int
    negatives: int
    scores: Float[np.ndarray, "task query"]
    truth: Bool[np.ndarray, "task query"]


@dataclass(frozen=True)
class Calibration:
    """Slope and intercept by the number of supports, and evidence by which decisions are made."""

    slopes: tuple[float, float, float]
    intercepts: tuple[float, float, float]
    shapes: tuple[tuple[int, int], ...]
    num_few: int
    """Of these, those of few supports, which come first and which the line is of."""

    lifts: Float64[np.ndarray, " shape"]
    """What tasks of these shapes need besides: log evidence above the line."""

    of_holders: Float64[np.ndarray, "shape quantile"]
    of_others: Float64[np.ndarray, "shape quantile"]
    """Quantiles of the log evidence in tasks of these shapes."""

    def evidence(
        self, scores: Float[np.ndarray, "*any"], positives: int, negatives: int
    ) -> Float64[np.ndarray, "*any"]:
        """Log evidence of scores that so many supports gave."""
        level = np.dot(self.intercepts, self._sizes(positives, negatives))
        level += self._lift(positives, negatives)
        return np.asarray(self.slope(positives, negatives) * scores.astype(np.float64) + level)

    def slope(self, positives: int, negatives: int) -> float:
        """Evidence of a unit of score; more score is never less evidence."""
        return max(float(np.dot(self.slopes, self._sizes(positives, negatives))), LEAST_SLOPE)

    def _lift(self, positives: int, negatives: int) -> float:
        """The mean of what the shapes need, the nearer ones counting more."""
        here = _sizes(*_within(self.shapes, positives, negatives))[1:]
        gaps = np.array([_sizes(*shape)[1:] for shape in self.shapes]) - here
        return float(softmax(-np.square(gaps / NEAR).sum(axis=1) / 2) @ self.lifts)

    def _sizes(self, positives: int, negatives: int) -> tuple[float, float, float]:
        """Those of the nearest numbers of supports that the line is of."""
        return _sizes(*_within(self.shapes[: self.num_few], positives, negatives))

    def threshold(self, positives: int, negatives: int, prior: float) -> float:
        """The log evidence from which on a node is taken to hold the label: about the best F1.

        That of the shape nearest to this one, with holders as frequent as `prior` says.
        """
        gaps = [
            abs(math.log(positives / p)) + abs(math.log(max(negatives, 1) / n))
            for p, n in self.shapes
        ]
        nearest = int(np.argmin(gaps))
        return best_threshold(self.of_holders[nearest], self.of_others[nearest], prior)


def best_threshold(
    of_holders: Float64[np.ndarray, " holder"],
    of_others: Float64[np.ndarray, " other"],
    prior: float,
) -> float:
    """The lowest threshold of log evidence whose F1 is almost the highest at this prior."""
    best = best_line(of_holders, of_others, prior)
    if best.num_wrong >= FEW:
        return best.score
    # Too few of the others score so high to say how many: of calibrated probabilities, those
    # above half of the best F1 are for the label.
    return max(best.score, float(logit(max(best.f1, 1e-6) / 2) - logit(prior)))


def calibrate(few: Sequence[Scored], prior: float, many: Sequence[Scored] = ()) -> Calibration:
    """Fit slopes and intercepts on the groups of few supports; both signs count alike in each.

    Then lift each group, those of many supports too, to where its probabilities add up at this
    prior; shapes near each other share their lifts.
    """
    rows, truth, weights = [], [], []
    for group in few:
        sizes = np.asarray(_sizes(group.positives, group.negatives))
        scores = group.scores.reshape(-1, 1)
        rows.append(np.concatenate((scores * sizes, np.broadcast_to(sizes, (len(scores), 3))), 1))
        holds = group.truth.reshape(-1)
        share = holds.mean()
        truth.append(holds)
        weights.append(np.where(holds, 0.5 / share, 0.5 / (1 - share)) / len(holds))
    found = _logistic(np.concatenate(rows), np.concatenate(truth), np.concatenate(weights))
    slopes, intercepts = tuple(found[:3].tolist()), tuple(found[3:].tolist())
    groups = [*few, *many]
    nothing = np.zeros((len(groups), 0))
    shapes = tuple((group.positives, group.negatives) for group in groups)
    level = np.zeros(len(groups))
    line = Calibration(slopes, intercepts, shapes, len(few), level, nothing, nothing)
    plain = replace(line, lifts=np.array([_lift_of(line, group, prior) for group in groups]))
    levels = (np.arange(NUM_THRESHOLDS) + 0.5) / NUM_THRESHOLDS
    of_holders, of_others = [], []
    for group in groups:
        evidence = plain.evidence(group.scores, group.positives, group.negatives)
        of_holders.append(np.quantile(evidence[group.truth], levels))
        of_others.append(np.quantile(evidence[~group.truth], levels))
    return replace(plain, of_holders=np.stack(of_holders), of_others=np.stack(of_others))


def _lift_of(line: Calibration, group: Scored, prior: float) -> float:
    """What has to be added for the mean probability to be the prior, where holders are so many."""
    log_odds = line.evidence(group.scores, group.positives, group.negatives) + logit(prior)

    def surplus(lift: float) -> float:
        of_holders, of_others = (
            expit(log_odds[truth] + lift).mean() for truth in (group.truth, ~group.truth)
        )
        return float(prior * of_holders + (1 - prior) * of_others - prior)

    if surplus(-MOST_LIFTED) > 0:
        return -MOST_LIFTED
    if surplus(MOST_LIFTED) < 0:
        return MOST_LIFTED
    return float(brentq(surplus, -MOST_LIFTED, MOST_LIFTED))


def _within(shapes: Sequence[tuple[int, int]], positives: int, negatives: int) -> tuple[int, int]:
    """The nearest numbers that lie among those of the shapes."""
    inside = np.clip((positives, negatives), np.min(shapes, axis=0), np.max(shapes, axis=0))
    return int(inside[0]), int(inside[1])


def _sizes(positives: int, negatives: int) -> tuple[float, float, float]:
    """1 and the logarithms of the numbers of supports, around those of the paper."""
    return 1.0, math.log(positives / 10), math.log(max(negatives, 1) / 20)


def _logistic(
    rows: Float64[np.ndarray, "example column"],
    truth: Bool[np.ndarray, " example"],
    weights: Float64[np.ndarray, " example"],
) -> Float64[np.ndarray, " column"]:
    signs = np.where(truth, 1.0, -1.0)
    weights = weights / weights.sum()

    def loss(beta: Float64[np.ndarray, " column"]) -> tuple[float, Float64[np.ndarray, " column"]]:
        margins = signs * (rows @ beta)
        value = float((weights * np.logaddexp(0, -margins)).sum() + PENALTY * beta @ beta)
        gradient = -(rows.T @ (weights * signs * expit(-margins))) + 2 * PENALTY * beta
        return value, gradient

    start = np.zeros(rows.shape[1])
    start[0] = 1.0
    found: Float64[np.ndarray, " column"] = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return found
