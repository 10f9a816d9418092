"""Sets of pairs of a label and a node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import GraphError
from metatne.graph.label_pairs import LabelPairs, distinct

NUM_LABELS, NUM_NODES = 4, 6
PAIRS = st.lists(st.tuples(st.integers(0, NUM_LABELS - 1), st.integers(0, NUM_NODES - 1)))


@given(PAIRS)
def test_they_are_a_set(pairs: list[tuple[int, int]]) -> None:
    labels, nodes = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    found = LabelPairs.of(labels, nodes, NUM_LABELS, NUM_NODES)
    expected = sorted(set(pairs))
    assert [*zip(found.pair_labels.tolist(), found.nodes.tolist(), strict=True)] == expected
    assert len(found) == len(expected) == found.counts.sum()
    for label in range(NUM_LABELS):
        assert found.of_label(label).tolist() == [n for held, n in expected if held == label]
    keys = np.arange(NUM_LABELS * NUM_NODES)
    assert keys[found.contains(keys)].tolist() == [y * NUM_NODES + n for y, n in expected]
    chosen = found.select(np.array([2, 0]))
    assert chosen.of_label(0).tolist() == found.of_label(2).tolist()
    assert chosen.of_label(1).tolist() == found.of_label(0).tolist()


def test_bounds_that_do_not_fit_are_refused() -> None:
    with pytest.raises(GraphError, match="bounds"):
        LabelPairs(np.array([0, 2]), np.array([0]), 2)


@pytest.mark.parametrize("keys", [[], [0], [3, 0, 3, 7, 0], [2**62, 5, 2**62]])
def test_distinct_keys_ascend(keys: list[int]) -> None:
    assert distinct(np.array(keys, dtype=np.int64)).tolist() == sorted(set(keys))
