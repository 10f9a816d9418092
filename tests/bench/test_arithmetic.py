"""Operations are those that PyTorch counts."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from metatne.bench.arithmetic import factorised_operations, naive_operations
from metatne.bench.naive import naive_logits
from metatne.config import Config, make_config, preset
from metatne.model import MetaTNENetwork


def config_of(**changes: object) -> Config:
    return make_config(
        {"dim": 8, "attention_dim": 12, "num_heads": 2, "feedforward_dim": 20} | changes
    )


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_the_naive_form(num_blocks: int) -> None:
    config = config_of(num_blocks=num_blocks)
    network = MetaTNENetwork(1, config)
    positives, negatives, queries = (torch.randn(3, count, 8) for count in (4, 5, 6))
    with FlopCounterMode(display=False) as counter:
        naive_logits(network, positives, negatives, queries)
    of_task = sum(naive_operations(config, shots=shots, queries=6) for shots in (4, 5))
    assert counter.get_total_flops() == 3 * of_task


def test_the_factorised_form_needs_a_fraction_of_it() -> None:
    config = make_config(preset("paper", "ppi"))
    naive = sum(naive_operations(config, shots=shots, queries=30) for shots in (10, 20))
    factorised = factorised_operations(config, positives=10, negatives=20, queries=30)
    assert 4 < naive / factorised < 6
    # A query more costs what it adds, whatever the others.
    more = [factorised_operations(config, positives=10, negatives=20, queries=q) for q in (1, 2, 3)]
    assert more[2] - more[1] == more[1] - more[0]
