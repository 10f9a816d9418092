"""Where nodes are like those two steps away and not like neighbours, places are of two steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import hand_made, held_by, opposites
from metatne.config import Config
from metatne.evidence.description import Description, describe
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.evidence.model import EvidenceModel
from metatne.evidence.place import likeness, place_of, stride_of
from metatne.evidence.storage import from_tensors, to_tensors
from metatne.graph.planted import planted_graph
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.graph.walk import DEGREE_SHARE, Adjacency, Walk
from metatne.sampling.splits import LabelSplit
from planted import SETTINGS

KNOWN = np.arange(8)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return opposites(800)


@pytest.fixture(scope="module")
def model(graph: Graph) -> EvidenceModel:
    split = LabelSplit(np.arange(5), np.arange(5, 7), np.arange(7, 8))
    return fit_evidence(graph, split, Config(**SETTINGS | {"head_steps": 5}))[0]


def alike(description: Description) -> tuple[float, float]:
    """The mean cosine of two nodes of one community, and of two of opposite ones."""
    place = description.place.rows
    community = np.arange(len(place)) % 8
    centres = np.stack([place[community == number].mean(axis=0) for number in range(8)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return (
        float(np.einsum("nd,nd->n", place, centres[community]).mean()),
        float(np.einsum("nd,nd->n", place, centres[community ^ 1]).mean()),
    )


def test_two_steps_where_neighbours_are_opposite(graph: Graph) -> None:
    description = describe(graph, KNOWN, seed=0)
    assert description.place.stride == 2
    own, opposite = alike(description)
    assert own > opposite + 0.2
    none = np.full((graph.num_nodes, 1), UNKNOWN, dtype=np.int8)
    in_single_steps = place_of(graph, Walk(Adjacency.of(graph)), none, seed=0)
    assert in_single_steps.stride == 1
    own, opposite = alike(replace(description, place=in_single_steps))
    assert own < opposite + 0.1  # these cannot be told apart


@pytest.mark.parametrize("seed", range(5))
def test_one_step_where_neighbours_are_alike(seed: int) -> None:
    graph = planted_graph(200, num_labels=6, num_communities=4, seed=seed).graph
    assert describe(graph, np.arange(6), seed=0).place.stride == 1


@pytest.mark.parametrize(("within", "stride"), [(0.0, 2), (0.2, 2), (0.4, 1), (1.0, 1)])
def test_links_within_make_it_one_step(within: float, stride: int) -> None:
    assert describe(opposites(400, within=within), KNOWN, seed=0).place.stride == stride


def test_labels_drawn_at_random_say_nothing(graph: Graph) -> None:
    """Two steps say nothing then, and what comes back to its start does not count."""
    walk, generator = Walk(Adjacency.of(graph)), np.random.default_rng(0)
    for _ in range(50):
        states = (generator.random((graph.num_nodes, 4)) < 0.2).astype(np.int8)
        assert stride_of(walk, states) == 1


def test_one_step_where_nothing_is_known(graph: Graph) -> None:
    assert describe(graph, KNOWN[:0], seed=0).place.stride == 1
    everyone = np.ones(graph.num_nodes, dtype=bool)
    assert describe(graph, KNOWN, seed=0, hidden=everyone).place.stride == 1


def test_one_step_where_neighbours_are_not_known() -> None:
    """Labels of one side: nobody can say whether the other side is unlike it."""
    graph = opposites(400, within=0.0)
    states = graph.labels.table(KNOWN)
    states[1::2] = UNKNOWN
    walk = Walk(Adjacency.of(graph))
    assert likeness(walk, states) is None
    assert stride_of(walk, states) == 1
    states[1] = graph.labels.table(KNOWN)[1]  # of one node it is known
    told = likeness(walk, states)
    assert told is not None
    assert 0.3 < told[1] < 1


@pytest.mark.parametrize("weighted", [False, True])
def test_likeness_is_a_share_over_known_links(weighted: bool) -> None:
    """Against the matrices written down, with labels that are unknown here and there."""
    graph = planted_graph(150, num_labels=3, mean_degree=5, weighted=weighted, seed=2).graph
    states = graph.labels.table(np.arange(3))
    states[np.random.default_rng(1).random(states.shape) < 0.3] = UNKNOWN
    walk = Walk(Adjacency.of(graph))
    one = graph.adjacency().toarray().astype(np.float64)
    one *= walk.degrees[0] / (one[0].sum() + DEGREE_SHARE * one.sum(axis=1).mean())  # in its unit
    two = one @ (one / walk.degrees[:, None])
    np.testing.assert_allclose(walk.return_chances, np.diag(two) / walk.degrees, rtol=1e-4)
    np.fill_diagonal(two, 0)
    found, possible = np.zeros(2), 0.0
    for column in states.T:
        known = column != UNKNOWN
        share = np.average(column[known] == HOLDS, weights=walk.degrees[known])
        held = np.where(known, (column == HOLDS) - share, 0)
        variance = np.average(held[known] ** 2, weights=walk.degrees[known])
        found += [held @ one @ held, held @ two @ held]
        possible += variance * (known @ one @ known)
    told = likeness(walk, states)
    assert told is not None
    np.testing.assert_allclose(np.array(told), found / possible, rtol=1e-3)


def test_the_stride_is_saved(model: EvidenceModel) -> None:
    assert model.description.place.stride == 2
    tensors = to_tensors(model)
    assert from_tensors(tensors, model.label_names).description.place.stride == 2
    of_before = {name: t for name, t in tensors.items() if name != "description.stride"}
    assert from_tensors(of_before, model.label_names).description.place.stride == 1
    for wrong in (3, 1.7, float("inf"), [1, 2]):
        with pytest.raises(ValueError, match="stride: expected 1 or 2, found"):
            from_tensors(tensors | {"description.stride": torch.tensor(wrong)}, model.label_names)


def test_new_nodes_are_placed_two_steps_away(model: EvidenceModel, graph: Graph) -> None:
    """Each linked to ten nodes of one community: it comes to the opposite one."""
    communities = np.arange(8)
    new = [
        (800 + int(number), int(node))
        for number in communities
        for node in np.arange(int(number) ^ 1, 800, 8)[:10]
    ]
    larger = with_edges(graph, new)
    updated = grown(model, graph.node_ids, larger)
    place = updated.description.place.rows
    centres = np.stack([place[:800][number::8].mean(axis=0) for number in communities])
    closeness = place[larger.node_ids.positions(list(range(800, 808)))] @ centres.T
    assert (closeness.argmax(axis=1) == communities).all()


def with_edges(graph: Graph, new: list[tuple[int, int]]) -> Graph:
    """The graph with more edges, and so more nodes."""
    rows = np.repeat(np.arange(graph.num_nodes), graph.degrees)
    edges = [(int(a), int(b)) for a, b in zip(rows, graph.indices, strict=True) if a < b]
    labels = {
        name: held_by(*graph.labels.holders(number).tolist())
        for number, name in enumerate(graph.labels.names)
    }
    return hand_made(edges + new, labels, name="larger")
