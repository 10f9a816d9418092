"""Ranks of integers in a set of them, where they are not spread too far apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64, Integer, UInt64

from metatne.graph.loops import loop

WORD = 64
"""How many integers one word of bits speaks of."""


class Ranks:
    """A set of the integers low … high, that tells how many of its members are smaller.

    A bit for each integer, and for each word of bits how many members lie before it: 2 bits
    an integer, so that even a set of 10 million ids fits the cache, where a table of numbers
    or a hash table would wait for memory at every id.
    """

    def __init__(self, low: int, high: int, members: Sequence[Integer[np.ndarray, ...]]) -> None:
        """The set of all integers in the arrays `members`, which must lie in low … high."""
        num_words = (high - low) // WORD + 1
        self.low = low
        self._words: UInt64[np.ndarray, "word 2"] = np.zeros((num_words, 2), dtype=np.uint64)
        for array in members:
            _mark(array.reshape(-1), low, self._words)
        self._num_members = _count_before(self._words)

    def __len__(self) -> int:
        """How many members there are."""
        return self._num_members

    def members(self) -> Int64[np.ndarray, " member"]:
        """The members, ascending."""
        found = np.empty(len(self), dtype=np.int64)
        _list_members(self._words, self.low, found)
        return found

    def rank(self, values: Integer[np.ndarray, ...], ranks: Integer[np.ndarray, ...]) -> None:
        """Fill `ranks` (which may be `values` itself) with the ranks of members."""
        _rank(values.reshape(-1), self.low, self._words, ranks.reshape(-1))


@loop
def _mark(
    values: Integer[np.ndarray, " value"], low: int, words: UInt64[np.ndarray, "word 2"]
) -> None:
    for value in values:
        place = np.uint64(value - low)
        words[place >> np.uint64(6), 0] |= np.uint64(1) << (place & np.uint64(63))


@loop
def _num_ones(bits: np.uint64) -> np.uint64:
    """How many bits are 1; the compiler knows this form and makes it one instruction."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + (
        (bits >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@loop
def _count_before(words: UInt64[np.ndarray, "word 2"]) -> int:
    """Put the number of members before each word beside it; how many there are in all."""
    before = np.uint64(0)
    for word in range(len(words)):
        words[word, 1] = before
        before += _num_ones(words[word, 0])
    return int(before)


@loop
def _list_members(
    words: UInt64[np.ndarray, "word 2"], low: int, found: Int64[np.ndarray, " member"]
) -> None:
    num_found = 0
    for word in range(len(words)):
        for bit in range(WORD):
            if (words[word, 0] >> np.uint64(bit)) & np.uint64(1):
                found[num_found] = low + word * WORD + bit
                num_found += 1


@loop
def _rank(
    values: Integer[np.ndarray, " value"],
    low: int,
    words: UInt64[np.ndarray, "word 2"],
    ranks: Integer[np.ndarray, " value"],
) -> None:
    for index in range(len(values)):
        place = np.uint64(values[index] - low)
        word = place >> np.uint64(6)
        smaller = (np.uint64(1) << (place & np.uint64(63))) - np.uint64(1)
        ranks[index] = words[word, 1] + _num_ones(words[word, 0] & smaller)
