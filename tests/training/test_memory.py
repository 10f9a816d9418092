"""A training that cannot fit is refused before it starts; the estimate is held to what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metatne.bench.measuring import peak_memory
from metatne.config import make_config, preset
from metatne.errors import OutOfMemoryError
from metatne.estimator import MetaTNE
from metatne.free_memory import available_memory, format_bytes
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.training.memory import GraphSize, check_memory, estimate_training_bytes

GIB = 2**30


def free(monkeypatch: pytest.MonkeyPatch, num_bytes: int) -> None:
    monkeypatch.setattr(
        "metatne.free_memory.psutil.virtual_memory",
        lambda: SimpleNamespace(available=num_bytes),
    )
    monkeypatch.setattr("metatne.free_memory.OWN_CGROUPS", Path("/does/not/exist"))


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


def write_group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("memory_", "memory.")).write_text(text + "\n")


NEW = {"memory_max": "3000", "memory_current": "1000", "memory_stat": "file 9\ninactive_file 400"}
OLD = {
    "memory_limit_in_bytes": "3000",
    "memory_usage_in_bytes": "1000",
    "memory_stat": "inactive_file 1\ntotal_inactive_file 300",
}


@pytest.mark.parametrize(
    ("line", "groups", "left"),
    [
        ("0::/", {".": NEW}, 2400),
        ("0::/a/b", {"a/b": NEW}, 2400),
        ("0::/a/b", {"a/b": NEW, "a": NEW | {"memory_max": "1500"}}, 900),  # the tightest counts
        ("0::/a/b", {".": NEW}, 2400),  # a container is told the host's path
        ("0::/", {".": NEW | {"memory_max": "max"}}, 5000),
        ("0::/", {".": NEW | {"memory_current": "9000"}}, 0),
        ("0::/", {}, 5000),
        ("4:cpu,memory:/a", {"memory/a": OLD}, 2300),
        ("4:memory:/elsewhere", {"memory": OLD}, 2300),
        ("5:cpu:/a", {"memory/a": OLD, "a": NEW}, 5000),
    ],
)
def test_control_groups_bound_what_is_free(
    line: str,
    groups: Mapping[str, dict[str, str]],
    left: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free(monkeypatch, 5000)
    write_group(tmp_path, cgroup=f"9:name=systemd:/\n{line}")
    for place, files in groups.items():
        write_group(tmp_path / "fs" / place, **files)
    monkeypatch.setattr("metatne.free_memory.OWN_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr("metatne.free_memory.CGROUPS", tmp_path / "fs")
    assert available_memory() == left


def test_the_estimate_grows_with_what_takes_memory() -> None:
    small, defaults = GraphSize(10_000, 10**6), make_config(preset("short"))
    base = estimate_training_bytes(small, defaults)
    assert 0.2 * GIB < base < 2 * GIB

    def added(**more: Any) -> int:
        return estimate_training_bytes(replace(small, **more), defaults) - base

    assert added(num_nodes=10**6) > 0.98 * 10**6 * 128 * 4 * 3
    assert added(num_entries=10**8) >= 0.98 * 10**8 * 4
    assert added(num_held=10**6) > 0
    assert added(is_weighted=True) > 0
    for changed in (
        {"dim": 512},
        {"tasks_per_step": 64},
        {"num_blocks": 8},
        {"query_negatives": 400},
        {"pairs_per_step": 10**6},
        {"averaging": 0.5},
    ):
        assert estimate_training_bytes(small, make_config(preset("short") | changed)) > base
    many = preset("short") | {"query_negatives": 4_000}
    cut = make_config(many | {"most_queries": 12})
    assert estimate_training_bytes(small, cut) < estimate_training_bytes(small, make_config(many))


def test_moments_count_as_far_as_rows_are_touched() -> None:
    """500 steps touch few of a million rows, 40,000 touch all; nothing beyond all is counted."""
    million = GraphSize(10**6, 10**7)
    few = estimate_training_bytes(million, make_config(preset("short")))
    tables = 10**6 * 128 * 4
    assert few < 8 * tables
    every = [
        estimate_training_bytes(million, make_config(preset("paper") | {"num_steps": steps}))
        for steps in (40_000, 80_000)
    ]
    assert every[0] > 9 * tables
    assert every[1] == pytest.approx(every[0], rel=1e-3)


def test_the_size_of_a_graph(planted: Graph) -> None:
    size = GraphSize.of(planted)
    assert (size.num_nodes, size.num_entries) == (300, 2 * planted.num_edges)
    assert (size.num_held, size.is_weighted) == (int(planted.labels.num_holders.sum()), False)
    assert GraphSize.of(planted_graph(50, num_labels=2, weighted=True, seed=0).graph).is_weighted


@pytest.mark.parametrize(
    ("count", "text"), [(300 * 2**20, "300 MiB"), (GIB, "1.0 GiB"), (5 * GIB // 2, "2.5 GiB")]
)
def test_bytes_as_a_person_reads_them(count: int, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_nodes", "mean_degree", "settings"),
    [
        (20_000, 20, ["default"]),
        (20_000, 20, ["paper", "flickr"]),
        (1_000_000, 10, ["default"]),
        (300_000, 10, ["paper", "flickr"]),
        (100_000, 200, ["default"]),
    ],
)
def test_the_estimate_is_right_within_a_third(
    num_nodes: int, mean_degree: float, settings: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "graph"
    graph = planted_graph(num_nodes, num_labels=50, mean_degree=mean_degree, seed=0).graph
    graph.save(path)
    few = {"num_steps": 60, "validate_every": 30, "decay_period": 1}
    found = peak_memory("metatne.bench.memory:train", str(path), settings, few)
    assert found.result["estimate"] == pytest.approx(found.peak, rel=1 / 3)
