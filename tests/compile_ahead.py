"""Compile the loops that most tests run, once.

Numba keeps them on disk. Workers that start together on a machine where nothing is kept
would each compile all of them, which takes half a minute of a core.
"""

from __future__ import annotations

from conftest import SMALL
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph

if __name__ == "__main__":
    graph = planted_graph(300, num_labels=10, num_communities=6, seed=1).graph
    for head in ({}, SMALL):
        MetaTNE(**{"positives": 4, "negatives": 6, **head}).fit(graph)
