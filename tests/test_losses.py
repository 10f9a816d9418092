"""The structural objective against numbers computed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from metatne.losses import structural_loss


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_structural_loss_by_hand() -> None:
    nodes = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    neighbours = torch.tensor([[3.0, 1.0], [1.0, 0.5]])  # dot products 3 and 1
    negatives = torch.tensor(  # dot products 1, -2, 0 and 4, 0, -2
        [[[1.0, 5.0], [-2.0, 0.0], [0.0, 0.0]], [[7.0, 2.0], [0.0, 0.0], [1.0, -1.0]]]
    )
    attraction = (-math.log(logistic(3)) - math.log(logistic(1))) / 2
    repulsion = -sum(math.log(logistic(-x)) for x in (1, -2, 0, 4, 0, -2)) / 6
    loss = structural_loss(nodes, neighbours, negatives)
    assert loss.item() == pytest.approx(attraction + repulsion, rel=1e-6)


def test_structural_loss_takes_the_mean_over_negatives() -> None:
    nodes, neighbours = torch.randn(4, 3), torch.randn(4, 3)
    negatives = torch.randn(4, 2, 3)
    once = structural_loss(nodes, neighbours, negatives)
    twice = structural_loss(nodes, neighbours, torch.cat((negatives, negatives), dim=1))
    assert once.item() == pytest.approx(twice.item(), rel=1e-5)


def test_structural_loss_of_an_untrained_model() -> None:
    zero = torch.zeros(2, 3)
    assert structural_loss(zero, zero, torch.zeros(2, 5, 3)).item() == pytest.approx(
        2 * math.log(2)
    )


def test_the_loss_stays_finite_where_probabilities_do_not() -> None:
    nodes = torch.full((1, 1), 20.0)
    assert structural_loss(nodes, -nodes, nodes.unsqueeze(0)).item() == pytest.approx(800.0)
