"""The network, from top to bottom: embeddings, transformation, prototypes, logits.

Shapes in comments use the paper's words: `task`, `query` (query nodes of a task),
`shot` (support nodes of one sign), `dim` (d), `head` (H), `width` (d' / H).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from metatne.config import Config

NORM_EPSILON = 1e-6


class MetaTNENetwork(nn.Module):
    """Node embeddings U and the transformation Tr that adapts them to a task."""

    def __init__(self, num_nodes: int, config: Config) -> None:
        super().__init__()
        self.embeddings = initial_table(num_nodes, config.dim)
        self.transformation = Transformation(config)

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
    ) -> Float[Tensor, "task query"]:
        """Log-odds that each query holds its task's label, from embeddings (Eqn. 3 and 8).

        The two signs go through the same transformation, separately; the softmax over
        the two distances is the logistic function of their difference.
        """
        positive_logits = prototype_logits(*self.transformation(positives, queries))
        negative_logits = prototype_logits(*self.transformation(negatives, queries))
        return positive_logits - negative_logits


def initial_table(num_nodes: int, dim: int) -> nn.Parameter:
    """U, or the contexts C that only training needs, before the first step."""
    bound = 0.5 / dim
    return nn.Parameter(torch.empty(num_nodes, dim).uniform_(-bound, bound))


class Transformation(nn.Module):
    """Tr: embeddings of {query} u supports -> embeddings adapted to each other (Eqn. 4)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.first_block = Block(config)
        self.later_blocks = nn.Sequential(*(Block(config) for _ in range(config.num_blocks - 1)))
        # Pre-norm leaves the residual stream unnormalised, so one last layer norm closes it.
        self.last_norm = (
            nn.LayerNorm(config.dim, eps=NORM_EPSILON) if config.norm_first else nn.Identity()
        )

    def forward(
        self, supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
    ) -> tuple[Float[Tensor, "task query shot dim"], Float[Tensor, "task query dim"]]:
        """The supports tailored for each query, and the queries adapted to the supports.

        Up to the first attention a support's embedding is the same for every query, so
        the first block works on shot + query tokens a task; only from there on does
        every query carry its own copy of the supports.
        """
        tokens = self.first_block.forward_factorised(supports, queries)
        tokens = self.last_norm(self.later_blocks(tokens))  # (task, query, shot + 1, dim)
        return tokens[:, :, :-1], tokens[:, :, -1]


