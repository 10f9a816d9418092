"""How much arithmetic a step or a scoring needs, by the naive and by the factorised form.

Only matrix products count, a multiplication with its addition as two operations: they are
what the measured peak of the machine is about. The backward pass of a product is two more of
the same size.
"""

from __future__ import annotations

from metatne.config import Config


def naive_operations(config: Config, *, shots: int, queries: int) -> int:
    """Forward pass of one sign of one task, every query with its own copy of the supports."""
    tokens = shots + 1
    projections = 4 * config.dim * config.attention_dim  # W_Q, W_K, W_V and W_O of a token
    attention = 2 * tokens * config.attention_dim  # its scores, and its sum of the values
    feedforward = 2 * config.dim * config.feedforward_dim
    return 2 * queries * tokens * config.num_blocks * (projections + attention + feedforward)


def factorised_operations(config: Config, *, positives: int, negatives: int, queries: int) -> int:
    """Forward pass of one task (both signs), with one block that normalises first.

    Nodes are projected and folded once a task (W_Q u, W_K u, W_O W_V u head by head, and the
    first feed-forward matrix times what is mixed); all that is left for a pair of a support
    and a query, or for a query itself, is the second feed-forward matrix.
    """
    dim, heads = config.dim, config.num_heads
    fold = dim * config.feedforward_dim
    projected = 2 * dim * config.attention_dim + heads * dim * dim
    supports = positives + negatives
    nodes = supports * (projected + (heads + 1) * fold) + queries * (projected + (heads + 2) * fold)
    scores = config.attention_dim * sum(
        shots * (shots + 2 * queries) for shots in (positives, negatives)
    )
    settled = heads * dim * sum(shots * (shots + queries) for shots in (positives, negatives))
    pairs = (supports + 2) * queries * config.feedforward_dim * dim
    return 2 * (nodes + scores + settled + pairs)
