"""How much memory a training will need, and a refusal before it starts when that is too much."""

from __future__ import annotations

import psutil

from metatne.config import Config
from metatne.errors import OutOfMemoryError

_TABLES = 11
"""Node tables of a training: U, C, their gradients, two moments each for the structural
Adam, two of U for the meta Adam, and the best U so far."""

_BYTES = 4
_OVERHEAD = 400 * 2**20
"""Python, PyTorch and their buffers."""


def estimate_training_bytes(num_nodes: int, num_entries: int, config: Config) -> int:
    """Peak memory of a training, to within a third or so."""
    tables = _TABLES * num_nodes * config.dim
    shots = config.positives + config.negatives + 2
    queries = (config.query_positives or config.positives) + (
        config.query_negatives or config.negatives
    )
    # A token keeps about six vectors of d and two of d_ff a block for the backward pass.
    token = config.num_blocks * (6 * config.dim + 2 * config.feedforward_dim)
    meta = 2 * config.tasks_per_step * queries * shots * token
    structural = 2 * config.pairs_per_step * (config.num_negatives + 2) * config.dim
    entries = 2 * num_entries
    return _OVERHEAD + _BYTES * (tables + max(meta, structural) + entries)


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
