"""Scores in pieces are scores."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metatne.config import make_config
from metatne.model import MetaTNENetwork
from metatne.sampling.tasks import Tasks
from metatne.scoring import score_nodes, score_tasks
from networks import in_double, random_network, small_config
from reference import reference_logits

NUM_NODES = 50


@pytest.fixture(scope="module")
def network() -> MetaTNENetwork:
    settings: dict[str, Any] = {"dim": 8, "attention_dim": 8, "num_heads": 2, "feedforward_dim": 8}
    settings |= {"dropout": 0.5, "identity_start": False}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = MetaTNENetwork(NUM_NODES, make_config(settings))
        torch.nn.init.normal_(network.embeddings)
    return network


def tasks_of(num_tasks: int) -> Tasks:
    rng = np.random.default_rng(0)
    nodes = np.stack([rng.permutation(NUM_NODES)[:14] for _ in range(num_tasks)])
    return Tasks(
        labels=np.zeros(num_tasks, dtype=np.int64),
        positives=nodes[:, :3],
        negatives=nodes[:, 3:7],
        queries=nodes[:, 7:],
        is_positive=np.zeros((num_tasks, 7), dtype=bool),
    )


@pytest.mark.parametrize("tokens", [1, 150, 10**6], ids=["one task", "some tasks", "all tasks"])
def test_tasks_in_pieces(
    network: MetaTNENetwork, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = tasks_of(11)
    with torch.no_grad():
        expected = network.eval()(
            *(torch.from_numpy(part) for part in (tasks.positives, tasks.negatives, tasks.queries))
        )
    monkeypatch.setattr("metatne.scoring.TOKENS_PER_PIECE", tokens)
    network.train()  # scores are without noise whatever was done before
    scores = score_tasks(network, tasks)
    np.testing.assert_allclose(scores, expected.numpy(), rtol=1e-4, atol=1e-5)
    assert scores.std() > 0.1


@pytest.mark.parametrize("tokens", [1, 40, 10**6], ids=["one node", "some nodes", "all nodes"])
def test_nodes_in_pieces(
    network: MetaTNENetwork, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = tasks_of(1)
    monkeypatch.setattr("metatne.scoring.TOKENS_PER_PIECE", tokens)
    monkeypatch.setattr("metatne.scoring.QUERIES_PER_PIECE", 1)
    network.train()
    scores = score_nodes(network, tasks.positives[0], tasks.negatives[0], tasks.queries[0])
    np.testing.assert_allclose(scores, score_tasks(network, tasks)[0], rtol=1e-4, atol=1e-5)


def test_the_work_in_hand_is_bounded(
    network: MetaTNENetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many candidates there are, no more tokens than the bound are held at once."""
    seen = []
    forward = MetaTNENetwork.forward

    def watch(self: MetaTNENetwork, *parts: torch.Tensor) -> torch.Tensor:
        positives, negatives, queries = (part.shape[1] for part in parts)
        seen.append(len(parts[0]) * queries * (positives + negatives + 2))
        return forward(self, *parts)

    monkeypatch.setattr(MetaTNENetwork, "forward", watch)
    monkeypatch.setattr("metatne.scoring.TOKENS_PER_PIECE", 100)
    monkeypatch.setattr("metatne.scoring.QUERIES_PER_PIECE", 5)
    score_nodes(network, np.arange(3), np.arange(3, 7), np.arange(7, NUM_NODES))
    score_tasks(network, tasks_of(5))
    assert max(seen) <= 100
    assert len(seen) == 4 + 5


def test_many_supports_are_not_worked_on_for_one_query_at_a_time(
    network: MetaTNENetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_queries = []
    forward = MetaTNENetwork.forward

    def watch(self: MetaTNENetwork, *parts: torch.Tensor) -> torch.Tensor:
        num_queries.append(parts[2].shape[1])
        return forward(self, *parts)

    monkeypatch.setattr(MetaTNENetwork, "forward", watch)
    monkeypatch.setattr("metatne.scoring.TOKENS_PER_PIECE", 10)
    monkeypatch.setattr("metatne.scoring.QUERIES_PER_PIECE", 8)
    score_nodes(network, np.arange(15), np.arange(15, 30), np.arange(30, NUM_NODES))
    assert num_queries == [8, 8, 4]


@settings(max_examples=12, deadline=None)
@given(
    tokens=st.integers(20, 300),
    queries=st.integers(5, 20),
    threads=st.integers(1, 3),
    num_candidates=st.integers(1, 43),
)
def test_scores_do_not_depend_on_pieces_or_threads(
    network: MetaTNENetwork, tokens: int, queries: int, threads: int, num_candidates: int
) -> None:
    positives, negatives = np.arange(3), np.arange(3, 7)
    candidates = np.arange(7, NUM_NODES)[:num_candidates]
    tasks = tasks_of(4)
    expected_nodes = score_nodes(network, positives, negatives, candidates)
    expected_tasks = score_tasks(network, tasks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metatne.scoring.TOKENS_PER_PIECE", tokens)
        patch.setattr("metatne.scoring.QUERIES_PER_PIECE", queries)
        nodes_in_one = score_nodes(network, positives, negatives, candidates)
        tasks_in_one = score_tasks(network, tasks)
        patch.setenv("OMP_NUM_THREADS", str(threads))
        nodes_in_several = score_nodes(network, positives, negatives, candidates)
        tasks_in_several = score_tasks(network, tasks)
    # Who works on a piece changes nothing at all, how long it is may change a rounding.
    assert nodes_in_several.tobytes() == nodes_in_one.tobytes()
    assert tasks_in_several.tobytes() == tasks_in_one.tobytes()
    np.testing.assert_allclose(nodes_in_one, expected_nodes, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tasks_in_one, expected_tasks, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("changed", [{}, {"norm_first": False}, {"num_blocks": 2}])
def test_scores_of_every_kind_of_network_are_those_of_the_paper(changed: dict[str, Any]) -> None:
    config = small_config(**changed)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = random_network(config, NUM_NODES)
    tasks = tasks_of(2)
    exact = in_double(network)
    positives, negatives, queries = (
        exact.embeddings[torch.from_numpy(part)]
        for part in (tasks.positives, tasks.negatives, tasks.queries)
    )
    signed = reference_logits(exact, config, positives, negatives, queries).detach().numpy()
    expected = signed[..., 0] - signed[..., 1]
    np.testing.assert_allclose(score_tasks(network, tasks), expected, rtol=1e-4, atol=1e-5)
    for task, logits in enumerate(expected):
        parts = (tasks.positives[task], tasks.negatives[task], tasks.queries[task])
        np.testing.assert_allclose(score_nodes(network, *parts), logits, rtol=1e-4, atol=1e-5)


def test_equal_nodes_have_equal_scores(network: MetaTNENetwork) -> None:
    """Wherever among the pieces they are."""
    candidates = np.full(5_000, 9)
    scores = score_nodes(network, np.arange(3), np.arange(3, 7), candidates)
    np.testing.assert_allclose(scores, scores[0], rtol=1e-5)


def test_a_node_that_is_not_a_number_has_no_score(network: MetaTNENetwork) -> None:
    broken = deepcopy(network)
    with torch.no_grad():
        broken.embeddings[9, 2] = math.nan
    scores = score_nodes(broken, np.arange(3), np.arange(3, 7), np.arange(7, 12))
    assert np.isnan(scores).tolist() == [False, False, True, False, False]


def test_no_candidates_have_no_scores(network: MetaTNENetwork) -> None:
    nobody = np.empty(0, dtype=np.int64)
    assert score_nodes(network, np.arange(2), np.arange(2, 4), nobody).shape == (0,)
