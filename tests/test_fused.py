"""The compiled inner loop gives the closeness and the gradients that PyTorch gives, plainly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from metatne.fused import Factors, Rest, fused_closeness
from metatne.fused_passes import NORM_EPSILON, TILE
from metatne.model import Transformation
from metatne.noise import draw_noise
from networks import (
    Outcome,
    Task,
    assert_agree,
    in_double,
    outcome,
    random_network,
    relative_gaps,
    small_config,
    weights_of_sum,
)

SINGLE = 1e-4
"""How far single precision may be off on unlucky draws, as a share of the largest entry."""


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def plain_closeness(factors: Factors, rest: Rest) -> Tensor:
    """The docstring of `metatne.fused` word by word, with every pair written out."""

    def mixed(supports: Tensor, settled: Tensor, values: Tensor, queries: Tensor) -> Tensor:
        pairs = (
            supports.unsqueeze(1)
            + torch.einsum("tqkh,tkhd->tqkd", factors.kept, settled)
            + torch.einsum("tqkh,tqhd->tqkd", factors.merged, values)
        )
        return torch.cat((pairs, queries.unsqueeze(2)), dim=2)  # (task, query, shot + 1, …)

    x, Vx = mixed(*factors[:4]), mixed(*factors[4:8])
    r = (x.var(dim=-1, correction=0, keepdim=True) + NORM_EPSILON).rsqrt()
    fed = torch.relu(r * Vx + rest.hidden_bias) @ rest.narrow.T + rest.narrow_bias
    if rest.support_mask is not None and rest.query_mask is not None:
        of_supports = rest.support_mask.unsqueeze(1).expand(-1, x.shape[1], -1, -1)
        fed = fed * torch.cat((of_supports, rest.query_mask.unsqueeze(2)), dim=2)
    y = functional.layer_norm(x + fed, x.shape[-1:], eps=NORM_EPSILON)
    gap = rest.gain * (y[:, :, -1] - y[:, :, :-1].mean(dim=2))
    return -gap.square().sum(dim=-1) / math.sqrt(x.shape[-1])


def random_inputs(
    *,
    tasks: int = 1,
    queries: int = 3,
    shots: int = 2,
    heads: int = 1,
    dim: int = 5,
    hidden: int = 4,
    is_masked: bool = False,
) -> tuple[Factors, Rest]:
    """Factors with nothing to do with one another: each has a gradient of its own."""

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, requires_grad=True)

    def mask(*shape: int) -> Tensor:
        return (torch.rand(shape) < 0.7) / 0.7

    factors = Factors(
        supports=drawn(tasks, shots, dim),
        settled=drawn(tasks, shots, heads, dim),
        values=drawn(tasks, queries, heads, dim),
        queries=drawn(tasks, queries, dim),
        folded_supports=drawn(tasks, shots, hidden),
        folded_settled=drawn(tasks, shots, heads, hidden),
        folded_values=drawn(tasks, queries, heads, hidden),
        folded_queries=drawn(tasks, queries, hidden),
        kept=drawn(tasks, queries, shots, heads),
        merged=drawn(tasks, queries, shots, heads),
    )
    rest = Rest(
        hidden_bias=drawn(hidden),
        narrow=drawn(dim, hidden),
        narrow_bias=drawn(dim),
        gain=drawn(dim),
        support_mask=mask(tasks, shots, dim) if is_masked else None,
        query_mask=mask(tasks, queries, dim) if is_masked else None,
    )
    return factors, rest


def closeness_outcome(
    closeness: Callable[[Factors, Rest], Tensor],
    factors: Factors,
    rest: Rest,
    dtype: torch.dtype = torch.float32,
) -> Outcome:
    """`closeness`, and the gradients by all that it was given but the masks."""
    named: dict[str, Any] = {
        name: None if tensor is None else tensor.detach().to(dtype)
        for name, tensor in (factors._asdict() | rest._asdict()).items()
    }
    sources = [name for name in named if not name.endswith("mask")]
    for name in sources:
        named[name].requires_grad_()
    found = closeness(
        Factors(**{name: named[name] for name in Factors._fields}),
        Rest(**{name: named[name] for name in Rest._fields}),
    )
    assert found.dtype == dtype
    by = torch.autograd.grad(
        (found * weights_of_sum(found)).sum(), [named[name] for name in sources]
    )
    return Outcome(found.detach(), dict(zip(sources, by, strict=True)))


def assert_fused_is_plain(factors: Factors, rest: Rest) -> None:
    exact = closeness_outcome(plain_closeness, factors, rest, torch.float64)
    assert len(exact.gradients) == 14
    assert_as_exact_as_plain(
        closeness_outcome(fused_closeness, factors, rest),
        closeness_outcome(plain_closeness, factors, rest),
        exact,
    )


def assert_as_exact_as_plain(fused: Outcome, plain: Outcome, exact: Outcome) -> None:
    """Vectors without variance lose digits in any form: the plain one says how many."""
    lost = max(relative_gaps(plain, exact).values())
    assert_agree(fused, exact, tolerance=SINGLE + 50 * lost)


@settings(max_examples=60, deadline=None)
@given(
    tasks=st.integers(1, 3),
    queries=st.integers(1, 5),
    shots=st.integers(1, 5),
    heads=st.integers(1, 9),
    dim=st.integers(3, 17),
    hidden=st.integers(1, 17),
    is_masked=st.booleans(),
    seed=st.integers(0, 99),
)
def test_closeness_and_every_gradient_of_any_sizes(
    tasks: int,
    queries: int,
    shots: int,
    heads: int,
    dim: int,
    hidden: int,
    is_masked: bool,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    assert_fused_is_plain(
        *random_inputs(
            tasks=tasks,
            queries=queries,
            shots=shots,
            heads=heads,
            dim=dim,
            hidden=hidden,
            is_masked=is_masked,
        )
    )


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize(
    ("shots", "queries"),
    [
        (TILE - 1, 2),
        (TILE, 2),
        (2 * TILE + 3, 3),
        (7, TILE // 8),
        (7, TILE // 8 + 1),
        (2, TILE + 5),
    ],
    ids=[
        "a query fills a tile",
        "one support more",
        "far more supports than a tile",
        "queries fill a tile",
        "one query more",
        "queries of four tiles",
    ],
)
def test_the_cut_into_tiles_does_not_show(shots: int, queries: int, is_masked: bool) -> None:
    inputs = random_inputs(tasks=2, queries=queries, shots=shots, heads=3, is_masked=is_masked)
    assert_fused_is_plain(*inputs)


def test_many_tasks_are_as_many_single_ones() -> None:
    factors, rest = random_inputs(tasks=40, is_masked=True)
    together = fused_closeness(factors, rest)
    assert rest.support_mask is not None
    assert rest.query_mask is not None
    for task in range(40):
        one = slice(task, task + 1)
        alone = fused_closeness(
            Factors(*(tensor[one] for tensor in factors)),
            rest._replace(support_mask=rest.support_mask[one], query_mask=rest.query_mask[one]),
        )
        assert torch.equal(alone[0], together[task])


@pytest.mark.parametrize("shots", [3, TILE + 1])
def test_scoring_keeps_one_tile_and_gives_the_same(shots: int) -> None:
    """Bit for bit what training sees."""
    factors, rest = random_inputs(tasks=3, queries=TILE // 3, shots=shots, is_masked=True)
    expected = fused_closeness(factors, rest)
    assert expected.requires_grad
    with torch.inference_mode():
        found = fused_closeness(factors, rest)
    assert not found.requires_grad
    assert torch.equal(found, expected.detach())


def test_tensors_need_not_be_contiguous() -> None:
    factors, rest = random_inputs(tasks=2, heads=2)
    expected = fused_closeness(factors, rest)

    def strided(tensor: Tensor) -> Tensor:
        return torch.stack((tensor, torch.zeros_like(tensor)), dim=-1)[..., 0]

    odd = Factors(*(strided(tensor) for tensor in factors))
    assert not any(tensor.is_contiguous() for tensor in odd)
    narrow = rest.narrow.T.contiguous().T
    assert torch.equal(fused_closeness(odd, rest._replace(narrow=narrow)), expected)


def test_no_gradient_for_what_needs_none() -> None:
    factors, rest = random_inputs()
    still = Factors(*(tensor.detach() for tensor in factors))
    closeness = fused_closeness(still, rest)
    closeness.sum().backward()
    assert all(tensor.grad is None for tensor in still)
    assert rest.gain.grad is not None
    assert rest.gain.grad.abs().max() > 0


def test_second_derivatives_are_refused_and_not_wrong() -> None:
    factors, rest = random_inputs()
    squares = fused_closeness(factors, rest).square().sum()
    (by_gain,) = torch.autograd.grad(squares, rest.gain, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        by_gain.sum().backward()


def test_gradients_can_be_asked_for_once() -> None:
    factors, rest = random_inputs()
    leaf = factors.supports.detach().requires_grad_()
    closeness = fused_closeness(factors._replace(supports=leaf), rest).sum()
    closeness.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="gradients were asked for a second time"):
        closeness.backward()


@pytest.mark.parametrize("field", Factors._fields)
def test_nan_reaches_the_queries_it_belongs_to(field: str) -> None:
    factors, rest = random_inputs(tasks=2, queries=2, shots=2)
    broken = getattr(factors, field).detach().clone()
    broken[0, 0] = math.nan
    closeness = fused_closeness(factors._replace(**{field: broken}), rest)
    of_support = field in ("supports", "settled", "folded_supports", "folded_settled")
    assert closeness.isnan().tolist() == [[True, of_support], [False, False]]


@pytest.mark.parametrize("field", ["hidden_bias", "narrow", "narrow_bias", "gain"])
def test_nan_in_a_weight_reaches_every_query(field: str) -> None:
    """Also where a ReLU would take it for something below zero."""
    factors, rest = random_inputs(tasks=2)
    broken = getattr(rest, field).detach().clone()
    broken.view(-1)[0] = math.nan
    assert fused_closeness(factors, rest._replace(**{field: broken})).isnan().all()


@pytest.mark.parametrize("field", ["support_mask", "query_mask"])
def test_a_node_of_which_everything_is_dropped(field: str) -> None:
    factors, rest = random_inputs(tasks=2, is_masked=True)
    mask = getattr(rest, field).clone()
    mask[:, 0] = 0.0
    assert_fused_is_plain(factors, rest._replace(**{field: mask}))
    mask[:] = 0.0
    assert_fused_is_plain(factors, rest._replace(**{field: mask}))


KINDS = ("any", "equal", "zero", "tied")


def embeddings_of(kind: str, task: Task) -> Task:
    """Any embeddings; one for all; none; or supports and queries that are each other's."""
    if kind == "equal":
        one = torch.randn(task.queries.shape[-1])
        return Task(*(one.expand_as(part).clone() for part in task))
    if kind == "zero":
        return Task(*(torch.zeros_like(part) for part in task))
    if kind == "tied":
        first = task.queries[:, :1]
        return Task(*(torch.cat((first, part[:, 1:]), dim=1) for part in task))
    return task


