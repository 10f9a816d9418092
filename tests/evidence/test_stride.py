"""Where neighbours are opposite, places are those of the nodes two steps away."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphs import hand_made, held_by, opposites
from metatne.config import Config
from metatne.evidence.description import Description, describe
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.evidence.model import EvidenceModel
from metatne.evidence.storage import from_tensors, to_tensors
from metatne.graph.labels import Labels
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
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
    place = description.place
    community = np.arange(len(place)) % 8
    centres = np.stack([place[community == number].mean(axis=0) for number in range(8)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return (
        float(np.einsum("nd,nd->n", place, centres[community]).mean()),
        float(np.einsum("nd,nd->n", place, centres[community ^ 1]).mean()),
    )


def test_two_steps_where_neighbours_are_opposite(graph: Graph) -> None:
    description = describe(graph, KNOWN, seed=0)
    assert description.stride == 2
    own, opposite = alike(description)
    assert own > opposite + 0.4
    in_single_steps = describe(graph, KNOWN, seed=0, stride=1)
    own, opposite = alike(in_single_steps)
    assert abs(own - opposite) < 0.1  # these cannot be told apart


@pytest.mark.parametrize("seed", range(5))
def test_one_step_where_neighbours_are_alike(seed: int) -> None:
    graph = planted_graph(200, num_labels=6, num_communities=4, seed=seed).graph
    assert describe(graph, np.arange(6), seed=0).stride == 1


@pytest.mark.parametrize("seed", range(5))
def test_one_step_where_labels_are_drawn_at_random(graph: Graph, seed: int) -> None:
    """Two steps say nothing then, and what comes back to its start does not count."""
    holders = np.random.default_rng(seed).random((3, graph.num_nodes)) < 0.2
    nodes, labels = np.nonzero(holders.T)
    random = Labels.from_statements(("a", "b", "c"), graph.num_nodes, nodes, labels)
    assert describe(graph.with_labels(random), np.arange(3), seed=0).stride == 1


def test_one_step_where_nothing_is_known(graph: Graph) -> None:
    assert describe(graph, KNOWN[:0], seed=0).stride == 1
    everyone = np.ones(graph.num_nodes, dtype=bool)
    assert describe(graph, KNOWN, seed=0, hidden=everyone).stride == 1


def test_the_stride_is_saved(model: EvidenceModel) -> None:
    assert model.description.stride == 2
    tensors = to_tensors(model)
    assert from_tensors(tensors, model.label_names).description.stride == 2
    of_before = {name: t for name, t in tensors.items() if name != "description.stride"}
    assert from_tensors(of_before, model.label_names).description.stride == 1
    with pytest.raises(ValueError, match="stride: expected 1 or 2, found 3"):
        from_tensors(tensors | {"description.stride": torch.tensor(3)}, model.label_names)


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
    place = updated.description.place
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
