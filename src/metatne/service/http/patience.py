"""Connections that are not waited for without end.

Uvicorn bounds neither how long a client may take for the head of a request nor how long it may
leave an answer unread; a few hundred such clients would keep all others out. How long a body may
take is bounded by the guard, which can still answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from metatne.service.limits import HEAD_SECONDS, UNREAD_SECONDS


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with a client that must get on: with its next request, and with its answer."""

    _of_head: asyncio.TimerHandle | None = None
    _of_answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        for timer in (self._of_head, self._of_answer):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        """Called when the client leaves more unread than the system takes."""
        super().pause_writing()
        self._of_answer = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Called when it has read on."""
        super().resume_writing()
        if self._of_answer is not None:
            self._of_answer.cancel()

    def _wait_for_head(self) -> None:
        self._of_head = self.loop.call_later(HEAD_SECONDS, self._look_for_head, self.cycle)

    def _look_for_head(self, before: object) -> None:
        """Close where nothing is being answered and nothing whole has come since `before`."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.cycle is before:
            self.transport.close()
        else:
            self._wait_for_head()
