"""The benchmarks that have a name, and the graphs that they need."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from metatne.bench import data, registry
from metatne.bench.figure import Skipped
from metatne.errors import InputError


def test_every_benchmark_is_found_by_its_name() -> None:
    for name, known in registry.BENCHMARKS.items():
        assert known.module == f"metatne.bench.{name.replace('-', '_')}"
        assert find_spec(known.module) is not None
        assert callable(registry.load(known.module))


def test_all_stands_for_every_one() -> None:
    assert registry.chosen("all") == list(registry.BENCHMARKS)
    assert registry.chosen("trial") == ["trial"]
    with pytest.raises(InputError, match="no benchmark 'trail'; expected one of train-step"):
        registry.chosen("trail")


def test_an_absent_graph_is_a_reason_to_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "BESIDE_THE_CHECKOUT", tmp_path)
    monkeypatch.setattr("metatne.graph.datasets.user_cache_path", lambda *_, **__: tmp_path)
    monkeypatch.delenv("METATNE_DATA", raising=False)
    skipped = data.paper_graph("ppi")
    assert isinstance(skipped, Skipped)
    assert skipped.case == "ppi"
    assert "Homo_sapiens.mat" in skipped.reason
