"""The paper's transformation, classifier and loss as it writes them down: one query at a time.

Slow on purpose: loops over heads and pairs of nodes, no vector or matrix of several nodes, and
nothing of the network is called, only its parameters are read. `model/agreement.py` holds both
fast forms of the network against it, `test_variants.py` the ablation's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from metatne.config import Config
from metatne.model import MetaTNENetwork
from metatne.noise import Noise, SetMasks

EPSILON = 1e-6


def meta_loss(
    logits: Tensor, is_positive: Tensor, matrices: Iterable[Tensor], *, l2: float
) -> Tensor:
    """Cross-entropy over the queries plus l2 / 2 times the squares of Tr's matrices (Eqn. 9)."""
    squares = torch.stack([matrix.square().sum() for matrix in matrices]).sum()
    cross_entropy = functional.binary_cross_entropy_with_logits(logits, is_positive)
    return cross_entropy + 0.5 * l2 * squares


def reference_logits(
    network: MetaTNENetwork,
    config: Config,
    positives: Tensor,
    negatives: Tensor,
    queries: Tensor,
    noise: Noise | None = None,
) -> Tensor:
    """-dist(u~_q,m, c~_m,q) / sqrt(d) for m = +, -, from embeddings: (task, query, sign)."""
    closeness = [
        _minus_distance(
            *_transform(
                network,
                config,
                [queries[task, query], *supports[task]],
                [_SetNoise(block, task, query, is_first=not i) for i, block in enumerate(masks)],
            )
        )
        for task in range(queries.shape[0])
        for query in range(queries.shape[1])
        for supports, masks in (
            (positives, noise.positive if noise else ()),
            (negatives, noise.negative if noise else ()),
        )
    ]
    return torch.stack(closeness).view(*queries.shape[:2], 2)


def reference_one_set_logits(
    network: MetaTNENetwork,
    config: Config,
    positives: Tensor,
    negatives: Tensor,
    queries: Tensor,
    noise: Noise | None = None,
) -> Tensor:
    """Log-odds of the ablation's V2, from embeddings: (task, query).

    It is to "produce task-specific embeddings by simply feeding all support and query node
    representations into the self-attention network instead of according to Eqn. (4)". So every
    node of a task is adapted once, and all queries are compared with the same two prototypes.
    """
    num_positives, num_supports = positives.shape[1], positives.shape[1] + negatives.shape[1]
    logits = []
    for task in range(queries.shape[0]):
        everyone = [*positives[task], *negatives[task], *queries[task]]
        blocks = zip(noise.positive, noise.negative, strict=True) if noise else ()
        masks = [_OneSetNoise(positive, negative, task) for positive, negative in blocks]
        adapted = _transform(network, config, everyone, masks)
        for query in adapted[num_supports:]:
            to_positive = _minus_distance(query, *adapted[:num_positives])
            to_negative = _minus_distance(query, *adapted[num_positives:num_supports])
            logits.append(to_positive - to_negative)
    return torch.stack(logits).view(queries.shape[:2])


def reference_probabilities(signed: Tensor) -> Tensor:
    """The probability of the label from the two distances (Eqn. 8): (task, query)."""
    positive, negative = torch.exp(signed[..., 0]), torch.exp(signed[..., 1])
    return positive / (positive + negative)


class _TokenNoise(Protocol):
    """What dropout leaves within one set of tokens, in one block."""

    def of_attention(self, head: int, to: int, of: int) -> Tensor: ...
    def of_attended(self, to: int, of: int) -> Tensor: ...
    def of_fed(self, to: int) -> Tensor: ...


class _SetNoise:
    """Of one set {query} u supports; token 0 is the query."""

    def __init__(self, masks: SetMasks, task: int, query: int, *, is_first: bool) -> None:
        self.masks, self.task, self.query, self.is_first = masks, task, query, is_first

    def of_attention(self, head: int, to: int, of: int) -> Tensor:
        """On the attention that token `to` pays to token `of`."""
        masks, query = self.masks, self.query
        if to == 0:
            num_shots = masks.among.shape[-1]
            return masks.adapt[self.task, head, query, num_shots if of == 0 else of - 1]
        if of == 0:
            return masks.merge[self.task, head, to - 1, query]
        return masks.among[self.task, head, to - 1, of - 1]

    def of_attended(self, to: int, of: int) -> Tensor:
        """On what attention adds to token `to` of the value of token `of`.

        Drawn for the receiver; but in the first block what a support gets of the query has the
        query's mask.
        """
        if to == 0 or (self.is_first and of == 0):
            return self.masks.attended_queries[self.task, self.query]
        return self.masks.attended_supports[self.task, to - 1]

    def of_fed(self, to: int) -> Tensor:
        """On what the feed-forward net adds to token `to`."""
        if to == 0:
            return self.masks.fed_queries[self.task, self.query]
        return self.masks.fed_supports[self.task, to - 1]


