"""The passes of `fused.py`, compiled: pairs forward, tile by tile, and their gradients back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 - compiled products use it: loaded now, it obeys `one_thread`
from jaxtyping import Float32

from metatne.compiled import compiled_for_sums, compiled_in_place, part_in_place

NORM_EPSILON = 1e-6

TILE = 256
"""Pairs that are worked on at once: their vectors fit a core's second-level cache."""

Array = Float32[np.ndarray, "..."]


class Arrays(NamedTuple):
    """`Factors`, then `Rest`, as contiguous arrays in that order: gradients go back by place."""

    supports: Array
    settled: Array
    values: Array
    queries: Array
    folded_supports: Array
    folded_settled: Array
    folded_values: Array
    folded_queries: Array
    kept: Array
    merged: Array
    hidden_bias: Array
    narrow: Array
    narrow_bias: Array
    gain: Array
    support_mask: Array
    query_mask: Array


class Saved(NamedTuple):
    """What `passed_on` saves of every pair, a query's own row last; for no gradient, of a tile."""

    centred: Array
    """C x"""
    hidden: Array
    """relu(r V x + c)"""
    normed: Array
    """norm(y)"""
    first_scale: Array
    """1 / std(x)"""
    last_scale: Array
    """1 / std(y)"""
    gaps: Array
    """norm(y_qq) - mean_k norm(y_kq)"""


def room_for(arrays: Arrays, *, num_tasks: int, rows: int) -> Saved:
    """Room for so many pairs of so many tasks; a query's pairs fit at least."""
    dim, hidden = arrays.narrow.shape
    rows = max(rows, arrays.kept.shape[2] + 1)

    def empty(*shape: int) -> Array:
        return np.empty((num_tasks, rows, *shape), dtype=np.float32)

    gaps = np.empty((*arrays.kept.shape[:2], dim), dtype=np.float32)
    return Saved(empty(dim), empty(hidden), empty(dim), empty(), empty(), gaps)


