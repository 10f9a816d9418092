"""How much probabilities and intervals are worth: of labels that the model has never seen."""

from __future__ import annotations

import math
from statistics import mean
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.special import expit, logit

from metatne.evidence.model import EvidenceModel
from metatne.experiments.beyond.trial import Line, Lines, Trial
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.prediction.ranking import CONFIDENCE
from metatne.seeding import numpy_generator

SHAPES = ((3, 6), (5, 10), (10, 20), (10, 40), (10, 5), (30, 60), (120, 240))
DRAWS = 20
"""Of examples for each label: what they come to on average is what an interval should hold."""

MOST_NODES = 2_000
"""That are asked about, of all whose labels are known."""

FEWEST_LEFT = 20
"""Holders among the nodes that are asked about: of fewer a share says little."""

LEAST_CHOICE = 2
"""Holders that examples are drawn from, at least, for each that is drawn."""

NUM_BINS = 10


class Halves(NamedTuple):
    """The nodes of one label: those that examples come from, and those that are asked about."""

    holders: Int64[np.ndarray, " holder"]
    others: Int64[np.ndarray, " other"]
    asked: Int64[np.ndarray, " node"]
    truth: Bool[np.ndarray, " node"]

    @classmethod
    def of(cls, graph: Graph, label: int, generator: np.random.Generator) -> Halves:
        """The nodes that are known to hold the label or to lack it, cut in two."""
        states = graph.labels.states(np.arange(graph.num_nodes), label)
        pool, asked = np.array_split(generator.permutation(np.flatnonzero(states != UNKNOWN)), 2)
        is_holder, asked = states[pool] == HOLDS, np.sort(asked[:MOST_NODES])
        return cls(pool[is_holder], pool[~is_holder], asked, states[asked] == HOLDS)

    def suit(self, positives: int, negatives: int) -> bool:
        """Whether there are enough for so many examples, and to measure on."""
        has_choice = len(self.holders) >= LEAST_CHOICE * positives and len(self.others) >= negatives
        return has_choice and int(self.truth.sum()) >= FEWEST_LEFT


def calibration(trial: Trial) -> Lines:
    """By the numbers of examples: probabilities, and intervals of 95 %, held against the truth.

    The prior given is the true one. What is asked about is the same for every draw.
    """
    model = trial.fit()
    labels = {
        label: Halves.of(trial.graph, label, numpy_generator(trial.number, f"calibration {label}"))
        for label in trial.split.test.tolist()
    }
    for shape in SHAPES:
        found = [
            _measured(model, halves, *shape, numpy_generator(trial.number, f"{label} {shape}"))
            for label, halves in labels.items()
            if halves.suit(*shape)
        ]
        if found:
            means = {name: mean(line[name] for line in found) for name in found[0]}
            series = f"{shape[0]}/{shape[1]}"
            yield {"series": series, "at": None, "num_labels": len(found)} | means


def _measured(
    model: EvidenceModel,
    halves: Halves,
    num_positives: int,
    num_negatives: int,
    generator: np.random.Generator,
) -> Line:
    """What one label comes to, by all draws of examples."""
    prior = float(halves.truth.mean())
    evidence, errors = [], []
    for _ in range(DRAWS):
        positives = generator.choice(halves.holders, num_positives, replace=False)
        negatives = generator.choice(halves.others, num_negatives, replace=False)
        scores = model.score_nodes(positives, [negatives], halves.asked, prior=prior)
        evidence.append(scores.evidence[0])
        errors.append(scores.error[0])
    share_drawn = num_positives / len(halves.holders)
    log_odds = np.stack(evidence) + logit(prior)
    return held_against(halves.truth, log_odds, np.stack(errors), share_drawn)


def held_against(
    truth: Bool[np.ndarray, " node"],
    log_odds: Float64[np.ndarray, "draw node"],
    errors: Float64[np.ndarray, "draw node"],
    share_drawn: float,
) -> Line:
    """The measures of one label's nodes: means over draws.

    Draws have examples in common, the more the larger the share of the holders that each takes;
    they lie as much nearer to each other as means of a finite population do. And each is in the
    average that it is held against, which brings the two nearer again.
    """
    chances = expit(log_odds)
    nearness = (1 - share_drawn) * (1 - 1 / len(log_odds))
    gaps = np.abs(log_odds - log_odds.mean(axis=0)) / math.sqrt(nearness)
    return {
        "of_holders": float(chances.sum(axis=1).mean() / truth.sum()),
        "calibration_error": mean(_calibration_error(row, truth) for row in chances),
        "covered": float((gaps <= CONFIDENCE * errors).mean()),
    }


def _calibration_error(
    chances: Float64[np.ndarray, " node"], truth: Bool[np.ndarray, " node"]
) -> float:
    """How far probabilities are from the shares that hold, tenth by tenth of the nodes.

    As a share of the holders: 1 is what a probability of 0 for every node has.
    """
    tenths = np.array_split(np.argsort(chances, kind="stable"), NUM_BINS)
    gaps = [abs(float(chances[nodes].sum() - truth[nodes].sum())) for nodes in tenths]
    return sum(gaps) / float(truth.sum())
