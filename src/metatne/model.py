"""The network, from top to bottom: embeddings, transformation, prototypes, logits.

Shapes in comments use the paper's words: `task`, `query` (query nodes of a task),
`shot` (support nodes of one sign), `dim` (d), `head` (H), `width` (d' / H).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from metatne.config import Config
from metatne.fused import Factors, Rest, fused_closeness
from metatne.fused_passes import NORM_EPSILON
from metatne.noise import Noise, SetMasks


class MetaTNENetwork(nn.Module):
    """Node embeddings U and the transformation Tr that adapts them to a task."""

    line: Float[Tensor, ""]

    def __init__(self, num_nodes: int, config: Config) -> None:
        super().__init__()
        self.embeddings = initial_table(num_nodes, config.dim)
        self.transformation = Transformation(config)
        # The log-odds above which a node is taken to hold the label: 0, or what validation chose.
        # On the CPU even when weights have no memory yet, since a line of 0 is in no file.
        zero = torch.zeros((), device="cpu")
        self.register_buffer("line", zero, persistent=config.validated_line)
        self.decides_by_line = config.validated_line

    def forward(
        self,
        positives: Int64[Tensor, "task positive"],
        negatives: Int64[Tensor, "task negative"],
        queries: Int64[Tensor, "task query"],
    ) -> Float[Tensor, "task query"]:
        """Log-odds that each query node holds its task's label."""
        return self.classify(
            functional.embedding(positives, self.embeddings),
            functional.embedding(negatives, self.embeddings),
            functional.embedding(queries, self.embeddings),
        )

    def classify(
        self,
        positives: Float[Tensor, "task positive dim"],
        negatives: Float[Tensor, "task negative dim"],
        queries: Float[Tensor, "task query dim"],
        noise: Noise | None = None,
    ) -> Float[Tensor, "task query"]:
        """Log-odds that each query holds its task's label, from embeddings (Eqn. 3 and 8).

        The two signs go through the same transformation, separately; the softmax over
        the two distances is the logistic function of their difference.
        """
        positive, negative = self.transformation.closeness((positives, negatives), queries, noise)
        return positive - negative


def initial_table(num_nodes: int, dim: int) -> nn.Parameter:
    """U, or the contexts C that only training needs, before the first step."""
    bound = 0.5 / dim
    return nn.Parameter(torch.empty(num_nodes, dim).uniform_(-bound, bound))


