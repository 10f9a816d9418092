"""The paper's transformation and classifier as it writes them down: one query at a time.

Slow on purpose: loops over heads and pairs of nodes, no tensor has more than two axes, and
nothing of the network is called, only its parameters are read. `test_model.py` holds the
network's fast form against it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from metatne.config import Config
from metatne.model import MetaTNENetwork

EPSILON = 1e-6


def reference_logits(
    network: MetaTNENetwork, config: Config, positives: Tensor, negatives: Tensor, queries: Tensor
) -> Tensor:
    """-dist(u~_q,m, c~_m,q) / sqrt(d) for m = +, -: (task, query, sign)."""
    U = network.embeddings
    return torch.stack(
        [
            torch.stack(
                [
                    torch.stack(
                        [
                            _minus_distance(network, config, U[q], [U[k] for k in supports])
                            for supports in (positives[task], negatives[task])
                        ]
                    )
                    for q in queries[task]
                ]
            )
            for task in range(len(queries))
        ]
    )


def reference_probabilities(signed: Tensor) -> Tensor:
    """The probability of the label from the two distances (Eqn. 8): (task, query)."""
    positive, negative = torch.exp(signed[..., 0]), torch.exp(signed[..., 1])
    return positive / (positive + negative)


def _minus_distance(
    network: MetaTNENetwork, config: Config, query: Tensor, supports: list[Tensor]
) -> Tensor:
    adapted_query, *adapted_supports = _transform(network, config, [query, *supports])
    prototype = sum(adapted_supports[1:], adapted_supports[0]) / len(adapted_supports)
    distance = ((adapted_query - prototype) ** 2).sum()
    return -distance / math.sqrt(config.dim)


def _transform(network: MetaTNENetwork, config: Config, nodes: list[Tensor]) -> list[Tensor]:
    """Tr: the set {u_q} u {u_k} after all blocks (Eqn. 4)."""
    transformation = network.transformation
    for block in (transformation.first_block, *transformation.later_blocks):
        first, second = block.attention_norm, block.feedforward_norm
        if config.norm_first:
            attended = _attend(block.attention, config, [_norm(u, first) for u in nodes])
            nodes = [u + a for u, a in zip(nodes, attended, strict=True)]
            nodes = [u + _feed_forward(block.feedforward, _norm(u, second)) for u in nodes]
        else:
            attended = _attend(block.attention, config, nodes)
            nodes = [_norm(u + a, first) for u, a in zip(nodes, attended, strict=True)]
            nodes = [_norm(u + _feed_forward(block.feedforward, u), second) for u in nodes]
    if config.norm_first:
        nodes = [_norm(u, transformation.last_norm) for u in nodes]
    return nodes


def _attend(attention: nn.Module, config: Config, nodes: list[Tensor]) -> list[Tensor]:
    """Multi-head self-attention over the set (supplement, Eqn. 1 to 4)."""
    width = config.attention_dim // config.num_heads
    W_Q, W_K, W_V, W_O = (
        attention.get_parameter(name) for name in ("to_query", "to_key", "to_value", "to_output")
    )
    heads: list[list[Tensor]] = [[] for _ in nodes]
    for h in range(config.num_heads):
        rows = slice(h * width, (h + 1) * width)
        for i, u_i in enumerate(nodes):
            scores = [
                (W_Q[rows] @ u_i)
                @ (W_K[rows] @ u_j)
                / math.sqrt(config.attention_dim / config.num_heads)
                for u_j in nodes
            ]
            total = sum((torch.exp(score) for score in scores[1:]), torch.exp(scores[0]))
            output = torch.zeros(width, dtype=u_i.dtype)
            for score, u_j in zip(scores, nodes, strict=True):
                output = output + torch.exp(score) / total * (W_V[rows] @ u_j)
            heads[i].append(output)
    return [W_O @ torch.cat(outputs) for outputs in heads]


def _feed_forward(net: nn.Module, node: Tensor) -> Tensor:
    hidden = net.get_parameter("widen") @ node + net.get_parameter("widen_bias")
    hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
    return net.get_parameter("narrow") @ hidden + net.get_parameter("narrow_bias")


def _norm(node: Tensor, norm: nn.Module) -> Tensor:
    centred = node - node.sum() / len(node)
    variance = (centred**2).sum() / len(node)
    scale, shift = norm.get_parameter("weight"), norm.get_parameter("bias")
    return scale * centred / torch.sqrt(variance + EPSILON) + shift
