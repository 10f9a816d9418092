"""When to learn structure and when to learn tasks."""

from __future__ import annotations


def structural_probability(step: int, *, decay_rate: float, decay_period: int) -> float:
    """tau: the chance that `step` is structural, falling from 1 towards 0 in stairs (§4.3)."""
    return 1.0 / (1.0 + decay_rate * (step // decay_period))


def expected_structural_steps(num_steps: int, *, decay_rate: float, decay_period: int) -> int:
    """How many of so many steps are structural, on average."""
    return round(
        sum(
            structural_probability(step, decay_rate=decay_rate, decay_period=decay_period)
            for step in range(num_steps)
        )
    )


def annealing(step: int, num_steps: int) -> float:
    """What is left of the learning rates at `step`: from 1 down to almost 0, in a line.

    Meta batches are small and so their gradients noisy; smaller and smaller steps average
    the noise out, as large batches would at many times the cost.
    """
    return 1.0 - step / num_steps
