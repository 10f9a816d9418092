"""Adam for tables of which a step touches few rows: the same result, without touching the rest."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from metatne.parallel import in_threads
from metatne.training.row_moves import Moves, Step, settle_rows, step_rows

BETA1, BETA2 = 0.9, 0.999
EPSILON = 1e-7
DECAY = BETA1 / math.sqrt(BETA2)
"""How much of its last move a row that gets no gradient makes in the next step."""

HORIZON = 320
"""DECAY ** HORIZON is below 1e-14: after so many steps a row has come to rest."""

NUM_TERMS = 4
"""Of the series in epsilon; what is left out is below 1e-7 of a row's way to rest."""

ROWS_AT_A_TIME = 65_536


class RowAdam:
    """Adam on the rows of a table, equal to dense Adam on all of it.

    A dense step moves every row (epsilon where TensorFlow, and so the published code, has it):

        row -= rate_s * a_s * m_s / (sqrt(v_s) + e),  a_s = sqrt(1 - BETA2^s) / (1 - BETA1^s)

    so a row without a gradient coasts on its momentum. From its last gradient at step l on,
    m and v only shrink by known factors, and its moves up to step t add up to

        sum over s in l+1..t of rate_s a_s BETA1^(s-l) m_l / (BETA2^((s-l)/2) sqrt(v_l) + e)

    With g_k = BETA2^(-k/2) - 1, by which e grows against the shrinking root, and
    x = e / (sqrt(v_l) + e), which is at most 1, a summand is

        rate_s a_s DECAY^(s-l) m_l / (sqrt(v_l) + e) * 1 / (1 + x g_(s-l))

    and the last factor a geometric series in x. Summed over s term by term, the coefficient
    of (-x)^j is one number for all rows last touched at l: `coasts[l, j]`, the sum of
    rate_s a_s DECAY^(s-l) g_(s-l)^j. The series alternates and falls fast, as DECAY^k is
    all but 0 before g_k is 0.2: four terms leave out less than 1e-7 of the sum.

    So `settle` lets rows catch up before they are read, and `step` moves only those. Moments
    lie in the order of the rows' first gradients: memory is taken for rows that had one.
    """

    def __init__(self, table: Tensor, *, rate: float) -> None:
        self.table = table
        self.rate = rate
        self.num_steps = 0
        self.num_touched = 0
        size, dim = table.shape
        self._slots = torch.full((size,), -1, dtype=torch.int32, device=table.device)
        self._rows = _untouched((size,), torch.int64, table.device)
        self._moments = _untouched((size, 2, dim), table.dtype, table.device)
        self._settled_at = _untouched((size,), torch.int32, table.device)
        self._coasts, self._decays = np.zeros((0, NUM_TERMS)), np.zeros((0, 2))
        self._make_room()

    @property
    def touched(self) -> Int64[Tensor, " slot"]:
        """The rows that had a gradient, in the order of their first."""
        return self._rows[: self.num_touched]

    @property
    def moments(self) -> Float[Tensor, "slot moment dim"]:
        """Mean and mean square of the gradients of the touched rows, as of `settled_at`."""
        return self._moments[: self.num_touched]

    def settle(self, rows: Int64[Tensor, " row"]) -> None:
        """Bring these (distinct) rows to where dense Adam would have them now."""
        if self.num_touched == 0:
            return
        if self.table.device.type == "cpu":
            settle_rows(self.moves(), rows.numpy(), self._scratch())
        else:
            self.settle_plainly(rows)

    @torch.no_grad()
    def settle_plainly(self, rows: Int64[Tensor, " row"]) -> None:
        """`settle` on any device, by whole tensors."""
        device, dtype = self.table.device, self.table.dtype
        slots = self._slots[rows].long()
        rows, slots = rows[slots >= 0], slots[slots >= 0]
        since = self._settled_at[slots].long()
        mean, square = self._moments[slots].unbind(dim=1)
        inverse = 1 / (square.sqrt() + EPSILON)
        coasts = torch.from_numpy(self._coasts).to(device, dtype)[since]
        coast = torch.zeros_like(mean)
        for term in coasts.unsqueeze(2).flip(1).unbind(dim=1):
            coast = term - EPSILON * inverse * coast
        self.table[rows] -= mean * inverse * coast
        decays = torch.from_numpy(self._decays).to(device, dtype)[self.num_steps - since]
        self._moments[slots] *= decays.unsqueeze(2)
        self._settled_at[slots] = self.num_steps

    def settle_all(self) -> None:
        """Bring every row up to date, some at a time: before the table is read as a whole."""
        pieces = torch.split(self.touched, ROWS_AT_A_TIME)
        if self.table.device.type == "cpu":
            in_threads(self.settle, pieces)
        else:
            for rows in pieces:
                self.settle(rows)

    def step(self, rows: Int64[Tensor, " row"], gradient: Float[Tensor, "row dim"]) -> None:
        """One step of Adam with this gradient for these settled rows and zero for the others."""
        self.touch(rows)
        if self.table.device.type == "cpu":
            gradient = gradient.detach().contiguous()
            arrays = (rows.numpy(), gradient.numpy(), self._scratch())
            step_rows(self.moves(), self.next_step(), *arrays)
        else:
            self.step_plainly(rows, gradient)
        self.advance()

    @torch.no_grad()
    def step_plainly(self, rows: Int64[Tensor, " row"], gradient: Float[Tensor, "row dim"]) -> None:
        """Move the rows of `step` on any device, by whole tensors."""
        slots = self._slots[rows].long()
        mean, square = self._moments[slots].unbind(dim=1)
        mean = mean.mul_(BETA1).add_(gradient, alpha=1.0 - BETA1)
        square = square.mul_(BETA2).addcmul_(gradient, gradient, value=1.0 - BETA2)
        self._moments[slots] = torch.stack((mean, square), dim=1)
        self._settled_at[slots] = self.num_steps + 1
        self.table[rows] -= self.next_step().rate * mean / (square.sqrt() + EPSILON)

    def touch(self, rows: Int64[Tensor, " row"]) -> None:
        """Have a place for the moments of these (distinct) rows."""
        fresh = rows[self._slots[rows] < 0]
        if len(fresh) == 0:
            return
        first, end = self.num_touched, self.num_touched + len(fresh)
        self._slots[fresh] = torch.arange(first, end, dtype=torch.int32, device=fresh.device)
        self._rows[first:end] = fresh
        self._settled_at[first:end] = self.num_steps
        self.num_touched = end

    def next_step(self) -> Step:
        """What the step to come multiplies by."""
        return Step(
            rate=self.rate * _correction(self.num_steps + 1),
            of_gradient=1.0 - BETA1,
            of_square=1.0 - BETA2,
        )

    def advance(self) -> None:
        """The next step is made: rows that it did not move have further to go to be settled."""
        rate = self.next_step().rate
        self.num_steps += 1
        if self.num_steps + 1 >= len(self._decays):
            self._make_room()
        oldest = max(0, self.num_steps - HORIZON)
        terms = _TERMS[self.num_steps - oldest - 1 :: -1]
        self._coasts[oldest : self.num_steps] += rate * terms

    def _make_room(self) -> None:
        """For the next step, and as many more as there were."""
        coasts = np.zeros((2 * (self.num_steps + 1), NUM_TERMS))
        coasts[: len(self._coasts)] = self._coasts
        steps = np.arange(len(coasts))
        # A mean that is at rest is 0 rather than too small a number for fast arithmetic.
        means = np.where(steps <= HORIZON, BETA1**steps, 0.0)
        self._coasts, self._decays = coasts, np.stack((means, BETA2**steps), axis=1)

    def moves(self) -> Moves:
        """The arrays of an optimiser on the CPU, for compiled code."""
        return Moves(
            table=self.table.numpy(),
            slots=self._slots.numpy(),
            moments=self._moments.numpy(),
            settled_at=self._settled_at.numpy(),
            coasts=self._coasts,
            decays=self._decays,
            now=self.num_steps,
            epsilon=EPSILON,
        )

    def _scratch(self) -> Float[np.ndarray, " dim"]:
        return np.empty_like(self.table[0].numpy())

    def state(self) -> dict[str, Tensor]:
        """All that a later run needs to go on."""
        return {
            "rows": self.touched,
            "moments": self.moments,
            "settled_at": self._settled_at[: self.num_touched],
            "coasts": torch.from_numpy(self._coasts[: self.num_steps + 1]),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take over what `state` returned."""
        device, num_touched = self.table.device, len(state["rows"])
        self.num_steps, self.num_touched = len(state["coasts"]) - 1, num_touched
        self._make_room()
        self._coasts[: self.num_steps + 1] = state["coasts"].numpy()
        self._rows[:num_touched] = state["rows"].to(device)
        self._moments[:num_touched] = state["moments"].to(device)
        self._settled_at[:num_touched] = state["settled_at"].to(device)
        self._slots.fill_(-1)
        self._slots[self.touched] = torch.arange(num_touched, dtype=torch.int32, device=device)


def _untouched(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros; on the CPU they take memory only where they are written to."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.from_numpy(np.zeros(shape, dtype=torch.empty(0, dtype=dtype).numpy().dtype))


def _correction(step: int) -> float:
    """a_s: what the moments' start at zero asks for."""
    return math.sqrt(1.0 - BETA2**step) / (1.0 - BETA1**step)


_STEPS = np.arange(1, HORIZON + 1)
_TERMS = DECAY ** _STEPS[:, None] * (BETA2 ** (-_STEPS[:, None] / 2) - 1) ** np.arange(NUM_TERMS)
"""What a step adds to the coasts of rows last touched 1, 2, … steps before it, at rate 1."""
