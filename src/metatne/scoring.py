"""Scores of a network for tasks and for every node of a graph, in pieces that fit the cache."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float32, Int64

from metatne.device import one_thread
from metatne.model import MetaTNENetwork
from metatne.sampling.tasks import Tasks

TOKENS_PER_PIECE = 16_384
"""Adapted embeddings held at once: the peak memory of scoring, whatever the graph's size."""

QUERIES_PER_PIECE = 32
"""Queries at least in a piece: with very many supports each piece repeats the work on them."""


@torch.inference_mode()
@one_thread()
def score_tasks(network: MetaTNENetwork, tasks: Tasks) -> Float32[np.ndarray, "task query"]:
    """Log-odds of every query of every task."""
    tokens_per_task = tasks.queries.shape[1] * (
        tasks.positives.shape[1] + tasks.negatives.shape[1] + 2
    )
    piece = max(1, TOKENS_PER_PIECE // tokens_per_task)
    device = network.embeddings.device
    network.eval()
    logits = [
        network(
            torch.from_numpy(some.positives).to(device),
            torch.from_numpy(some.negatives).to(device),
            torch.from_numpy(some.queries).to(device),
        )
        for some in (tasks[start : start + piece] for start in range(0, len(tasks), piece))
    ]
    return torch.cat(logits).cpu().numpy()


@torch.inference_mode()
@one_thread()
def score_nodes(
    network: MetaTNENetwork,
    positives: Int64[np.ndarray, " positive"],
    negatives: Int64[np.ndarray, " negative"],
    candidates: Int64[np.ndarray, " node"],
) -> Float32[np.ndarray, " node"]:
    """Log-odds of every candidate for one task."""
    piece = max(QUERIES_PER_PIECE, TOKENS_PER_PIECE // (len(positives) + len(negatives) + 2))
    device = network.embeddings.device
    network.eval()
    supports = [torch.from_numpy(nodes[None]).to(device) for nodes in (positives, negatives)]
    scores = np.empty(len(candidates), dtype=np.float32)
    for start in range(0, len(candidates), piece):
        queries = torch.from_numpy(candidates[None, start : start + piece]).to(device)
        scores[start : start + piece] = network(*supports, queries)[0].cpu().numpy()
    return scores
