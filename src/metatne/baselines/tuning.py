"""Choosing among settings on validation tasks, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from metatne.metrics import roc_auc
from metatne.sampling.tasks import Tasks

Choice = TypeVar("Choice")
Learned = TypeVar("Learned")


def validation_auc(scores: Float[np.ndarray, "task query"], tasks: Tasks) -> float:
    """What a choice is judged by."""
    return float(roc_auc(scores, tasks.is_positive).mean())


def learn_best(
    choices: Sequence[Choice], learn: Callable[[Choice], tuple[float, Learned]]
) -> tuple[Choice, Learned]:
    """The choice whose learning has the highest validation score, the first among equals.

    `learn` returns the score and what was learned; only the best of it is kept.
    """
    best_choice, (best_score, best) = choices[0], learn(choices[0])
    for choice in choices[1:]:
        score, learned = learn(choice)
        if score > best_score:
            best_choice, best_score, best = choice, score, learned
    return best_choice, best
