"""The network in its fast form equals the paper's equations, and is what they say it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from metatne.config import Config
from metatne.model import Block, MetaTNENetwork, SelfAttention, initial_table, prototype_logits
from reference import reference_logits, reference_probabilities

NUM_NODES = 12
EVERY_NETWORK = list(product((True, False), (1, 2, 3), (1, 2, 4)))


def config_of(**changed: Any) -> Config:
    small: dict[str, Any] = {
        "dim": 6,
        "attention_dim": 8,
        "num_heads": 2,
        "feedforward_dim": 5,
        "dropout": 0.0,
    }
    return Config(**(small | changed))


def randomise(module: torch.nn.Module) -> None:
    """Every parameter at random, so that none of them can be left out unnoticed."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)


def network_of(config: Config) -> MetaTNENetwork:
    network = MetaTNENetwork(NUM_NODES, config).double()
    randomise(network)
    torch.nn.init.normal_(network.embeddings)
    return network


def tasks_of(num_tasks: int, *sizes: int) -> list[Tensor]:
    """Distinct nodes for each part of a task (positives, negatives, queries)."""
    orders = torch.stack([torch.randperm(NUM_NODES) for _ in range(num_tasks)])
    return list(torch.split(orders[:, : sum(sizes)], list(sizes), dim=1))


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def assert_equal(ours: Tensor, theirs: Tensor, message: str = "") -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9, msg=message or None)


@pytest.mark.parametrize(("norm_first", "num_blocks", "num_heads"), EVERY_NETWORK)
def test_logits_and_gradients_are_those_of_the_paper(
    norm_first: bool, num_blocks: int, num_heads: int
) -> None:
    config = config_of(norm_first=norm_first, num_blocks=num_blocks, num_heads=num_heads)
    network = network_of(config)
    positives, negatives, queries = tasks_of(2, 2, 4, 3)

    logits = network(positives, negatives, queries)
    signed = reference_logits(network, config, positives, negatives, queries)
    expected = signed[..., 0] - signed[..., 1]
    assert_equal(logits, expected)
    assert logits.std() > 0.1  # else the comparison says little
    assert_equal(torch.sigmoid(logits), reference_probabilities(signed))

    names, parameters = zip(*network.named_parameters(), strict=True)
    direction = torch.randn(logits.shape, dtype=logits.dtype)
    ours = torch.autograd.grad((logits * direction).sum(), parameters)
    theirs = torch.autograd.grad((expected * direction).sum(), parameters)
    for name, our, their in zip(names, ours, theirs, strict=True):
        assert_equal(our, their, f"the gradient of {name} differs")
    # The last norm's shift moves query and prototype alike; all else makes a difference.
    still = [name for name, their in zip(names, theirs, strict=True) if their.abs().max() < 1e-9]
    assert still == [names[-1]]


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (1, 3, 2), (4, 1, 1)], ids=["all one", "one positive", "one negative"]
)
@pytest.mark.parametrize("norm_first", [True, False])
def test_the_smallest_tasks(norm_first: bool, sizes: tuple[int, int, int]) -> None:
    config = config_of(norm_first=norm_first, num_blocks=2)
    network = network_of(config)
    task = tasks_of(1, *sizes)
    signed = reference_logits(network, config, *task)
    assert_equal(network(*task), signed[..., 0] - signed[..., 1])


@pytest.mark.parametrize(("norm_first", "num_heads"), [*product((True, False), (1, 2, 4))])
def test_the_factorised_block_is_the_block_on_the_sets(norm_first: bool, num_heads: int) -> None:
    block = Block(config_of(norm_first=norm_first, num_heads=num_heads)).double()
    randomise(block)
    supports = torch.randn(2, 3, 6, dtype=torch.float64)
    queries = torch.randn(2, 4, 6, dtype=torch.float64)
    sets = torch.cat(
        (supports.unsqueeze(1).expand(2, 4, 3, 6), queries.unsqueeze(2)), dim=2
    )  # (task, query, shot + 1, dim)
    assert_equal(block.forward_factorised(supports, queries), block(sets))


