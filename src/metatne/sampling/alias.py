"""Draws in proportion to weights, each in constant time."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, UInt64

from metatne.compiled import compiled

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@compiled
def alias_table(weights: Float64[np.ndarray, " place"]) -> UInt64[np.ndarray, " place"]:
    """What `drawn` needs to draw places in proportion to their weights (Walker; Vose's order).

    Cut the weights into pieces and stack them in columns of equal height, one a place, so that
    a column holds a piece of its own place and at most one of another, its alias. To draw,
    choose a column and a height. A column is one word: above, the height of its own piece in
    units of 2^-32; below, the alias.
    """
    size = len(weights)
    heights = weights * (size / weights.sum())
    aliases = np.arange(size)
    # Places yet to be completed: too low ones from the left, the others from the right.
    waiting = np.empty(size, dtype=np.int64)
    lows, highs = 0, size
    for place in range(size):
        if heights[place] < 1.0:
            waiting[lows] = place
            lows += 1
        else:
            highs -= 1
            waiting[highs] = place
    while lows > 0 and highs < size:
        lows -= 1
        low, high = waiting[lows], waiting[highs]
        aliases[low] = high
        heights[high] -= 1.0 - heights[low]
        if heights[high] < 1.0:
            highs += 1
            waiting[lows] = high
            lows += 1
    # What still waits is full but for rounding, and its own alias.
    columns = np.empty(size, dtype=np.uint64)
    for place in range(size):
        own = np.uint64(min(max(heights[place], 0.0), 1.0) * 4294967295.0)
        columns[place] = (own << _HALF) | np.uint64(aliases[place])
    return columns


@compiled
def drawn(columns: UInt64[np.ndarray, " place"], word: np.uint64) -> np.int64:
    """The place that 64 random bits draw: times the number of columns, a column and a height."""
    size = np.uint64(len(columns))
    scaled = size * (word >> _HALF) + ((size * (word & _LOW)) >> _HALF)
    chosen = scaled >> _HALF
    column = columns[chosen]
    # One expression, not two ways to go on: which of them cannot be foretold.
    is_own = (scaled & _LOW) < (column >> _HALF)
    return np.int64(chosen if is_own else column & _LOW)
