"""What to label next: average precision as labels come, suggested or at random."""

from __future__ import annotations

from statistics import mean

import numpy as np
from jaxtyping import Bool, Int64
from scipy.special import logit

from metatne.evidence.model import EvidenceModel
from metatne.evidence.reasons import suggest
from metatne.experiments.beyond.trial import Lines, Trial
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.metrics import average_precision
from metatne.seeding import numpy_generator

ROUNDS = 10
A_ROUND = 5
START = (5, 10)
FEWEST_HOLDERS = 60
"""Of a label: so that both halves of the nodes have some to find."""


def labelling(trial: Trial) -> Lines:
    """Ten rounds of five more labels, from one half of the nodes; measured on the other half.

    `at` is the number of labels that were added to the 15 of the start.
    """
    model = trial.fit()
    graph = trial.graph
    half = numpy_generator(trial.number, "halves").permutation(graph.num_nodes)
    labels = [y for y in trial.split.test.tolist() if graph.labels.num_holders[y] >= FEWEST_HOLDERS]
    for series in ("suggested", "most likely", "at random"):
        curves = []
        for label in labels:
            states = graph.labels.states(np.arange(graph.num_nodes), label)
            known = half[states[half] != UNKNOWN]  # of the others nobody could say what they are
            pool, held_out = np.sort(known[::2]), np.sort(known[1::2])
            generator = numpy_generator(trial.number, f"labelling {label}")
            curves.append(_curve(model, pool, held_out, states == HOLDS, series, generator))
        for place, values in enumerate(zip(*curves, strict=True)):
            found = {"average_precision": mean(values), "labels": len(labels)}
            yield {"series": series, "at": A_ROUND * place} | found


def _curve(
    model: EvidenceModel,
    pool: Int64[np.ndarray, " pool"],
    held_out: Int64[np.ndarray, " node"],
    holds: Bool[np.ndarray, " all"],
    series: str,
    generator: np.random.Generator,
) -> list[float]:
    positives = generator.choice(pool[holds[pool]], START[0], replace=False)
    negatives = generator.choice(pool[~holds[pool]], START[1], replace=False)
    values = []
    for _ in range(ROUNDS + 1):
        found = model.score_nodes(positives, [negatives], held_out, with_error=False)
        values.append(float(average_precision(found.evidence, holds[held_out][None])[0]))
        rest = np.setdiff1d(pool, np.concatenate((positives, negatives)))
        if series == "at random":
            chosen = generator.choice(rest, A_ROUND, replace=False)
        else:
            scored = model.score_nodes(positives, [negatives], rest, with_error=False)
            chosen = rest[np.argsort(-scored.evidence[0], kind="stable")[:A_ROUND]]
            if series == "suggested":
                log_odds = scored.evidence[0] + logit(model.typical_share)
                chosen = suggest(model, rest, log_odds, number=A_ROUND)
        positives = np.concatenate((positives, chosen[holds[chosen]]))
        negatives = np.concatenate((negatives, chosen[~holds[chosen]]))
    return values
