"""What is said of nodes, and that a task's own label can be taken out of it without a trace."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from graphs import hand_made
from metatne.evidence.description import (
    NO_LABEL,
    OTHERS,
    OWN,
    TRAITS,
    Description,
    describe,
    num_columns,
)
from metatne.evidence.expected import expected_by_place, expected_labels
from metatne.graph.labels import Labels
from metatne.graph.planted import planted_graph
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(200, num_labels=6, num_communities=4, seed=1).graph


KNOWN = np.arange(6)


def without(graph: Graph, label: int) -> Graph:
    """The graph as if nobody held the label."""
    holds = [
        (node, other)
        for other in range(graph.labels.num_labels)
        for node in graph.labels.holders(other)
        if other != label
    ]
    nodes, labels = np.array(holds).T
    names = graph.labels.names
    return graph.with_labels(Labels.from_statements(names, graph.num_nodes, nodes, labels))


@pytest.mark.parametrize("label", [0, 3, 5])
def test_a_masked_label_leaves_no_trace(graph: Graph, label: int) -> None:
    """With its column masked, a description is that of a graph without the label's holders."""
    full = describe(graph, KNOWN, seed=0)
    other = describe(without(graph, label), KNOWN, seed=0, place=full.place)
    column = int(np.flatnonzero(full.columns == label)[0])
    nodes = np.arange(graph.num_nodes)[None]
    # The other description has no column for a label that nobody holds.
    masked, nothing = np.array([column]), np.array([NO_LABEL])
    for block in (*OWN, *OTHERS):
        rows = full.block(block, nodes, masked)[0]
        if block.is_of_labels:
            assert not rows[:, column].any()
            rows = np.delete(rows, column, axis=1)
        np.testing.assert_allclose(rows, other.block(block, nodes, nothing)[0], atol=2e-3)
    wide, narrow = np.sqrt(len(full.columns)), np.sqrt(len(other.columns))
    scales = np.array([1, 1, 1, 1, wide / narrow, wide / narrow, 1])
    np.testing.assert_allclose(
        full.traits(nodes, masked)[0] * scales, other.traits(nodes, nothing)[0], atol=2e-2
    )


def test_the_traits_have_names(graph: Graph) -> None:
    description = describe(graph, KNOWN, seed=0)
    nobody = np.array([NO_LABEL])
    assert description.traits(np.array([[0, 1]]), nobody).shape == (1, 2, len(TRAITS))


def test_hidden_nodes_lose_their_labels_everywhere(graph: Graph) -> None:
    hidden = np.zeros(graph.num_nodes, dtype=bool)
    hidden[:50] = True
    seen = describe(graph, KNOWN, seed=0, hidden=hidden)
    gone = graph.with_labels(graph.labels.forget(KNOWN, hidden))
    told = describe(gone, KNOWN, seed=0)
    assert (seen.states[hidden] == UNKNOWN).all()
    assert not seen.is_annotated[hidden].any()
    assert seen.is_annotated[~hidden].all()
    for name in ("states", "around", "expected", "by_place", "around_known", "rarity"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(told, name))


def test_unknown_is_not_negative() -> None:
    """A neighbour of whom nothing is known counts neither for nor against a label."""
    edges = [("a", "b"), ("c", "d"), ("e", "f")]
    graph = hand_made(edges, {"x": {"a": HOLDS, "c": UNKNOWN}, "y": {"e": HOLDS}})
    description = describe(graph, np.arange(2), seed=0)
    x = int(np.flatnonzero(description.columns == 0)[0])
    of_b, of_d, of_f = description.around[0, [1, 3, 5], x]
    assert of_b > 0 == of_d > of_f


def test_by_place_a_node_is_predicted_by_the_others_alone() -> None:
    """The closed form against leaving every node out in turn; unknown nodes by all known ones."""
    generator = np.random.default_rng(0)
    place = 3 * generator.normal(size=(40, 5)).astype(np.float32)
    states = (generator.random((40, 2)) < 0.4).astype(np.int8)
    fitted = np.arange(40) < 30
    states[~fitted] = UNKNOWN
    states[:5, 1] = UNKNOWN  # and so average
    share = np.array([0.4, 0.3])
    truth = np.where(states == UNKNOWN, 0, states - share)
    found = expected_by_place(place, states, share)
    ridge = np.square(place[fitted]).sum() / place.shape[1]
    for node in range(40):
        others = fitted & (np.arange(40) != node)
        model = Ridge(alpha=ridge, fit_intercept=False).fit(place[others], truth[others])
        np.testing.assert_allclose(found[node], model.predict(place[[node]])[0], atol=1e-5)


def test_few_nodes_are_trusted_less_by_place() -> None:
    """Two nodes at one place, of 16 dimensions: the mean eigenvalue is 1/8, and the ridge is 1."""
    place = np.zeros((3, 16), dtype=np.float32)
    place[:, 0] = 1
    states = np.array([[1], [1], [UNKNOWN]], dtype=np.int8)
    found = expected_by_place(place, states, np.array([0.5]))[:, 0]
    # By one other node that has .5 more than its share: .5 / (1 + 1); by two: 1 / (2 + 1).
    np.testing.assert_allclose(found, [0.25, 0.25, 1 / 3])


def test_places_in_pieces_are_the_same(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = describe(graph, KNOWN, seed=0)
    monkeypatch.setattr("metatne.evidence.expected.NODES_PER_PIECE", 64)
    in_pieces = describe(graph, KNOWN, seed=0)
    np.testing.assert_allclose(in_pieces.by_place, whole.by_place, atol=1e-3)
    assert whole.by_place.any()


def test_what_surrounds_a_node_and_its_place_are_weighed_together() -> None:
    generator = np.random.default_rng(1)
    by_place = np.zeros((400, 1))
    states = (generator.random((400, 1)) < 0.4).astype(np.int8)
    noise = generator.normal(size=(3, 400, 1)).astype(np.float32)
    noise[1, :, 0] += 3 * states[:, 0]
    expected = expected_labels(by_place, noise, states, np.array([0.4]))[:, 0]
    assert expected[states[:, 0] == 1].mean() > expected[states[:, 0] == 0].mean() + 0.3


def test_large_graphs_get_fewer_columns() -> None:
    assert num_columns(10_000, 39) == 39
    assert num_columns(10_000, 1_000) == 256
    assert 1 <= num_columns(5_000_000, 1_000) < 60
    assert num_columns(1_000, 0) == 0


def test_a_graph_without_known_labels_is_still_described(graph: Graph) -> None:
    description: Description = describe(graph, KNOWN[:0], seed=0)
    assert description.around.shape == (3, graph.num_nodes, 0)
    assert not description.is_annotated.any()
