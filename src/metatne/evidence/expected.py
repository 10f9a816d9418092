"""What a node's place and surroundings let one expect of its labels.

By place a node's own labels are left out of what is expected of it. By surroundings they are left
out one step away; of two and three steps, walks come back to the node, and with them a little of
its labels. A task's own label is masked all the same (`Description.unmasked`).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32, Float64, Int8

from metatne.graph.raw import HOLDS, UNKNOWN

CLUE_RIDGE = 1.0
"""Of the clues to one label, which have variance 1."""

NODES_PER_PIECE = 65_536
"""Whose places are in double precision at a time."""

LEAST_PLACE_RIDGE = 1.0
"""Where annotated nodes are few. As places have length 1, no node then decides more than half of
its own prediction, and it can be left out without dividing by almost 0."""


def expected_by_place(
    place: Float32[np.ndarray, "node place"],
    states: Int8[np.ndarray, "node column"],
    share: Float[np.ndarray, " column"],
) -> Float64[np.ndarray, "node column"]:
    """For each label, how much more than `share` is to be expected of a node at such a place.

    Ridge regression, the same system for all labels; a node's own labels are left out in closed
    form. Where a node is annotated but one label of it is unknown, that label counts as average.
    The ridge is the mean of the system's eigenvalues: it halves what a direction says that is
    neither strong nor weak, and does not hang on the number of nodes, unless they are few.
    """
    is_known = states != UNKNOWN
    fitted = is_known.any(axis=1)
    truth = _surplus(states, share)
    dim = place.shape[1]
    system, moments = np.zeros((dim, dim)), np.zeros((dim, states.shape[1]))
    pieces = [
        slice(start, start + NODES_PER_PIECE) for start in range(0, len(place), NODES_PER_PIECE)
    ]
    for piece in pieces:
        rows = place[piece][fitted[piece]].astype(np.float64)
        system += rows.T @ rows
        moments += rows.T @ truth[piece][fitted[piece]]
    ridge = max(float(np.trace(system)) / dim, LEAST_PLACE_RIDGE)
    inverse = np.linalg.inv(system + ridge * np.eye(dim))
    expected = np.empty_like(truth)
    for piece in pieces:
        rows = place[piece].astype(np.float64)
        own = np.einsum("nd,nd->n", rows @ inverse, rows) * fitted[piece]
        by_all = rows @ (inverse @ moments)
        expected[piece] = (by_all - own[:, None] * truth[piece]) / (1 - own[:, None])
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
        system = clues[known].T @ clues[known] + CLUE_RIDGE * np.eye(clues.shape[1])
        expected[:, column] = clues @ np.linalg.solve(system, clues[known].T @ truth[known, column])
    return np.asarray(expected, dtype=np.float32)


def _surplus(
    states: Int8[np.ndarray, "node column"], share: Float[np.ndarray, " column"]
) -> Float64[np.ndarray, "node column"]:
    """What a node holds more than is held on average; 0 where nobody knows."""
    return np.where(states != UNKNOWN, (states == HOLDS) - share, 0.0)
