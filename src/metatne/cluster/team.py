"""A team over torch.distributed: one worker a process, on any number of machines."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, distributed


class ProcessTeam:
    """The workers of torch.distributed's process group; a `metatne.training.team.Team`.

    A sum that is reduced in one place and then handed to all has the same bits everywhere,
    so workers that take the same step stay equal without ever comparing their weights.
    """

    def __init__(self) -> None:
        self.rank = distributed.get_rank()
        self.size = distributed.get_world_size()

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the workers, all in one message."""
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        sizes = [tensor.numel() for tensor in tensors]
        for tensor, part in zip(tensors, torch.split(flat, sizes), strict=True):
            tensor.copy_(part.view_as(tensor))
