"""What a node's place and surroundings let one expect of its labels.

By place a node's own labels are left out of what is expected of it. By surroundings they are left
out one step away; of two and three steps, walks come back to the node, and with them a little of
its labels. A task's own label is masked all the same (`Description.unmasked`).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Float64, Int8

from metatne.graph.raw import HOLDS, UNKNOWN

RIDGE = 1.0
"""Of the clues to one label, which have variance 1."""

MOST_LEVERAGE = 0.99
"""A node that decides its own prediction almost alone would be divided by almost 0."""


def expected_by_place(
    place: Float32[np.ndarray, "node place"],
    states: Int8[np.ndarray, "node column"],
    share: Float[np.ndarray, " column"],
) -> Float64[np.ndarray, "node column"]:
    """For each label, how much more than `share` is to be expected of a node at such a place.

    Ridge regression, the same system for all labels; a node's own labels are left out in closed
    form. The ridge is the mean of the system's eigenvalues: half of what a direction says that is
    neither strong nor weak, however many nodes and directions there are.
    """
    is_known = states != UNKNOWN
    fitted = is_known.any(axis=1)
    truth = _surplus(states, share)
    own = place[fitted].astype(np.float64)
    system = own.T @ own
    ridge = max(float(np.trace(system)) / len(system), RIDGE)
    inverse = np.linalg.inv(system + ridge * np.eye(len(system)))
    expected: Float64[np.ndarray, "node column"] = place @ (inverse @ (own.T @ truth[fitted]))
    leverage = np.minimum(np.einsum("nd,nd->n", own @ inverse, own), MOST_LEVERAGE)[:, None]
    expected[fitted] = (expected[fitted] - leverage * truth[fitted]) / (1 - leverage)
    return expected


def expected_labels(
    by_place: Float64[np.ndarray, "node column"],
    around: Float32[np.ndarray, "hop node column"],
    states: Int8[np.ndarray, "node column"],
    share: Float[np.ndarray, " column"],
) -> Float32[np.ndarray, "node column"]:
    """The same by place and surroundings: label by label, on what is expected by place and on how
    common the label is around the node.
    """
    is_known, truth = states != UNKNOWN, _surplus(states, share)
    expected = np.zeros_like(by_place)
    for column in range(states.shape[1]):
        clues = np.stack([by_place[:, column], *around[:, :, column]], axis=1).astype(np.float64)
        scales = clues.std(axis=0)
        clues /= np.where(scales > 0, scales, 1.0)
        known = is_known[:, column]
        system = clues[known].T @ clues[known] + RIDGE * np.eye(clues.shape[1])
        expected[:, column] = clues @ np.linalg.solve(system, clues[known].T @ truth[known, column])
    return np.asarray(expected, dtype=np.float32)


def _surplus(
    states: Int8[np.ndarray, "node column"], share: Float[np.ndarray, " column"]
) -> Float64[np.ndarray, "node column"]:
    """What a node holds more than is held on average; 0 where nobody knows."""
    return np.where(states != UNKNOWN, (states == HOLDS) - share, 0.0)
