"""Long work beside the event loop: so many at once, so many waiting, no more."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import CancelledError as NeverStarted
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
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


class HowFar:
    """How far a piece of work is, for all who wait for it."""

    def __init__(self) -> None:
        self.done, self.total = 0, 0

    def note(self, done: int, total: int) -> None:
        """So far; work that does not know its size says nothing."""
        if total:
            self.done, self.total = done, total


class AskedAlready(Exception):  # noqa: N818 - nothing went wrong
    """Another job works on the same; it is worth trying again when that has `ended`."""

    def __init__(self, ended: Future[None], how_far: HowFar) -> None:
        super().__init__()
        self.ended, self.how_far = ended, how_far


class Job(Generic[Result]):
    """A piece of work, how far it is, and a way to call it off."""

    def __init__(self) -> None:
        self.how_far = HowFar()
        self._is_cancelled = Event()
        self._is_put_off = False
        self._lock = Lock()
        self.future: Future[Result] = Future()
        self._called_off: Future[None] = Future()

    def report(self, done: int, total: int) -> None:
        """Note how far the work is; raises where nobody waits for it, which ends it."""
        if self._is_cancelled.is_set():
            raise Cancelled
        self.how_far.note(done, total)

    def cancel(self) -> None:
        """Take it out of the queue, or let its next report end it."""
        self._is_cancelled.set()
        self.future.cancel()
        if self._leave_put_off():
            self.future.set_exception(Cancelled())

    def call_off(self) -> None:
        """Cancel it, and tell whoever waits at once: the work itself may take long to end."""
        self.cancel()
        with suppress(InvalidStateError):  # nobody waits any more
            self._called_off.set_result(None)

    def begin(self) -> bool:
        """Whether it is still wanted; asked again of work that was put off."""
        if self._leave_put_off():
            self.how_far = HowFar()
            return True
        return not self.future.done() and self.future.set_running_or_notify_cancel()

    def put_off(self, how_far: HowFar) -> None:
        """Nobody works on it for now, though it has begun; it is as far as what it waits for."""
        self.how_far = how_far
        with self._lock:
            self._is_put_off = True
        if self._is_cancelled.is_set():
            self.cancel()

    def _leave_put_off(self) -> bool:
        """Whether it was put off; of two who ask, one is told so."""
        with self._lock:
            was_put_off, self._is_put_off = self._is_put_off, False
        return was_put_off

    async def result(self) -> Result:
        """What came of it; a caller that is cancelled cancels the work."""
        done = asyncio.wrap_future(self.future)
        called_off = asyncio.wrap_future(self._called_off)
        try:
            first: set[asyncio.Future[Any]] = {done, called_off}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                raise Cancelled
            return done.result()
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            called_off.cancel()
            done.cancel()


class Jobs:
    """A pool of threads with a bounded queue: what does not fit is refused at once."""

    def __init__(self, max_running: int | None = None, max_waiting: int = MAX_WAITING) -> None:
        self.max_running = max_running or num_cores()
        self._max_waiting = max_waiting
        self._pool = ThreadPoolExecutor(self.max_running, thread_name_prefix="metatne-ask")
        self._lock = Lock()
        self._unfinished: set[Job[Any]] = set()
        self.num_running = 0
        """Jobs that are worked on."""

        self._mean_seconds = 0.5
        self.num_refused = 0
        self.num_cancelled = 0

    @property
    def num_waiting(self) -> int:
        """Jobs in the queue, and those that wait for another's answer."""
        return max(len(self._unfinished) - self.num_running, 0)

    def submit(self, work: Callable[[Job[Result]], Result]) -> Job[Result]:
        """Start the work, or put it in the queue; `Refusal` where that is full."""
        job: Job[Result] = Job()
        with self._lock:
            if len(self._unfinished) >= self.max_running + self._max_waiting:
                self.num_refused += 1
                raise self._overloaded()
            self._unfinished.add(job)
        job.future.add_done_callback(lambda future: self._finished(job))
        self._enqueue(work, job)
        return job

    def call_off(self) -> None:
        """End all work, and tell whoever waits for it."""
        for job in list(self._unfinished):
            job.call_off()

    def close(self) -> None:
        """Call off all work; what has not begun never does."""
        self.call_off()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _enqueue(self, work: Callable[[Job[Result]], Result], job: Job[Result]) -> None:
        try:
            self._pool.submit(self._run, work, job)
        except RuntimeError:  # the pool is closed: what was put off is not taken up again
            job.cancel()

    def _run(self, work: Callable[[Job[Result]], Result], job: Job[Result]) -> None:
        """Work, unless it was called off; what another job works on is put off until that ends."""
        if not job.begin():
            return
        try:
            made = self._timed(work, job)
        except AskedAlready as put_off:
            job.put_off(put_off.how_far)
            put_off.ended.add_done_callback(lambda ended: self._enqueue(work, job))
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(made)

    def _timed(self, work: Callable[[Job[Result]], Result], job: Job[Result]) -> Result:
        started = time.perf_counter()
        job.report(0, 0)
        self._count_running(1)
        try:
            made = work(job)
        finally:
            self._count_running(-1)
        seconds = time.perf_counter() - started
        self._mean_seconds += RECENT * (seconds - self._mean_seconds)
        return made

    def _count_running(self, by: int) -> None:
        with self._lock:
            self.num_running += by

    def _finished(self, job: Job[Result]) -> None:
        with self._lock:
            self._unfinished.discard(job)
            if _was_cancelled(job.future):
                self.num_cancelled += 1

    def _overloaded(self) -> Refusal:
        seconds = math.ceil(self._mean_seconds * (1 + self._max_waiting / self.max_running))
        return Refusal(
            "overloaded",
            f"{self.max_running} requests are being answered and {self._max_waiting} wait; "
            f"ask again in {seconds} s",
            headers={"Retry-After": str(seconds)},
        )


def _was_cancelled(future: Future[Result]) -> bool:
    try:
        return isinstance(future.exception(timeout=0), Cancelled)
    except NeverStarted:
        return True
