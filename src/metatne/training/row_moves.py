"""How Adam moves single rows, compiled: the parts that `RowAdam` and the structural step share."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int32, Int64

from metatne.compiled import compiled_in_place, part_in_place, prefetch

ROWS_AHEAD = 2
"""How many rows before it is worked on a row is asked for."""

MEAN, SQUARE = 0, 1
"""Places of the two moments of a row."""

Row = Float[np.ndarray, " dim"]


class Moves(NamedTuple):
    """Where the rows of a table are, and all that says where they go. See `RowAdam`."""

    table: Float[np.ndarray, "row dim"]
    slots: Int32[np.ndarray, " row"]
    """Where a row's moments are; -1 before its first gradient."""

    moments: Float[np.ndarray, "slot moment dim"]
    settled_at: Int32[np.ndarray, " slot"]
    coasts: Float64[np.ndarray, "step term"]
    decays: Float64[np.ndarray, "step moment"]
    now: int
    """Steps made so far."""

    epsilon: float


class Step(NamedTuple):
    """What one step of Adam multiplies by."""

    rate: float
    """With the corrections of both moments."""

    of_gradient: float
    of_square: float


@part_in_place
def read_row(moves: Moves, row: int, out: Row) -> int:
    """Put a row, where dense Adam would have it now, into `out`; the slot of its moments."""
    slot = moves.slots[row]
    since = moves.settled_at[slot] if slot >= 0 else moves.now
    if since == moves.now:
        _copy(moves.table[row], out)
    else:
        moments = moves.moments[slot]
        _coast(moves.table[row], moments[MEAN], moments[SQUARE], moves.coasts[since], moves, out)
    return int(slot)


@part_in_place
def _copy(row: Row, out: Row) -> None:
    for k in range(len(row)):
        out[k] = row[k]


@part_in_place
def _coast(
    row: Row, mean: Row, square: Row, terms: Float64[np.ndarray, " term"], moves: Moves, out: Row
) -> None:
    number = row.dtype.type
    epsilon = number(moves.epsilon)
    first, second, third = number(terms[0]), number(terms[1]), number(terms[2])
    fourth = number(terms[3])
    for k in range(len(row)):
        inverse = number(1) / (math.sqrt(square[k]) + epsilon)
        x = epsilon * inverse
        out[k] = row[k] - mean[k] * inverse * (first - x * (second - x * (third - x * fourth)))


@part_in_place
def step_row(moves: Moves, step: Step, row: int, slot: int, start: Row, gradient: Row) -> None:
    """Move a row from `start`, where it is now, by `gradient`, which is of the next step."""
    late = moves.now + 1 - moves.settled_at[slot]
    moments = moves.moments[slot]
    _step(
        *(start, gradient, moments[MEAN], moments[SQUARE]),
        *(moves.decays[late], step, moves.epsilon, moves.table[row]),
    )
    moves.settled_at[slot] = moves.now + 1


@part_in_place
def _step(
    start: Row,
    gradient: Row,
    mean: Row,
    square: Row,
    decays: Float64[np.ndarray, " moment"],
    step: Step,
    epsilon: float,
    out: Row,
) -> None:
    number = out.dtype.type
    of_mean, of_square = number(decays[MEAN]), number(decays[SQUARE])
    to_mean, to_square = number(step.of_gradient), number(step.of_square)
    rate, small = number(step.rate), number(epsilon)
    for k in range(len(out)):
        mean[k] = of_mean * mean[k] + to_mean * gradient[k]
        square[k] = of_square * square[k] + to_square * gradient[k] * gradient[k]
        out[k] = start[k] - rate * mean[k] / (math.sqrt(square[k]) + small)


@part_in_place
def ask_for_row(moves: Moves, row: int) -> None:
    """Have a row on its way, with its moments, if it has any."""
    prefetch(moves.table, row)
    slot = moves.slots[row]
    if slot >= 0:
        prefetch(moves.moments, slot)


@compiled_in_place
def settle_rows(moves: Moves, rows: Int64[np.ndarray, " row"], here: Row) -> None:
    """Bring rows and their moments to where dense Adam would have them now; `here` is scratch."""
    for place in range(len(rows)):
        if place + ROWS_AHEAD < len(rows):
            ask_for_row(moves, rows[place + ROWS_AHEAD])
        row = rows[place]
        slot = moves.slots[row]
        if slot >= 0 and moves.settled_at[slot] < moves.now:
            read_row(moves, row, here)
            _copy(here, moves.table[row])
            decays = moves.decays[moves.now - moves.settled_at[slot]]
            for moment in (MEAN, SQUARE):
                _scale(moves.moments[slot, moment], decays[moment])
            moves.settled_at[slot] = moves.now


@part_in_place
def _scale(row: Row, factor: float) -> None:
    for k in range(len(row)):
        row[k] *= row.dtype.type(factor)


@compiled_in_place
def step_rows(
    moves: Moves,
    step: Step,
    rows: Int64[np.ndarray, " row"],
    gradient: Float[np.ndarray, "row dim"],
    here: Row,
) -> None:
    """Move rows, all of which have a slot; `here` is scratch."""
    for place in range(len(rows)):
        slot = read_row(moves, rows[place], here)
        step_row(moves, step, rows[place], slot, here, gradient[place])
