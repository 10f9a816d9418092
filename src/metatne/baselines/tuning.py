"""Choosing among settings on validation tasks, and on nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

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


class Best(Generic[Learned]):
    """What had the highest validation score of all that a training looked at."""

    def __init__(self) -> None:
        self.score = -math.inf
        self._learned: Learned | None = None

    def look(
        self,
        scores: Float[np.ndarray, "task query"],
        tasks: Tasks,
        learned: Callable[[], Learned],
    ) -> None:
        """Keep what there is now, if it scores the tasks better than all before."""
        score = validation_auc(scores, tasks)
        if score > self.score:
            self.score, self._learned = score, learned()

    @property
    def found(self) -> tuple[float, Learned]:
        """The score and what had it, as `learn_best` wants them."""
        assert self._learned is not None  # every training looks once at least
        return self.score, self._learned