def test_extreme_attention_stays_finite() -> None:
    attention = SelfAttention(config_of())
    supports, queries = 1e4 * torch.randn(1, 3, 6), 1e4 * torch.randn(1, 4, 6)
    assert attention.forward_factorised(supports, queries).isfinite().all()


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_order_of_supports_does_not_matter(norm_first: bool) -> None:
    network = network_of(config_of(norm_first=norm_first, num_blocks=2))
    positives, negatives, queries = tasks_of(2, 3, 4, 3)
    shuffled = network(positives[:, [2, 0, 1]], negatives[:, [3, 1, 0, 2]], queries)
    assert_equal(shuffled, network(positives, negatives, queries))


def test_permuted_queries_and_tasks_have_permuted_logits() -> None:
    network = network_of(config_of(num_blocks=2))
    positives, negatives, queries = tasks_of(3, 3, 2, 3)
    logits = network(positives, negatives, queries)
    assert_equal(network(positives, negatives, queries[:, [2, 0, 1]]), logits[:, [2, 0, 1]])
    tasks = [1, 2, 0]
    assert_equal(network(positives[tasks], negatives[tasks], queries[tasks]), logits[tasks])


def test_a_query_knows_nothing_of_the_others() -> None:
    network = network_of(config_of(num_blocks=2))
    positives, negatives, queries = tasks_of(1, 3, 2, 4)
    together = network(positives, negatives, queries)
    alone = torch.cat([network(positives, negatives, q[:, None]) for q in queries.T], dim=1)
    assert_equal(together, alone)


def test_swapped_signs_swap_the_decision() -> None:
    network = network_of(config_of())
    positives, negatives, queries = tasks_of(1, 3, 2, 4)
    assert_equal(network(negatives, positives, queries), -network(positives, negatives, queries))


def test_dropout_is_for_training_alone() -> None:
    dropping = network_of(config_of(dropout=0.5))
    keeping = MetaTNENetwork(NUM_NODES, config_of(dropout=0.0)).double()
    keeping.load_state_dict(dropping.state_dict())
    task = tasks_of(2, 3, 2, 4)
    assert torch.equal(dropping.eval()(*task), keeping.eval()(*task))
    assert torch.equal(keeping.train()(*task), keeping.eval()(*task))
    dropping.train()
    assert not torch.allclose(dropping(*task), dropping(*task))


@pytest.mark.parametrize("is_factorised", [True, False])
def test_dropped_attention_is_right_on_average(is_factorised: bool) -> None:
    """The attention module is linear in its dropped weights, so their mean is the undropped."""
    attention = SelfAttention(config_of(dropout=0.25, num_heads=2)).double()
    randomise(attention)
    supports = torch.randn(1, 3, 6, dtype=torch.float64)
    queries = torch.randn(1, 2, 6, dtype=torch.float64)
    sets = torch.cat((supports.unsqueeze(1).expand(1, 2, 3, 6), queries.unsqueeze(2)), dim=2)
    exact = attention.eval()(sets)[0]
    num_masks = 20_000
    attention.train()
    if is_factorised:
        dropped = attention.forward_factorised(
            supports.expand(num_masks, -1, -1), queries.expand(num_masks, -1, -1)
        )
    else:
        dropped = attention(sets.expand(num_masks, -1, -1, -1))
    assert (dropped.std(dim=0) > 0.05).all()  # every output is dropped now and then
    error = dropped.std(dim=0) / math.sqrt(num_masks)
    assert ((dropped.mean(dim=0) - exact).abs() < 5 * error).all()


def test_the_attention_to_a_query_is_dropped_pair_by_pair() -> None:
    """Supports at zero have no values of their own: what they get is the query's or nothing."""
    attention = SelfAttention(config_of(dropout=0.25, num_heads=1)).double().train()
    randomise(attention)
    queries = torch.randn(50, 20, 6, dtype=torch.float64)
    supports = torch.zeros(50, 4, 6, dtype=torch.float64)
    tailored = attention.forward_factorised(supports, queries)[:, :, :-1]
    got_nothing = (tailored == 0).all(dim=-1)  # (task, query, shot)
    assert got_nothing.double().mean().item() == pytest.approx(0.25, abs=0.03)
    assert got_nothing.any(dim=1).any(dim=1).all()
    assert not (got_nothing == got_nothing[:, :1]).all()


