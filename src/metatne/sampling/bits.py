"""Random bits in compiled loops: of any key and counter, without a generator's state."""

from __future__ import annotations

import numpy as np

from metatne.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Spread every bit over the word: a bijection, the finaliser of SplitMix64."""
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@compiled
def bits(key: np.uint64, counter: int) -> np.uint64:
    """64 random bits of this key (from `seeding.derive_seed`) and counter: SplitMix64's."""
    return mix(key + np.uint64(counter + 1) * _GOLDEN)


@compiled
def unit(word: np.uint64) -> float:
    """A number in [0, 1) of random bits."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53
