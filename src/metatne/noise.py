"""Dropout as explicit masks: drawn once a node of a task, not once a pair of nodes.

The same masks give the same result in the plain and in the fast form of the network, on any
number of threads or workers, and in a run that was resumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from metatne.config import Config

_LEVELS = 1 << 16
"""A mask is drawn with 16 random bits, which is four times cheaper than with a float."""


@dataclass(frozen=True)
class SetMasks:
    """Masks of the sets {query} u supports in one block; 0 where dropped, else 1 / (1 - p)."""

    among: Float[Tensor, "task head shot shot"]
    """On the attention of supports to one another."""

    merge: Float[Tensor, "task head shot query"]
    """On the attention of a support to the query."""

    adapt: Float[Tensor, "task head query shot+1"]
    """On the attention of a query to the supports and, last, to itself."""

    attended_supports: Float[Tensor, "task shot dim"]
    attended_queries: Float[Tensor, "task query dim"]
    """On what attention adds. In the first block, whose sets are never written out, a query's
    mask is on its values, to whomever they are added, and on what supports add to it."""

    fed_supports: Float[Tensor, "task shot dim"]
    fed_queries: Float[Tensor, "task query dim"]
    """On what the feed-forward net adds."""


@dataclass(frozen=True)
class Noise:
    """Masks of a batch of tasks for either sign, block by block.

    The masks of vectors of the queries are the same for both signs.
    """

    positive: Sequence[SetMasks]
    negative: Sequence[SetMasks]


def draw_noise(
    config: Config,
    num_tasks: int,
    num_queries: int,
    generator: np.random.Generator,
    *,
    device: torch.device | None = None,
) -> Noise | None:
    """Masks for tasks of the configured support sizes; none when nothing is to be dropped."""
    if config.dropout == 0:
        return None

    def draw(*shape: int) -> Tensor:
        return _mask((num_tasks, *shape), config.dropout, generator).to(device)

    def draw_block() -> tuple[SetMasks, SetMasks]:
        attended, fed = draw(num_queries, config.dim), draw(num_queries, config.dim)
        positive, negative = (
            SetMasks(
                among=draw(config.num_heads, shots, shots),
                merge=draw(config.num_heads, shots, num_queries),
                adapt=draw(config.num_heads, num_queries, shots + 1),
                attended_supports=draw(shots, config.dim),
                attended_queries=attended,
                fed_supports=draw(shots, config.dim),
                fed_queries=fed,
            )
            for shots in (config.positives, config.negatives)
        )
        return positive, negative

    positive, negative = zip(*(draw_block() for _ in range(config.num_blocks)), strict=True)
    return Noise(positive, negative)


def _mask(shape: tuple[int, ...], dropped: float, generator: np.random.Generator) -> Tensor:
    levels = np.frombuffer(generator.bytes(2 * int(np.prod(shape))), dtype=np.uint16)
    mask = (levels >= round(dropped * _LEVELS)).astype(np.float32)
    mask *= 1.0 / (1.0 - dropped)
    return torch.from_numpy(mask.reshape(shape))
