"""From which score on a node is taken to hold a label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

FORGONE = 0.01
"""Share of the best F1 that a decision may give up to find more holders. F1 hardly changes around
its best, while recall does; and what is best on known labels is a little too strict for a novel
one (LOG.md: on validation labels, over six settings, F1 is a little above that of none forgone, and
a tenth more holders are found)."""


class Line(NamedTuple):
    """A score from which on nodes are taken to hold a label, and what comes of it."""

    score: float
    f1: float
    num_wrong: float
    """How many of the others have such a score."""


def best_line(
    of_holders: Float64[np.ndarray, " holder"],
    of_others: Float64[np.ndarray, " other"],
    prior: float,
) -> Line:
    """The lowest line whose F1 is almost the highest where a share `prior` are holders."""
    steps = np.unique(np.concatenate((of_holders, of_others)))
    found = 1 - np.searchsorted(np.sort(of_holders), steps) / len(of_holders)
    wrong = 1 - np.searchsorted(np.sort(of_others), steps) / len(of_others)
    f1 = 2 * prior * found / (prior + prior * found + (1 - prior) * wrong)
    best = int(np.argmax(f1 >= (1 - FORGONE) * f1.max()))
    return Line(float(steps[best]), float(f1[best]), float(wrong[best] * len(of_others)))
