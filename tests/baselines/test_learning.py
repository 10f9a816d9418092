"""Baselines learn what they say they learn, and choose by validation tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from metatne.baselines import looks, metagnn, planetoid
from metatne.baselines.embedding import Vectors
from metatne.baselines.gcn import GCN
from metatne.baselines.logistic import score_by_logistic_regression
from metatne.baselines.metagnn import MetaGNN
from metatne.baselines.node2vec import Node2vec
from metatne.baselines.planetoid import Planetoid
from metatne.baselines.tuning import validation_auc
from metatne.graph.planted import planted_graph
from metatne.graph.raw import HOLDS
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.training.row_adam import RowAdam

SPLIT = LabelSplit(np.arange(6), np.arange(6, 8), np.arange(8, 10))
SMALL: dict[str, Any] = {"positives": 4, "negatives": 6, "validation_tasks": 40, "seed": 5}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(300, num_labels=10, num_communities=6, seed=1).graph


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "last_looks", looks.LastLooks())


def telling(graph: Graph) -> Vectors:
    """Vectors that give the validation labels away."""
    states = graph.labels.states(np.arange(graph.num_nodes)[:, None], SPLIT.validation[None])
    vectors: Vectors = (states == HOLDS).astype(np.float32)
    return vectors


def noise(graph: Graph) -> Vectors:
    return np.random.default_rng(0).normal(size=(graph.num_nodes, 2)).astype(np.float32)


def auc_of_known_labels(graph: Graph, vectors: Vectors) -> float:
    tasks = TaskSampler(graph.labels, SPLIT.known, TaskShape(4, 6, 4, 6)).draw(
        300, np.random.default_rng(1)
    )
    return validation_auc(score_by_logistic_regression(vectors, tasks, strength=1.0), tasks)


@pytest.mark.parametrize("best", [0.003, 0.01, 0.03])
def test_gcn_takes_the_rate_that_validation_tasks_prefer(
    best: float, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(self: GCN, *args: Any) -> Iterator[Vectors]:
        _, rate, decay = args[-1]
        yield telling(graph) if (rate, decay) == (best, 5e-4) else noise(graph)

    monkeypatch.setattr(GCN, "_train", train)
    fitted = GCN(**SMALL, hidden_dim=8, feature_walks=1).fit(graph, split=SPLIT)
    assert fitted.choice_[1:] == (best, 5e-4)
    np.testing.assert_array_equal(fitted.vectors_, telling(graph))


@pytest.mark.parametrize("best", [(256, 0.001), (1024, 0.003)])
def test_planetoid_takes_the_batch_and_the_look_that_validation_tasks_prefer(
    best: tuple[int, float], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(self: Planetoid, *args: Any) -> Iterator[tuple[int, Vectors]]:
        yield 0, noise(graph)
        yield 120, telling(graph) if args[-2:] == best else noise(graph)
        yield 600, noise(graph)

    monkeypatch.setattr(Planetoid, "_train", train)
    fitted = Planetoid(**SMALL, dim=8, first_walks=1).fit(graph, split=SPLIT)
    assert (fitted.batch_, fitted.rate_, fitted.best_step_) == (*best, 120)
    np.testing.assert_array_equal(fitted.vectors_, telling(graph))


@pytest.mark.parametrize("best", [(0.25, 0.25), (2.0, 0.5), (4.0, 4.0)])
def test_node2vec_takes_the_p_and_q_that_validation_tasks_prefer(
    best: tuple[float, float], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def embedded(self: Node2vec, graph: Graph, p: float, q: float, walks: int) -> Vectors:
        asked.append((p, q, walks))
        return telling(graph) if (p, q) == best else noise(graph)

    monkeypatch.setattr(Node2vec, "_embedded", embedded)
    fitted = Node2vec(**SMALL, dim=8).fit(graph, split=SPLIT)
    assert (fitted.p_, fitted.q_) == best
    assert len({choice[:2] for choice in asked}) == 25
    assert asked[-1] == (*best, 80), "with all walks in the end"


def test_gcn_learns_the_known_labels(graph: Graph) -> None:
    settings = {"hidden_dim": 16, "feature_walks": 2, "dropout_choices": (0.0,)}
    settings |= {"decay_choices": (0.0,), "num_epochs": 60, "look_every": 60}
    trained, idle = (
        GCN(**SMALL, **settings, rate_choices=(rate,)).fit(graph, split=SPLIT)
        for rate in (0.03, 1e-12)
    )
    gain = auc_of_known_labels(graph, trained.vectors_) - auc_of_known_labels(graph, idle.vectors_)
    assert gain > 0.03


def test_planetoid_learns_contexts_and_labels_together() -> None:
    """On one batch, both losses fall, and the embeddings move by both."""
    generator = np.random.default_rng(0)
    start = torch.from_numpy(generator.normal(scale=0.1, size=(40, 8)).astype(np.float32))
    tables = [start.clone(), torch.zeros(40, 8)]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        last = torch.nn.Linear(8, 3)
    rows = [RowAdam(table, rate=0.01) for table in tables]
    optimiser = torch.optim.Adam(last.parameters(), lr=0.01)
    pairs = generator.integers(20, size=(16, 4))
    nodes = np.arange(20, 40)
    states = (np.arange(60).reshape(20, 3) % 2).astype(np.float32)

    def losses() -> tuple[float, float]:
        for each in rows:
            each.settle_all()
        with torch.no_grad():
            seen = tables[1][pairs[:, 1:]]
            of_contexts = structural_loss(tables[0][pairs[:, 0]], seen[:, 0], seen[:, 1:])
            logits = last(tables[0][nodes])
            of_labels = functional.binary_cross_entropy_with_logits(
                logits, torch.from_numpy(states)
            )
        return float(of_contexts), float(of_labels)

    before = losses()
    for _ in range(100):
        planetoid._step(rows, last, optimiser, pairs, nodes, states)
    after = losses()
    assert after[0] < 0.8 * before[0]
    assert after[1] < 0.8 * before[1]
    moved = (tables[0] - start).abs().sum(dim=1)
    assert (moved[np.unique(pairs[:, 0])] > 0.1).all(), "by their contexts"
    assert (moved[nodes] > 0.1).all(), "by their labels"


def test_meta_gnn_learns_a_start_from_which_two_updates_go_far(graph: Graph) -> None:
    settings = {"hidden_dim": 16, "feature_walks": 2, "fast_choices": (0.5,)}
    settings |= {"meta_choices": (0.01,), "num_steps": 60, "num_looks": 1}
    method = MetaGNN(**SMALL, **settings).fit(graph, split=SPLIT)
    tasks = TaskSampler(graph.labels, SPLIT.known, TaskShape(4, 6, 4, 6)).draw(
        60, np.random.default_rng(1)
    )

    def loss(start: metagnn.Weights) -> float:
        found = [
            metagnn.balanced_loss(*method._adapted(tasks[k : k + 1], start, 0.5)).item()
            for k in range(len(tasks))
        ]
        return float(np.mean(found))

    assert loss(method._start) < loss(method._new_weights()) - 0.05
