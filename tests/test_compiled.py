"""Compiled functions give what the plain ones give, also where the tests check shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metatne.compiled as compiled_module
from metatne.compiled import compiled, compiled_for_sums
from type_checks import checked


def double(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    total = 0
    for value in values:
        total += 2 * int(value)
    return total


def add_up(values: np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
    total = np.float32(0.0)
    for value in values:
        total += value
    return float(total)


def above_zero(value: float) -> float:
    return 0.0 if value < 0 else value


fast_sum = compiled_for_sums(add_up)


@pytest.mark.parametrize("compiler", [compiled, compiled_for_sums])
def test_a_function_with_its_types_checked_is_compiled(
    compiler: Callable[[Callable[..., int]], Callable[..., int]],
) -> None:
    values = np.arange(5)
    assert compiler(double)(values) == double(values) == 20
    assert compiler(checked(double))(values) == 20


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3, width=32), max_size=100))
def test_sums_in_another_order_are_sums(numbers: list[float]) -> None:
    """And the same ones at each call."""
    values = np.array(numbers, dtype=np.float32)
    found = fast_sum(values)
    assert found == pytest.approx(
        math.fsum(numbers), abs=1e-6 * float(np.abs(values).sum()) + 1e-30
    )
    assert fast_sum(values.copy()) == found


def test_what_is_not_a_number_stays_so() -> None:
    for place in range(20):
        values = np.ones(20, dtype=np.float32)
        values[place] = math.nan
        assert math.isnan(fast_sum(values))
        values[place] = -math.inf
        assert fast_sum(values) == -math.inf
        values[19 - place] = math.inf
        assert math.isnan(fast_sum(values))
    assert math.isnan(compiled_for_sums(above_zero)(math.nan))


def test_machine_code_of_changed_source_is_kept_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("from metatne.compiled import compiled")
    before = compiled_module._cache_directory(tmp_path)
    (tmp_path / "other.py").write_text("nothing compiled")
    assert compiled_module._cache_directory(tmp_path) == before
    (tmp_path / "loop.py").write_text("from metatne.compiled import compiled  # changed")
    assert compiled_module._cache_directory(tmp_path) != before


def test_where_nothing_can_be_kept_nobody_else_can_put_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba unpickles what it finds there."""
    monkeypatch.setattr(compiled_module, "user_cache_path", lambda name: Path("/proc") / name)
    first, second = (compiled_module._cache_directory(tmp_path) for _ in range(2))
    for directory in (first, second):
        assert directory.stat().st_mode & 0o777 == 0o700
        directory.rmdir()
    assert first != second, "a name that can be told in advance"
