"""How much memory a training will need, and a refusal before it starts when that is too much."""

from __future__ import annotations

import psutil

from metatne.config import Config
from metatne.errors import OutOfMemoryError

_TABLES = 9
"""Node tables of a training: U, C, two moments for each of the three row optimisers (the
structural one of U and of C, the meta one of U), and the best U so far."""

_LANCZOS_VECTORS = 2
"""Vectors of float64 that the spectral start holds for each dimension."""

_SPECTRAL_ENTRY_BYTES = 40
"""The spectral start copies the adjacency a few times, as float64."""

_BYTES = 4
_OVERHEAD = 500 * 2**20
"""Python, PyTorch and their buffers."""


def estimate_training_bytes(num_nodes: int, num_entries: int, config: Config) -> int:
    """Peak memory of a training, to within a third or so."""
    tables = _TABLES * _BYTES * num_nodes * config.dim
    steps = tables + _BYTES * max(_meta_step_floats(config), _structural_step_floats(config))
    start = 0
    if config.spectral_scale > 0:  # over before the optimisers' tables are there
        vectors = 8 * (_LANCZOS_VECTORS + 1) * num_nodes * config.dim
        start = vectors + _SPECTRAL_ENTRY_BYTES * num_entries
    return _OVERHEAD + _BYTES * num_entries + max(steps, start)


def _meta_step_floats(config: Config) -> int:
    shots = config.positives + config.negatives + 2
    queries = (config.query_positives or config.positives) + (
        config.query_negatives or config.negatives
    )
    # A token keeps about six vectors of d and two of d_ff a block for the backward pass,
    # which takes as much again.
    token = config.num_blocks * (6 * config.dim + 2 * config.feedforward_dim)
    return 2 * config.tasks_per_step * queries * shots * token


def _structural_step_floats(config: Config) -> int:
    return 2 * config.pairs_per_step * (config.negatives_per_pair + 2) * config.dim


def check_memory(estimate: int) -> None:
    """Raise when `estimate` bytes are more than the machine has to give."""
    available = psutil.virtual_memory().available
    if estimate > available:
        raise OutOfMemoryError(
            f"this training needs about {format_bytes(estimate)}, and {format_bytes(available)} "
            "are free; lower dim or tasks_per_step (--set dim=64), or use a larger machine"
        )


def format_bytes(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
