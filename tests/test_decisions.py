"""Where to draw the line between those who hold a label and the others."""

from __future__ import annotations

import numpy as np
import pytest

from metatne.decisions import FORGONE, best_line


def test_the_line_is_the_lowest_of_almost_the_best_f1() -> None:
    generator = np.random.default_rng(6)
    of_holders, of_others = generator.normal(1, 1, 500), generator.normal(-1, 1, 500)
    for prior in (0.1, 0.3, 0.7):
        best = best_line(of_holders, of_others, prior).score

        def score(threshold: float, prior: float = prior) -> float:
            found = (of_holders >= threshold).mean()
            wrong = (of_others >= threshold).mean()
            return float(2 * prior * found / (prior + prior * found + (1 - prior) * wrong))

        steps = np.sort(np.concatenate((of_holders, of_others)))
        enough = (1 - FORGONE) * max(score(step) for step in steps)
        assert score(best) >= enough
        assert all(score(step) < enough for step in steps[steps < best])


@pytest.mark.parametrize("size", [1, 3, 500])
def test_the_line_parts_what_can_be_parted(size: int) -> None:
    """However near the scores are to each other: nothing is taken to be calibrated."""
    best = best_line(np.full(size, 0.1), np.full(2 * size, -0.1), 1 / 3)
    assert best == (0.1, 1.0, 0.0)


def test_what_comes_of_a_line() -> None:
    best = best_line(np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 1.0, 1.5]), 0.5)
    assert best.score == 1.0
    assert best.num_wrong == 2
    assert best.f1 == pytest.approx(2 * 0.5 / (0.5 + 0.5 + 0.5 * 0.5))
