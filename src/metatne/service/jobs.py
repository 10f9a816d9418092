"""Long work beside the event loop: so many at once, so many waiting, no more."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import CancelledError as NeverStarted
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock
from typing import Any, Generic, TypeVar

from metatne.parallel import num_cores
from metatne.service.refusals import Refusal

Result = TypeVar("Result")

MAX_WAITING = 32
RECENT = 0.2
"""How much the last job counts in the mean time of a job."""


class Cancelled(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for the answer any more."""


class Job(Generic[Result]):
    """A piece of work, how far it is, and a way to call it off."""

    def __init__(self) -> None:
        self.done, self.total = 0, 0
        self._is_cancelled = Event()
        self.future: Future[Result]

    def report(self, done: int, total: int) -> None:
        """Note how far the work is; raises where nobody waits for it, which ends it."""
        if self._is_cancelled.is_set():
            raise Cancelled
        if total:
            self.done, self.total = done, total

    def cancel(self) -> None:
        """Take it out of the queue, or let its next report end it."""
        self._is_cancelled.set()
        self.future.cancel()

    async def result(self) -> Result:
        """What came of it; a caller that is cancelled cancels the work."""
        try:
            return await asyncio.wrap_future(self.future)
        except asyncio.CancelledError:
            self.cancel()
            raise


class Jobs:
    """A pool of threads with a bounded queue: what does not fit is refused at once."""

    def __init__(self, max_running: int | None = None, max_waiting: int = MAX_WAITING) -> None:
        self.max_running = max_running or num_cores()
        self._max_waiting = max_waiting
        self._pool = ThreadPoolExecutor(self.max_running, thread_name_prefix="metatne-ask")
        self._lock = Lock()
        self._unfinished: set[Job[Any]] = set()
        self._mean_seconds = 0.5
        self.num_refused = 0
        self.num_cancelled = 0

    @property
    def num_running(self) -> int:
        """Jobs that are worked on."""
        return min(len(self._unfinished), self.max_running)

    @property
    def num_waiting(self) -> int:
        """Jobs in the queue."""
        return max(len(self._unfinished) - self.max_running, 0)

    def submit(self, work: Callable[[Job[Result]], Result]) -> Job[Result]:
        """Start the work, or put it in the queue; `Refusal` where that is full."""
        job: Job[Result] = Job()
        with self._lock:
            if len(self._unfinished) >= self.max_running + self._max_waiting:
                self.num_refused += 1
                raise self._overloaded()
            self._unfinished.add(job)
            job.future = self._pool.submit(self._timed, work, job)
        job.future.add_done_callback(lambda future: self._finished(job))
        return job

    def close(self) -> None:
        """Call off all work; what has not begun never does."""
        for job in list(self._unfinished):
            job.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _timed(self, work: Callable[[Job[Result]], Result], job: Job[Result]) -> Result:
        started = time.perf_counter()
        job.report(0, 0)
        made = work(job)
        seconds = time.perf_counter() - started
        self._mean_seconds += RECENT * (seconds - self._mean_seconds)
        return made

    def _finished(self, job: Job[Result]) -> None:
        with self._lock:
            self._unfinished.discard(job)
            if _was_cancelled(job.future):
                self.num_cancelled += 1

    def _overloaded(self) -> Refusal:
        seconds = math.ceil(self._mean_seconds * (1 + self._max_waiting / self.max_running))
        return Refusal(
            "overloaded",
            f"{self.max_running} questions are being answered and {self._max_waiting} wait; "
            f"ask again in {seconds} s",
            headers={"Retry-After": str(seconds)},
        )


def _was_cancelled(future: Future[Result]) -> bool:
    try:
        return isinstance(future.exception(timeout=0), Cancelled)
    except NeverStarted:
        return True
