"""A training that cannot fit is refused before it starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metatne.config import make_config
from metatne.errors import OutOfMemoryError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.training.memory import check_memory, estimate_training_bytes, format_bytes

GIB = 2**30


def free(monkeypatch: pytest.MonkeyPatch, num_bytes: int) -> None:
    monkeypatch.setattr(
        "metatne.training.memory.psutil.virtual_memory",
        lambda: SimpleNamespace(available=num_bytes),
    )


def test_a_large_training_is_refused(
    planted: Graph, small_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    free(monkeypatch, 100 * 2**20)
    with pytest.raises(OutOfMemoryError, match=r"needs about .* and 100 MiB are free; lower dim"):
        MetaTNE(**small_settings).fit(planted)


def test_the_limit_is_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 5 * GIB)
    check_memory(5 * GIB)
    with pytest.raises(OutOfMemoryError, match=r"about 5\.0 GiB, and 5\.0 GiB are free"):
        check_memory(5 * GIB + 1)


def test_the_estimate_grows_with_what_takes_memory() -> None:
    def estimate(num_nodes: int = 10_000, num_entries: int = 10**6, **settings: Any) -> int:
        return estimate_training_bytes(num_nodes, num_entries, make_config(settings))

    base = estimate()
    assert 0.2 * GIB < base < 2 * GIB
    assert estimate(num_nodes=10**6) - base > 10**6 * 128 * 4 * 8
    assert estimate(num_entries=10**8) - base >= 10**8 * 4
    for changed in (
        {"dim": 512},
        {"tasks_per_step": 64},
        {"num_blocks": 8},
        {"query_negatives": 400},
        {"pairs_per_step": 10**6},
    ):
        assert estimate(**changed) > base


@pytest.mark.parametrize(
    ("count", "text"), [(300 * 2**20, "300 MiB"), (GIB, "1.0 GiB"), (5 * GIB // 2, "2.5 GiB")]
)
def test_bytes_as_a_person_reads_them(count: int, text: str) -> None:
    assert format_bytes(count) == text
