"""Neighbours in common, on a graph that can be looked through."""

from __future__ import annotations

from graphs import hand_made
from metatne.graph.shared import shared_neighbours
from metatne.graph.walk import Adjacency


def test_those_of_most_others_come_first_then_those_of_few_neighbours() -> None:
    # 0 and 1, 2 have 3 in common; 0 and 2 have 4, a hub, and 5 too; 6 is a neighbour of 0 alone.
    edges = [(0, 3), (1, 3), (2, 3), (0, 4), (2, 4), (4, 7), (4, 8), (0, 5), (2, 5), (0, 6)]
    adjacency = Adjacency.of(hand_made(edges, nodes=range(9)))
    assert list(shared_neighbours(adjacency, 0, [1, 2]).items()) == [
        (3, [1, 2]),
        (5, [2]),
        (4, [2]),
    ]
    assert shared_neighbours(adjacency, 6, [1, 7]) == {}
    assert shared_neighbours(adjacency, 0, []) == {}
