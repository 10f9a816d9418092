"""Pieces of work on several cores, with the same result whatever the number of cores.

Threads take whole pieces, each piece works with one thread, and pieces do not depend on the
number of threads. Unlike a second thread inside of every small operation, this neither waits
at barriers (15 to 50 times slower beside another busy process) nor changes a rounding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""Told how much is done and how much there is; what it raises ends the work."""


def num_threads() -> int:
    """Cores to work with: OMP_NUM_THREADS where it is set, else all that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return num_cores()


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[Piece], Result], pieces: Iterable[Piece]) -> list[Result]:
    """`work` of every piece, in their order; `work` has to release the GIL to gain by it."""
    pieces = list(pieces)
    threads = num_threads()
    if threads == 1 or len(pieces) <= 1:
        return [work(piece) for piece in pieces]
    return list(_pool(threads).map(work, pieces))


class Progressing:
    """Pieces of several threads, counted together."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done, self._lock = progress, total, 0, Lock()

    def add(self, number: int) -> None:
        """So much more is done."""
        if self._progress is None:
            return
        with self._lock:
            self._done += number
            self._progress(self._done, self._total)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="metatne")


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
