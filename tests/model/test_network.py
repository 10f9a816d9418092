"""What the network is: its parameters, its start, and what makes no difference to it."""

from __future__ import annotations

import math

import pytest
import torch

from metatne.model import MetaTNENetwork, initial_table
from model.agreement import assert_equal
from model.nodes import NUM_NODES, network_of, nodes_of
from networks import Task, small_config


def test_the_parameters_are_those_of_the_paper() -> None:
    network = MetaTNENetwork(NUM_NODES, small_config(num_blocks=2))
    block = {
        "attention.to_query": (24, 6),
        "attention.to_key": (24, 6),
        "attention.to_value": (24, 6),
        "attention.to_output": (6, 24),
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
    post_norm = MetaTNENetwork(NUM_NODES, small_config(num_blocks=2, norm_first=False))
    assert {name: tuple(p.shape) for name, p in post_norm.named_parameters()} == expected


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_identity_start_leaves_the_embeddings(norm_first: bool) -> None:
    """Tr adds nothing yet, so logits are those of the (normalised) embeddings themselves."""
    config = small_config(norm_first=norm_first, num_blocks=2, identity_start=True)
    network = MetaTNENetwork(NUM_NODES, config)
    torch.nn.init.normal_(network.embeddings)
    positives, negatives, queries = nodes_of(2, 3, 2, 4)
    U = torch.nn.functional.layer_norm(network.embeddings, (6,), eps=1e-6)
    distances = [
        (U[queries] - U[supports].mean(dim=1, keepdim=True)).square().sum(dim=-1) / math.sqrt(6)
        for supports in (positives, negatives)
    ]
    expected = distances[1] - distances[0]
    torch.testing.assert_close(
        network(positives, negatives, queries), expected, rtol=1e-4, atol=1e-4
    )
    drawn = MetaTNENetwork(NUM_NODES, small_config(identity_start=False))
    assert all((p != 0).any() for p in drawn.transformation.parameters() if p.ndim == 2)


def test_tables_start_small_and_uniform() -> None:
    table = initial_table(5_000, 4)
    bound = 0.5 / 4
    assert table.requires_grad
    assert table.abs().max().item() <= bound
    assert table.max().item() == pytest.approx(bound, rel=0.01)
    assert table.mean().item() == pytest.approx(0, abs=0.01 * bound)
    assert table.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_order_of_supports_does_not_matter(norm_first: bool) -> None:
    network = network_of(small_config(norm_first=norm_first, num_blocks=2))
    positives, negatives, queries = nodes_of(2, 3, 4, 3)
    shuffled = network(positives[:, [2, 0, 1]], negatives[:, [3, 1, 0, 2]], queries)
    assert_equal(shuffled, network(positives, negatives, queries))


def test_permuted_queries_and_tasks_have_permuted_logits() -> None:
    network = network_of(small_config(num_blocks=2))
    positives, negatives, queries = nodes_of(3, 3, 2, 3)
    logits = network(positives, negatives, queries)
    assert_equal(network(positives, negatives, queries[:, [2, 0, 1]]), logits[:, [2, 0, 1]])
    tasks = [1, 2, 0]
    assert_equal(network(positives[tasks], negatives[tasks], queries[tasks]), logits[tasks])


def test_a_query_knows_nothing_of_the_others() -> None:
    network = network_of(small_config(num_blocks=2))
    positives, negatives, queries = nodes_of(1, 3, 2, 4)
    together = network(positives, negatives, queries)
    alone = torch.cat([network(positives, negatives, q[:, None]) for q in queries.T], dim=1)
    assert_equal(together, alone)


def test_swapped_signs_swap_the_decision() -> None:
    network = network_of(small_config())
    positives, negatives, queries = nodes_of(1, 3, 2, 4)
    assert_equal(network(negatives, positives, queries), -network(positives, negatives, queries))


def test_nodes_are_classified_by_their_embeddings() -> None:
    network = network_of(small_config())
    nodes = nodes_of(2, 3, 2, 4)
    embeddings = Task(*(network.embeddings[part] for part in nodes))
    assert torch.equal(network(*nodes), network.classify(*embeddings))
