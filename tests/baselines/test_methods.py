"""What single methods promise beyond the contract."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge as SklearnRidge
from torch.nn import functional

from conftest import SMALL
from graphs import hand_made
from metatne.baselines.controls import Degree, NoKnownLabel
from metatne.baselines.gcn import Network
from metatne.baselines.gcn_layers import normalised_adjacency
from metatne.baselines.metagnn import MetaGNN
from metatne.baselines.pagerank import PageRank
from metatne.baselines.propagation import LabelPropagation
from metatne.baselines.ridge import KernelRidge
from metatne.controls import walk_matrix
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator
from metatne.training.trainer import Trainer
from metatne.variants import FreezingTrainer, MetaOnlyTrainer, SummingTrainer, weighing_by


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(300, num_labels=10, num_communities=6, seed=1).graph


SPLIT = LabelSplit(np.arange(6), np.arange(6, 8), np.arange(8, 10))


@pytest.fixture(scope="module")
def tasks(graph: Graph) -> Tasks:
    sampler = TaskSampler(graph.labels, range(8, 10), TaskShape(4, 6, 3, 5))
    return sampler.draw(8, numpy_generator(0, "methods"))


def test_label_propagation_is_the_dense_iteration(graph: Graph, tasks: Tasks) -> None:
    found = LabelPropagation(num_iterations=7).fit(graph, split=SPLIT).score_tasks(tasks)
    walk = walk_matrix(graph).toarray().astype(np.float64)
    for number in range(len(tasks)):
        shares = np.zeros((graph.num_nodes, 2))
        for _ in range(7):
            shares[tasks.positives[number]] = (1, 0)
            shares[tasks.negatives[number]] = (0, 1)
            shares = walk @ shares
        reached = shares[tasks.queries[number]]
        total = reached.sum(axis=1)
        expected = np.where(total > 0, reached[:, 0] / np.where(total > 0, total, 1) - 0.5, 0)
        np.testing.assert_allclose(found[number], expected, atol=1e-5)


def test_where_no_sign_arrives_the_score_is_zero() -> None:
    edges = [("a", "b"), ("b", "c"), ("x", "y")]
    two = hand_made(edges, name="two parts")
    a, c, x = (two.node_ids.positions([name]) for name in "acx")
    tasks = Tasks(np.zeros(1, dtype=np.int64), a[None], c[None], x[None], np.ones((1, 1), bool))
    method = LabelPropagation().fit(two, split=SPLIT)
    assert method.score_tasks(tasks).tolist() == [[0.0]]


def test_pagerank_is_the_dense_solution(graph: Graph, tasks: Tasks) -> None:
    method = PageRank(num_iterations=200).fit(graph, split=SPLIT)
    found = method.score_tasks(tasks)
    walk = walk_matrix(graph).toarray().astype(np.float64)
    for number in range(len(tasks)):
        returns = np.zeros(graph.num_nodes)
        returns[tasks.positives[number]] = 0.15 / 4
        visits = np.linalg.solve(np.eye(graph.num_nodes) - 0.85 * walk.T, returns)
        expected = np.log((visits - returns) / graph.degrees)
        middle = (
            expected[tasks.positives[number]].mean() + expected[tasks.negatives[number]].mean()
        ) / 2
        queries = expected[tasks.queries[number]] - middle
        np.testing.assert_allclose(found[number], queries, atol=1e-3)


def test_controls_say_what_they_say(graph: Graph, tasks: Tasks) -> None:
    degree = Degree().fit(graph, split=SPLIT)
    order = np.argsort(degree.score_tasks(tasks)[0], kind="stable")
    degrees = graph.degrees[tasks.queries[0]][order]
    assert (np.diff(degrees) >= 0).all()
    unlabelled = NoKnownLabel().fit(graph, split=SPLIT)
    held = graph.labels.select(SPLIT.known).holds_matrix().sum(axis=1)
    assert np.array_equal(unlabelled.scores_, (held == 0).astype(float))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_graph_convolution_is_pygs(graph: Graph, is_weighted: bool) -> None:
    """A X given, the first layer is an ordinary one: the same as two convolutions, slopes too."""
    from torch_geometric.nn import GCNConv

    if is_weighted:
        edges_of_four = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "d")]
        graph = hand_made(edges_of_four, weights=[3.0, 0.5, 2.0, 1.0])
    adjacency = normalised_adjacency(graph)
    features = torch.randn(graph.num_nodes, 5, generator=torch.Generator().manual_seed(0))
    network = Network(5, 7, 3, dropout=0.0).eval()
    first, last = GCNConv(5, 7), GCNConv(7, 3)
    first.lin.weight.data = network.first.weight.data.clone()
    first.bias.data = network.first.bias.data.clone()
    last.lin.weight.data = network.last.lin.weight.data.clone()
    rows = np.repeat(np.arange(graph.num_nodes), graph.degrees)
    edges = torch.from_numpy(np.stack((rows, graph.indices.astype(np.int64))))
    weights = None if graph.weights is None else torch.tensor(graph.weights, dtype=torch.float32)
    expected = last(functional.relu(first(features, edges, weights)), edges, weights)
    found = network(adjacency @ features, adjacency)
    products = network.last.propagate(adjacency, x=found, edge_weight=None)
    assert type(products.grad_fn).__name__ == "_SymmetricProductBackward"
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    torch.autograd.backward((found**2).mean())
    torch.autograd.backward((expected**2).mean())
    torch.testing.assert_close(network.first.weight.grad, first.lin.weight.grad)
    torch.testing.assert_close(network.last.lin.weight.grad, last.lin.weight.grad)


def test_meta_gnn_adapts_by_gradient_descent(graph: Graph, tasks: Tasks) -> None:
    """Two inner updates of the whole graph's convolution, written out."""
    method = MetaGNN(
        hidden_dim=6,
        feature_walks=2,
        num_steps=1,
        fast_choices=(0.3,),
        meta_choices=(0.01,),
        positives=4,
        negatives=6,
        validation_tasks=2,
    ).fit(graph, split=SPLIT)
    found = method.score_tasks(tasks)
    sizes = method._averaged.std(dim=0)
    torch.testing.assert_close(sizes, torch.ones_like(sizes), atol=1e-4, rtol=0)
    adjacency = normalised_adjacency(graph).to_dense()
    supports = np.concatenate((tasks.positives[0], tasks.negatives[0]))
    truth = (torch.arange(10) < 4).float()
    weights = [weight.detach().clone().requires_grad_() for weight in method._start]

    def logits(weights: list[torch.Tensor]) -> torch.Tensor:
        hidden = functional.relu(method._averaged @ weights[0] + weights[1])
        return (adjacency @ hidden @ weights[2] + weights[3]).squeeze(1)

    for _ in range(2):
        weight = torch.where(truth > 0, 10 / (2 * 4), 10 / (2 * 6))  # either sign a half
        loss = functional.binary_cross_entropy_with_logits(
            logits(weights)[supports], truth, weight=weight
        )
        slopes = torch.autograd.grad(loss, weights)
        weights = [
            (w - 0.3 * s).detach().requires_grad_() for w, s in zip(weights, slopes, strict=True)
        ]
    expected = logits(weights)[tasks.queries[0]].detach().numpy()
    np.testing.assert_allclose(found[0], expected, atol=1e-4)


