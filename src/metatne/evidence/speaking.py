"""Which supports of a task speak: all positives, and the negatives that would else stand too high.

One convex problem a task (see `head`), whose solution is linear once it is known who speaks. Found
by Newton's steps, each a solve for those alone that speak: loops, since their number differs
from task to task.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from metatne.compiled import compiled

MAX_STEPS = 10
"""Two to four are the rule."""


def find_speaking(
    kernel: Float[np.ndarray, "task support support"],
    ridge: Float[np.ndarray, " support"],
    residual: Float[np.ndarray, "task support"],
    num_positives: int,
) -> Bool[np.ndarray, "task support"]:
    """Of every task, given how far each support is to be moved: a negative by so much or less."""
    speaks: Bool[np.ndarray, "task support"]
    try:
        speaks = _find_speaking(kernel, ridge, residual, num_positives)
    except np.linalg.LinAlgError:  # the kernel is at fault, which is found out when all speak
        speaks = np.ones(residual.shape, dtype=np.bool_)
    return speaks


@compiled
def _find_speaking(
    kernel: np.ndarray, ridge: np.ndarray, residual: np.ndarray, num_positives: int
) -> np.ndarray:
    num_tasks, num_supports = residual.shape
    speaks = residual < 0  # before anybody has spoken
    speaks[:, :num_positives] = True
    for task in range(num_tasks):
        for _ in range(MAX_STEPS):
            who = np.flatnonzero(speaks[task])
            system = np.empty((len(who), len(who)), dtype=kernel.dtype)
            moves = np.empty(len(who), dtype=kernel.dtype)
            for row, one in enumerate(who):
                for column, other in enumerate(who):
                    system[row, column] = kernel[task, one, other]
                system[row, row] += ridge[one]
                moves[row] = residual[task, one]
            alpha = np.linalg.solve(system, moves)
            is_settled = True
            for support in range(num_positives, num_supports):
                moved = kernel.dtype.type(0)
                for column, other in enumerate(who):
                    moved += kernel[task, support, other] * alpha[column]
                if (moved > residual[task, support]) != speaks[task, support]:
                    speaks[task, support] = not speaks[task, support]
                    is_settled = False
            if is_settled:
                break
    return speaks
