"""Scores of a network for tasks and for every node of a graph, in pieces that fit the cache."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from metatne.device import torch_in_threads
from metatne.model import MetaTNENetwork
from metatne.parallel import Progressing
from metatne.sampling.tasks import Tasks

TOKENS_PER_PIECE = 16_384
"""Adapted embeddings held at once: the peak memory of scoring, whatever the graph's size."""

QUERIES_PER_PIECE = 32
"""Queries at least in a piece: with very many supports each piece repeats the work on them."""


def score_tasks(network: MetaTNENetwork, tasks: Tasks) -> Float32[np.ndarray, "task query"]:
    """Log-odds of every query of every task."""
    tokens_per_task = tasks.queries.shape[1] * (
        tasks.positives.shape[1] + tasks.negatives.shape[1] + 2
    )
    device = network.embeddings.device

    def score(some: Tasks) -> Float32[np.ndarray, "task query"]:
        return _on_host(
            network(
                torch.from_numpy(some.positives).to(device),
                torch.from_numpy(some.negatives).to(device),
                torch.from_numpy(some.queries).to(device),
            )
        )

    piece = max(1, TOKENS_PER_PIECE // tokens_per_task)
    pieces = (tasks[start : start + piece] for start in range(0, len(tasks), piece))
    return np.concatenate(torch_in_threads(score, pieces))


def score_nodes(
    network: MetaTNENetwork,
    positives: Int64[np.ndarray, " positive"],
    negatives: Int64[np.ndarray, " negative"],
    candidates: Int64[np.ndarray, " node"],
    *,
    progressing: Progressing | None = None,
) -> Float32[np.ndarray, " node"]:
    """Log-odds of every candidate for one task."""
    device = network.embeddings.device
    supports = [torch.from_numpy(nodes[None]).to(device) for nodes in (positives, negatives)]

    def score(some: Int64[np.ndarray, " some"]) -> Float32[np.ndarray, "1 some"]:
        scores = _on_host(network(*supports, torch.from_numpy(some[None]).to(device)))
        if progressing is not None:
            progressing.add(len(some))
        return scores

    piece = nodes_per_piece(len(positives) + len(negatives))
    pieces = (candidates[start : start + piece] for start in range(0, len(candidates), piece))
    nothing = np.empty((1, 0), dtype=np.float32)
    scores = np.concatenate([nothing, *torch_in_threads(score, pieces)], axis=1)
    return scores.reshape(-1)


def nodes_per_piece(num_supports: int) -> int:
    """Candidates scored at once: shards cut at its multiples get the very bits of the whole."""
    return max(QUERIES_PER_PIECE, TOKENS_PER_PIECE // (num_supports + 2))


def _on_host(logits: Float[Tensor, "task query"]) -> Float32[np.ndarray, "task query"]:
    on_host: Float32[np.ndarray, "task query"] = logits.cpu().numpy()
    return on_host
