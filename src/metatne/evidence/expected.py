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
MOST_LEVERAGE = 0.99
"""A node that decides its own prediction almost alone would be divided by almost 0."""


def expected_labels(
    place: Float32[np.ndarray, "node place"],
    around: Float32[np.ndarray, "hop node column"],
    states: Int8[np.ndarray, "node column"],
    share: Float[np.ndarray, " column"],
) -> Float32[np.ndarray, "node column"]:
    """For each label, how much more than `share` is to be expected, by ridge regression.

    First on the place, the same system for all labels, with each node's own label left out in
    closed form; then, label by label, on that and on how common the label is around the node.
    """
    is_known = states != UNKNOWN
    fitted = is_known.any(axis=1)
    truth = np.where(is_known, (states == HOLDS) - share, 0.0)
    by_place = _leave_one_out(place, truth, fitted)
    expected = np.zeros_like(by_place)
    for column in range(states.shape[1]):
        clues = np.stack([by_place[:, column], *around[:, :, column]], axis=1).astype(np.float64)
        scales = clues.std(axis=0)
        clues /= np.where(scales > 0, scales, 1.0)
        known = is_known[:, column]
        system = clues[known].T @ clues[known] + RIDGE * np.eye(clues.shape[1])
        expected[:, column] = clues @ np.linalg.solve(system, clues[known].T @ truth[known, column])
    return np.asarray(expected, dtype=np.float32)


def _leave_one_out(
    place: Float32[np.ndarray, "node place"],
    truth: Float64[np.ndarray, "node column"],
    fitted: np.ndarray,
) -> Float64[np.ndarray, "node column"]:
    """Predictions by place; that of a node whose labels are known does without them."""
    system = place[fitted].T.astype(np.float64) @ place[fitted] + RIDGE * np.eye(place.shape[1])
    inverse = np.linalg.inv(system)
    predicted: Float64[np.ndarray, "node column"] = place @ (
        inverse @ (place[fitted].T @ truth[fitted])
    )
    own = place[fitted]
    leverage = np.minimum(np.einsum("nd,nd->n", own @ inverse, own), MOST_LEVERAGE)[:, None]
    predicted[fitted] = (predicted[fitted] - leverage * truth[fitted]) / (1 - leverage)
    return predicted
