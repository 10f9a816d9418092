"""Walks from examples are those of the matrix, written down, and say what they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Float32, Float64, Int64

from graphs import hand_made
from metatne.config import Config
from metatne.evidence.adaptation import SupportReach
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.evidence.model import EvidenceModel
from metatne.evidence.reach import DAMPING, FLOOR, USUAL_TASKS, Reach, reach_of
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.graph.walk import DEGREE_SHARE, Adjacency
from planted import SETTINGS, SPLIT


def visits_written_down(graph: Graph, num_steps: int) -> Float64[np.ndarray, "node node"]:
    """What each single node pays to each other one."""
    adjacency = graph.adjacency().toarray().astype(np.float64)
    degrees = adjacency.sum(axis=1)
    degrees += DEGREE_SHARE * degrees.mean()
    step = adjacency / degrees[:, None]
    powers = [np.linalg.matrix_power(DAMPING * step, k) for k in range(1, num_steps + 1)]
    found: Float64[np.ndarray, "node node"] = (
        (1 - DAMPING) * np.sum(powers, axis=0) / degrees * degrees.sum()
    )
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_visits(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metatne.evidence.reach.MOST_COLUMNS", 2)  # so that there are two blocks
    graph = planted_graph(150, num_labels=3, mean_degree=6, weighted=weighted, seed=1).graph
    reach = Reach(Adjacency.of(graph))
    expected = visits_written_down(graph, reach.num_steps)
    np.testing.assert_allclose(expected, expected.T, rtol=1e-9)  # either way round
    sets = [np.array([3, 8, 20]), np.array([5]), np.array([7, 9])]
    of_sets = np.stack([expected[:, members].mean(axis=1) for members in sets], axis=1)
    np.testing.assert_allclose(reach.everywhere(sets), of_sets, rtol=1e-4, atol=1e-6)
    pairs, nodes = np.array([[3, 8], [5, 6], [7, 9]]), np.array([[0, 1], [2, 30], [40, 50]])
    at = [
        expected[np.ix_(some, pair)].mean(axis=1) for some, pair in zip(nodes, pairs, strict=True)
    ]
    np.testing.assert_allclose(reach.at(pairs, nodes), at, rtol=1e-4, atol=1e-6)


def test_what_no_walk_arrives_at_is_not_reached() -> None:
    graph = hand_made([(0, 1), (1, 2), (3, 4)])
    visits = Reach(Adjacency.of(graph)).everywhere([np.array([0])])[:, 0]
    assert visits[1] > visits[2] > 0
    np.testing.assert_array_equal(reach_of(visits[3:]), [0, 0])
    np.testing.assert_allclose(
        reach_of(np.array([FLOOR], dtype=np.float32)), np.log(2) / 2, rtol=1e-6
    )


def test_a_graph_without_edges_has_no_walks() -> None:
    nowhere = Reach.nowhere(5)
    assert nowhere.everywhere([np.array([0]), np.array([1, 2])]).shape == (5, 2)
    assert not nowhere.everywhere([np.array([0]), np.array([1, 2])]).any()


def test_walks_are_as_long_as_the_graph_is_wide() -> None:
    dense = planted_graph(400, num_labels=3, mean_degree=30, seed=1).graph
    sparse = planted_graph(400, num_labels=3, mean_degree=3, seed=1).graph
    steps = [Reach(Adjacency.of(graph)).num_steps for graph in (dense, sparse)]
    assert 2 <= steps[0] < steps[1] <= 10


def test_tasks_are_fewer_where_walks_are_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where too few could be had, there are no walks, as if there were no edges."""
    adjacency = Adjacency.of(planted_graph(400, num_labels=3, mean_degree=8, seed=1).graph)
    reach = Reach.affordable(adjacency)
    assert reach.share_of_tasks == 1
    of_all = 2 * USUAL_TASKS * reach.num_steps * len(adjacency.indices)
    monkeypatch.setattr("metatne.evidence.reach.AFFORDED", of_all / 4)
    assert Reach.affordable(adjacency).share_of_tasks == pytest.approx(0.25)
    monkeypatch.setattr("metatne.evidence.reach.AFFORDED", of_all / 40)
    assert not Reach.affordable(adjacency).has_walks


def test_a_training_walks_for_the_tasks_that_it_can_afford(
    twenty_labels: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[int] = []
    at = Reach.at

    def counted(
        self: Reach, sets: Int64[np.ndarray, "set member"], nodes: Int64[np.ndarray, "set node"]
    ) -> Float32[np.ndarray, "set node"]:
        walked.append(len(sets))
        return at(self, sets, nodes)

    monkeypatch.setattr(Reach, "at", counted)
    config = Config(**SETTINGS | {"head_steps": 2, "head_tasks": 40})
    fit_evidence(twenty_labels, SPLIT, config)
    usual, walked[:] = sum(walked), []
    reach = Reach(Adjacency.of(twenty_labels))
    of_all = 2 * USUAL_TASKS * reach.num_steps * len(reach.adjacency.indices)
    monkeypatch.setattr("metatne.evidence.reach.AFFORDED", of_all / 4)
    fit_evidence(twenty_labels, SPLIT, config)
    assert usual / 5 < sum(walked) < usual / 3


@pytest.mark.parametrize("walked", [True, False])
def test_an_updated_model_walks_if_it_has_learned_so(
    walked: bool,
    twenty_labels: Graph,
    evidence_model: EvidenceModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the new graph would afford: what a head has not learned to weigh must not speak."""
    assert evidence_model.description.reach.has_walks
    model = evidence_model
    if not walked:
        nowhere = Reach.nowhere(twenty_labels.num_nodes)
        model = replace(model, description=replace(model.description, reach=nowhere))
    else:
        monkeypatch.setattr("metatne.evidence.reach.AFFORDED", 1)
    updated = grown(model, twenty_labels.node_ids, twenty_labels)
    assert updated.description.reach.has_walks == walked
    question = np.arange(5), [np.arange(10, 18)], np.arange(100, 200)
    np.testing.assert_allclose(
        updated.score_nodes(*question).evidence, model.score_nodes(*question).evidence, atol=1e-3
    )


def test_a_step_can_end_the_walks() -> None:
    reach = Reach(Adjacency.of(hand_made([(0, 1), (1, 2)])))

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        reach.everywhere([np.array([0])], stop)


def test_every_way_is_as_if_the_others_were_not_there() -> None:
    """Without error one way; with it all supports, then all but each."""
    graph = planted_graph(150, num_labels=3, mean_degree=6, seed=2).graph
    reach = Reach(Adjacency.of(graph))
    positives, sets = np.array([9, 3, 20]), [np.array([30, 31]), np.array([40, 50])]
    nodes = np.array([1, 2, 60, 70])
    of_positives, of_negatives = SupportReach(reach, positives, sets, with_error=True)(nodes)
    ways = [[3, 9, 20], [9, 20], [3, 20], [3, 9], [3, 9, 20], [3, 9, 20]]
    expected = reach.everywhere([np.array(way) for way in ways])[nodes]
    np.testing.assert_allclose(of_positives, reach_of(expected), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(of_negatives, reach_of(reach.everywhere(sets))[nodes], rtol=1e-5)
    alone, _ = SupportReach(reach, positives, sets, with_error=False)(nodes)
    np.testing.assert_allclose(alone, of_positives[:, :1], rtol=1e-5)
