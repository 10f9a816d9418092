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


class PlainRowAdam(RowAdam):
    """By whole tensors, as on other devices than the CPU."""

    def settle(self, rows: Tensor) -> None:
        self.settle_plainly(rows)

    def step(self, rows: Tensor, gradient: Tensor) -> None:
        self.touch(rows)
        self.step_plainly(rows, gradient)
        self.advance()


def whole(rows: Tensor, gradient: Tensor) -> Tensor:
    """The gradient of the whole table."""
    return torch.zeros(NUM_ROWS, DIM, dtype=gradient.dtype).index_add_(0, rows, gradient)


def dense_moments(adam: RowAdam) -> tuple[Tensor, Tensor]:
    """The moments of all rows, in the rows' order."""
    moments = torch.zeros(NUM_ROWS, 2, DIM, dtype=adam.table.dtype)
    moments[adam.touched] = adam.moments
    return moments[:, 0], moments[:, 1]


def batches(num_steps: int, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
    """Rows and gradients; row 0 comes in the first step only, row 1 in the first and last."""
    found = []
    for step in range(num_steps):
        size = int(torch.randint(1, 4, (), generator=generator))
        rows = 2 + torch.randperm(NUM_ROWS - 2, generator=generator)[:size]
        if step == 0:
            rows = torch.cat((torch.tensor([0, 1]), rows))
        elif step == num_steps - 1:
            rows = torch.cat((rows, torch.tensor([1])))
        found.append((rows, torch.randn(len(rows), DIM, generator=generator, dtype=torch.float64)))
    return found


@pytest.mark.parametrize("num_steps", [1, 2, 30, 2 * HORIZON])
@pytest.mark.parametrize("settle_every", [1, 7, 10_000])
@pytest.mark.parametrize("last_share", [1.0, 0.0], ids=["constant rate", "falling rate"])
@pytest.mark.parametrize("is_plain", [False, True], ids=["compiled", "plain"])
def test_rows_end_where_dense_adam_has_them(
    num_steps: int, settle_every: int, last_share: float, is_plain: bool
) -> None:
    """Also when they are read now and then, with or without a gradient to follow."""
    generator = torch.Generator().manual_seed(num_steps)
    start = torch.randn(NUM_ROWS, DIM, generator=generator, dtype=torch.float64)
    sparse = (PlainRowAdam if is_plain else RowAdam)(start.clone(), rate=RATE)
    dense = DenseAdam(start.clone())
    for step, (rows, gradient) in enumerate(batches(num_steps, generator), start=1):
        rate = RATE * (1 + (last_share - 1) * (step - 1) / num_steps)
        sparse.rate = rate
        sparse.settle(rows)
        torch.testing.assert_close(sparse.table[rows], dense.table[rows], rtol=0, atol=1e-10)
        sparse.step(rows, gradient)
        dense.step(whole(rows, gradient), rate)
        if step % settle_every == 0:
            sparse.settle_all()
    sparse.settle_all()
    torch.testing.assert_close(sparse.table, dense.table, rtol=0, atol=1e-10)
    mean, square = dense_moments(sparse)
    torch.testing.assert_close(mean, dense.mean, rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(square, dense.square, rtol=1e-6, atol=1e-12)
    assert (dense.table - start).abs().max() > 0.5 * RATE


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9])
@pytest.mark.parametrize("is_plain", [False, True], ids=["compiled", "plain"])
def test_small_gradients_feel_epsilon_as_in_dense_adam(scale: float, is_plain: bool) -> None:
    """Where roots of mean squares shrink past epsilon, too, and not only far from it."""
    generator = torch.Generator().manual_seed(0)
    start = torch.zeros(NUM_ROWS, DIM, dtype=torch.float64)
    sparse = (PlainRowAdam if is_plain else RowAdam)(start.clone(), rate=RATE)
    dense = DenseAdam(start.clone())
    for rows, gradient in batches(200, generator):
        sparse.settle(rows)
        sparse.step(rows, scale * gradient)
        dense.step(whole(rows, scale * gradient), RATE)
    sparse.settle_all()
    assert (sparse.table - dense.table).abs().max() < 1e-7 * dense.table.abs().max()