class Block(nn.Module):
    """Self-attention and a node-wise feed-forward net, each with residual, norm and dropout."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm_first = config.norm_first
        self.attention = SelfAttention(config)
        self.feedforward = FeedForward(config)
        self.attention_norm = nn.LayerNorm(config.dim, eps=NORM_EPSILON)
        self.feedforward_norm = nn.LayerNorm(config.dim, eps=NORM_EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Float[Tensor, "task query token dim"]
    ) -> Float[Tensor, "task query token dim"]:
        """The tokens of each set after attending to one another."""
        normed = self.attention_norm(tokens) if self.norm_first else tokens
        return self._after_attention(tokens, self.attention(normed))

    def forward_factorised(
        self, supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
    ) -> Float[Tensor, "task query shot+1 dim"]:
        """`forward` of the sets {query} u supports, the query last, without building them."""
        if self.norm_first:
            attended = self.attention.forward_factorised(
                self.attention_norm(supports), self.attention_norm(queries)
            )
        else:
            attended = self.attention.forward_factorised(supports, queries)
        num_queries, num_shots = queries.shape[1], supports.shape[1]
        tokens = torch.cat(
            (supports.unsqueeze(1).expand(-1, num_queries, num_shots, -1), queries.unsqueeze(2)),
            dim=2,
        )  # (task, query, shot + 1, dim)
        return self._after_attention(tokens, attended)

    def _after_attention(
        self,
        tokens: Float[Tensor, "task query token dim"],
        attended: Float[Tensor, "task query token dim"],
    ) -> Float[Tensor, "task query token dim"]:
        tokens = tokens + self.dropout(attended)
        if self.norm_first:
            tokens = tokens + self.dropout(self.feedforward(self.feedforward_norm(tokens)))
        else:
            tokens = self.attention_norm(tokens)
            tokens = self.feedforward_norm(tokens + self.dropout(self.feedforward(tokens)))
        return tokens


class SelfAttention(nn.Module):
    """Multi-head scaled dot-product self-attention without biases (Eqn. 5 to 7)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.scale = 1.0 / math.sqrt(config.attention_dim / config.num_heads)
        self.to_query = _matrix(config.attention_dim, config.dim)
        self.to_key = _matrix(config.attention_dim, config.dim)
        self.to_value = _matrix(config.attention_dim, config.dim)
        self.to_output = _matrix(config.dim, config.attention_dim, is_zero=config.identity_start)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Float[Tensor, "task query token dim"]
    ) -> Float[Tensor, "task query token dim"]:
        """Every token's sum of the values in its set, by attention."""
        query = self._heads(tokens, self.to_query)  # (task, query, head, token, width)
        key = self._heads(tokens, self.to_key)
        value = self._heads(tokens, self.to_value)
        attention = torch.softmax(query @ key.mT * self.scale, dim=-1)
        mixed = self.dropout(attention) @ value  # (task, query, head, token, width)
        return functional.linear(mixed.transpose(-3, -2).flatten(-2), self.to_output)

    def forward_factorised(
        self, supports: Float[Tensor, "task shot dim"], queries: Float[Tensor, "task query dim"]
    ) -> Float[Tensor, "task query shot+1 dim"]:
        """`forward` of the sets {query} u supports, the query last, exactly, once per task.

        With Z_k = logsumexp_j(q_k . k_j) and O_k = softmax_j(q_k . k_j) v_j over the
        supports alone, adding one query q to the set of support k is a two-way merge:

            beta_kq = logistic(q_k . k_q - Z_k)
            output  = (1 - beta_kq) O_k + beta_kq v_q

        so no softmax runs per query. W_O is linear and moves into the merge: it is
        applied to shot + query vectors a task, not to every pair.

        In training, dropped attention weights among the supports are shared by the
        queries of a task; the weight on the query is dropped pair by pair.
        """
        output = self._split(self.to_output).permute(1, 2, 0)  # (head, width, dim)
        support_query, support_key, support_value = (
            self._heads(supports, matrix) for matrix in (self.to_query, self.to_key, self.to_value)
        )  # (task, head, shot, width)
        query_query, query_key, query_value = (
            self._heads(queries, matrix) for matrix in (self.to_query, self.to_key, self.to_value)
        )  # (task, head, query, width)
        support_value = support_value @ output  # (task, head, shot, dim), W_O v
        query_value = query_value @ output  # (task, head, query, dim)

        among = support_query @ support_key.mT * self.scale  # (task, head, shot, shot)
        settled = self.dropout(torch.softmax(among, dim=-1)) @ support_value  # (…, shot, dim)
        to_query = support_query @ query_key.mT * self.scale  # (task, head, shot, query)
        merge = torch.sigmoid(to_query - torch.logsumexp(among, dim=-1, keepdim=True))
        tailored = _sum_heads(1.0 - merge, settled, self.dropout(merge), query_value)

        to_support = query_query @ support_key.mT * self.scale  # (task, head, query, shot)
        to_self = (query_query * query_key).sum(dim=-1, keepdim=True) * self.scale
        attention = self.dropout(torch.softmax(torch.cat((to_support, to_self), dim=-1), dim=-1))
        adapted = attention[..., :-1] @ support_value + attention[..., -1:] * query_value
        return torch.cat((tailored, adapted.sum(dim=1).unsqueeze(2)), dim=2)

    def _heads(self, tokens: Tensor, matrix: Tensor) -> Tensor:
        """(…, token, dim) -> (…, head, token, width)."""
        return self._split(functional.linear(tokens, matrix)).transpose(-3, -2)

    def _split(self, tensor: Float[Tensor, "*any attention_dim"]) -> Tensor:
        """(…, attention_dim) -> (…, head, width)."""
        return tensor.view(*tensor.shape[:-1], self.num_heads, -1)


def _sum_heads(
    kept: Float[Tensor, "task head shot query"],
    settled: Float[Tensor, "task head shot dim"],
    merged: Float[Tensor, "task head shot query"],
    query_value: Float[Tensor, "task head query dim"],
) -> Float[Tensor, "task query shot dim"]:
    """sum_h kept[k, q] settled[k] + merged[k, q] query_value[q], for every pair (k, q)."""
    from_supports = kept.permute(0, 2, 3, 1) @ settled.transpose(1, 2)  # (task, shot, query, dim)
    from_queries = merged.permute(0, 3, 2, 1) @ query_value.transpose(1, 2)
    return from_supports.transpose(1, 2) + from_queries  # (task, query, shot, dim)


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


def prototype_logits(
    supports: Float[Tensor, "task query shot dim"], queries: Float[Tensor, "task query dim"]
) -> Float[Tensor, "task query"]:
    """Closeness of each query to the prototype tailored for it (Eqn. 8).

    0 is a perfect match; the square root of dim (which the paper leaves out and its
    published code has) keeps logits comparable across embedding sizes.
    """
    prototypes = supports.mean(dim=2)  # (task, query, dim)
    gap = (queries - prototypes).square().sum(dim=-1)  # (task, query)
    return -gap / math.sqrt(queries.shape[-1])