@compiled_for_sums
def passed_on(arrays: Arrays, saved: Saved) -> Array:
    """The closeness, tile by tile; what `saved` has no room for is overwritten by the next tile."""
    num_tasks, num_queries, num_shots = arrays.kept.shape[:3]
    tokens = num_shots + 1
    saves_all = len(saved.centred) == num_tasks and saved.centred.shape[1] >= num_queries * tokens
    narrow = np.ascontiguousarray(arrays.narrow.T)
    closeness = np.empty((num_tasks, num_queries), dtype=np.float32)
    queries_per_tile = max(1, min(TILE, saved.centred.shape[1]) // tokens)
    for task in range(num_tasks):
        place = task if saves_all else 0
        for first in range(0, num_queries, queries_per_tile):
            last = min(first + queries_per_tile, num_queries)
            start = first * tokens if saves_all else 0
            rows = slice(start, start + (last - first) * tokens)
            centred, hidden = saved.centred[place, rows], saved.hidden[place, rows]
            normed = saved.normed[place, rows]
            _mix_tile(arrays, task, first, last, centred, hidden, saved.first_scale[place, rows])
            np.dot(hidden, narrow, normed)
            _norm_tile(arrays, task, first, last, centred, normed, saved.last_scale[place, rows],
                       saved.gaps[task], closeness[task])  # fmt: skip
    return closeness


@compiled_in_place
def _mix_tile(
    arrays: Arrays, task: int, first: int, last: int, centred: Array, hidden: Array, scale: Array
) -> None:
    """C x of every pair of the tile, and relu(r V x + c)."""
    tokens = arrays.kept.shape[2] + 1
    bias = arrays.hidden_bias
    for query in range(first, last):
        for token in range(tokens):
            row = (query - first) * tokens + token
            x, active = centred[row], hidden[row]
            if token < tokens - 1:
                kept, merged = arrays.kept[task, query, token], arrays.merged[task, query, token]
                _mix(x, arrays.supports[task, token], arrays.settled[task, token],
                     arrays.values[task, query], kept, merged)  # fmt: skip
                _mix(active, arrays.folded_supports[task, token],
                     arrays.folded_settled[task, token], arrays.folded_values[task, query],
                     kept, merged)  # fmt: skip
            else:
                _copy(x, arrays.queries[task, query])
                _copy(active, arrays.folded_queries[task, query])
            scale[row] = _centre(x)
            for i in range(len(active)):
                argument = active[i] * scale[row] + bias[i]
                active[i] = np.float32(0.0) if argument < 0 else argument


@part_in_place
def _copy(out: Array, vector: Array) -> None:
    for i in range(len(out)):
        out[i] = vector[i]


@part_in_place
def _centre(vector: Array) -> np.float32:
    """Remove the mean in place and return 1 / std."""
    dim = np.float32(len(vector))
    total = np.float32(0.0)
    for i in range(len(vector)):
        total += vector[i]
    mean = total / dim
    squares = np.float32(0.0)
    for i in range(len(vector)):
        vector[i] -= mean
        squares += vector[i] * vector[i]
    return np.float32(1.0 / np.sqrt(squares / dim + np.float32(NORM_EPSILON)))


@part_in_place
def _mix(
    mixed: Array, support: Array, settled: Array, values: Array, kept: Array, merged: Array
) -> None:
    """mixed = support + sum_h kept_h settled_h + merged_h values_h, two heads a pass."""
    num_heads = len(kept)
    s0, v0, a0, b0 = settled[0], values[0], kept[0], merged[0]
    if num_heads == 1:
        for i in range(len(mixed)):
            mixed[i] = support[i] + a0 * s0[i] + b0 * v0[i]
        return
    s1, v1, a1, b1 = settled[1], values[1], kept[1], merged[1]
    for i in range(len(mixed)):
        mixed[i] = support[i] + a0 * s0[i] + b0 * v0[i] + a1 * s1[i] + b1 * v1[i]
    for head in range(2, num_heads - 1, 2):
        s0, v0, a0, b0 = settled[head], values[head], kept[head], merged[head]
        s1, v1, a1, b1 = settled[head + 1], values[head + 1], kept[head + 1], merged[head + 1]
        for i in range(len(mixed)):
            mixed[i] += a0 * s0[i] + b0 * v0[i] + a1 * s1[i] + b1 * v1[i]
    if num_heads % 2:
        s0, v0, a0, b0 = settled[-1], values[-1], kept[-1], merged[-1]
        for i in range(len(mixed)):
            mixed[i] += a0 * s0[i] + b0 * v0[i]


@compiled_in_place
def _norm_tile(
    arrays: Arrays,
    task: int,
    first: int,
    last: int,
    centred: Array,
    normed: Array,
    scale: Array,
    gaps: Array,
    closeness: Array,
) -> None:
    """From W_2 relu(...), which `normed` holds at first, to norm(y), gaps and closeness."""
    tokens = arrays.kept.shape[2] + 1
    dim = centred.shape[1]
    is_masked = len(arrays.query_mask) > 0
    bias, gain = arrays.narrow_bias, arrays.gain
    for query in range(first, last):
        gap = gaps[query]
        for i in range(dim):
            gap[i] = 0.0
        for token in range(tokens):
            is_support = token < tokens - 1
            row = (query - first) * tokens + token
            x, y = centred[row], normed[row]
            if is_masked:
                masks = arrays.support_mask if is_support else arrays.query_mask
                mask = masks[task, token if is_support else query]
                for i in range(dim):
                    y[i] = x[i] + mask[i] * (y[i] + bias[i])
            else:
                for i in range(dim):
                    y[i] = x[i] + (y[i] + bias[i])
            inverse = _centre(y)
            scale[row] = inverse
            share = np.float32(-1.0 / (tokens - 1)) if is_support else np.float32(1.0)
            for i in range(dim):
                y[i] *= inverse
                gap[i] += share * y[i]
        squares = np.float32(0.0)
        for i in range(dim):
            squares += (gain[i] * gap[i]) * (gain[i] * gap[i])
        closeness[query] = -squares / np.float32(np.sqrt(dim))


@compiled_for_sums
def passed_back(arrays: Arrays, saved: Saved, outer: Array) -> Arrays:
    """Gradients by the arrays, masks left out, given those by the closeness."""
    num_tasks, num_queries, num_shots = arrays.kept.shape[:3]
    tokens = num_shots + 1
    dim, width = arrays.narrow.shape
    by = Arrays(
        np.zeros_like(arrays.supports), np.zeros_like(arrays.settled),
        np.zeros_like(arrays.values), np.empty_like(arrays.queries),
        np.zeros_like(arrays.folded_supports), np.zeros_like(arrays.folded_settled),
        np.zeros_like(arrays.folded_values), np.empty_like(arrays.folded_queries),
        np.empty_like(arrays.kept), np.empty_like(arrays.merged),
        np.zeros_like(arrays.hidden_bias), np.zeros_like(arrays.narrow),
        np.zeros_like(arrays.narrow_bias), np.zeros_like(arrays.gain),
        arrays.support_mask, arrays.query_mask,
    )  # fmt: skip
    queries_per_tile = max(1, TILE // tokens)
    size = min(queries_per_tile, num_queries) * tokens
    by_x = np.empty((size, dim), dtype=np.float32)
    by_fed = np.empty((size, dim), dtype=np.float32)
    by_hidden = np.empty((size, width), dtype=np.float32)
    by_gap = np.empty(dim, dtype=np.float32)
    by_narrow, total = np.empty_like(arrays.narrow), by.narrow
    for task in range(num_tasks):
        for first in range(0, num_queries, queries_per_tile):
            last = min(first + queries_per_tile, num_queries)
            rows = slice(first * tokens, last * tokens)
            count = (last - first) * tokens
            centred, hidden = saved.centred[task, rows], saved.hidden[task, rows]
            _norm_tile_backward(arrays, by, task, first, last, saved.normed[task, rows],
                                saved.last_scale[task, rows], saved.gaps[task], outer[task],
                                by_x, by_fed, by_gap)  # fmt: skip
            np.dot(by_fed[:count], arrays.narrow, by_hidden[:count])
            np.dot(by_fed[:count].T, hidden, by_narrow)
            total += by_narrow
            _mix_tile_backward(arrays, by, task, first, last, centred, hidden,
                               saved.first_scale[task, rows], by_x, by_hidden)  # fmt: skip
    return by


@compiled_in_place
def _norm_tile_backward(
    arrays: Arrays,
    by: Arrays,
    task: int,
    first: int,
    last: int,
    normed: Array,
    scale: Array,
    gaps: Array,
    outer: Array,
    by_x: Array,
    by_fed: Array,
    by_gap: Array,
) -> None:
    """Gradients by the feed-forward net's output, and by C x as far as it passes by the net."""
    tokens = arrays.kept.shape[2] + 1
    dim = normed.shape[1]
    is_masked = len(arrays.query_mask) > 0
    gain, by_gain, by_bias = arrays.gain, by.gain, by.narrow_bias
    for query in range(first, last):
        factor = np.float32(-2.0 / np.sqrt(dim)) * outer[query]
        gap = gaps[query]
        mean = np.float32(0.0)
        for i in range(dim):
            scaled = factor * gain[i] * gap[i]
            by_gain[i] += scaled * gap[i]
            by_gap[i] = scaled * gain[i]
            mean += by_gap[i]
        mean /= np.float32(dim)
        for token in range(tokens):
            is_support = token < tokens - 1
            row = (query - first) * tokens + token
            y, by_input, by_output = normed[row], by_x[row], by_fed[row]
            along = np.float32(0.0)
            for i in range(dim):
                along += by_gap[i] * y[i]
            along /= np.float32(dim)
            share = np.float32(-1.0 / (tokens - 1)) if is_support else np.float32(1.0)
            share *= scale[row]
            if is_masked:
                masks = arrays.support_mask if is_support else arrays.query_mask
                mask = masks[task, token if is_support else query]
                for i in range(dim):
                    by_y = share * (by_gap[i] - mean - y[i] * along)
                    by_input[i] = by_y
                    by_output[i] = by_y * mask[i]
                    by_bias[i] += by_y * mask[i]
            else:
                for i in range(dim):
                    by_y = share * (by_gap[i] - mean - y[i] * along)
                    by_input[i] = by_y
                    by_output[i] = by_y
                    by_bias[i] += by_y


@compiled_in_place
def _mix_tile_backward(
    arrays: Arrays,
    by: Arrays,
    task: int,
    first: int,
    last: int,
    centred: Array,
    hidden: Array,
    scale: Array,
    by_x: Array,
    by_hidden: Array,
) -> None:
    """A pair's gradients by x and V x, handed on to what the two were mixed from."""
    tokens = arrays.kept.shape[2] + 1
    dim, width = centred.shape[1], hidden.shape[1]
    bias, by_bias = arrays.hidden_bias, by.hidden_bias
    for query in range(first, last):
        for token in range(tokens):
            row = (query - first) * tokens + token
            by_vector, by_folded, active = by_x[row], by_hidden[row], hidden[row]
            inverse = scale[row]
            along = np.float32(0.0)
            for i in range(width):
                by_argument = np.float32(0.0) if active[i] <= 0 else by_folded[i]
                along += by_argument * (active[i] - bias[i])
                by_bias[i] += by_argument
                by_folded[i] = by_argument * inverse
            along *= -inverse * inverse / np.float32(dim)
            x = centred[row]
            for i in range(dim):
                by_vector[i] += along * x[i]
            if token == tokens - 1:
                _copy(by.queries[task, query], by_vector)
                _copy(by.folded_queries[task, query], by_folded)
                continue
            kept, merged = arrays.kept[task, query, token], arrays.merged[task, query, token]
            by_kept, by_merged = by.kept[task, query, token], by.merged[task, query, token]
            for head in range(len(kept)):
                by_kept[head] = by_merged[head] = 0.0
            _hand_on(by_vector, arrays.settled[task, token], arrays.values[task, query],
                     kept, merged, by.supports[task, token], by.settled[task, token],
                     by.values[task, query], by_kept, by_merged)  # fmt: skip
            _hand_on(by_folded, arrays.folded_settled[task, token],
                     arrays.folded_values[task, query], kept, merged,
                     by.folded_supports[task, token], by.folded_settled[task, token],
                     by.folded_values[task, query], by_kept, by_merged)  # fmt: skip


@part_in_place
def _hand_on(
    by_mixed: Array,
    settled: Array,
    values: Array,
    kept: Array,
    merged: Array,
    by_support: Array,
    by_settled: Array,
    by_values: Array,
    by_kept: Array,
    by_merged: Array,
) -> None:
    """The gradient of `_mix`, added to what has been gathered of its inputs."""
    for i in range(len(by_mixed)):
        by_support[i] += by_mixed[i]
    for head in range(len(kept)):
        P, R, a, b = settled[head], values[head], kept[head], merged[head]
        by_P, by_R = by_settled[head], by_values[head]
        along_P, along_R = np.float32(0.0), np.float32(0.0)
        for i in range(len(by_mixed)):
            along_P += by_mixed[i] * P[i]
            along_R += by_mixed[i] * R[i]
            by_P[i] += a * by_mixed[i]
            by_R[i] += b * by_mixed[i]
        by_kept[head] += along_P
        by_merged[head] += along_R
