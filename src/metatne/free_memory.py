"""How much memory this process can still take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from metatne.errors import OutOfMemoryError

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")

ALWAYS_TAKEN, EVER_TAKEN = 1 / 16, 1 / 2
"""Shares of the free memory that a packed file may unpack to: any file, and one whose own size
makes it plausible. What is made of it takes several times as much."""

PLAUSIBLE = 32
"""So many times its size honest data may unpack to; text has 3 to 10."""


def available_memory() -> int:
    """Bytes that this process can still take: of the machine, and of the groups that bound it."""
    return min([psutil.virtual_memory().available, *_left_in_cgroups()])


def unpack_limit(packed_bytes: int) -> int:
    """Bytes that a file of this size may unpack to in memory; beyond lies a bomb."""
    available = available_memory()
    asked = max(ALWAYS_TAKEN * available, PLAUSIBLE * packed_bytes)
    return int(min(asked, EVER_TAKEN * available))


def check_room(source: object, num_bytes: int) -> None:
    """Refuse to make of a source what does not fit; bytes in a file become many in memory."""
    if num_bytes > (available := available_memory()):
        raise OutOfMemoryError(
            f"{source}: what is in it takes about {format_bytes(num_bytes)}, and "
            f"{format_bytes(available)} are free: it is too large for this machine, "
            "or was made to look so"
        )


def _left_in_cgroups() -> Iterator[int]:
    """What each control group above this process leaves, where there are any (Linux)."""
    try:
        lines = OWN_CGROUPS.read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    for line in lines:
        number, controllers, own = line.split(":", 2)
        if number == "0":
            root, names = CGROUPS, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        folder = root / own.lstrip("/")
        # A container sees its own group as the root, whatever path it is told.
        for group in {root, folder, *folder.parents} - set(root.parents):
            left = _left_in(group, *names)
            if left is not None:
                yield left


def _left_in(group: Path, limit_name: str, usage_name: str) -> int | None:
    try:
        limit = int((group / limit_name).read_text(encoding="ascii"))
        usage = int((group / usage_name).read_text(encoding="ascii"))
        statistics = (group / "memory.stat").read_text(encoding="ascii").split()
    except (OSError, ValueError):  # no such group, or its limit is "max"
        return None
    # Cached files are given up when memory is wanted.
    counts = dict(zip(statistics[::2], map(int, statistics[1::2]), strict=True))
    cached = counts.get("total_inactive_file", counts.get("inactive_file", 0))
    return max(limit - usage + cached, 0)


def format_bytes(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
