"""The average of a network's weights over the last steps: what large batches would come to."""

from __future__ import annotations

import copy

import torch

from metatne.model import MetaTNENetwork

EVERY = 10
"""Steps between two looks at the weights: neighbours differ little, and a look reads all of U."""


class AveragedNetwork:
    """A network whose weights are those of another one, averaged as that one learns.

    A small batch of tasks points roughly where a large one would, so weights wander around where
    they are going; their average does not. After step s, a look weighs EVERY / (share s): looks
    longer ago than about the last `share` of the steps count little, and a start that knew
    nothing is soon forgotten.
    """

    def __init__(self, network: MetaTNENetwork, share: float) -> None:
        self.network = copy.deepcopy(network).requires_grad_(requires_grad=False)
        self._share = share

    def is_due(self, step: int) -> bool:
        """Whether the weights after this step are looked at."""
        return step % EVERY == 0

    @torch.no_grad()
    def look(self, network: MetaTNENetwork, step: int) -> None:
        """Take the weights after `step` into the average."""
        weight = min(1.0, EVERY / (self._share * step))
        for average, newest in zip(self.network.parameters(), network.parameters(), strict=True):
            average.lerp_(newest, weight)
