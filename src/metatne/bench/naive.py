"""The network as one writes it down first: every query repeats the whole support.

The same parameters and the same mathematics as `MetaTNENetwork.classify`, with nothing of its
algebra: each set {query} u supports is built, projected and attended to on its own, by plain
PyTorch. It is what the fast form is measured against.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from metatne.model import Block, FeedForward, MetaTNENetwork, SelfAttention, Transformation


def naive_logits(
    network: MetaTNENetwork,
    positives: Float[Tensor, "task positive dim"],
    negatives: Float[Tensor, "task negative dim"],
    queries: Float[Tensor, "task query dim"],
    *,
    dropout: float = 0.0,
) -> Float[Tensor, "task query"]:
    """Log-odds that each query holds its task's label; training drops a share of activations."""
    by_sign = (
        _minus_distance(_transform(network.transformation, _sets(supports, queries), dropout))
        for supports in (positives, negatives)
    )
    positive, negative = (logits.view(queries.shape[:2]) for logits in by_sign)
    return positive - negative


def _sets(
    supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
) -> Float[Tensor, "set shot+1 dim"]:
    """{query} u supports for every query of every task, the query last."""
    tiled = supports.unsqueeze(1).expand(-1, queries.shape[1], -1, -1)
    return torch.cat((tiled, queries.unsqueeze(2)), dim=2).flatten(0, 1)


def _transform(
    transformation: Transformation, tokens: Float[Tensor, "set token dim"], dropout: float
) -> Float[Tensor, "set token dim"]:
    for block in transformation.modules():
        if isinstance(block, Block):
            tokens = _apply_block(block, tokens, dropout)
    tokens = transformation.last_norm(tokens)
    return tokens


def _apply_block(
    block: Block, tokens: Float[Tensor, "set token dim"], dropout: float
) -> Float[Tensor, "set token dim"]:
    normed = block.attention_norm(tokens) if block.norm_first else tokens
    attended = _attend(block.attention, normed, dropout)
    tokens = tokens + functional.dropout(attended, dropout)
    if not block.norm_first:
        tokens = block.attention_norm(tokens)
    normed = block.feedforward_norm(tokens) if block.norm_first else tokens
    tokens = tokens + functional.dropout(_feed_forward(block.feedforward, normed), dropout)
    if not block.norm_first:
        tokens = block.feedforward_norm(tokens)
    return tokens


def _attend(
    attention: SelfAttention, tokens: Float[Tensor, "set token dim"], dropout: float
) -> Float[Tensor, "set token dim"]:
    query, key, value = (
        functional.linear(tokens, matrix)
        .view(*tokens.shape[:2], attention.num_heads, -1)
        .transpose(1, 2)
        for matrix in (attention.to_query, attention.to_key, attention.to_value)
    )  # (set, head, token, width)
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    mixed = functional.dropout(weights, dropout) @ value
    return functional.linear(mixed.transpose(1, 2).flatten(-2), attention.to_output)


def _feed_forward(
    net: FeedForward, tokens: Float[Tensor, "set token dim"]
) -> Float[Tensor, "set token dim"]:
    hidden = functional.relu(functional.linear(tokens, net.widen, net.widen_bias))
    return functional.linear(hidden, net.narrow, net.narrow_bias)


def _minus_distance(tokens: Float[Tensor, "set token dim"]) -> Float[Tensor, " set"]:
    prototypes, queries = tokens[:, :-1].mean(dim=1), tokens[:, -1]
    return -(queries - prototypes).square().sum(dim=-1) / math.sqrt(tokens.shape[-1])
