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
    they are going; their average does not. A look at step s that is k steps after the one before
    weighs k / (share s), which is polynomial-decay averaging (Shamir and Zhang, 2013): what has
    been taken in by step t < s still has (t / s) ** (1 / share) of the weight. So the average
    forgets a start that knew nothing, however long the training is, with no rate to be tuned to
    that length.
    """

    def __init__(self, network: MetaTNENetwork, share: float) -> None:
        self.network = copy.deepcopy(network).requires_grad_(requires_grad=False)
        self.looked_at = 0
        """The step of the last look."""
        self._share = share

    @torch.no_grad()
    def look(self, network: MetaTNENetwork, step: int) -> None:
        """Take the weights after `step` into the average."""
        weight = min(1.0, (step - self.looked_at) / (self._share * step))
        for average, newest in zip(self.network.parameters(), network.parameters(), strict=True):
            average.lerp_(newest, weight)
        self.looked_at = step