@settings(max_examples=60, deadline=None)
@given(
    num_tasks=st.integers(1, 3),
    positives=st.integers(1, 4),
    negatives=st.integers(1, 5),
    num_queries=st.integers(1, 5),
    num_heads=st.sampled_from([1, 2, 3, 4, 8]),
    width=st.integers(1, 9),
    dim=st.integers(3, 8),
    feedforward_dim=st.integers(1, 9),
    dropout=st.sampled_from([0.0, 0.3, 0.9]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
)
def test_the_network_is_the_same_in_its_fused_and_its_plain_form(
    num_tasks: int,
    positives: int,
    negatives: int,
    num_queries: int,
    num_heads: int,
    width: int,
    dim: int,
    feedforward_dim: int,
    dropout: float,
    kind: str,
    seed: int,
) -> None:
    """Logits and the gradients by every embedding and every parameter, with and without noise."""
    config = small_config(
        positives=positives,
        negatives=negatives,
        num_heads=num_heads,
        attention_dim=num_heads * width,
        dim=dim,
        feedforward_dim=feedforward_dim,
        dropout=dropout,
    )
    torch.manual_seed(seed)
    network = random_network(config)
    task = embeddings_of(
        kind,
        Task(
            *(torch.randn(num_tasks, number, dim) for number in (positives, negatives, num_queries))
        ),
    )
    noise = draw_noise(config, num_tasks, num_queries, np.random.default_rng(seed))
    fused = outcome(network, task, partial(network.classify, noise=noise))
    with patch.object(Transformation, "_is_fusible", return_value=False):
        plain = outcome(network, task, partial(network.classify, noise=noise))
    double = in_double(network)
    exact = outcome(double, task, partial(double.classify, noise=noise))
    assert_as_exact_as_plain(fused, plain, exact)
