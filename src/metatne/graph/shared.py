"""Neighbours that a node has in common with others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metatne.graph.walk import Adjacency


def shared_neighbours(
    adjacency: Adjacency, node: int, others: Iterable[int]
) -> dict[int, list[int]]:
    """Each neighbour of the node that is one of some others' too, with those others.

    Those of most others come first, then those of few neighbours, which mean more.
    """
    own = adjacency.neighbours(node)
    found: dict[int, list[int]] = {}
    for other in others:
        near = np.intersect1d(own, adjacency.neighbours(other), assume_unique=True)
        for shared in near.tolist():
            found.setdefault(shared, []).append(other)

    def place(near: int) -> tuple[int, int, int]:
        return -len(found[near]), len(adjacency.neighbours(near)), near

    return {near: found[near] for near in sorted(found, key=place)}
