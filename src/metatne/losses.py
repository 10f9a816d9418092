"""The two objectives: structure (skip-gram with negatives) and tasks (cross-entropy)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional


def structural_loss(
    nodes: Float[Tensor, "pair dim"],
    neighbours: Float[Tensor, "pair dim"],
    negatives: Float[Tensor, "pair negative dim"],
) -> Float[Tensor, ""]:
    """-log s(u_i . c_j) - mean log s(-u_i . c_neg), averaged over the pairs (§4.1).

    The mean over the negatives, not the sum, is what the published code takes.
    """
    attraction = (nodes * neighbours).sum(dim=-1)  # (pair,)
    repulsion = (negatives @ nodes.unsqueeze(-1)).squeeze(-1)  # (pair, negative)
    return -functional.logsigmoid(attraction).mean() - functional.logsigmoid(-repulsion).mean()


def meta_loss(
    logits: Float[Tensor, "task query"],
    is_positive: Float[Tensor, "task query"],
    matrices: Iterable[Tensor],
    *,
    l2: float,
) -> Float[Tensor, ""]:
    """Cross-entropy over the queries plus l2 / 2 times the squares of Tr's matrices (Eqn. 9)."""
    squares = torch.stack([matrix.square().sum() for matrix in matrices]).sum()
    cross_entropy = functional.binary_cross_entropy_with_logits(logits, is_positive)
    return cross_entropy + 0.5 * l2 * squares
