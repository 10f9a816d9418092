"""Adam for tables of which a step touches few rows: the same result, without touching the rest."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor

BETA1, BETA2 = 0.9, 0.999
EPSILON = 1e-7
DECAY = BETA1 / math.sqrt(BETA2)
"""How much of its last move a row that gets no gradient makes in the next step."""

HORIZON = 320
"""DECAY ** HORIZON is below 1e-14: after so many steps a row has come to rest."""

ROWS_AT_A_TIME = 65_536


class RowAdam:
    """Adam on the rows of a table, equal to dense Adam on all of it.

    A dense step moves every row (epsilon where TensorFlow, and so the published code, has it):

        row -= rate_s * a_s * m_s / (sqrt(v_s) + EPSILON),  a_s = sqrt(1 - BETA2^s) / (1 - BETA1^s)

    so a row without a gradient coasts on its momentum. From its last gradient at step l on,
    m and v only shrink by known factors, and its moves up to step t add up to

        m_l / (sqrt(v_l) + EPSILON) * sum over s in l+1..t of rate_s DECAY^(s-l) a_s

    where the sum is one number for all rows last touched at l. The one approximation is that
    EPSILON shrinks along with sqrt(v): by 3 % until the row has all but come to rest, which
    is below a float's rounding unless gradients are as small as EPSILON.

    So `settle` lets rows catch up before they are read, and `step` moves only those.
    """

    def __init__(self, table: Tensor, *, rate: float) -> None:
        self.table = table
        self.rate = rate
        self.num_steps = 0
        self.mean = torch.zeros_like(table)
        self.square = torch.zeros_like(table)
        self.settled_at = torch.zeros(len(table), dtype=torch.int64, device=table.device)
        # coasts[l] is the sum above for the current step; only the last HORIZON still grow.
        self._coasts = torch.zeros(1, dtype=torch.float64)
        self._decays = DECAY ** torch.arange(HORIZON, 0, -1, dtype=torch.float64)

    @torch.no_grad()
    def settle(self, rows: Int64[Tensor, " row"]) -> None:
        """Bring these (distinct) rows to where dense Adam would have them now."""
        since = self.settled_at[rows]
        behind = self.num_steps - since
        late = behind > 0
        if not late.any():
            return
        rows, since, behind = rows[late], since[late], behind[late]
        device = self.table.device
        mean, square = self.mean[rows], self.square[rows]
        coast = self._coasts.to(device, mean.dtype)[since].unsqueeze(1)
        self.table[rows] -= coast * mean / (square.sqrt() + EPSILON)
        self.mean[rows] = mean * (BETA1 ** behind.to(mean.dtype)).unsqueeze(1)
        self.square[rows] = square * (BETA2 ** behind.to(mean.dtype)).unsqueeze(1)
        self.settled_at[rows] = self.num_steps

    def settle_all(self) -> None:
        """Bring every row up to date, some at a time: before the table is read as a whole."""
        everyone = torch.arange(len(self.table), device=self.table.device)
        for rows in torch.split(everyone, ROWS_AT_A_TIME):
            self.settle(rows)

    @torch.no_grad()
    def step(self, rows: Int64[Tensor, " row"], gradient: Float[Tensor, "row dim"]) -> None:
        """One step of Adam with this gradient for these settled rows and zero for the others."""
        self.num_steps += 1
        self._advance()
        mean = self.mean[rows].lerp_(gradient, 1.0 - BETA1)
        square = self.square[rows].mul_(BETA2).addcmul_(gradient, gradient, value=1.0 - BETA2)
        self.mean[rows], self.square[rows] = mean, square
        self.settled_at[rows] = self.num_steps
        rate = self.rate * _correction(self.num_steps)
        moved = self.table[rows].addcdiv_(mean, square.sqrt_().add_(EPSILON), value=-rate)
        self.table[rows] = moved

    def _advance(self) -> None:
        """Add the new step's term to the sums, and begin the sum of rows touched by it."""
        growing = self._coasts[-HORIZON:]
        growing += self._decays[-len(growing) :] * (self.rate * _correction(self.num_steps))
        self._coasts = torch.cat((self._coasts, torch.zeros(1, dtype=torch.float64)))

    def state(self) -> dict[str, Tensor]:
        """All that a later run needs to go on."""
        return {
            "mean": self.mean,
            "square": self.square,
            "settled_at": self.settled_at,
            "coasts": self._coasts,
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take over what `state` returned."""
        device = self.table.device
        self.mean = state["mean"].to(device)
        self.square = state["square"].to(device)
        self.settled_at = state["settled_at"].to(device)
        self._coasts = state["coasts"]
        self.num_steps = len(self._coasts) - 1


def _correction(step: int) -> float:
    """a_s: what the moments' start at zero asks for."""
    return math.sqrt(1.0 - BETA2**step) / (1.0 - BETA1**step)