def test_meta_gnn_tries_rates_briefly_and_trains_with_the_best(graph: Graph) -> None:
    method = MetaGNN(
        hidden_dim=6,
        feature_walks=2,
        num_steps=5,
        tuning_steps=2,
        fast_choices=(1e-9, 2.0),  # with the first nothing is learned of a task
        meta_choices=(0.003, 0.01),
        positives=4,
        negatives=6,
        validation_tasks=30,
    ).fit(graph, split=SPLIT)
    assert method.fast_rate_ == 2.0
    assert method.meta_rate_ in (0.003, 0.01)
    assert method.num_steps_ == 4 * 2 + 5  # every pair of rates, then the best


def test_ridge_has_a_weight_for_every_block(graph: Graph) -> None:
    method = KernelRidge(num_steps=5, positives=4, negatives=6, validation_tasks=10)
    weights = method.fit(graph, split=SPLIT).weights_
    assert len(weights) == len(method.blocks_) >= 14
    assert all(weight > 0 for weight in weights.values())
    assert len(set(weights.values())) > 1  # something was learned


def run(kind: type[Trainer], graph: Graph, **changes: object) -> Trainer:
    trainer = kind(graph, SPLIT, MetaTNE(**SMALL | changes).config)
    trainer.run()
    return trainer


