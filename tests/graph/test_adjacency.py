"""Merged edges are what a dictionary of edges says, in any number of blocks and threads."""

from __future__ import annotations

import os
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.graph.adjacency import Adjacency, Merged, merge_edges

Edge = tuple[int, int, float]

nodes = st.integers(0, 11)
weights = st.floats(2.0**-140, 2.0**100, width=32)
edge_lists = st.lists(st.tuples(nodes, nodes, weights), min_size=1, max_size=60)


def merge(
    edges: list[Edge], num_nodes: int, *, weighted: bool, block: int = 7, threads: int = 1
) -> Merged:
    ends = np.array([edge[:2] for edge in edges], dtype=np.int32).reshape(-1, 2)
    values = np.array([edge[2] for edge in edges], dtype=np.float32)
    starts = range(0, len(edges), block)
    with mock.patch.dict(os.environ, OMP_NUM_THREADS=str(threads)):
        return merge_edges(
            [ends[start : start + block].copy() for start in starts],
            [values[start : start + block].copy() for start in starts] if weighted else None,
            num_nodes,
        )


def neighbours(adjacency: Adjacency) -> list[dict[int, float]]:
    """The neighbours of each node in the order of its row, with their weights."""
    rows = []
    for start, stop in zip(adjacency.indptr, adjacency.indptr[1:], strict=False):
        values = (
            np.ones(stop - start) if adjacency.weights is None else adjacency.weights[start:stop]
        )
        rows.append(dict(zip(adjacency.indices[start:stop].tolist(), values.tolist(), strict=True)))
    return rows


def reference(edges: list[Edge], num_nodes: int, *, weighted: bool) -> list[dict[int, float]]:
    rows: list[dict[int, float]] = [{} for _ in range(num_nodes)]
    for source, target, weight in edges:
        if source != target:
            for one, other in ((source, target), (target, source)):
                value = float(np.float32(weight)) if weighted else 1.0
                rows[one][other] = max(rows[one].get(other, 0.0), value)
    return [dict(sorted(row.items())) for row in rows]


@pytest.mark.parametrize("weighted", [False, True])
@given(edges=edge_lists, block=st.integers(1, 70), threads=st.integers(1, 3))
def test_rows_are_sorted_and_symmetric(
    weighted: bool, edges: list[Edge], block: int, threads: int
) -> None:
    merged = merge(edges, 12, weighted=weighted, block=block, threads=threads)
    found, expected = neighbours(merged.adjacency), reference(edges, 12, weighted=weighted)
    assert [list(row.items()) for row in found] == [list(row.items()) for row in expected]
    assert (merged.adjacency.weights is not None) == weighted


@given(edge_lists)
def test_what_went_is_counted(edges: list[Edge]) -> None:
    merged = merge(edges, 12, weighted=False)
    stated = Counter((source, target) for source, target, _ in edges if source != target)
    assert merged.num_self_loops == sum(source == target for source, target, _ in edges)
    assert merged.num_duplicates == stated.total() - len(stated)
    assert merged.num_reciprocal == sum(a < b and (b, a) in stated for a, b in stated)


def test_long_rows_with_many_repeats() -> None:
    rng = np.random.default_rng(0)
    hub = [(0, int(node), 1.0) for node in rng.integers(0, 500, 3000)]
    edges = (
        hub + [(int(node), 0, 2.0) for node in rng.integers(0, 500, 3000)] + [(1, 2, 1.0)] * 5000
    )
    for weighted in (False, True):
        merged = merge(edges, 500, weighted=weighted, block=1000, threads=2)
        assert neighbours(merged.adjacency) == reference(edges, 500, weighted=weighted)


def test_the_blocks_are_used_up() -> None:
    ends, values = [np.array([[0, 1]], np.int32)], [np.ones(1, np.float32)]
    merge_edges(ends, values, 2)
    assert ends == values == []


def test_the_largest_node_keeps_its_bits() -> None:
    last = 2**20
    merged = merge([(last, 0, 3.0), (0, last, 2.0)], last + 1, weighted=True)
    assert merged.adjacency.indices.tolist() == [last, 0]
    assert merged.adjacency.weights is not None
    assert merged.adjacency.weights.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("weighted", [False, True])
@given(edges=edge_lists, keep=st.lists(st.booleans(), min_size=12, max_size=12))
def test_edges_among_the_nodes_that_stay(
    weighted: bool, edges: list[Edge], keep: list[bool]
) -> None:
    number = {node: place for place, node in enumerate(np.flatnonzero(keep).tolist())}
    kept = [(number[a], number[b], w) for a, b, w in edges if keep[a] and keep[b]]
    adjacency = merge(edges, 12, weighted=weighted).adjacency.among(np.array(keep))
    assert neighbours(adjacency) == reference(kept, sum(keep), weighted=weighted)


def test_more_nodes_have_no_edges() -> None:
    adjacency = merge([(0, 1, 1.0)], 2, weighted=False).adjacency.with_more_nodes(4)
    assert adjacency.indptr.tolist() == [0, 1, 2, 2, 2]
