"""Where a node is in the graph: in the eigenvectors that lead, in steps of one or of two.

On most graphs neighbours are alike, and the eigenvectors that lead are those in which they are.
On some graphs a node is like those two steps away and unlike its neighbours. Known labels say so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int8

from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.graph.walk import Walk
from metatne.spectral import spectral_embeddings

PLACE_DIM = 128

MAX_ASKED = 16
"""Labels that are asked how far apart their holders are: those that most nodes hold."""

STRIDE_MARGIN = 2.0
"""How many times as much two steps must say as one: where both say about the same, as of kinds of
words in a text, one is as good as two (LOG.md)."""

STRIDE_FLOOR = 0.03
"""What two steps must say at least: by chance they say nearly as much of few labels on a small
graph."""

TINY = np.finfo(np.float64).tiny
"""Where a sum that is divided by may be 0."""


class Place(NamedTuple):
    """Of every node, and what it was made with."""

    rows: Float32[np.ndarray, "node place"]
    """In the leading eigenvectors, of length 1."""

    stride: int
    """Steps, one or two, from a node to those that are like it."""


def place_of(
    graph: Graph, walk: Walk, states: Int8[np.ndarray, "node column"], *, seed: int
) -> Place:
    """The place of every node; the labels choose the stride and nothing else."""
    stride = stride_of(walk, states)
    dim = min(PLACE_DIM, max(graph.num_nodes - 1, 1))
    no_labels = np.empty(0, dtype=np.int64)
    rows = spectral_embeddings(graph, no_labels, dim, seed=seed, stride=stride)
    return Place(rounded(of_length_one(rows)), stride)


def stride_of(walk: Walk, states: Int8[np.ndarray, "node column"]) -> int:
    """2 where who holds a label is told by nodes two steps away rather than by neighbours, else 1.

    Where nothing is known of neighbours (labels are of one side of a graph that has two), one step
    says nothing, for or against.
    """
    told = likeness(walk, states)
    if told is None:
        return 1
    after_one, after_two = told
    return 2 if after_two > max(STRIDE_MARGIN * after_one, STRIDE_FLOOR) else 1


def likeness(walk: Walk, states: Int8[np.ndarray, "node column"]) -> tuple[float, float] | None:
    """How much of what a node holds more than others is met after a step, and after two that do not
    come back; each as a share of what there would be if all that is known were the same.

    A label is a sum of eigenvectors, and one step multiplies each by its eigenvalue, two by the
    square of it. So of a label that lies where eigenvalues are above 0, two steps say less than
    one; where they are below, one step says the contrary and two do not.
    None where no neighbours are known.
    """
    most_held = np.argsort(-(states == HOLDS).sum(axis=0), kind="stable")[:MAX_ASKED]
    states = states[:, most_held]
    known = (states != UNKNOWN).astype(np.float32)
    num_known = np.maximum(_by_degree(walk, known), TINY)
    shares = _by_degree(walk, states == HOLDS) / num_known
    held = known * ((states == HOLDS) - shares.astype(np.float32))
    size = _by_degree(walk, held**2) / num_known
    one_step, two_steps = _after_steps(walk, held)
    known_one, known_two = (float((size * links).sum()) for links in _after_steps(walk, known))
    if not known_one:
        return None
    # Both by the same, to be comparable, unless more is known two steps away than one.
    return float(one_step.sum()) / known_one, float(two_steps.sum()) / max(known_one, known_two)


def _after_steps(
    walk: Walk, table: Float32[np.ndarray, "node column"]
) -> tuple[Float[np.ndarray, " column"], Float[np.ndarray, " column"]]:
    """<x, P x> and <x, P P x>, without what comes back, of every column x; weighted by degree,
    in which P is symmetric.
    """
    stepped = np.zeros_like(table)
    walk.combine(table, stepped)
    one = _by_degree(walk, table * stepped)
    stepped *= stepped
    two = _by_degree(walk, stepped)
    returned = np.einsum("n,n,nc->c", walk.degrees, walk.return_chances, table**2)
    return one, two - returned


def _by_degree(
    walk: Walk, table: Float[np.ndarray, "node column"] | np.ndarray
) -> Float[np.ndarray, " column"]:
    """The sum over nodes, each by its degree."""
    return np.asarray(np.einsum("n,nc->c", walk.degrees, table))


def of_length_one(rows: Float[np.ndarray, "*rows column"]) -> Float32[np.ndarray, "*rows column"]:
    """The rows, each divided by its length; those of length 0 stay."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def rounded(table: Float[np.ndarray, "*any"]) -> Float32[np.ndarray, "*any"]:
    """The numbers as half precision has them, in which they are saved: loading changes nothing."""
    largest = float(np.finfo(np.float16).max)
    return np.asarray(np.clip(table, -largest, largest).astype(np.float16), dtype=np.float32)
