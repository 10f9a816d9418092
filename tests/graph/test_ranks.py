"""Ranks are what sorting says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.graph.ranks import Ranks

offsets = st.lists(st.lists(st.integers(0, 300), min_size=1), min_size=1)


@given(offsets, st.sampled_from([0, 5, -1000, -(2**63), 2**63 - 301]))
def test_ranks_are_those_of_sorting(members: list[list[int]], low: int) -> None:
    arrays = [np.array(values, dtype=np.int64) + low for values in members]
    ranks = Ranks(low, low + 300, arrays)
    ascending = np.unique(np.concatenate(arrays))
    assert len(ranks) == len(ascending)
    assert ranks.members().tolist() == ascending.tolist()
    for array in arrays:
        found = np.empty(len(array), dtype=np.int32)
        ranks.rank(array, found)
        assert found.tolist() == np.searchsorted(ascending, array).tolist()


@pytest.mark.parametrize("shape", [(6,), (3, 2)])
def test_ranks_may_take_the_place_of_the_values(shape: tuple[int, ...]) -> None:
    values = np.array([64, 3, 64, 127, 128, 3], dtype=np.int32).reshape(shape)
    Ranks(3, 128, [values]).rank(values, values)
    assert values.reshape(-1).tolist() == [1, 0, 1, 2, 3, 0]