class Transformation(nn.Module):
    """Tr: embeddings of {query} u supports -> embeddings adapted to each other (Eqn. 4)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.first_block = Block(config)
        self.later_blocks = nn.ModuleList(Block(config) for _ in range(config.num_blocks - 1))
        # Pre-norm leaves the residual stream unnormalised, so one last layer norm closes it.
        self.last_norm = (
            nn.LayerNorm(config.dim, eps=NORM_EPSILON) if config.norm_first else nn.Identity()
        )

    def closeness(
        self,
        signs: tuple[Float[Tensor, "task positive dim"], Float[Tensor, "task negative dim"]],
        queries: Float[Tensor, "task query dim"],
        noise: Noise | None = None,
    ) -> tuple[Float[Tensor, "task query"], Float[Tensor, "task query"]]:
        """Closeness of each query to the prototype of either sign that is tailored for it.

        One block that normalises first, on a CPU, runs compiled (`fused.py`); else the
        supports tailored for every query are written out.
        """
        *of_signs, of_queries = self.first_block.project_together((*signs, queries))
        if noise:  # drawn once a node, so that a mask is applied before the mixing
            mask = noise.positive[0].attended_queries.unsqueeze(2)
            of_queries = of_queries._replace(value=of_queries.value * mask)
        positive, negative = (
            MixedSign(supports, self.first_block.mixture(of_sign, of_queries, _first(masks)), masks)
            for supports, of_sign, masks in zip(
                signs,
                of_signs,
                (noise.positive, noise.negative) if noise else (None, None),
                strict=True,
            )
        )
        if self._is_fusible(queries):
            return self._fused_closeness(positive, negative, queries)
        return self._plain_closeness(positive, queries), self._plain_closeness(negative, queries)

    def adapt(
        self, supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
    ) -> Float[Tensor, "task query shot+1 dim"]:
        """The nodes of each set {query} u supports as they are adapted to it, the query last."""
        of_supports, of_queries = self.first_block.project_together((supports, queries))
        mixture = self.first_block.mixture(of_supports, of_queries)
        return self._adapt(MixedSign(supports, mixture, None), queries)

    def _plain_closeness(
        self, sign: MixedSign, queries: Float[Tensor, "task query dim"]
    ) -> Float[Tensor, "task query"]:
        tokens = self._adapt(sign, queries)
        return prototype_closeness(tokens[:, :, :-1], tokens[:, :, -1])

    def _adapt(
        self, sign: MixedSign, queries: Float[Tensor, "task query dim"]
    ) -> Float[Tensor, "task query token dim"]:
        first, *later = sign.masks or (None,) * (1 + len(self.later_blocks))
        tailored = sign.supports.unsqueeze(1) + _sum_heads(sign.mixture)  # (task, query, shot, dim)
        adapted = (queries + sign.mixture.adapted).unsqueeze(2)
        tokens = self.first_block.feed(torch.cat((tailored, adapted), dim=2), first)
        for block, block_masks in zip(self.later_blocks, later, strict=True):
            tokens = block(tokens, block_masks)
        adapted_tokens: Tensor = self.last_norm(tokens)
        return adapted_tokens

    def _fused_closeness(
        self, positive: MixedSign, negative: MixedSign, queries: Float[Tensor, "task query dim"]
    ) -> tuple[Float[Tensor, "task query"], Float[Tensor, "task query"]]:
        """`_plain_closeness` of a single block, both signs; the algebra is told in `fused.py`."""
        net, norm = self.first_block.feedforward, self.first_block.feedforward_norm
        widen = net.widen * norm.weight
        folding = widen - widen.mean(dim=-1, keepdim=True)  # V
        hidden_bias = net.widen_bias + net.widen @ norm.bias  # c
        of_queries = positive.mixture.values  # the same for both signs
        folded_values = functional.linear(of_queries, folding)

        def of_sign(sign: MixedSign) -> Tensor:
            supports, mixture, masks = sign
            adapted = queries + mixture.adapted
            parts = (supports, adapted, mixture.settled.flatten(1, 2))  # one product for all
            folded_supports, folded_queries, folded_settled = torch.split(
                functional.linear(torch.cat(parts, dim=1), folding),
                [part.shape[1] for part in parts],
                dim=1,
            )
            factors = Factors(
                supports=supports,
                settled=mixture.settled,
                values=mixture.values,
                queries=adapted,
                folded_supports=folded_supports,
                folded_settled=folded_settled.unflatten(1, mixture.settled.shape[1:3]),
                folded_values=folded_values,
                folded_queries=folded_queries,
                kept=mixture.kept,
                merged=mixture.merged,
            )
            first = _first(masks)
            rest = Rest(
                hidden_bias=hidden_bias,
                narrow=net.narrow,
                narrow_bias=net.narrow_bias,
                gain=self.last_norm.get_parameter("weight"),
                support_mask=first.fed_supports if first else None,
                query_mask=first.fed_queries if first else None,
            )
            return fused_closeness(factors, rest)

        return of_sign(positive), of_sign(negative)

    def _is_fusible(self, queries: Tensor) -> bool:
        return (
            self.first_block.norm_first
            and not self.later_blocks
            and queries.device.type == "cpu"
            and queries.dtype == torch.float32
        )


class MixedSign(NamedTuple):
    """The supports of one sign, what attention makes of them and the queries, and their masks."""

    supports: Float[Tensor, "task shot dim"]
    mixture: Mixture
    masks: Sequence[SetMasks] | None


def _first(masks: Sequence[SetMasks] | None) -> SetMasks | None:
    """Those of the first block."""
    return masks[0] if masks else None


class Projected(NamedTuple):
    """Nodes as attention sees them; the values have gone through W_O already."""

    query: Float[Tensor, "task head node width"]
    key: Float[Tensor, "task head node width"]
    value: Float[Tensor, "task node head dim"]


class Mixture(NamedTuple):
    """Attention's output for every pair (support k, query q), as what it is mixed from:

    for k, sum_h kept[q, k, h] settled[k, h] + merged[q, k, h] values[q, h]; for q, adapted[q].
    """

    settled: Float[Tensor, "task shot head dim"]
    values: Float[Tensor, "task query head dim"]
    kept: Float[Tensor, "task query shot head"]
    merged: Float[Tensor, "task query shot head"]
    adapted: Float[Tensor, "task query dim"]


class Block(nn.Module):
    """Self-attention and a node-wise feed-forward net, each with residual, norm and dropout."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm_first = config.norm_first
        self.attention = SelfAttention(config)
        self.feedforward = FeedForward(config)
        self.attention_norm = nn.LayerNorm(config.dim, eps=NORM_EPSILON)
        self.feedforward_norm = nn.LayerNorm(config.dim, eps=NORM_EPSILON)

    def forward(
        self, tokens: Float[Tensor, "task query token dim"], masks: SetMasks | None = None
    ) -> Float[Tensor, "task query token dim"]:
        """The tokens of each set {query} u supports, the query last, after both modules."""
        attended = self.attention(self.attention_norm(tokens) if self.norm_first else tokens, masks)
        if masks:
            attended = attended * _set_mask(masks.attended_supports, masks.attended_queries)
        return self.feed(tokens + attended, masks)

    def project(self, nodes: Float[Tensor, "task node dim"]) -> Projected:
        """What attention needs of nodes that have not met the others of their set."""
        return self.attention.project(self.attention_norm(nodes) if self.norm_first else nodes)

    def project_together(self, parts: Sequence[Tensor]) -> list[Projected]:
        """`project` of every part of the tasks' nodes, in one product for all of them."""
        sizes = [part.shape[1] for part in parts]
        query, key, value = self.project(torch.cat(tuple(parts), dim=1))
        split = (query.split(sizes, dim=2), key.split(sizes, dim=2), value.split(sizes, dim=1))
        return [Projected(*of_part) for of_part in zip(*split, strict=True)]

    def mixture(
        self, supports: Projected, queries: Projected, masks: SetMasks | None = None
    ) -> Mixture:
        """What attention adds to every set {query} u supports, without building the sets.

        Up to the first attention a support's embedding is the same for every query, so
        the first block works on shot + query nodes a task.
        """
        return self.attention.mixture(supports, queries, masks)

    def feed(
        self, tokens: Float[Tensor, "task query token dim"], masks: SetMasks | None = None
    ) -> Float[Tensor, "task query token dim"]:
        """The rest of the block, once what attention adds has been added."""
        if not self.norm_first:
            tokens = self.attention_norm(tokens)
        fed = self.feedforward(self.feedforward_norm(tokens) if self.norm_first else tokens)
        if masks:
            fed = fed * _set_mask(masks.fed_supports, masks.fed_queries)
        tokens = tokens + fed
        return tokens if self.norm_first else self.feedforward_norm(tokens)


