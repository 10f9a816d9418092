"""Every form of the network held against the slow reference."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from metatne.config import Config
from metatne.model import MetaTNENetwork
from metatne.noise import Noise
from networks import Outcome, Task, assert_agree, in_double, outcome
from reference import reference_logits, reference_probabilities

DOUBLE, SINGLE = 1e-9, 2e-5
"""How far two forms may differ by rounding, as a share of the largest entry."""


def expected_outcome(
    network: MetaTNENetwork, config: Config, task: Task, noise: Noise | None = None
) -> Outcome:
    """The slow reference, in double precision."""
    network = in_double(network)

    def classify(positives: Tensor, negatives: Tensor, queries: Tensor) -> Tensor:
        signed = reference_logits(network, config, positives, negatives, queries, noise)
        logits = signed[..., 0] - signed[..., 1]
        assert_equal(torch.sigmoid(logits), reference_probabilities(signed))
        return logits

    return outcome(network, task, classify)


def assert_every_form_is_the_reference(
    network: MetaTNENetwork, config: Config, task: Task, noise: Noise | None = None
) -> Outcome:
    """Logits and all gradients: fused in single precision, plain in double."""
    expected = expected_outcome(network, config, task, noise)
    plain = in_double(network)
    assert_agree(
        outcome(plain, task, partial(plain.classify, noise=noise)), expected, tolerance=DOUBLE
    )
    assert_agree(
        outcome(network, task, partial(network.classify, noise=noise)), expected, tolerance=SINGLE
    )
    return expected


def assert_equal(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=DOUBLE, atol=DOUBLE)
