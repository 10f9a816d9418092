"""Planted graphs have the statistics asked for, and the structure that they claim."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metatne.errors import ConfigError
from metatne.graph.planted import MIN_SIZE, Planted, planted_graph


@pytest.fixture(scope="module")
def planted() -> Planted:
    return planted_graph(4000, num_labels=12, num_communities=16, mean_degree=12, seed=3)


def share_in_common(planted: Planted, low: Any, high: Any) -> float:
    """The share of these pairs of nodes that have a community in common."""
    memberships = planted.memberships.astype(np.int32)
    return float((memberships[low].multiply(memberships[high]).sum(axis=1) > 0).mean())


def edges_of(planted: Planted) -> tuple[Any, Any]:
    upper = planted.graph.adjacency().tocoo()
    is_upper = upper.row < upper.col
    return upper.row[is_upper], upper.col[is_upper]


def test_sizes_are_as_asked_for(planted: Planted) -> None:
    graph = planted.graph
    assert (graph.num_nodes, graph.num_edges) == (4000, 24_000)
    assert graph.labels.num_labels == 12
    assert planted.memberships.shape == (4000, 16)
    assert planted.label_communities.shape == (12, 16)
    assert graph.degrees.min() >= 1
    assert graph.weights is None
    graph.verify()


def test_the_seed_alone_decides() -> None:
    def fingerprint(seed: int) -> str:
        return planted_graph(300, num_labels=4, weighted=True, seed=seed).graph.fingerprint

    assert fingerprint(1) == fingerprint(1)
    assert fingerprint(1) != fingerprint(2)


def test_edges_follow_communities(planted: Planted) -> None:
    low, high = edges_of(planted)
    rng = np.random.default_rng(0)
    chance = share_in_common(planted, *rng.integers(4000, size=(2, 20_000)))
    assert chance < 0.2
    # A fifth of the edges is drawn across (mixing), and some of those agree by chance.
    assert share_in_common(planted, low, high) == pytest.approx(0.8 + 0.2 * chance, abs=0.02)


@pytest.mark.parametrize("mixing", [0.0, 0.5])
def test_mixing(mixing: float) -> None:
    planted = planted_graph(3000, num_labels=30, overlap=0, mixing=mixing, seed=1)
    expected = 1 - mixing * (1 - 1 / 25)
    assert share_in_common(planted, *edges_of(planted)) == pytest.approx(expected, abs=0.02)


def test_communities_overlap() -> None:
    for overlap in (0.0, 1.0):
        planted = planted_graph(3000, num_labels=30, overlap=overlap, seed=1)
        per_node = np.asarray(planted.memberships.sum(axis=1))
        assert per_node.min() == 1
        # A little under, where the same community is drawn twice.
        assert 1 + 0.9 * overlap <= per_node.mean() <= 1 + overlap
        sizes = np.asarray(planted.memberships.sum(axis=0))
        assert sizes.min() >= MIN_SIZE
        assert sizes.max() > 3 * sizes.min()
        assert planted.memberships.data.max() == 1


def test_without_noise_a_label_is_its_communities() -> None:
    planted = planted_graph(1000, num_labels=9, communities_per_label=3, label_noise=0, seed=5)
    assert (np.asarray(planted.label_communities.sum(axis=1)) == 3).all()
    assert (np.asarray(planted.label_communities.sum(axis=0)) > 0).all()
    members = planted.memberships.astype(np.int32).toarray()
    for label in range(9):
        communities = planted.label_communities[[label]].toarray()[0] > 0
        expected = np.flatnonzero(members[:, communities].any(axis=1))
        np.testing.assert_array_equal(planted.graph.labels.holders(label), expected)


def test_label_noise_replaces_members() -> None:
    planted = planted_graph(
        5000, num_labels=20, communities_per_label=1, overlap=0, label_noise=0.3, seed=2
    )
    members = planted.memberships.toarray()
    for label in range(20):
        is_member = members @ planted.label_communities[[label]].toarray()[0] > 0
        holders = planted.graph.labels.holders(label)
        size = is_member.sum()
        # Most of the nodes that come in by chance are no members.
        assert is_member[holders].sum() / size == pytest.approx(0.72, abs=0.1)
        assert len(holders) / size == pytest.approx(1, abs=0.1)


def test_degrees_follow_the_power_law_asked_for() -> None:
    flat = planted_graph(5000, num_labels=5, degree_skew=0, mean_degree=20, seed=1).graph
    assert flat.degrees.max() < 3 * np.median(flat.degrees)
    skewed = planted_graph(20_000, num_labels=5, degree_skew=0.5, mean_degree=20, seed=1).graph
    top = np.sort(skewed.degrees)[::-1][20:400].astype(float)
    slope = np.polyfit(np.log(np.arange(21, 401)), np.log(top), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.08)
    assert skewed.degrees.max() > 20 * np.median(skewed.degrees)


def test_overlap_adds_no_degree() -> None:
    planted = planted_graph(5000, num_labels=20, overlap=1, degree_skew=0, seed=1)
    per_node = np.asarray(planted.memberships.sum(axis=1))
    alone, many = planted.graph.degrees[per_node == 1], planted.graph.degrees[per_node >= 3]
    assert alone.mean() == pytest.approx(many.mean(), rel=0.1)


def test_weights_tell_of_communities() -> None:
    planted = planted_graph(2000, num_labels=30, overlap=0, weighted=True, seed=1)
    weights = planted.graph.adjacency().tocoo()
    homes = planted.memberships.toarray().argmax(axis=1)
    is_within = homes[weights.row] == homes[weights.col]
    assert weights.data.min() >= 1
    assert weights.data[is_within].mean() > 1.5 * weights.data[~is_within].mean()


def test_ids_say_nothing_about_communities(planted: Planted) -> None:
    homes = planted.memberships.toarray().argmax(axis=1)
    assert abs(np.corrcoef(np.arange(4000), homes)[0, 1]) < 0.05
    assert abs(np.corrcoef(np.arange(4000), planted.graph.degrees)[0, 1]) < 0.05


def test_a_graph_without_labels() -> None:
    planted = planted_graph(50, num_labels=0, num_communities=2, seed=1)
    assert planted.graph.labels.num_labels == 0
    assert planted.label_communities.shape == (0, 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_labels": -1}, "num_labels must be at least 0"),
        ({"num_communities": 0}, "num_communities must lie in 1 … 50 for 100 nodes, not 0"),
        ({"num_communities": 51}, "num_communities must lie in 1 … 50"),
        ({"communities_per_label": 5}, "communities_per_label must lie in 1 … 4"),
        ({"mean_degree": 1}, "mean_degree must lie in 2 … 99"),
        ({"mean_degree": 2}, r"mean_degree must be at least 2 / \(1 - mixing\) = 2.5"),
        ({"mixing": 1.0}, r"mixing must lie in 0 … 1 \(without 1\), not 1.0"),
        ({"degree_skew": -0.1}, "degree_skew must lie"),
        ({"label_noise": 1.5}, "label_noise must lie"),
        ({"overlap": 3.5}, "overlap must lie in 0 … num_communities - 1, not 3.5"),
        ({"mean_degree": 90}, "room for about"),
    ],
)
def test_settings_that_make_no_graph(changed: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"num_labels": 4, "seed": 1, **changed}
    with pytest.raises(ConfigError, match=message):
        planted_graph(100, **settings)


@settings(max_examples=30, deadline=None)
@given(
    num_nodes=st.integers(60, 400),
    num_labels=st.integers(1, 8),
    mean_degree=st.floats(3, 6),
    degree_skew=st.floats(0, 0.6),
    overlap=st.floats(0, 0.9),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_any_settings_give_a_sound_graph(
    num_nodes: int, num_labels: int, overlap: float, **others: Any
) -> None:
    planted = planted_graph(
        num_nodes, num_labels=num_labels, num_communities=2, overlap=overlap, **others
    )
    planted.graph.verify()
    assert planted.graph.degrees.min() >= 1
    assert planted.graph.num_edges == pytest.approx(num_nodes * others["mean_degree"] / 2, rel=0.05)


def test_time_is_near_linear() -> None:
    """A million edges in seconds; the bound is wide, as the machine may be busy."""
    start = time.perf_counter()
    planted = planted_graph(100_000, num_labels=20, mean_degree=20, seed=1)
    assert planted.graph.num_edges == 1_000_000
    assert time.perf_counter() - start < 30
