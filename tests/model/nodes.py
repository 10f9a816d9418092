"""A network in double precision, nodes of it as tasks and as sets."""

from __future__ import annotations

import torch
from torch import Tensor

from metatne.config import Config
from metatne.model import MetaTNENetwork
from networks import random_network

NUM_NODES = 12


def network_of(config: Config) -> MetaTNENetwork:
    return random_network(config, NUM_NODES).double()


def nodes_of(num_tasks: int, *sizes: int) -> list[Tensor]:
    """Distinct nodes for each part of a task (positives, negatives, queries)."""
    orders = torch.stack([torch.randperm(NUM_NODES) for _ in range(num_tasks)])
    return list(torch.split(orders[:, : sum(sizes)], list(sizes), dim=1))


def sets_of(supports: Tensor, queries: Tensor) -> Tensor:
    """Every set {query} u supports, the query last: (task, query, shot + 1, dim)."""
    tiled = supports.unsqueeze(1).expand(-1, queries.shape[1], -1, -1)
    return torch.cat((tiled, queries.unsqueeze(2)), dim=2)
