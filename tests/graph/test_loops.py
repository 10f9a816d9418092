"""Loops are compiled by their first call, with the loops that they call."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
from jaxtyping import Int64

from metatne.graph.loops import loop
from metatne.parallel import in_threads


@loop
def squared(value: int) -> int:
    return value * value


@loop
def sum_of_squares(values: Int64[np.ndarray, " value"]) -> int:
    total = 0
    for value in values:
        total += squared(value)
    return total


def test_a_loop_may_call_another() -> None:
    assert sum_of_squares(np.arange(5)) == 30
    assert squared(7) == 49
    assert sum_of_squares.__name__ == "sum_of_squares"


def test_threads_may_call_a_loop_for_the_first_time_together() -> None:
    first = loop(inspect.unwrap(sum_of_squares))
    assert in_threads(first, [np.arange(size) for size in range(5)]) == [0, 0, 1, 5, 14]


def test_importing_the_graph_compiles_nothing() -> None:
    code = "import sys, metatne.graph; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
