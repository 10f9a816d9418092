"""The structural objective: skip-gram with negatives."""

from __future__ import annotations

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
