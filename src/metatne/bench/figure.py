"""What a benchmark reports: one figure, what it was held against, and the goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Figure:
    """One measured quantity of one case; `against` and `ratio` come from the same run."""

    case: str
    """What was done, on what: "ppi 10/20", "1,000,000 nodes"."""

    quantity: str
    """What was measured: "seconds per step", "peak memory"."""

    value: float
    unit: str
    against: float | None = None
    """The same quantity of the plain way to do the same work."""

    ratio: float | None = None
    """How many times better `value` is than `against`."""

    goal: float | None = None
    """What `judged` is to reach; none: a figure for information."""

    judged: Literal["value at most", "value at least", "ratio at least"] = "value at most"
    details: dict[str, float | int | str] = field(default_factory=dict)
    """More of what was seen in this run: shares, counts, spreads."""

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is reached; none when there is none."""
        if self.goal is None:
            return None
        if self.judged == "value at most":
            return self.value <= self.goal
        if self.judged == "value at least":
            return self.value >= self.goal
        return self.ratio is not None and self.ratio >= self.goal


@dataclass(frozen=True)
class Skipped:
    """A case that cannot be measured here, and why (a data set that is not on this machine)."""

    case: str
    reason: str


Benchmark = Callable[[bool], Iterator[Figure | Skipped]]
"""A benchmark: takes `quick`, and yields its figures as they come."""
