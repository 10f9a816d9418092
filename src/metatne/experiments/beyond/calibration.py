"""How much probabilities and intervals are worth: of labels that the model has never seen."""

from __future__ import annotations

from statistics import mean

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.special import expit, logit

from metatne.evidence.model import EvidenceModel
from metatne.experiments.beyond.trial import Line, Lines, Trial
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.prediction.ranking import CONFIDENCE
from metatne.seeding import numpy_generator

SHAPES = ((3, 6), (5, 10), (10, 20), (10, 40), (10, 5), (30, 60))
DRAWS = 20
"""Of examples for each label: what they come to on average is what an interval should hold."""

MOST_NODES = 2_000
"""That are asked about, of all whose labels are known."""

FEWEST_LEFT = 20
"""Holders among the nodes that are asked about: of fewer a share says little."""

NUM_BINS = 10


def calibration(trial: Trial) -> Lines:
    """By the numbers of examples: probabilities, and intervals of 95 %, held against the truth.

    The prior given is the true one. A label's nodes are cut into those that examples are drawn
    from and those that are asked about, the same ones for every draw.
    """
    model, graph = trial.fit(), trial.graph
    for positives, negatives in SHAPES:
        found: list[Line] = []
        for label in trial.split.test.tolist():
            generator = numpy_generator(trial.number, f"calibration {label}")
            states = graph.labels.states(np.arange(graph.num_nodes), label)
            known = generator.permutation(np.flatnonzero(states != UNKNOWN))
            pool, asked = np.array_split(known, 2)
            asked = np.sort(asked[:MOST_NODES])
            truth = states[asked] == HOLDS
            holders, others = pool[states[pool] == HOLDS], pool[states[pool] != HOLDS]
            is_large = len(holders) > positives and len(others) > negatives
            if is_large and truth.sum() >= FEWEST_LEFT:
                supports = [
                    (
                        generator.choice(holders, positives, replace=False),
                        generator.choice(others, negatives, replace=False),
                    )
                    for _ in range(DRAWS)
                ]
                found.append(_measured(model, supports, asked, truth))
        if found:
            means = {name: mean(line[name] for line in found) for name in found[0]}
            yield {"series": f"{positives}/{negatives}", "at": None, "labels": len(found)} | means


def _measured(
    model: EvidenceModel,
    supports: list[tuple[Int64[np.ndarray, " positive"], Int64[np.ndarray, " negative"]]],
    asked: Int64[np.ndarray, " node"],
    truth: Bool[np.ndarray, " node"],
) -> Line:
    """What one label comes to, by all draws of examples."""
    prior = float(truth.mean())
    drawn = [
        model.score_nodes(positives, [negatives], asked, prior=prior)
        for positives, negatives in supports
    ]
    evidence = np.stack([scores.evidence[0] for scores in drawn])
    errors = np.stack([scores.error[0] for scores in drawn])
    return held_against(truth, evidence + logit(prior), errors)


def held_against(
    truth: Bool[np.ndarray, " node"],
    log_odds: Float64[np.ndarray, "draw node"],
    errors: Float64[np.ndarray, "draw node"],
) -> Line:
    """The measures of one label's nodes: means over draws."""
    chances = expit(log_odds)
    gaps = np.abs(log_odds - log_odds.mean(axis=0))
    return {
        "of_holders": float(chances.sum(axis=1).mean() / truth.sum()),
        "calibration_error": mean(_calibration_error(row, truth) for row in chances),
        "covered": float((gaps <= CONFIDENCE * errors).mean()),
    }


def _calibration_error(
    chances: Float64[np.ndarray, " node"], truth: Bool[np.ndarray, " node"]
) -> float:
    """How far probabilities are from the share that holds, on average over tenths of the nodes."""
    bins = np.array_split(np.argsort(chances, kind="stable"), NUM_BINS)
    return sum(
        len(nodes) / len(truth) * abs(float(chances[nodes].mean() - truth[nodes].mean()))
        for nodes in bins
    )