def test_two_optimisers_of_one_table_are_two_dense_ones() -> None:
    """Structural and meta steps alternate at random, each with moments of its own."""
    generator = torch.Generator().manual_seed(3)
    start = torch.randn(NUM_ROWS, DIM, generator=generator, dtype=torch.float64)
    table = start.clone()
    sparse = [RowAdam(table, rate=RATE), RowAdam(table, rate=3 * RATE)]
    dense = [DenseAdam(start), DenseAdam(start)]
    for rows, gradient in batches(300, generator):
        which = int(torch.randint(2, (), generator=generator))
        for adam in sparse:
            adam.settle(rows)
        torch.testing.assert_close(table[rows], dense[0].table[rows], rtol=0, atol=1e-10)
        sparse[which].step(rows, gradient)
        dense[which].step(whole(rows, gradient), sparse[which].rate)
        dense[1 - which].table = dense[which].table
    for adam in sparse:
        adam.settle_all()
    torch.testing.assert_close(table, dense[0].table, rtol=0, atol=1e-10)


def test_single_precision_is_off_by_rounding_alone() -> None:
    generator = torch.Generator().manual_seed(4)
    start = torch.randn(NUM_ROWS, DIM, generator=generator, dtype=torch.float64)
    ours, exact = RowAdam(start.float(), rate=RATE), RowAdam(start.clone(), rate=RATE)
    for rows, gradient in batches(200, generator):
        for adam in (ours, exact):
            adam.settle(rows)
            adam.step(rows, gradient.to(adam.table.dtype))
    for adam in (ours, exact):
        adam.settle_all()
    torch.testing.assert_close(ours.table.double(), exact.table, rtol=0, atol=5e-6)


def test_a_gradient_may_lie_in_memory_as_it_likes() -> None:
    gradient = torch.randn(DIM, 2, dtype=torch.float64)
    tables = []
    for given in (gradient.T, gradient.T.contiguous()):
        adam = RowAdam(torch.zeros(NUM_ROWS, DIM, dtype=torch.float64), rate=RATE)
        adam.step(torch.tensor([5, 2]), given)
        tables.append(adam.table)
    assert torch.equal(*tables)


def test_only_rows_with_a_gradient_take_memory() -> None:
    adam = RowAdam(torch.zeros(NUM_ROWS, DIM), rate=RATE)
    adam.settle(torch.arange(NUM_ROWS))
    assert adam.num_touched == 0
    adam.step(torch.tensor([7, 3]), torch.ones(2, DIM))
    adam.step(torch.tensor([3, 9]), torch.ones(2, DIM))
    assert adam.touched.tolist() == [7, 3, 9]
    state = adam.state()
    assert {name: len(tensor) for name, tensor in state.items()} == {
        "rows": 3,
        "moments": 3,
        "settled_at": 3,
        "coasts": 3,  # two steps, and before the first
    }


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
        assert (adam.state()["settled_at"] == 10).all()
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
    unbroken = RowAdam(torch.zeros(NUM_ROWS, DIM, dtype=torch.float64), rate=RATE)
    for number, (rows, gradient) in enumerate(steps):
        if number == 25:
            broken = RowAdam(unbroken.table.clone(), rate=RATE)
            broken.load_state({name: tensor.clone() for name, tensor in unbroken.state().items()})
        unbroken.settle(rows)
        unbroken.step(rows, gradient)
    for rows, gradient in steps[25:]:
        broken.settle(rows)
        broken.step(rows, gradient)
    unbroken.settle_all()
    broken.settle_all()
    assert torch.equal(unbroken.table, broken.table)
    for name, tensor in unbroken.state().items():
        assert torch.equal(tensor, broken.state()[name]), name