def test_the_attention_among_supports_is_dropped_once_a_task() -> None:
    """Queries at zero have no values and ask for nothing: all supports are tailored alike."""
    attention = SelfAttention(config_of(dropout=0.25, num_heads=1)).double().train()
    randomise(attention)
    supports = torch.randn(1, 4, 6, dtype=torch.float64).expand(50, -1, -1)
    tailored = attention.forward_factorised(supports, torch.zeros(50, 3, 6, dtype=torch.float64))
    assert_equal(tailored[:, :1, :-1].expand(-1, 3, -1, -1), tailored[:, :, :-1])
    assert (tailored[:, 0, :-1].std(dim=0) > 0.01).all()


def test_dropout_takes_the_share_it_is_told() -> None:
    """The output of both modules is dropped before it is added, scaled to keep its mean."""
    block = Block(config_of(dropout=0.25)).double().train()
    with torch.no_grad():
        for parameter in block.feedforward.parameters():
            parameter.zero_()  # the block is now the attention's residual alone
    attended = torch.ones(200, 5, 4, 6, dtype=torch.float64)
    added = block._after_attention(torch.zeros_like(attended), attended)
    assert {round(value, 9) for value in added.flatten().tolist()} == {0.0, round(1 / 0.75, 9)}
    assert (added == 0).double().mean().item() == pytest.approx(0.25, abs=0.01)


def test_prototype_logits_by_hand() -> None:
    supports = torch.tensor([[[[0.0, 0.0, 0.0, 4.0], [2.0, 0.0, 0.0, 0.0]]]])  # mean 1, 0, 0, 2
    queries = torch.tensor([[[1.0, 3.0, 0.0, 1.0]]])  # gap 0, 3, 0, -1
    assert prototype_logits(supports, queries).tolist() == [[-10.0 / 2.0]]


def test_the_parameters_are_those_of_the_paper() -> None:
    network = MetaTNENetwork(NUM_NODES, config_of(num_blocks=2))
    block = {
        "attention.to_query": (8, 6),
        "attention.to_key": (8, 6),
        "attention.to_value": (8, 6),
        "attention.to_output": (6, 8),
        "feedforward.widen": (5, 6),
        "feedforward.widen_bias": (5,),
        "feedforward.narrow": (6, 5),
        "feedforward.narrow_bias": (6,),
        "attention_norm.weight": (6,),
        "attention_norm.bias": (6,),
        "feedforward_norm.weight": (6,),
        "feedforward_norm.bias": (6,),
    }
    expected: dict[str, tuple[int, ...]] = {"embeddings": (NUM_NODES, 6)}
    for place in ("first_block", "later_blocks.0"):
        expected |= {f"transformation.{place}.{name}": shape for name, shape in block.items()}
    last = {f"transformation.last_norm.{name}": (6,) for name in ("weight", "bias")}
    found = {name: tuple(p.shape) for name, p in network.named_parameters()}
    assert found == expected | last
    post_norm = MetaTNENetwork(NUM_NODES, config_of(num_blocks=2, norm_first=False))
    assert {name: tuple(p.shape) for name, p in post_norm.named_parameters()} == expected


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_identity_start_leaves_the_embeddings(norm_first: bool) -> None:
    """Tr adds nothing yet, so logits are those of the (normalised) embeddings themselves."""
    config = config_of(norm_first=norm_first, num_blocks=2, identity_start=True)
    network = MetaTNENetwork(NUM_NODES, config)
    torch.nn.init.normal_(network.embeddings)
    positives, negatives, queries = tasks_of(2, 3, 2, 4)
    U = torch.nn.functional.layer_norm(network.embeddings, (6,), eps=1e-6)
    distances = [
        (U[queries] - U[supports].mean(dim=1, keepdim=True)).square().sum(dim=-1) / math.sqrt(6)
        for supports in (positives, negatives)
    ]
    expected = distances[1] - distances[0]
    torch.testing.assert_close(
        network(positives, negatives, queries), expected, rtol=1e-4, atol=1e-4
    )
    drawn = MetaTNENetwork(NUM_NODES, config_of(identity_start=False))
    assert all((p != 0).any() for p in drawn.transformation.parameters() if p.ndim == 2)


def test_tables_start_small_and_uniform() -> None:
    table = initial_table(5_000, 4)
    bound = 0.5 / 4
    assert table.requires_grad
    assert table.abs().max().item() <= bound
    assert table.max().item() == pytest.approx(bound, rel=0.01)
    assert table.mean().item() == pytest.approx(0, abs=0.01 * bound)
    assert table.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
