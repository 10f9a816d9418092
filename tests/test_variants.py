"""The ablation's networks equal what the paper says of them."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest

from metatne.seeding import torch_seed
from metatne.variants import OneSetNetwork
from networks import assert_agree, noise_of, outcome, random_task, randomise, small_config
from reference import reference_one_set_logits

DOUBLE = 1e-9
"""How far network and reference may differ by rounding, as a share of the largest entry."""

PRE_NORM = [*product([True], (1, 2), (1, 3), (0.0, 0.4))]
# Its noise is of blocks that normalise first, as its docstring says.
POST_NORM = [(False, 1, 3, 0.0), (False, 2, 3, 0.0), (False, 2, 3, 0.4)]


@pytest.mark.parametrize(
    ("norm_first", "num_blocks", "num_heads", "dropout"), [*PRE_NORM, *POST_NORM]
)
def test_v2_is_one_attention_over_all_nodes_of_a_task(
    norm_first: bool, num_blocks: int, num_heads: int, dropout: float
) -> None:
    """In logits and gradients, also where several queries share the attention."""
    config = small_config(
        norm_first=norm_first, num_blocks=num_blocks, num_heads=num_heads, dropout=dropout
    )
    with torch_seed(0, "one set"):
        network, task = OneSetNetwork(1, config).double(), random_task(config, num_queries=3)
        randomise(network)
    noise = noise_of(config, task)
    assert (noise is None) == (dropout == 0)
    expected = outcome(
        network, task, partial(reference_one_set_logits, network, config, noise=noise)
    )
    assert_agree(
        outcome(network, task, partial(network.classify, noise=noise)), expected, tolerance=DOUBLE
    )
    assert expected.logits.std() > 0.1  # else the comparison says little
    # The last norm's shift moves query and prototype alike; all else makes a difference.
    still = [name for name, by in expected.gradients.items() if by.abs().max() < 1e-9]
    assert still == [list(expected.gradients)[-1]]
