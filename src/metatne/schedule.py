"""When to learn structure and when to learn tasks."""

from __future__ import annotations


def structural_probability(step: int, *, decay_rate: float, decay_period: int) -> float:
    """tau: the chance that `step` is structural, falling from 1 towards 0 in stairs (§4.3)."""
    return 1.0 / (1.0 + decay_rate * (step // decay_period))