class SelfAttention(nn.Module):
    """Multi-head scaled dot-product self-attention without biases (Eqn. 5 to 7)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.width = config.attention_dim // config.num_heads
        self.scale = 1.0 / math.sqrt(self.width)
        self.to_query = _matrix(config.attention_dim, config.dim)
        self.to_key = _matrix(config.attention_dim, config.dim)
        self.to_value = _matrix(config.attention_dim, config.dim)
        self.to_output = _matrix(config.dim, config.attention_dim, is_zero=config.identity_start)

    def forward(
        self, tokens: Float[Tensor, "task query token dim"], masks: SetMasks | None = None
    ) -> Float[Tensor, "task query token dim"]:
        """Every token's sum of the values in its set, by attention."""
        sets = tokens.shape[:2]
        query, key, value = (
            part.view(*sets, *part.shape[1:]) for part in self.project(tokens.flatten(0, 1))
        )
        attention = torch.softmax(query @ key.mT * self.scale, dim=-1)  # (…, head, token, token)
        if masks:
            attention = attention * _attention_mask(masks)
        outputs: Tensor = attention @ value.transpose(2, 3)  # (…, head, token, dim)
        return outputs.sum(dim=2)

    def project(self, nodes: Float[Tensor, "task node dim"]) -> Projected:
        """W_Q u, W_K u and W_O W_V u of every node, head by head.

        W_O is linear: folded into W_V it need not be applied to what is mixed from the values.
        Of heads wider than an embedding, W_Q' W_K is smaller than its factors.
        """
        W_Q, W_K, W_V = (
            matrix.view(self.num_heads, self.width, -1)
            for matrix in (self.to_query, self.to_key, self.to_value)
        )  # (head, width, dim)
        W_O = self.to_output.view(-1, self.num_heads, self.width).transpose(0, 1)
        value = self._by_head(nodes, W_O @ W_V)
        if self.width > nodes.shape[-1]:
            query = nodes.unsqueeze(1).expand(-1, self.num_heads, -1, -1)
            return Projected(query, self._by_head(nodes, W_Q.mT @ W_K).transpose(1, 2), value)
        return Projected(
            self._by_head(nodes, W_Q).transpose(1, 2),
            self._by_head(nodes, W_K).transpose(1, 2),
            value,
        )

    def _by_head(
        self, nodes: Float[Tensor, "task node dim"], matrices: Float[Tensor, "head out dim"]
    ) -> Float[Tensor, "task node head out"]:
        """Every head's matrix times every node, as one product."""
        product = functional.linear(nodes, matrices.flatten(0, 1))
        return product.view(*product.shape[:-1], self.num_heads, -1)

    def mixture(
        self, supports: Projected, queries: Projected, masks: SetMasks | None = None
    ) -> Mixture:
        """`forward` of the sets {query} u supports, exactly, without a softmax for each of them.

        With Z_k = logsumexp_j(q_k . k_j) and P_k = softmax_j(q_k . k_j) v_j over the
        supports alone, adding one query q to the set of support k is a two-way merge:

            beta_kq = logistic(q_k . k_q - Z_k)
            output  = (1 - beta_kq) P_k + beta_kq v_q

        so supports settle among themselves once a task, and every pair keeps some of that.
        """
        among = supports.query @ supports.key.mT * self.scale  # (task, head, shot, shot)
        attention = torch.softmax(among, dim=-1)
        to_query = supports.query @ queries.key.mT * self.scale  # (task, head, shot, query)
        beta = torch.sigmoid(to_query - torch.logsumexp(among, dim=-1, keepdim=True))

        to_support = queries.query @ supports.key.mT * self.scale  # (task, head, query, shot)
        to_self = (queries.query * queries.key).sum(dim=-1, keepdim=True) * self.scale
        of_query = torch.softmax(torch.cat((to_support, to_self), dim=-1), dim=-1)

        merged = beta
        if masks:
            attention, merged = attention * masks.among, beta * masks.merge
            of_query = of_query * masks.adapt
        of_query = of_query.permute(0, 2, 3, 1)  # (task, query, shot + 1, head)
        settled = (attention @ supports.value.transpose(1, 2)).transpose(1, 2)
        adapted = of_query[:, :, :-1].flatten(2) @ supports.value.flatten(1, 2)
        if masks:  # those of the queries' values are applied already
            settled = settled * masks.attended_supports.unsqueeze(2)
            adapted = adapted * masks.attended_queries
        own = (of_query[:, :, -1].unsqueeze(-1) * queries.value).sum(dim=2)
        return Mixture(
            settled=settled,
            values=queries.value,
            kept=(1.0 - beta).permute(0, 3, 2, 1),
            merged=merged.permute(0, 3, 2, 1),
            adapted=adapted + own,
        )


