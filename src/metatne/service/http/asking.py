"""A question on its way: to a worker thread, and back as JSON or as a stream of events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from traceback import format_exc
from typing import TypeVar

from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from metatne.parallel import Progress
from metatne.service.answers import Answer
from metatne.service.http.problems import REQUEST_ID, Json, as_json, error_body, refusal_of_any
from metatne.service.http.request_log import log
from metatne.service.jobs import Cancelled, Job, Jobs
from metatne.service.refusals import Refusal

EVENTS = "text/event-stream"
LOOK_SECONDS = 0.1
"""How often a stream looks how far the work is."""

QUIET_SECONDS = 10.0
"""After so long without news a comment goes out, so that nothing between takes it for dead."""

Work = Callable[[Progress], Answer]
Made = TypeVar("Made")


async def answer(request: Request, jobs: Jobs, work: Work) -> Response:
    """What `work` finds; JSON is made in the worker's thread too, since rows may be thousands."""
    return Json(await run(request, jobs, lambda job: as_json(work(job.report))))


async def run(request: Request, jobs: Jobs, work: Callable[[Job[bytes]], bytes]) -> bytes:
    """What the work gives, unless the client goes away first: then the work is called off."""
    job = jobs.submit(work)
    finished = asyncio.ensure_future(job.result())
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({finished, gone}, return_when=asyncio.FIRST_COMPLETED)
        if finished.done():
            return finished.result()
    except (Cancelled, asyncio.CancelledError):
        pass
    finally:
        is_gone = gone.done()
        gone.cancel()
        if not finished.done():
            job.cancel()
            finished.cancel()
    if is_gone:
        raise Refusal("cancelled", "nobody waited for the answer", status=499)
    raise _stopping()


async def beside(jobs: Jobs, work: Callable[[], Made]) -> Made:
    """What short work gives, which is done whether somebody waits for it or not."""
    try:
        return await jobs.submit(lambda job: work()).result()
    except Cancelled:
        raise _stopping() from None


def _stopping() -> Refusal:
    """Work is called off by those who wait for it, or for all when the service stops."""
    message = "the service is stopping; ask again when it is back"
    return Refusal("cancelled", message, headers={"Retry-After": "5"})


async def stream(request: Request, jobs: Jobs, work: Work) -> Response:
    """Progress as events, then the result or the error as the last one.

    A full queue is still answered with its own status: nothing has been sent by then.
    """
    job = jobs.submit(lambda job: as_json(work(job.report)))
    return StreamingResponse(
        _events(request, job), media_type=EVENTS, headers={"X-Accel-Buffering": "no"}
    )


async def _events(request: Request, job: Job[bytes]) -> AsyncIterator[bytes]:
    told, told_at = (0, 0), time.monotonic()
    finished = asyncio.ensure_future(job.result())
    try:
        while not (await asyncio.wait({finished}, timeout=LOOK_SECONDS))[0]:
            if await request.is_disconnected():
                return
            if (now := _how_far(job)) not in (told, (0, 0)):
                told, told_at = now, time.monotonic()
                yield _event("progress", _progress(*told))
            elif time.monotonic() - told_at > QUIET_SECONDS:
                told_at = time.monotonic()
                yield b": still at it\n\n"
        if (now := _how_far(job)) not in (told, (0, 0)):
            yield _event("progress", _progress(*now))
        yield _last_event(finished, request.scope)
    finally:
        if not finished.done():
            job.cancel()
            finished.cancel()


def _last_event(finished: asyncio.Future[bytes], scope: Scope) -> bytes:
    try:
        return _event("result", finished.result())
    except (Cancelled, asyncio.CancelledError):
        refusal = _stopping()
    except Exception as error:
        refusal = refusal_of_any(error)
        if refusal.is_trouble:  # the request itself was answered well: its line does not say it
            facts = {"request_id": scope.get(REQUEST_ID, ""), "trouble": format_exc()}
            log.error("a question failed", extra={"facts": facts})
    return _event("error", error_body(refusal, scope))


def _how_far(job: Job[bytes]) -> tuple[int, int]:
    return job.how_far.done, job.how_far.total


def _progress(done: int, total: int) -> bytes:
    return json.dumps({"done": done, "total": total}).encode()


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


async def _gone(request: Request) -> None:
    """Returns when the client has closed the connection; the body has been read by then."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
