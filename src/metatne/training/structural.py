"""The structural module's step: skip-gram with negatives on the rows of a batch (§4.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int32, Int64
from torch.nn import functional

from metatne.compiled import compiled, compiled_in_place, part_in_place
from metatne.losses import structural_loss
from metatne.parallel import in_threads, num_threads
from metatne.sampling.bits import mix
from metatne.sampling.pairs import Pairs, PairSampler
from metatne.training.row_adam import RowAdam
from metatne.training.row_moves import ROWS_AHEAD, Moves, Row, Step, ask_for_row, read_row, step_row
from metatne.training.team import Alone, Team

BATCHES_AT_A_TIME = 8
"""Batches that are drawn together: several threads then draw one each."""


_LARGE = 1e300


class StructuralModule:
    """Moves embeddings and contexts by batches of pairs, each table by an Adam of its own.

    On the CPU, and with no other worker to share a batch with, a step is compiled, and looks
    at each row of the batch twice. With n pairs of u_i with c_0 (the neighbour) and N
    negatives c_1 … c_N, z_e = u_i . c_e and s the logistic function, the gradient of the loss
    is made of one number for every pair and context, its *slope* by z_e,

        g_i0 = (s(z_0) - 1) / n,  g_ie = s(z_e) / (n N),

    as g_ie c_e by u_i and g_ie u_i by c_e. The first pass takes every pair: it reads u_i and
    the c_e where dense Adam would have them now, keeps copies, and finds the slopes, the loss
    and sum_e g_ie c_e. The second takes every distinct row: it adds up its gradient from what
    the first kept, and moves it from where the first read it. Neither pass reads what it
    writes in another piece, so pieces go to several threads, and the result does not depend
    on how many there are.
    """

    def __init__(
        self,
        pairs: PairSampler,
        *,
        embeddings: RowAdam,
        contexts: RowAdam,
        also_moved_by: Sequence[RowAdam] = (),
        team: Team | None = None,
    ) -> None:
        """`also_moved_by`: other optimisers of the embeddings, whose moves have to be made."""
        self.pairs = pairs
        self.embeddings, self.contexts = embeddings, contexts
        self.also_moved_by = also_moved_by
        self.team = team or Alone()
        self._batches: dict[int, _Batch] = {}
        self._kept = _Kept.empty(
            pairs.batch_size, 1 + pairs.num_negatives, embeddings.table.cpu()[0].numpy()
        )

    def step(self, number: int) -> float:
        """Move the rows of batch `number`; the loss before that."""
        if self.team.size == 1 and self.embeddings.table.device.type == "cpu":
            return self._step_compiled(self._batch(number))
        return self.step_plainly(self.pairs.batch(number))

    def step_plainly(self, pairs: Pairs) -> float:
        """A step on any device and in any team, by PyTorch."""
        device = self.embeddings.table.device
        nodes, places = torch.unique(torch.from_numpy(pairs.nodes).to(device), return_inverse=True)
        contexts, context_places = torch.unique(
            torch.from_numpy(pairs.contexts).to(device), return_inverse=True
        )
        for adam in (self.embeddings, *self.also_moved_by):
            adam.settle(nodes)
        self.contexts.settle(contexts)
        embeddings = self.embeddings.table[nodes].requires_grad_()
        context_rows = self.contexts.table[contexts].requires_grad_()
        mine = slice(self.team.rank, None, self.team.size)  # this worker's share of the pairs
        vectors = functional.embedding(context_places[mine], context_rows)
        loss = structural_loss(
            functional.embedding(places[mine], embeddings), vectors[:, 0], vectors[:, 1:]
        ) * (len(places[mine]) / len(places))
        by_embeddings, by_contexts = torch.autograd.grad(loss, (embeddings, context_rows))
        loss = loss.detach()
        self.team.add_up([loss, by_embeddings, by_contexts])
        self.embeddings.step(nodes, by_embeddings)
        self.contexts.step(contexts, by_contexts)
        return loss.item()

    def _step_compiled(self, batch: _Batch) -> float:
        nodes, contexts = (
            torch.from_numpy(each.rows) for each in (batch.by_node, batch.by_context)
        )
        for adam in self.also_moved_by:
            adam.settle(nodes)
        kept, tables = self._kept, (self.embeddings.moves(), self.contexts.moves())

        def look(piece: range) -> tuple[int, int]:
            return _look_at_pairs(*tables, batch, kept, piece.start, piece.stop)

        fresh_nodes, fresh_contexts = zip(*in_threads(look, _pieces(len(batch.nodes))), strict=True)
        if any(fresh_nodes):
            self.embeddings.touch(nodes)
        if any(fresh_contexts):
            self.contexts.touch(contexts)
        steps = (self.embeddings.next_step(), self.contexts.next_step())

        def move(pieces: tuple[range, range]) -> None:
            of_nodes, of_contexts = pieces
            bounds = of_nodes.start, of_nodes.stop
            _move_nodes(tables[0], steps[0], batch.by_node, kept, *bounds)
            bounds = of_contexts.start, of_contexts.stop
            scratch = np.empty_like(kept.nodes[0])
            _move_contexts(tables[1], steps[1], batch.by_context, kept, *bounds, scratch)

        in_threads(move, zip(_pieces(len(nodes)), _pieces(len(contexts)), strict=True))
        self.embeddings.advance()
        self.contexts.advance()
        return float(kept.losses.mean(dtype=np.float64))

    def _batch(self, number: int) -> _Batch:
        if number not in self._batches:
            numbers = range(number, number + BATCHES_AT_A_TIME)
            self._batches = dict(zip(numbers, in_threads(self._draw, numbers), strict=True))
        return self._batches.pop(number)

    def _draw(self, number: int) -> _Batch:
        pairs = self.pairs.batch(number)
        return _Batch(
            pairs.nodes,
            pairs.contexts,
            group_by_row(pairs.nodes),
            group_by_row(pairs.contexts.ravel()),
        )


class Groups(NamedTuple):
    """The entries of a batch by the row of a table that they stand for."""

    rows: Int64[np.ndarray, " group"]
    """The distinct rows, by first appearance."""

    bounds: Int32[np.ndarray, " bound"]
    entries: Int32[np.ndarray, " entry"]
    """Of group g, ascending, from `bounds[g]` up to `bounds[g + 1]`."""


class _Batch(NamedTuple):
    nodes: Int64[np.ndarray, " pair"]
    contexts: Int64[np.ndarray, "pair context"]
    by_node: Groups
    by_context: Groups


class _Kept(NamedTuple):
    """What the first pass finds and the second needs."""

    nodes: Float[np.ndarray, "pair dim"]
    contexts: Float[np.ndarray, "entry dim"]
    """Rows as they were read; pair i has entries from i * (1 + negatives)."""

    slopes: Float[np.ndarray, " entry"]
    gradients: Float[np.ndarray, "pair dim"]
    """By u_i, of this pair alone."""

    losses: Float[np.ndarray, " pair"]

    @classmethod
    def empty(cls, num_pairs: int, width: int, row: Row) -> _Kept:
        """Room for a batch, taken once: fresh memory is slow."""

        def room(*shape: int) -> Float[np.ndarray, ...]:
            return np.empty(shape, dtype=row.dtype)

        return cls(
            nodes=room(num_pairs, len(row)),
            contexts=room(num_pairs * width, len(row)),
            slopes=room(num_pairs * width),
            gradients=room(num_pairs, len(row)),
            losses=room(num_pairs),
        )


def _pieces(size: int) -> list[range]:
    """As many even pieces as there are threads."""
    bounds = [size * piece // num_threads() for piece in range(num_threads() + 1)]
    return [range(*each) for each in pairwise(bounds)]


@compiled_in_place
def _look_at_pairs(
    embeddings: Moves, contexts: Moves, batch: _Batch, kept: _Kept, first: int, last: int
) -> tuple[int, int]:
    """The first pass over these pairs; how many nodes and contexts had no gradient before."""
    width = batch.contexts.shape[1]
    fresh_nodes = fresh_contexts = 0
    for pair in range(first, last):
        ahead = min(pair + 1, last - 1)
        ask_for_row(embeddings, batch.nodes[ahead])
        node, gradient = kept.nodes[pair], kept.gradients[pair]
        fresh_nodes += int(read_row(embeddings, batch.nodes[pair], node) < 0)
        _fill(gradient, 0.0)
        loss, against, stacked = 0.0, 0.0, 1.0
        for place in range(width):
            ask_for_row(contexts, batch.contexts[ahead, place])
            entry = pair * width + place
            context = kept.contexts[entry]
            fresh_contexts += int(read_row(contexts, batch.contexts[pair, place], context) < 0)
            closeness = _dot(node, context)
            # e^-|z| cannot overflow; s(z) and log(1 + e^z) follow from it for either sign.
            small = math.exp(-abs(closeness))
            larger = 1.0 / (1.0 + small)
            is_like = larger if closeness >= 0 else small * larger
            if place == 0:
                loss = max(-closeness, 0.0) + math.log(1.0 + small)
                slope = (is_like - 1.0) / len(batch.nodes)
            else:
                against += max(closeness, 0.0)
                stacked *= 1.0 + small  # one logarithm for many factors of at most 2
                if stacked > _LARGE:
                    against, stacked = against + math.log(stacked), 1.0
                slope = is_like / (len(batch.nodes) * (width - 1))
            kept.slopes[entry] = slope
            _add(gradient, kept.slopes[entry], context)
        kept.losses[pair] = loss + (against + math.log(stacked)) / (width - 1)
    return fresh_nodes, fresh_contexts


@compiled_in_place
def _move_nodes(
    moves: Moves, step: Step, groups: Groups, kept: _Kept, first: int, last: int
) -> None:
    """The second pass over these distinct nodes; all have a slot by now."""
    for group in range(first, last):
        ask_for_row(moves, groups.rows[min(group + ROWS_AHEAD, last - 1)])
        begin, end = groups.bounds[group], groups.bounds[group + 1]
        start = groups.entries[begin]
        gradient = kept.gradients[start]
        for place in range(begin + 1, end):
            _add(gradient, 1.0, kept.gradients[groups.entries[place]])
        row = groups.rows[group]
        step_row(moves, step, row, moves.slots[row], kept.nodes[start], gradient)


@compiled_in_place
def _move_contexts(
    moves: Moves, step: Step, groups: Groups, kept: _Kept, first: int, last: int, gradient: Row
) -> None:
    """The second pass over these distinct contexts; `gradient` is scratch."""
    width = len(kept.contexts) // len(kept.nodes)
    for group in range(first, last):
        ask_for_row(moves, groups.rows[min(group + ROWS_AHEAD, last - 1)])
        begin, end = groups.bounds[group], groups.bounds[group + 1]
        _fill(gradient, 0.0)
        for place in range(begin, end):
            entry = groups.entries[place]
            _add(gradient, kept.slopes[entry], kept.nodes[entry // width])
        row, start = groups.rows[group], kept.contexts[groups.entries[begin]]
        step_row(moves, step, row, moves.slots[row], start, gradient)


@part_in_place
def _dot(one: Row, other: Row) -> float:
    total = one.dtype.type(0)
    for k in range(len(one)):
        total += one[k] * other[k]
    return float(total)


@part_in_place
def _add(row: Row, factor: float, other: Row) -> None:
    for k in range(len(row)):
        row[k] += row.dtype.type(factor) * other[k]


@part_in_place
def _fill(row: Row, value: float) -> None:
    for k in range(len(row)):
        row[k] = value


@compiled
def group_by_row(rows: Int64[np.ndarray, " entry"]) -> Groups:
    """The entries of a batch by row: a hash table that fits the cache, no sorting."""
    num_entries = len(rows)
    mask = 1
    while mask < 2 * num_entries:
        mask *= 2
    mask -= 1
    table = np.full(mask + 1, -1, dtype=np.int32)
    distinct = np.empty(num_entries, dtype=np.int64)
    group_of = np.empty(num_entries, dtype=np.int32)
    bounds = np.zeros(num_entries + 1, dtype=np.int32)
    num_groups = 0
    for entry in range(num_entries):
        row = rows[entry]
        place = np.int64(mix(np.uint64(row))) & mask
        while table[place] >= 0 and distinct[table[place]] != row:
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = num_groups
            distinct[num_groups] = row
            num_groups += 1
        group_of[entry] = table[place]
        bounds[table[place] + 1] += 1
    bounds = np.cumsum(bounds[: num_groups + 1]).astype(np.int32)
    entries = np.empty(num_entries, dtype=np.int32)
    next_place = bounds[:-1].copy()
    for entry in range(num_entries):
        group = group_of[entry]
        entries[next_place[group]] = entry
        next_place[group] += 1
    return Groups(distinct[:num_groups].copy(), bounds, entries)