def _sum_heads(mixture: Mixture) -> Float[Tensor, "task query shot dim"]:
    """sum_h kept[q, k, h] settled[k, h] + merged[q, k, h] values[q, h] for every pair (k, q)."""
    from_supports = mixture.kept.transpose(1, 2) @ mixture.settled  # (task, shot, query, dim)
    return from_supports.transpose(1, 2) + mixture.merged @ mixture.values


def _set_mask(
    supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
) -> Float[Tensor, "task query shot+1 dim"]:
    """The mask of every set {query} u supports, the query last."""
    supports = supports.unsqueeze(1).expand(-1, queries.shape[1], -1, -1)
    return torch.cat((supports, queries.unsqueeze(2)), dim=2)


def _attention_mask(masks: SetMasks) -> Float[Tensor, "task query head token token"]:
    """The mask of the attention within every set {query} u supports, the query last."""
    merge = masks.merge.permute(0, 3, 1, 2).unsqueeze(-1)  # (task, query, head, shot, 1)
    among = masks.among.unsqueeze(1).expand(-1, merge.shape[1], -1, -1, -1)
    adapt = masks.adapt.transpose(1, 2).unsqueeze(-2)  # (task, query, head, 1, shot + 1)
    return torch.cat((torch.cat((among, merge), dim=-1), adapt), dim=-2)


class FeedForward(nn.Module):
    """d -> d_ff -> d with a ReLU between, for each token alone."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.widen = _matrix(config.feedforward_dim, config.dim)
        self.widen_bias = nn.Parameter(torch.zeros(config.feedforward_dim))
        self.narrow = _matrix(config.dim, config.feedforward_dim, is_zero=config.identity_start)
        self.narrow_bias = nn.Parameter(torch.zeros(config.dim))

    def forward(self, tokens: Float[Tensor, "*set dim"]) -> Float[Tensor, "*set dim"]:
        """The net's output, without the residual."""
        hidden = functional.relu(functional.linear(tokens, self.widen, self.widen_bias))
        return functional.linear(hidden, self.narrow, self.narrow_bias)


def _matrix(rows: int, columns: int, *, is_zero: bool = False) -> nn.Parameter:
    """A matrix at its start: drawn, or zero where a residual branch is to add nothing yet."""
    matrix = torch.zeros(rows, columns)
    return nn.Parameter(matrix if is_zero else nn.init.xavier_uniform_(matrix))


def prototype_closeness(
    supports: Float[Tensor, "task query shot dim"], queries: Float[Tensor, "task query dim"]
) -> Float[Tensor, "task query"]:
    """Closeness of each query to the prototype tailored for it (Eqn. 8).

    0 is a perfect match; the square root of dim (which the paper leaves out and its
    published code has) keeps logits comparable across embedding sizes.
    """
    prototypes = supports.mean(dim=2)  # (task, query, dim)
    gap = (queries - prototypes).square().sum(dim=-1)  # (task, query)
    return -gap / math.sqrt(queries.shape[-1])
