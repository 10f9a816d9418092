"""tau falls from 1 in stairs, the rates in a line."""

from __future__ import annotations

import pytest

from metatne.schedule import annealing, structural_probability


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, 1.0),
        (499, 1.0),
        (500, 1 / 1.1),
        (999, 1 / 1.1),
        (1_000, 1 / 1.2),
        (5_000, 0.5),
        (40_000, 1 / 9),
    ],
)
def test_blogcatalogs_stairs(step: int, expected: float) -> None:
    tau = structural_probability(step, decay_rate=0.1, decay_period=500)
    assert tau == pytest.approx(expected, rel=1e-12)


def test_without_decay_every_step_is_structural() -> None:
    assert structural_probability(10**6, decay_rate=0.0, decay_period=1) == 1.0


def test_rates_fall_to_almost_nothing() -> None:
    assert annealing(0, 400) == 1.0
    assert annealing(100, 400) == 0.75
    assert annealing(399, 400) == pytest.approx(1 / 400)
