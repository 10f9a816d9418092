"""Masks: none without being given, right on average, and on whole entries."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from metatne.config import Config
from metatne.model import Block, MetaTNENetwork, _sum_heads
from metatne.noise import SetMasks, draw_noise
from model.nodes import NUM_NODES, network_of, nodes_of, sets_of
from networks import randomise, small_config


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_without_masks_nothing_is_dropped(num_blocks: int) -> None:
    """Neither by a network that was told to drop, nor by one in training mode."""
    dropping = network_of(small_config(dropout=0.5, num_blocks=num_blocks))
    keeping = MetaTNENetwork(NUM_NODES, small_config(num_blocks=num_blocks)).double()
    keeping.load_state_dict(dropping.state_dict())
    nodes = nodes_of(2, 3, 2, 4)
    assert torch.equal(dropping.train()(*nodes), keeping.eval()(*nodes))


def masks_of(config: Config, *, num_draws: int, num_queries: int) -> SetMasks:
    noise = draw_noise(config, num_draws, num_queries, np.random.default_rng(0))
    assert noise is not None
    return noise.positive[0]


@pytest.mark.parametrize("is_factorised", [True, False])
def test_dropped_attention_is_right_on_average(is_factorised: bool) -> None:
    """What attention adds is linear in its masks, so the mean over draws is the undropped."""
    config = small_config(dropout=0.25, positives=3)
    block = Block(config).double()
    randomise(block)
    supports = torch.randn(1, 3, 6, dtype=torch.float64)
    queries = torch.randn(1, 2, 6, dtype=torch.float64)
    exact = block.attention(block.attention_norm(sets_of(supports, queries)))[0]
    num_draws = 20_000
    masks = masks_of(config, num_draws=num_draws, num_queries=2)
    many = [part.expand(num_draws, -1, -1) for part in (supports, queries)]
    if is_factorised:
        projected = block.project(many[1])
        values = projected.value * masks.attended_queries.unsqueeze(2)
        mixture = block.mixture(block.project(many[0]), projected._replace(value=values), masks)
        dropped = torch.cat((_sum_heads(mixture), mixture.adapted.unsqueeze(2)), dim=2)
    else:
        dropped = block.attention(block.attention_norm(sets_of(*many)), masks)
    assert (dropped.std(dim=0) > 0.05).all()  # every output is dropped now and then
    error = dropped.std(dim=0) / math.sqrt(num_draws)
    assert ((dropped.mean(dim=0) - exact).abs() < 5 * error).all()


def test_what_the_feed_forward_net_adds_is_right_on_average() -> None:
    config = small_config(dropout=0.25, positives=3)
    block = Block(config).double()
    randomise(block)
    tokens = torch.randn(1, 2, 4, 6, dtype=torch.float64)
    exact = block.feed(tokens)[0]
    num_draws = 20_000
    masks = masks_of(config, num_draws=num_draws, num_queries=2)
    dropped = block.feed(tokens.expand(num_draws, -1, -1, -1), masks)
    error = dropped.std(dim=0) / math.sqrt(num_draws)
    assert (error > 0).all()
    assert ((dropped.mean(dim=0) - exact).abs() < 5 * error).all()


def test_a_later_block_drops_whole_entries_of_what_it_adds() -> None:
    """Ordinary dropout: an output is kept and scaled, or what it was added to."""
    config = small_config(dropout=0.25, positives=3)
    block = Block(config).double()
    randomise(block)
    with torch.no_grad():
        block.feedforward.narrow.zero_()
        block.feedforward.narrow_bias.zero_()  # what is added is the attention's alone
    tokens = torch.randn(50, 2, 4, 6, dtype=torch.float64)
    masks = masks_of(config, num_draws=50, num_queries=2)
    kept = {name: torch.ones_like(getattr(masks, name)) for name in ("among", "merge", "adapt")}
    added = block(tokens, replace(masks, **kept)) - tokens
    factors = added / (block(tokens) - tokens)
    values = factors.flatten()
    is_dropped = values.abs() < 1e-6
    assert is_dropped.double().mean().item() == pytest.approx(0.25, abs=0.03)
    torch.testing.assert_close(values[~is_dropped], torch.full_like(values[~is_dropped], 4 / 3))
    # Drawn once a node: what a support is told is dropped alike in the sets of all queries.
    assert torch.equal(
        is_dropped.view(factors.shape)[:, 0, :-1], is_dropped.view(factors.shape)[:, 1, :-1]
    )