class _OneSetNoise:
    """Of V2's one set: positives, negatives, queries. Its attention weights are not dropped."""

    def __init__(self, positive: SetMasks, negative: SetMasks, task: int) -> None:
        self.attended: list[Tensor] = [
            *positive.attended_supports[task],
            *negative.attended_supports[task],
            *positive.attended_queries[task],
        ]
        self.fed: list[Tensor] = [
            *positive.fed_supports[task],
            *negative.fed_supports[task],
            *positive.fed_queries[task],
        ]

    def of_attention(self, head: int, to: int, of: int) -> Tensor:
        return torch.ones(())

    def of_attended(self, to: int, of: int) -> Tensor:
        return self.attended[to]

    def of_fed(self, to: int) -> Tensor:
        return self.fed[to]


def _minus_distance(query: Tensor, *supports: Tensor) -> Tensor:
    """From adapted embeddings."""
    prototype = sum(supports[1:], supports[0]) / len(supports)
    distance = ((query - prototype) ** 2).sum()
    return -distance / math.sqrt(len(query))


def _transform(
    network: MetaTNENetwork, config: Config, nodes: list[Tensor], noise: Sequence[_TokenNoise]
) -> list[Tensor]:
    """Tr: a set of nodes, such as {u_q} u {u_k}, after all blocks (Eqn. 4)."""
    transformation = network.transformation
    blocks = (transformation.first_block, *transformation.later_blocks)
    for block, masks in zip(blocks, noise or (None,) * len(blocks), strict=True):
        first, second = block.attention_norm, block.feedforward_norm
        if config.norm_first:
            attended = _attend(block.attention, config, [_norm(u, first) for u in nodes], masks)
            nodes = [u + a for u, a in zip(nodes, attended, strict=True)]
            fed = _feed(block.feedforward, [_norm(u, second) for u in nodes], masks)
            nodes = [u + f for u, f in zip(nodes, fed, strict=True)]
        else:
            attended = _attend(block.attention, config, nodes, masks)
            nodes = [_norm(u + a, first) for u, a in zip(nodes, attended, strict=True)]
            fed = _feed(block.feedforward, nodes, masks)
            nodes = [_norm(u + f, second) for u, f in zip(nodes, fed, strict=True)]
    if config.norm_first:
        nodes = [_norm(u, transformation.last_norm) for u in nodes]
    return nodes


def _attend(
    attention: nn.Module, config: Config, nodes: list[Tensor], noise: _TokenNoise | None
) -> list[Tensor]:
    """Multi-head self-attention over the set (supplement, Eqn. 1 to 4)."""
    width = config.attention_dim // config.num_heads
    W_Q, W_K, W_V, W_O = (
        attention.get_parameter(name) for name in ("to_query", "to_key", "to_value", "to_output")
    )
    attended = [torch.zeros_like(u) for u in nodes]
    for h in range(config.num_heads):
        rows = slice(h * width, (h + 1) * width)
        values = [W_O[:, rows] @ (W_V[rows] @ u_j) for u_j in nodes]
        for i, u_i in enumerate(nodes):
            query = W_Q[rows] @ u_i
            weights = [torch.exp(query @ (W_K[rows] @ u_j) / math.sqrt(width)) for u_j in nodes]
            total = sum(weights[1:], weights[0])
            for j, value in enumerate(values):
                gain = weights[j] / total * value
                if noise is not None:
                    gain = gain * noise.of_attention(h, i, j) * noise.of_attended(i, j)
                attended[i] = attended[i] + gain
    return attended


def _feed(net: nn.Module, nodes: list[Tensor], noise: _TokenNoise | None) -> list[Tensor]:
    fed = [_feed_forward(net, u) for u in nodes]
    return fed if noise is None else [f * noise.of_fed(i) for i, f in enumerate(fed)]


def _feed_forward(net: nn.Module, node: Tensor) -> Tensor:
    hidden = net.get_parameter("widen") @ node + net.get_parameter("widen_bias")
    hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
    return net.get_parameter("narrow") @ hidden + net.get_parameter("narrow_bias")


def _norm(node: Tensor, norm: nn.Module) -> Tensor:
    centred = node - node.sum() / len(node)
    variance = (centred**2).sum() / len(node)
    scale, shift = norm.get_parameter("weight"), norm.get_parameter("bias")
    return scale * centred / torch.sqrt(variance + EPSILON) + shift