def test_v3_takes_both_losses_in_every_step(graph: Graph) -> None:
    trainer = run(SummingTrainer, graph, num_steps=10, validate_every=5)
    assert trainer.state.num_structural == trainer.state.step == 10
    last = trainer.state.history[-1]
    assert last.structural_loss is not None
    assert last.meta_loss is not None
    kind = weighing_by(10.0)._trainer_kind
    assert issubclass(kind, SummingTrainer)
    assert kind.factor == 10.0


@pytest.mark.parametrize("averaging", [0.0, 1.0])
def test_v4_freezes_the_embeddings(graph: Graph, averaging: float) -> None:
    """Those that are judged too, where weights are averaged; after the schedule's share of steps.

    The chance is 1 for ten steps, then 1/2, then 1/3. The average has looked at step 10.
    """
    changes = {"num_steps": 30, "averaging": averaging, "decay_rate": 1.0, "decay_period": 10}
    changes |= {"validate_every": 30}
    seen: list[torch.Tensor] = []
    judged: list[torch.Tensor] = []
    trainer = FreezingTrainer(graph, SPLIT, MetaTNE(**SMALL | changes).config)

    def keep(trainer: Trainer) -> None:
        for rows in trainer.row_optimisers.values():
            rows.settle_all()
        seen.append(trainer.network.embeddings.detach().clone())
        judged.append(trainer.judged.embeddings.detach().clone())

    trainer.run(at_step_end=keep)
    first = trainer.state.num_structural
    assert first == round(10 + 10 / 2 + 10 / 3)
    assert not torch.equal(seen[0], seen[first - 1])
    assert torch.equal(seen[first - 1], seen[-1])
    assert torch.equal(judged[-1], seen[-1])


def test_v5_takes_no_structural_step(graph: Graph) -> None:
    trainer = run(MetaOnlyTrainer, graph, num_steps=10)
    assert trainer.state.num_structural == 0


def test_v3_weighs_the_meta_learning_loss_by_its_factor(graph: Graph) -> None:
    """With none of it the transformation stays where it started; with some it does not."""

    def moved_by(factor: float) -> bool:
        kind = weighing_by(factor)._trainer_kind
        trainer = kind(graph, SPLIT, MetaTNE(**SMALL).config)
        before = [weight.detach().clone() for weight in trainer.network.transformation.parameters()]
        trainer.take_step(0.5)
        after = trainer.network.transformation.parameters()
        return not all(map(torch.equal, before, after))

    assert not moved_by(0.0)
    assert moved_by(0.1)


def test_the_ridge_is_scikit_learns(graph: Graph, tasks: Tasks) -> None:
    """With the learned kernel, and weights that make both classes equal."""
    method = KernelRidge(num_steps=5, positives=4, negatives=6, validation_tasks=10)
    method.fit(graph, split=SPLIT)
    found = method.score_tasks(tasks)
    kernels = (method._kernels(tasks) @ method._log_weights.exp() + 1.0).detach().numpy()
    truth = np.where(np.arange(10) < 4, 1.0, -1.0)
    weights = np.where(np.arange(10) < 4, 10 / 8, 10 / 12)
    for number in range(len(tasks)):
        model = SklearnRidge(alpha=method._log_ridge.exp().item(), kernel="precomputed")
        model.fit(kernels[number, :10].astype(np.float64), truth, sample_weight=weights)
        np.testing.assert_allclose(found[number], model.predict(kernels[number, 10:]), atol=1e-4)
