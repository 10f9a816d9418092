"""The naive form that benchmarks measure against is the same mathematics as the network."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from metatne.bench.naive import naive_logits
from metatne.config import make_config
from metatne.model import MetaTNENetwork


def network_of(
    *, norm_first: bool = True, num_blocks: int = 1, num_heads: int = 2
) -> MetaTNENetwork:
    settings = {"dim": 8, "attention_dim": 16, "feedforward_dim": 12}
    shape = {"norm_first": norm_first, "num_blocks": num_blocks, "num_heads": num_heads}
    config = make_config(settings | shape)
    network = MetaTNENetwork(1, config).double()
    with torch.no_grad():  # every parameter at random, so that none can be left out unnoticed
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return network


def embeddings(
    *, positives: int = 3, negatives: int = 4, queries: int = 5
) -> tuple[Tensor, Tensor, Tensor]:
    def of(number: int) -> Tensor:
        return torch.randn(2, number, 8, dtype=torch.float64, requires_grad=True)

    return of(positives), of(negatives), of(queries)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("norm_first", "num_blocks", "num_heads"), [*product((True, False), (1, 2), (1, 4))]
)
def test_the_naive_form_has_the_logits_and_gradients_of_the_network(
    norm_first: bool, num_blocks: int, num_heads: int
) -> None:
    network = network_of(norm_first=norm_first, num_blocks=num_blocks, num_heads=num_heads)
    task = embeddings()
    sources = [*task, *network.transformation.parameters()]
    network.eval()
    ours, theirs = network.classify(*task), naive_logits(network, *task)
    torch.testing.assert_close(ours, theirs)
    assert theirs.std() > 0.1
    for our, their in zip(
        torch.autograd.grad(ours.square().sum(), sources),
        torch.autograd.grad(theirs.square().sum(), sources),
        strict=True,
    ):
        torch.testing.assert_close(our, their)


@pytest.mark.parametrize("sizes", [(1, 3, 2), (3, 1, 2), (2, 2, 1)])
def test_one_support_or_one_query(sizes: tuple[int, int, int]) -> None:
    network = network_of()
    network.eval()
    positives, negatives, queries = sizes
    task = embeddings(positives=positives, negatives=negatives, queries=queries)
    torch.testing.assert_close(network.classify(*task), naive_logits(network, *task))


def test_training_drops_and_scoring_does_not() -> None:
    network, task = network_of(), embeddings()
    exact = naive_logits(network, *task)
    assert torch.equal(naive_logits(network, *task), exact)
    dropped = torch.stack([naive_logits(network, *task, dropout=0.2) for _ in range(2)])
    assert not torch.equal(dropped[0], dropped[1])
    assert not torch.equal(dropped[0], exact)
