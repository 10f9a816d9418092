"""The benchmark `growth` measures what it says: meta steps and scorings of the sizes named."""

from __future__ import annotations

import pytest

from metatne.bench import growth
from metatne.bench.growth import Sizes, settings
from metatne.training.trainer import training_shape

TINY = Sizes(supports=6, queries=9, dim=8)


def test_sizes_become_settings() -> None:
    config = settings(TINY)
    shape = training_shape(config)
    assert shape.positives + shape.negatives == 6
    assert shape.query_positives + shape.query_negatives == 9
    assert (config.dim, config.attention_dim, config.feedforward_dim) == (8, 16, 16)


def test_each_size_grows_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "GROWING", {"supports": (3, 6), "dim": (4, 8)})
    monkeypatch.setattr(growth, "CANDIDATES", (5, 10))
    monkeypatch.setattr(growth, "NUM_NODES", 300)
    figures = list(growth.measure(quick=False))
    assert [(figure.quantity, figure.details) for figure in figures] == [
        ("meta step", {"supports": 3}),
        ("meta step", {"supports": 6}),
        ("meta step", {"dim": 4}),
        ("meta step", {"dim": 8}),
        ("scoring", {"supports": 3}),
        ("scoring", {"supports": 6}),
        ("scoring", {"dim": 4}),
        ("scoring", {"dim": 8}),
        ("scoring", {"queries": 5}),
        ("scoring", {"queries": 10}),
    ]
    assert all(figure.value > 0 for figure in figures)
