"""Small networks of which no parameter is at its start, tasks for them, and all gradients."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from metatne.config import Config
from metatne.model import MetaTNENetwork
from metatne.noise import Noise, draw_noise


class Task(NamedTuple):
    """Embeddings of the nodes of some tasks."""

    positives: Tensor
    negatives: Tensor
    queries: Tensor


class Outcome(NamedTuple):
    """Logits, and the gradients of one weighted sum of them, by name."""

    logits: Tensor
    gradients: dict[str, Tensor]


def small_config(**changed: Any) -> Config:
    small: dict[str, Any] = {
        "head": "prototypes",
        "dim": 6,
        "attention_dim": 24,
        "num_heads": 2,
        "feedforward_dim": 5,
        "dropout": 0.0,
        "positives": 2,
        "negatives": 3,
        "device": "cpu",
    }
    return Config(**(small | changed))


def randomise(module: nn.Module) -> None:
    """Every parameter at random, so that none of them can be left out unnoticed."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)


def random_network(config: Config, num_nodes: int = 1) -> MetaTNENetwork:
    network = MetaTNENetwork(num_nodes, config)
    randomise(network)
    nn.init.normal_(network.embeddings)
    return network


def random_task(config: Config, num_tasks: int = 2, num_queries: int = 2) -> Task:
    """Tasks of the configured support sizes."""
    return Task(
        *(
            torch.randn(num_tasks, number, config.dim)
            for number in (config.positives, config.negatives, num_queries)
        )
    )


def noise_of(config: Config, task: Task) -> Noise | None:
    """Masks for the task, the same at every call."""
    num_tasks, num_queries, _ = task.queries.shape
    return draw_noise(config, num_tasks, num_queries, np.random.default_rng(0))


def in_double(network: MetaTNENetwork) -> MetaTNENetwork:
    """The same network in double precision, which takes the plain path."""
    return deepcopy(network).double()


def outcome(network: MetaTNENetwork, task: Task, classify: Callable[..., Tensor]) -> Outcome:
    """`classify` of the task, and gradients by all embeddings and all of Tr's parameters."""
    dtype = network.embeddings.dtype
    leaves = {
        name: part.detach().clone().to(dtype).requires_grad_()
        for name, part in task._asdict().items()
    }
    logits = classify(*leaves.values())
    leaves |= dict(network.transformation.named_parameters())
    gradients = torch.autograd.grad(
        (logits * weights_of_sum(logits)).sum(),
        list(leaves.values()),
        allow_unused=True,
        materialize_grads=True,
    )
    return Outcome(logits.detach(), dict(zip(leaves, gradients, strict=True)))


def weights_of_sum(logits: Tensor) -> Tensor:
    """Weights that differ for every logit, also in sign."""
    numbers = torch.arange(1, 1 + logits.numel(), dtype=logits.dtype)
    return torch.cos(numbers).view(logits.shape)


def assert_agree(ours: Outcome, theirs: Outcome, *, tolerance: float) -> None:
    """Equal but for rounding, as a share of the largest entry (or of 1, if that is larger)."""
    gaps = relative_gaps(ours, theirs)
    off = {name: f"{gap:.2g}" for name, gap in gaps.items() if not gap <= tolerance}
    assert off == {}, f"off by more than {tolerance:.2g}"


def relative_gaps(ours: Outcome, theirs: Outcome) -> dict[str, float]:
    """How far the logits and each gradient are off."""
    assert ours.gradients.keys() == theirs.gradients.keys()
    return {"logits": _relative_gap(ours.logits, theirs.logits)} | {
        f"gradient by {name}": _relative_gap(ours.gradients[name], gradient)
        for name, gradient in theirs.gradients.items()
    }


def _relative_gap(ours: Tensor, theirs: Tensor) -> float:
    assert ours.shape == theirs.shape
    gap = (ours.double() - theirs.double()).abs().max().item()
    return gap / max(1.0, theirs.abs().max().item())
