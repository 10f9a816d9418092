"""The meta-learning loss of a batch of tasks and its gradients, piece by piece (Eqn. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from metatne.config import Config
from metatne.device import torch_in_threads
from metatne.model import MetaTNENetwork
from metatne.noise import draw_noise
from metatne.sampling.tasks import Tasks
from metatne.seeding import numpy_generator
from metatne.training.team import Team, share

PAIRS_PER_PIECE = 8_192
"""Pairs (support, query) whose vectors are kept between forward and backward: 16 MB or so."""

MIN_PIECES = 2
"""So that even a small batch gives two cores something to do."""


@dataclass(frozen=True)
class MetaGradients:
    """The loss, and its gradients by the tasks' embeddings and by Tr's parameters."""

    loss: Float[Tensor, ""]
    nodes: Float[Tensor, "task node dim"]
    parameters: Sequence[Tensor]


def meta_gradients(
    network: MetaTNENetwork,
    tasks: Tasks,
    nodes: Float[Tensor, "task node dim"],
    config: Config,
    *,
    step: int,
    team: Team,
) -> MetaGradients:
    """Cross-entropy over the queries plus l2 / 2 times the squares of Tr's matrices.

    `nodes` are the embeddings of the positives, negatives and queries of each task, side by
    side. Tasks do not depend on one another, so a batch is cut into pieces, independent of
    the number of threads and workers, and only one piece a thread is held in memory.
    """
    sizes = [part.shape[1] for part in (tasks.positives, tasks.negatives, tasks.queries)]
    parameters = list(network.transformation.parameters())
    is_positive = torch.from_numpy(tasks.is_positive).to(nodes.device, nodes.dtype)

    def work(piece: slice) -> tuple[Tensor, tuple[Tensor, ...]]:
        # One draw a piece, named by its place: the same noise whoever works on it.
        noise = draw_noise(
            config,
            len(is_positive[piece]),
            sizes[2],
            numpy_generator(config.seed, f"noise of tasks from {piece.start}", step),
            device=nodes.device,
        )
        vectors = nodes[piece].requires_grad_()
        positives, negatives, queries = torch.split(vectors, sizes, dim=1)
        logits = network.classify(positives, negatives, queries, noise)
        loss = (
            functional.binary_cross_entropy_with_logits(logits, is_positive[piece], reduction="sum")
            / is_positive.numel()
        )
        gradients = torch.autograd.grad(
            loss, (vectors, *parameters), allow_unused=True, materialize_grads=True
        )
        return loss.detach(), gradients

    pieces = share(team, _pieces(len(tasks), sizes))
    done = torch_in_threads(work, pieces, with_gradients=True)
    loss = nodes.new_zeros(())
    by_nodes = torch.zeros_like(nodes)
    by_parameters = [torch.zeros_like(parameter) for parameter in parameters]
    for piece, (loss_of_piece, (by_vectors, *others)) in zip(pieces, done, strict=True):
        loss += loss_of_piece
        by_nodes[piece] = by_vectors
        for total, gradient in zip(by_parameters, others, strict=True):
            total += gradient
    team.add_up([loss, by_nodes, *by_parameters])
    with torch.no_grad():
        for parameter, gradient in zip(parameters, by_parameters, strict=True):
            if parameter.ndim == 2:  # not biases, not norms
                loss += 0.5 * config.l2 * parameter.square().sum()
                gradient += config.l2 * parameter
    return MetaGradients(loss, by_nodes, by_parameters)


def _pieces(num_tasks: int, sizes: Sequence[int]) -> list[slice]:
    positives, negatives, queries = sizes
    pairs = queries * (positives + negatives + 2)
    count = max(1, min(PAIRS_PER_PIECE // pairs, -(-num_tasks // MIN_PIECES)))
    return [slice(start, start + count) for start in range(0, num_tasks, count)]
