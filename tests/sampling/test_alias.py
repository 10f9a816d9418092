"""Draws in proportion to weights: the table's shares are the weights', and draws follow it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float64, UInt64

from metatne.sampling.alias import alias_table, drawn

FULL = 2.0**32


def shares_of(columns: UInt64[np.ndarray, " place"]) -> Float64[np.ndarray, " place"]:
    """The probability of each place, read off the columns."""
    own = (columns >> np.uint64(32)).astype(np.float64) / FULL
    aliases = (columns & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return (own + np.bincount(aliases, 1 - own, minlength=len(columns))) / len(columns)


@given(st.lists(st.floats(0, 1e6) | st.just(0.0), min_size=1, max_size=200))
@settings(max_examples=100, deadline=None)
def test_the_table_has_the_weights_shares(drawn_weights: list[float]) -> None:
    weights = np.array([*drawn_weights, 1.0])
    shares = shares_of(alias_table(weights))
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-6, atol=1e-9)
    assert (shares[weights == 0] == 0).all()


@pytest.mark.parametrize("skew", [0.0, 0.5, 2.0])
def test_a_large_table_has_the_weights_shares(skew: float) -> None:
    weights = np.random.default_rng(0).permutation(np.arange(1, 50_001)) ** -skew
    weights[::7] = 0
    shares = shares_of(alias_table(weights))
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-4, atol=1e-12)
    assert (shares[weights == 0] == 0).all()


def test_one_place_is_always_drawn() -> None:
    columns = alias_table(np.array([3.0]))
    assert {int(drawn(columns, np.uint64(word))) for word in (0, 1, 2**63, 2**64 - 1)} == {0}


def test_every_share_of_the_words_draws_a_place() -> None:
    """Words at even distances meet each place as often as its weight says."""
    weights = np.array([5.0, 0.0, 1.0, 10.0, 4.0])
    columns = alias_table(weights)
    num_words = 20_000
    words = (np.arange(num_words) * (2**64 // num_words)).astype(np.uint64)
    counts = np.bincount([drawn(columns, word) for word in words], minlength=5)
    np.testing.assert_allclose(counts, weights / 20 * num_words, atol=5)
