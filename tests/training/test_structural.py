"""A structural step: the compiled form is the plain one, and both are dense Adam on the loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graphs import hand_made
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.sampling.pairs import PairSampler
from metatne.training.row_adam import BETA1, BETA2, EPSILON, RowAdam
from metatne.training.structural import BATCHES_AT_A_TIME, StructuralModule, group_by_row

DIM, RATE = 6, 0.02


def module_of(
    graph: Graph,
    *,
    batch_size: int = 40,
    num_negatives: int = 3,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> StructuralModule:
    generator = torch.Generator().manual_seed(0)
    embeddings, contexts = (
        (scale * torch.randn(graph.num_nodes, DIM, generator=generator, dtype=torch.float64)).to(
            dtype
        )
        for _ in range(2)
    )
    return StructuralModule(
        PairSampler(graph, batch_size=batch_size, num_negatives=num_negatives, seed=seed),
        embeddings=RowAdam(embeddings, rate=RATE),
        contexts=RowAdam(contexts, rate=RATE),
        also_moved_by=[RowAdam(embeddings, rate=2 * RATE)],
    )


def settle(module: StructuralModule) -> tuple[Tensor, Tensor]:
    for adam in (module.embeddings, *module.also_moved_by, module.contexts):
        adam.settle_all()
    return module.embeddings.table, module.contexts.table


def assert_same_rows(one: StructuralModule, other: StructuralModule, tolerance: float) -> None:
    for ours, theirs in zip(settle(one), settle(other), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def weighted(_: Graph) -> Graph:
    return planted_graph(60, num_labels=3, weighted=True, seed=2).graph


def two_nodes(_: Graph) -> Graph:
    return hand_made([("a", "b")])


def same(graph: Graph) -> Graph:
    return graph


@pytest.mark.parametrize("change", [same, weighted, two_nodes])
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"batch_size": 1},
        {"num_negatives": 1},
        {"batch_size": 5_000},
        {"num_negatives": 1_500, "batch_size": 3},
        {"scale": 1e-3},
        {"scale": 30.0},  # closeness in the thousands, which e^z does not survive
    ],
    ids=str,
)
def test_the_compiled_step_is_the_plain_one(
    planted: Graph, change: Callable[[Graph], Graph], changed: dict[str, Any]
) -> None:
    graph = change(planted)
    compiled, plain = module_of(graph, **changed), module_of(graph, **changed)
    for number in range(12):
        losses = compiled.step(number), plain.step_plainly(plain.pairs.batch(number))
        assert losses[0] == pytest.approx(losses[1], rel=1e-12)
        assert math.isfinite(losses[0])
    assert_same_rows(compiled, plain, 1e-9)


def test_single_precision_is_off_by_rounding_alone(planted: Graph) -> None:
    compiled = module_of(planted, dtype=torch.float32)
    plain = module_of(planted, dtype=torch.float32)
    for number in range(20):
        loss = plain.step_plainly(plain.pairs.batch(number))
        assert compiled.step(number) == pytest.approx(loss, rel=1e-5)
    assert_same_rows(compiled, plain, 1e-3 * RATE)


class Dense:
    """Adam as published, on all rows of some tables in every step."""

    def __init__(self, rate: float, *tables: Tensor) -> None:
        self.rate, self.tables, self.num_steps = rate, tables, 0
        self.moments = [(torch.zeros_like(table), torch.zeros_like(table)) for table in tables]

    def step(self, gradients: tuple[Tensor, ...]) -> None:
        self.num_steps += 1
        rate = self.rate * math.sqrt(1 - BETA2**self.num_steps) / (1 - BETA1**self.num_steps)
        for table, (mean, square), gradient in zip(
            self.tables, self.moments, gradients, strict=True
        ):
            mean.mul_(BETA1).add_(gradient, alpha=1 - BETA1)
            square.mul_(BETA2).add_(gradient**2, alpha=1 - BETA2)
            table -= rate * mean / (square.sqrt() + EPSILON)


@pytest.mark.parametrize("scale", [1.0, 1e-4], ids=["", "gradients near epsilon"])
def test_steps_among_others_are_dense_adam_on_whole_tables(planted: Graph, scale: float) -> None:
    """Structural and meta steps alternate at random; U is moved by the moments of both."""
    module = module_of(planted, scale=scale)
    (meta,) = module.also_moved_by
    U, C = module.embeddings.table.clone(), module.contexts.table.clone()
    start = U.clone()
    dense, dense_meta = Dense(RATE, U, C), Dense(2 * RATE, U)
    generator = torch.Generator().manual_seed(1)
    number = 0
    for _ in range(60):
        if torch.rand((), generator=generator) < 0.5:
            pairs = module.pairs.batch(number)
            u, c = U.clone().requires_grad_(), C.clone().requires_grad_()
            loss = structural_loss(u[pairs.nodes], c[pairs.neighbours], c[pairs.negatives])
            assert module.step(number) == pytest.approx(loss.item(), rel=1e-9)
            dense.step(torch.autograd.grad(loss, (u, c)))
            number += 1
        else:
            rows = torch.randperm(planted.num_nodes, generator=generator)[:15]
            gradient = scale * torch.randn(15, DIM, generator=generator, dtype=torch.float64)
            for adam in (module.embeddings, meta):
                adam.settle(rows)
            meta.step(rows, gradient)
            dense_meta.step((torch.zeros_like(U).index_add_(0, rows, gradient),))
    assert 20 < number < 40
    ours = settle(module)
    torch.testing.assert_close(ours, (U, C), rtol=0, atol=1e-9)
    assert (U - start).abs().max() > 5 * RATE


@pytest.mark.parametrize("num_threads", ["2", "3", "70"])
def test_threads_change_nothing(
    planted: Graph, monkeypatch: pytest.MonkeyPatch, num_threads: str
) -> None:
    one = module_of(planted, dtype=torch.float32)
    losses = [one.step(number) for number in range(10)]
    monkeypatch.setenv("OMP_NUM_THREADS", num_threads)
    several = module_of(planted, dtype=torch.float32)
    assert [several.step(number) for number in range(10)] == losses
    for ours, theirs in zip(settle(several), settle(one), strict=True):
        assert torch.equal(ours, theirs)


def test_batches_may_be_asked_for_from_any_on(planted: Graph) -> None:
    """As after a checkpoint, which knows the number of the next batch alone."""
    one, other = module_of(planted), module_of(planted)
    for number in (0, BATCHES_AT_A_TIME + 3, BATCHES_AT_A_TIME + 4, 2, 0):
        loss = other.step_plainly(other.pairs.batch(number))
        assert one.step(number) == pytest.approx(loss, rel=1e-9)


def test_a_loss_that_is_no_number_is_told(planted: Graph) -> None:
    module = module_of(planted)
    module.embeddings.table.fill_(float("nan"))
    assert math.isnan(module.step(0))


@given(st.lists(st.integers(0, 30) | st.integers(0, 2**40), min_size=1, max_size=300))
@settings(max_examples=100, deadline=None)
def test_entries_are_grouped_by_row(rows: list[int]) -> None:
    groups = group_by_row(np.array(rows))
    assert groups.rows.tolist() == list(dict.fromkeys(rows))
    found = [
        groups.entries[groups.bounds[group] : groups.bounds[group + 1]].tolist()
        for group in range(len(groups.rows))
    ]
    assert found == [
        [entry for entry, each in enumerate(rows) if each == row] for row in groups.rows
    ]
