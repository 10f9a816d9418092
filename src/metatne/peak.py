"""The most memory that this process has held."""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path

import psutil


def forget_peak() -> None:
    """Let the peak start anew, where the system can (Linux): importing may have needed more."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_so_far() -> int:
    """Most resident bytes of this process."""
    system = platform.system()
    if system == "Linux":  # ru_maxrss there survives exec: it may be the parent's
        status = Path("/proc/self/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    if system == "Windows":
        return int(getattr(psutil.Process().memory_info(), "peak_wset"))  # noqa: B009
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if system == "Darwin" else peak * 1024
