"""The network in each of its forms equals the paper's equations."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from metatne.model import Block, Transformation, _sum_heads, prototype_closeness
from model.agreement import DOUBLE, SINGLE, assert_equal, expected_outcome
from model.nodes import sets_of
from networks import (
    Task,
    assert_agree,
    noise_of,
    outcome,
    random_network,
    random_task,
    randomise,
    small_config,
)

# Heads of 24, 8, 6 and 3 entries, of embeddings of 6: above 6, W_Q' W_K is folded.
PLAIN_NETWORKS = list(product((True, False), (1, 2), (1, 3, 8)))
FUSED_NETWORKS = (1, 2, 3, 4, 8)


@pytest.mark.parametrize("dropout", [0.0, 0.4], ids=["no noise", "noise"])
@pytest.mark.parametrize(("norm_first", "num_blocks", "num_heads"), PLAIN_NETWORKS)
def test_logits_and_gradients_are_those_of_the_paper(
    norm_first: bool, num_blocks: int, num_heads: int, dropout: float
) -> None:
    config = small_config(
        norm_first=norm_first, num_blocks=num_blocks, num_heads=num_heads, dropout=dropout
    )
    network, task = random_network(config).double(), random_task(config)
    noise = noise_of(config, task)
    assert (noise is None) == (dropout == 0)
    expected = expected_outcome(network, config, task, noise)
    found = outcome(network, task, partial(network.classify, noise=noise))
    assert_agree(found, expected, tolerance=DOUBLE)
    assert expected.logits.std() > 0.1  # else the comparison says little
    # The last norm's shift moves query and prototype alike; all else makes a difference.
    still = [name for name, by in expected.gradients.items() if by.abs().max() < 1e-9]
    assert still == [list(expected.gradients)[-1]]


@pytest.mark.parametrize("dropout", [0.0, 0.4], ids=["no noise", "noise"])
@pytest.mark.parametrize("num_heads", FUSED_NETWORKS)
def test_the_fused_form_has_the_logits_and_gradients_of_the_paper(
    num_heads: int, dropout: float, is_fused: list[bool]
) -> None:
    config = small_config(num_heads=num_heads, dropout=dropout)
    network, task = random_network(config), random_task(config)
    noise = noise_of(config, task)
    expected = expected_outcome(network, config, task, noise)
    found = outcome(network, task, partial(network.classify, noise=noise))
    assert is_fused == [True]
    assert_agree(found, expected, tolerance=SINGLE)
    assert expected.logits.std() > 0.1


@pytest.mark.parametrize(
    ("changed", "dtype", "expected"),
    [
        ({}, torch.float32, [True]),
        ({"num_heads": 8, "dropout": 0.3}, torch.float32, [True]),
        ({}, torch.float64, [False, False]),
        ({"norm_first": False}, torch.float32, [False, False]),
        ({"num_blocks": 2}, torch.float32, [False, False]),
    ],
    ids=["one block", "noise", "double precision", "post-norm", "two blocks"],
)
def test_what_cannot_be_fused_takes_the_plain_path(
    changed: dict[str, Any], dtype: torch.dtype, expected: list[bool], is_fused: list[bool]
) -> None:
    config = small_config(**changed)
    network, task = random_network(config).to(dtype), random_task(config)
    parts = Task(*(part.to(dtype) for part in task))
    logits = network.classify(*parts, noise_of(config, task))
    assert is_fused == expected
    assert logits.dtype == dtype


def test_gradients_are_those_of_finite_differences() -> None:
    """Not only equal to what autograd makes of the reference."""
    config = small_config(
        dim=3, attention_dim=4, feedforward_dim=3, dropout=0.3, positives=1, negatives=2
    )
    network = random_network(config).double()
    task = Task(*(part.double() for part in random_task(config, num_tasks=1)))
    noise = noise_of(config, task)
    names, parameters = zip(*network.transformation.named_parameters(), strict=True)

    def logits(positives: Tensor, negatives: Tensor, queries: Tensor, *weights: Tensor) -> Tensor:
        closeness = functional_call(
            _Closeness(network.transformation),
            {f"transformation.{name}": w for name, w in zip(names, weights, strict=True)},
            ((positives, negatives), queries, noise),
        )
        logits: Tensor = closeness[0] - closeness[1]
        return logits

    sources = [tensor.detach().clone().requires_grad_() for tensor in (*task, *parameters)]
    assert torch.autograd.gradcheck(logits, sources, fast_mode=False)


class _Closeness(torch.nn.Module):
    """`Transformation.closeness` as a `forward`, the only thing `functional_call` calls."""

    def __init__(self, transformation: Transformation) -> None:
        super().__init__()
        self.transformation = transformation

    def forward(self, *arguments: Any) -> Any:
        return self.transformation.closeness(*arguments)


@pytest.mark.parametrize(("norm_first", "num_heads"), [*product((True, False), (1, 2, 8))])
def test_the_factorised_block_is_the_block_on_the_sets(norm_first: bool, num_heads: int) -> None:
    block = Block(small_config(norm_first=norm_first, num_heads=num_heads)).double()
    randomise(block)
    supports = torch.randn(2, 3, 6, dtype=torch.float64)
    queries = torch.randn(2, 4, 6, dtype=torch.float64)
    mixture = block.mixture(block.project(supports), block.project(queries))
    tailored = supports.unsqueeze(1) + _sum_heads(mixture)
    adapted = (queries + mixture.adapted).unsqueeze(2)
    assert_equal(
        block.feed(torch.cat((tailored, adapted), dim=2)), block(sets_of(supports, queries))
    )


def test_prototype_closeness_by_hand() -> None:
    supports = torch.tensor([[[[0.0, 0.0, 0.0, 4.0], [2.0, 0.0, 0.0, 0.0]]]])  # mean 1, 0, 0, 2
    queries = torch.tensor([[[1.0, 3.0, 0.0, 1.0]]])  # gap 0, 3, 0, -1
    assert prototype_closeness(supports, queries).tolist() == [[-10.0 / 2.0]]
