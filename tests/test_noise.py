"""Masks drop the share they are told, once a node, and a seed decides which."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from metatne.noise import Noise, SetMasks, draw_noise
from networks import small_config

OF_QUERIES = {"attended_queries", "fed_queries"}
NUM_TASKS, NUM_QUERIES = 4, 5


def noise_of(seed: int = 0, *, num_tasks: int = NUM_TASKS, **changed: Any) -> Noise:
    config = small_config(**({"dropout": 0.25, "dim": 16} | changed))
    noise = draw_noise(config, num_tasks, NUM_QUERIES, np.random.default_rng(seed))
    assert noise is not None
    return noise


def masks_of(noise: Noise) -> dict[str, Tensor]:
    """Every mask, by sign, block and name."""
    return {
        f"{sign} {block} {field.name}": getattr(masks, field.name)
        for sign, blocks in (("positive", noise.positive), ("negative", noise.negative))
        for block, masks in enumerate(blocks)
        for field in fields(SetMasks)
    }


def test_nothing_is_drawn_when_nothing_is_dropped() -> None:
    generator = np.random.default_rng(0)
    assert draw_noise(small_config(dropout=0.0), 2, 3, generator) is None
    assert generator.random() == np.random.default_rng(0).random()


@pytest.mark.parametrize("num_blocks", [1, 3])
def test_masks_fit_the_tasks(num_blocks: int) -> None:
    noise = noise_of(positives=2, negatives=3, num_heads=8, num_blocks=num_blocks)
    assert len(noise.positive) == len(noise.negative) == num_blocks
    for shots, blocks in ((2, noise.positive), (3, noise.negative)):
        for masks in blocks:
            assert {name: tuple(mask.shape) for name, mask in asdict(masks).items()} == {
                "among": (NUM_TASKS, 8, shots, shots),
                "merge": (NUM_TASKS, 8, shots, NUM_QUERIES),
                "adapt": (NUM_TASKS, 8, NUM_QUERIES, shots + 1),
                "attended_supports": (NUM_TASKS, shots, 16),
                "attended_queries": (NUM_TASKS, NUM_QUERIES, 16),
                "fed_supports": (NUM_TASKS, shots, 16),
                "fed_queries": (NUM_TASKS, NUM_QUERIES, 16),
            }
            assert {mask.dtype for mask in asdict(masks).values()} == {torch.float32}


@settings(max_examples=30, deadline=None)
@given(dropout=st.floats(0.001, 0.99), seed=st.integers(0, 10**6))
def test_the_share_that_is_told_is_dropped_and_the_rest_scaled(dropout: float, seed: int) -> None:
    """To the sixteen bits that a mask is drawn with; so a mask is 1 on average."""
    masks = masks_of(noise_of(seed, dropout=dropout, dim=64, num_tasks=16))
    distinct = {name: mask for name, mask in masks.items() if name != "negative 0 fed_queries"}
    values = torch.cat([mask.flatten() for mask in distinct.values()]).double()
    kept = values[values != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - dropout)), rtol=1e-6, atol=0.0)
    share = 1 - len(kept) / len(values)
    error = math.sqrt(dropout * (1 - dropout) / len(values))
    assert abs(share - dropout) < 6 * error + 2**-17


def test_every_mask_drops_its_share() -> None:
    for name, mask in masks_of(noise_of(num_tasks=300, num_blocks=2)).items():
        share = (mask == 0).double().mean().item()
        error = math.sqrt(0.25 * 0.75 / mask.numel())
        assert share == pytest.approx(0.25, abs=5 * error), name


def test_a_share_too_small_to_draw_drops_nothing() -> None:
    for mask in masks_of(noise_of(dropout=1e-7)).values():
        torch.testing.assert_close(mask, torch.ones_like(mask))


def test_the_seed_decides() -> None:
    first, second, other = (masks_of(noise_of(seed)) for seed in (0, 0, 1))
    for name, mask in first.items():
        assert torch.equal(mask, second[name]), name
        assert not torch.equal(mask, other[name]), name


def test_the_vectors_of_queries_have_one_mask_for_both_signs() -> None:
    """And no two others have the same one, not even where they are of one shape."""
    masks = masks_of(noise_of(num_blocks=2, positives=3, negatives=3))
    names = list(masks)
    equal = {
        (one, two)
        for i, one in enumerate(names)
        for two in names[i + 1 :]
        if masks[one].shape == masks[two].shape and torch.equal(masks[one], masks[two])
    }
    assert equal == {
        (f"positive {block} {name}", f"negative {block} {name}")
        for block in range(2)
        for name in OF_QUERIES
    }


def test_every_task_and_node_and_head_has_a_mask_of_its_own() -> None:
    masks = noise_of(num_heads=2, positives=16, attention_dim=32).positive[0]
    for name, mask in asdict(masks).items():
        rows = mask.flatten(0, -2)
        assert len(torch.unique(rows, dim=0)) > 0.9 * len(rows) or mask.shape[-1] < 8, name
        assert len(torch.unique(mask, dim=0)) == NUM_TASKS, name
    assert not torch.equal(masks.among[:, 0], masks.among[:, 1])
    assert not torch.equal(masks.adapt[:, 0], masks.adapt[:, 1])
    assert not torch.equal(masks.merge[:, 0], masks.merge[:, 1])
