"""The meta loss and its gradients are those of the whole batch, whoever works on its pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from metatne.config import Config
from metatne.model import MetaTNENetwork
from metatne.noise import Noise, SetMasks, draw_noise
from metatne.sampling.tasks import Tasks
from metatne.training.meta import (
    MIN_PIECES,
    PAIRS_PER_PIECE,
    MetaGradients,
    _pieces,
    meta_gradients,
)
from metatne.training.team import Alone, Team, share
from networks import in_double, random_network, small_config
from reference import meta_loss

NUM_TASKS, NUM_QUERIES = 5, 4
SINGLE = 2e-5


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def config_of(**changed: Any) -> Config:
    return small_config(**({"l2": 0.05, "num_heads": 3} | changed))


def tasks_of(config: Config, num_tasks: int = NUM_TASKS) -> Tasks:
    """Tasks whose nodes are of no matter: the embeddings are given beside them."""
    rng = np.random.default_rng(0)

    def nodes(number: int) -> Any:
        return np.zeros((num_tasks, number), dtype=np.int64)

    return Tasks(
        labels=np.zeros(num_tasks, dtype=np.int64),
        positives=nodes(config.positives),
        negatives=nodes(config.negatives),
        queries=nodes(NUM_QUERIES),
        is_positive=rng.random((num_tasks, NUM_QUERIES)) < 0.5,
    )


def nodes_of(config: Config, num_tasks: int = NUM_TASKS) -> Tensor:
    return torch.randn(num_tasks, config.positives + config.negatives + NUM_QUERIES, config.dim)


def gradients_of(
    network: MetaTNENetwork,
    config: Config,
    nodes: Tensor,
    *,
    step: int = 0,
    team: Team | None = None,
) -> MetaGradients:
    tasks = tasks_of(config, len(nodes))
    return meta_gradients(network, tasks, nodes, config, step=step, team=team or Alone())


def plain_gradients(
    network: MetaTNENetwork, config: Config, nodes: Tensor, noise: Noise | None
) -> MetaGradients:
    """Autograd of the plain loss over the whole batch, in double precision."""
    network, vectors = in_double(network), nodes.double().requires_grad_()
    positives, negatives, queries = torch.split(
        vectors, [config.positives, config.negatives, NUM_QUERIES], dim=1
    )
    names = ("to_query", "to_key", "to_value", "to_output", "widen", "narrow")
    parameters = dict(network.transformation.named_parameters())
    matrices = [parameter for name, parameter in parameters.items() if name.endswith(names)]
    assert len(matrices) == 6 * config.num_blocks
    truth = torch.from_numpy(tasks_of(config, len(nodes)).is_positive).double()
    logits = network.classify(positives, negatives, queries, noise)
    loss = meta_loss(logits, truth, matrices, l2=config.l2)
    by_nodes, *others = torch.autograd.grad(
        loss, [vectors, *parameters.values()], allow_unused=True, materialize_grads=True
    )
    return MetaGradients(loss.detach(), by_nodes, others)


def tensors_of(gradients: MetaGradients) -> list[Tensor]:
    return [gradients.loss, gradients.nodes, *gradients.parameters]


def assert_near(ours: MetaGradients, theirs: MetaGradients, tolerance: float) -> None:
    for our, their in zip(tensors_of(ours), tensors_of(theirs), strict=True):
        torch.testing.assert_close(our.double(), their.double(), rtol=tolerance, atol=tolerance)


def assert_same(ours: MetaGradients, theirs: MetaGradients) -> None:
    for our, their in zip(tensors_of(ours), tensors_of(theirs), strict=True):
        assert our.numpy().tobytes() == their.numpy().tobytes()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Noise]:
    """The noise of each piece, in the order of the pieces (there is one thread)."""
    noises: list[Noise] = []

    def watch(*arguments: Any, **options: Any) -> Noise | None:
        noise = draw_noise(*arguments, **options)
        if noise is not None:
            noises.append(noise)
        return noise

    monkeypatch.setattr("metatne.training.meta.draw_noise", watch)
    return noises


def joined(noises: Sequence[Noise]) -> Noise | None:
    """The noise of the whole batch."""
    if not noises:
        return None

    def join(sign: str) -> list[SetMasks]:
        pieces = [getattr(noise, sign) for noise in noises]
        return [
            SetMasks(
                **{
                    field.name: torch.cat([getattr(masks, field.name) for masks in of_block])
                    for field in fields(SetMasks)
                }
            )
            for of_block in zip(*pieces, strict=True)
        ]

    return Noise(join("positive"), join("negative"))


@pytest.mark.parametrize("dropout", [0.0, 0.4], ids=["no noise", "noise"])
@pytest.mark.parametrize(
    "changed",
    [{}, {"num_heads": 1}, {"norm_first": False}, {"num_blocks": 2}, {"l2": 0.0}],
    ids=["as is", "one head", "post-norm", "two blocks", "no penalty"],
)
@pytest.mark.parametrize("is_double", [False, True])
def test_gradients_are_autograds_of_the_loss_over_the_whole_batch(
    changed: dict[str, Any], dropout: float, is_double: bool, drawn: list[Noise]
) -> None:
    config = config_of(dropout=dropout, **changed)
    network, nodes = random_network(config), nodes_of(config)
    expected_dtype = torch.float64 if is_double else torch.float32
    found = gradients_of(network.to(expected_dtype), config, nodes.to(expected_dtype))
    assert len(drawn) == (MIN_PIECES if dropout else 0)
    expected = plain_gradients(network, config, nodes, joined(drawn))
    assert_near(found, expected, 1e-9 if is_double else SINGLE)
    assert {tensor.dtype for tensor in tensors_of(found)} == {expected_dtype}


def test_the_loss_by_hand() -> None:
    config = config_of(l2=0.3)
    network, nodes = random_network(config), nodes_of(config)
    logits = network.classify(nodes[:, :2], nodes[:, 2:5], nodes[:, 5:]).tolist()
    is_positive = tasks_of(config).is_positive
    surprise = [
        -math.log(1 / (1 + math.exp(-x if holds else x)))
        for of_task, truth in zip(logits, is_positive, strict=True)
        for x, holds in zip(of_task, truth, strict=True)
    ]
    squares = sum(
        entry**2
        for parameter in network.transformation.parameters()
        if parameter.ndim == 2
        for entry in parameter.flatten().tolist()
    )
    expected = sum(surprise) / (NUM_TASKS * NUM_QUERIES) + 0.3 / 2 * squares
    assert gradients_of(network, config, nodes).loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_penalty_pulls_every_matrix_and_nothing_else() -> None:
    network, nodes = random_network(config_of()), nodes_of(config_of())
    without = gradients_of(network, config_of(l2=0.0), nodes)
    penalised = gradients_of(network, config_of(l2=0.5), nodes)
    assert torch.equal(penalised.nodes, without.nodes)
    for parameter, with_pull, plain in zip(
        network.transformation.parameters(), penalised.parameters, without.parameters, strict=True
    ):
        pull = 0.5 * parameter.detach() if parameter.ndim == 2 else torch.zeros_like(parameter)
        torch.testing.assert_close(with_pull - plain, pull, rtol=1e-5, atol=1e-5)


def test_the_loss_stays_finite_where_probabilities_do_not() -> None:
    config = config_of(l2=0.0)
    network, nodes = random_network(config), nodes_of(config)
    with torch.no_grad():
        network.transformation.last_norm.get_parameter("weight").fill_(100.0)
    found = gradients_of(network, config, nodes)
    assert found.loss.item() > 100
    assert all(tensor.isfinite().all() for tensor in tensors_of(found))


@pytest.mark.parametrize("is_parameter", [False, True])
def test_nan_is_nan_in_the_loss_and_in_the_gradients(is_parameter: bool) -> None:
    config = config_of(dropout=0.2)
    network, nodes = random_network(config), nodes_of(config)
    broken = network.transformation.first_block.feedforward.widen_bias if is_parameter else nodes
    with torch.no_grad():
        broken.view(-1)[0] = math.nan
    found = gradients_of(network, config, nodes)
    assert found.loss.isnan()
    unread = len(found.parameters) - 1  # the last norm's shift, which cancels
    for number, gradient in enumerate(found.parameters):
        assert gradient.isnan().any() == (number != unread)
    assert found.nodes[0].isnan().all()


@pytest.mark.parametrize("pairs", [1, 60, 10**6], ids=["one task", "some tasks", "as many as may"])
def test_the_size_of_the_pieces_does_not_show(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of()
    network, nodes = random_network(config), nodes_of(config, num_tasks=9)
    expected = plain_gradients(network, config, nodes, None)
    monkeypatch.setattr("metatne.training.meta.PAIRS_PER_PIECE", pairs)
    assert_near(gradients_of(network, config, nodes), expected, SINGLE)


@settings(max_examples=200, deadline=None)
@given(
    num_tasks=st.integers(1, 300),
    positives=st.integers(1, 50),
    negatives=st.integers(1, 50),
    queries=st.integers(1, 100),
)
def test_pieces_are_a_cut_of_the_batch(
    num_tasks: int, positives: int, negatives: int, queries: int
) -> None:
    """Every task once, in order; no more pairs in a piece than are kept; work for two cores."""
    pieces = _pieces(num_tasks, [positives, negatives, queries])
    batch = list(range(num_tasks))
    assert [task for piece in pieces for task in batch[piece]] == batch
    sizes = [len(batch[piece]) for piece in pieces]
    assert min(sizes) >= 1
    assert max(sizes) == 1 or max(sizes) * queries * (positives + negatives + 2) <= PAIRS_PER_PIECE
    assert len(pieces) >= min(num_tasks, MIN_PIECES)


@pytest.mark.parametrize("changed", [{}, {"num_blocks": 2}], ids=["fused", "plain"])
def test_the_number_of_threads_does_not_change_a_bit(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(dropout=0.2, **changed)
    network, nodes = random_network(config), nodes_of(config, num_tasks=12)
    monkeypatch.setattr("metatne.training.meta.PAIRS_PER_PIECE", 60)  # six pieces
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(gradients_of(network, config, nodes))
    assert_same(found[1], found[0])
    assert_same(found[2], found[0])


class Worker:
    """One of a team, whose partners' tensors are known already."""

    def __init__(self, rank: int, size: int, partners: Sequence[Sequence[Tensor]] = ()) -> None:
        self.rank, self.size, self.partners = rank, size, partners
        self.given: list[Tensor] = []

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        self.given = [tensor.clone() for tensor in tensors]
        for theirs in self.partners:
            for tensor, other in zip(tensors, theirs, strict=True):
                tensor += other


