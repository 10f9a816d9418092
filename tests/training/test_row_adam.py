"""Adam that touches few rows ends where Adam on the whole table ends."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from metatne.training.row_adam import BETA1, BETA2, EPSILON, HORIZON, RowAdam

NUM_ROWS, DIM, RATE = 12, 3, 0.01


class DenseAdam:
    """Adam as published, on every row in every step."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self.mean, self.square = torch.zeros_like(table), torch.zeros_like(table)
        self.num_steps = 0

    def step(self, gradient: Tensor, rate: float) -> None:
        self.num_steps += 1
        self.mean = BETA1 * self.mean + (1 - BETA1) * gradient
        self.square = BETA2 * self.square + (1 - BETA2) * gradient**2
        rate = rate * math.sqrt(1 - BETA2**self.num_steps) / (1 - BETA1**self.num_steps)
        self.table = self.table - rate * self.mean / (self.square.sqrt() + EPSILON)


def batches(num_steps: int, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
    """Rows and gradients; row 0 comes in the first step only, row 1 in the first and last."""
    found = []
    for step in range(num_steps):
        size = int(torch.randint(1, 4, (), generator=generator))
        rows = 2 + torch.randperm(NUM_ROWS - 2, generator=generator)[:size]
        if step == 0:
            rows = torch.cat((torch.tensor([0, 1]), rows))
        if step == num_steps - 1:
            rows = torch.cat((rows, torch.tensor([1])))
        found.append((rows, torch.randn(len(rows), DIM, generator=generator, dtype=torch.float64)))
    return found


@pytest.mark.parametrize("num_steps", [1, 2, 30, 2 * HORIZON])
@pytest.mark.parametrize("settle_every", [1, 7, 10_000])
@pytest.mark.parametrize("last_share", [1.0, 0.0], ids=["constant rate", "falling rate"])
def test_rows_end_where_dense_adam_has_them(
    num_steps: int, settle_every: int, last_share: float
) -> None:
    """Also when they are read now and then, with or without a gradient to follow."""
    generator = torch.Generator().manual_seed(num_steps)
    start = torch.randn(NUM_ROWS, DIM, generator=generator, dtype=torch.float64)
    dense, sparse = DenseAdam(start.clone()), RowAdam(start.clone(), rate=RATE)
    for step, (rows, gradient) in enumerate(batches(num_steps, generator), start=1):
        rate = RATE * (1 + (last_share - 1) * (step - 1) / num_steps)
        sparse.rate = rate
        sparse.settle(rows)
        torch.testing.assert_close(sparse.table[rows], dense.table[rows], rtol=0, atol=1e-6)
        sparse.step(rows, gradient)
        whole = torch.zeros_like(start)
        whole[rows] = gradient
        dense.step(whole, rate)
        if step % settle_every == 0:
            sparse.settle_all()
    sparse.settle_all()
    torch.testing.assert_close(sparse.table, dense.table, rtol=0, atol=1e-6)
    torch.testing.assert_close(sparse.mean, dense.mean, rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(sparse.square, dense.square, rtol=1e-6, atol=1e-12)
    assert (dense.table - start).abs().max() > 0.5 * RATE


def test_a_row_coasts_on_after_its_last_gradient() -> None:
    table = torch.zeros(2, 1)
    adam = RowAdam(table, rate=RATE)
    nothing = torch.zeros(1, 1)
    adam.step(torch.tensor([0]), torch.ones(1, 1))
    after_one = table[0].item()
    assert after_one == pytest.approx(-RATE, rel=1e-3)
    for _ in range(2 * HORIZON):
        adam.step(torch.tensor([1]), nothing)
    assert table[0].item() == after_one  # not read, so not touched
    adam.settle_all()
    assert table[0].item() < 2 * after_one
    assert table[1].item() == 0


def test_settling_in_pieces_is_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = []
    for size in (5, 1_000):
        monkeypatch.setattr("metatne.training.row_adam.ROWS_AT_A_TIME", size)
        adam = RowAdam(torch.zeros(NUM_ROWS, DIM, dtype=torch.float64), rate=RATE)
        for rows, gradient in batches(10, torch.Generator().manual_seed(0)):
            adam.settle(rows)
            adam.step(rows, gradient)
        adam.settle_all()
        tables.append(adam.table)
        assert (adam.settled_at == 10).all()
    assert torch.equal(*tables)


def test_rows_without_any_gradient_stay() -> None:
    table = torch.randn(4, 2)
    adam = RowAdam(table, rate=RATE)
    before = table.clone()
    adam.step(torch.tensor([2]), torch.ones(1, 2))
    adam.settle_all()
    moved = (table != before).any(dim=1)
    assert moved.tolist() == [False, False, True, False]


def test_a_restored_optimiser_goes_on_bit_for_bit() -> None:
    generator = torch.Generator().manual_seed(0)
    steps = batches(40, generator)
    whole = RowAdam(torch.zeros(NUM_ROWS, DIM, dtype=torch.float64), rate=RATE)
    for number, (rows, gradient) in enumerate(steps):
        if number == 25:
            broken = RowAdam(whole.table.clone(), rate=RATE)
            broken.load_state({name: tensor.clone() for name, tensor in whole.state().items()})
        whole.settle(rows)
        whole.step(rows, gradient)
    for rows, gradient in steps[25:]:
        broken.settle(rows)
        broken.step(rows, gradient)
    whole.settle_all()
    broken.settle_all()
    assert torch.equal(whole.table, broken.table)
    assert torch.equal(whole.mean, broken.mean)
