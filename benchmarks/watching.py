"""Memory and open handles of a process over time, and whether they stay where they are."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

import psutil

ALLOWED_SHARE, ALLOWED_MIB, ALLOWED_HANDLES, ALLOWED_THREADS = 0.05, 16, 8, 8
"""What may come on top between the middle and the last third: allocators are not exact, and
clients come and go."""


@dataclass
class Watch:
    """What was seen of a process; the first third is its warming up."""

    mib: list[float] = field(default_factory=list)
    handles: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def look(self, process: psutil.Process, *, kept_mib: float = 0) -> None:
        """Note how it is now; what it keeps on purpose, within its bounds, is taken off."""
        self.mib.append(process.memory_info().rss / 2**20 - kept_mib)
        self.handles.append(process.num_fds())
        self.threads.append(process.num_threads())

    def figures(self) -> dict[str, Any]:
        """The medians of the middle and the last third, and the most there ever was."""
        third = len(self.mib) // 3
        if not third:
            return {"looks": len(self.mib), "is_flat": None}
        found: dict[str, Any] = {"looks": len(self.mib)}
        for name, values in (
            ("mib", self.mib),
            ("handles", self.handles),
            ("threads", self.threads),
        ):
            found[f"{name}_middle"] = round(statistics.median(values[third : 2 * third]), 1)
            found[f"{name}_last"] = round(statistics.median(values[-third:]), 1)
            found[f"{name}_most"] = round(max(values), 1)
        allowed = (1 + ALLOWED_SHARE) * found["mib_middle"] + ALLOWED_MIB
        more_handles = found["handles_last"] - found["handles_middle"]
        more_threads = found["threads_last"] - found["threads_middle"]
        found["is_flat"] = (
            found["mib_last"] <= allowed
            and more_handles <= ALLOWED_HANDLES
            and more_threads <= ALLOWED_THREADS
        )
        return found