@pytest.mark.parametrize("size", [2, 3, 9], ids=["two", "three", "more than pieces"])
def test_a_team_has_the_gradients_of_one_worker(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise too is that of one worker: it goes with the task."""
    config = config_of(dropout=0.2)
    network, nodes = random_network(config), nodes_of(config, num_tasks=12)
    monkeypatch.setattr("metatne.training.meta.PAIRS_PER_PIECE", 60)
    alone = gradients_of(network, config, nodes)
    workers = [Worker(rank, size) for rank in range(size)]
    for worker in workers:
        gradients_of(network, config, nodes, team=worker)
    shares = [(worker.given[1].abs().sum(dim=(1, 2)) > 0).int() for worker in workers]
    assert (sum(shares, torch.zeros(12)) == 1).all()  # each task is worked on by one of them
    for rank in (0, size - 1):
        partners = [worker.given for worker in workers if worker.rank != rank]
        together = gradients_of(network, config, nodes, team=Worker(rank, size, partners))
        assert_near(together, alone, 1e-6)


@given(st.lists(st.integers()), st.integers(1, 5))
def test_shares_of_a_team_are_all_of_it(pieces: list[int], size: int) -> None:
    shares = [share(Worker(rank, size), pieces) for rank in range(size)]
    assert sorted(piece for some in shares for piece in some) == sorted(pieces)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_noise_goes_by_seed_and_step() -> None:
    config = config_of(dropout=0.2)
    network, nodes = random_network(config), nodes_of(config)
    first = gradients_of(network, config, nodes, step=3)
    torch.rand(7)
    np.random.default_rng(1).random(5)
    assert_same(gradients_of(network, config, nodes, step=3), first)
    for other in (
        gradients_of(network, config, nodes, step=4),
        gradients_of(network, config_of(dropout=0.2, seed=1), nodes, step=3),
    ):
        assert not torch.equal(other.nodes, first.nodes)


def test_tasks_alike_have_noise_of_their_own(drawn: list[Noise]) -> None:
    config = config_of(dropout=0.2)
    network, nodes = random_network(config), nodes_of(config, num_tasks=1).expand(6, -1, -1)
    gradients_of(network, config, nodes.clone())
    noise = joined(drawn)
    assert noise is not None
    assert len(torch.unique(noise.positive[0].fed_queries, dim=0)) == 6


def test_a_network_is_left_as_it_was() -> None:
    """Gradients are handed over, not left behind; also where the caller wants none."""
    config = config_of(dropout=0.2)
    network, nodes = random_network(config), nodes_of(config)
    before, given_nodes = network.state_dict(), nodes.clone()
    before = {name: weight.clone() for name, weight in before.items()}
    expected = gradients_of(network, config, nodes)
    with torch.no_grad():
        assert_same(gradients_of(network, config, nodes), expected)
    assert not nodes.requires_grad
    assert torch.equal(nodes, given_nodes)
    assert all(parameter.grad is None for parameter in network.parameters())
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())
