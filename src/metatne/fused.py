"""The one-block transformation's inner loop, compiled: from attention's factors to closeness.

Per task, sign and head, attention leaves factors (see `SelfAttention.mixture`) from which the
embedding of support k in the company of query q is a sum, and the query's own is given:

    x_kq = u_k + sum_h kept_kqh P_kh + merged_kqh R_qh        x_qq = u_q + adapted_q

What follows per pair is layer norm, a feed-forward net, a last layer norm and the mean over k.

*The first feed-forward layer folds.* With C the centring matrix and r = 1 / std(x), layer norm
and first layer are W_1 (g * r C x + b) + b_1 = r V x + c, V = W_1 diag(g) C. V is linear, so it is
applied to u, P and R once a node, and a pair only mixes: V x_kq is the same sum as above of the
*folded* vectors V u, V P and V R. Of x itself only C x is needed, since both norms remove the mean.

*The second layer is the one product per pair*: y = C x + m * (W_2 relu(r V x + c) + b_2), m the
dropout mask. It runs over a tile of pairs that fits the cache.

*The last norm's bias cancels* in the difference of query and prototype, and its gain g_L is
applied to the mean: closeness_q = -|g_L * (norm(y_qq) - mean_k norm(y_kq))|^2 / sqrt(d).

*Backward*, of the per-pair vectors only C x, relu(...) and norm(y) are kept; where relu(...) is 0
its argument does not matter, elsewhere the argument is it. Two products per pair remain: to
relu(...) and to W_2. A pair's gradients by x and V x are then handed on to u, P, R, their folded
forms, kept and merged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from metatne.fused_passes import TILE, Arrays, passed_back, passed_on, room_for


class Factors(NamedTuple):
    """What pairs (support, query) are mixed from: u_k, P, R, x_qq, then V times each, weights."""

    supports: Float[Tensor, "task shot dim"]
    settled: Float[Tensor, "task shot head dim"]
    values: Float[Tensor, "task query head dim"]
    queries: Float[Tensor, "task query dim"]
    folded_supports: Float[Tensor, "task shot hidden"]
    folded_settled: Float[Tensor, "task shot head hidden"]
    folded_values: Float[Tensor, "task query head hidden"]
    folded_queries: Float[Tensor, "task query hidden"]
    kept: Float[Tensor, "task query shot head"]
    merged: Float[Tensor, "task query shot head"]


class Rest(NamedTuple):
    """What follows once pairs are mixed: c, W_2, b_2, g_L of the module's docstring, and masks."""

    hidden_bias: Float[Tensor, " hidden"]
    narrow: Float[Tensor, "dim hidden"]
    narrow_bias: Float[Tensor, " dim"]
    gain: Float[Tensor, " dim"]
    support_mask: Float[Tensor, "task shot dim"] | None
    query_mask: Float[Tensor, "task query dim"] | None


def fused_closeness(factors: Factors, rest: Rest) -> Float[Tensor, "task query"]:
    """Closeness of each query to its prototype, with gradients to all that was given."""
    if torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in (*factors, *rest)
    ):
        apply: Callable[..., Tensor] = _Closeness.apply
        return apply(*factors, *rest)
    arrays = _arrays(*factors, *rest)
    return torch.from_numpy(passed_on(arrays, room_for(arrays, num_tasks=1, rows=TILE)))


class _Closeness(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor | None) -> Tensor:
        arrays = _arrays(*tensors)
        num_tasks, num_queries, num_shots = arrays.kept.shape[:3]
        saved = room_for(arrays, num_tasks=num_tasks, rows=num_queries * (num_shots + 1))
        closeness = torch.from_numpy(passed_on(arrays, saved))
        ctx.arrays, ctx.saved = arrays, saved
        return closeness

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = outer
        if ctx.arrays is None:
            raise RuntimeError("gradients were asked for a second time; compute the closeness anew")
        by = passed_back(ctx.arrays, ctx.saved, np.ascontiguousarray(gradient.detach().numpy()))
        ctx.arrays = ctx.saved = None  # 2 KB a pair
        # In PyTorch's own memory, which is aligned: products of MKL round by alignment.
        return (*(torch.from_numpy(each).clone() for each in by[:-2]), None, None)


def _arrays(*tensors: Tensor | None) -> Arrays:
    nothing = np.empty((0, 0, 0), dtype=np.float32)
    return Arrays(
        *(
            nothing if tensor is None else np.ascontiguousarray(tensor.detach().numpy())
            for tensor in tensors
        )
    )
