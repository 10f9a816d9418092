"""Compiled functions give what the plain ones give, also where the tests check shapes."""

from __future__ import annotations

import numpy as np

from metatne.compiled import compiled
from type_checks import checked


def double(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    total = 0
    for value in values:
        total += 2 * int(value)
    return total


def test_a_function_with_its_types_checked_is_compiled() -> None:
    values = np.arange(5)
    assert compiled(double)(values) == double(values) == 20
    assert compiled(checked(double))(values) == 20
