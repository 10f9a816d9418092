"""Around every request: an id, headers that keep a browser safe, a line in the log, a figure."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metatne.service.http.metrics import OTHER, Metrics
from metatne.service.http.problems import REQUEST_ID, TROUBLE, error_response, unexpected

log = logging.getLogger("metatne.service")

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_GIVEN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


class RequestLog:
    """The outermost layer; what goes wrong inside ends here, in our shape and in the log."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        scope[REQUEST_ID] = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        started = time.perf_counter()
        status, num_bytes = 0, 0

        async def noted(message: Message) -> None:
            nonlocal status, num_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = scope[REQUEST_ID]
                headers.setdefault("Cache-Control", "no-store")
                for name, value in SECURITY.items():
                    headers[name] = value
            else:
                num_bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:  # a mistake of ours must not end the server
            if not status:
                await error_response(unexpected(), scope)(scope, receive, noted)
            scope[TROUBLE] = traceback.format_exc()
        finally:
            trouble = scope.get(TROUBLE)
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", OTHER)
            self._metrics.count(route, scope["method"], status, seconds)
            # The path alone: what is searched for is nobody's business, and no secret is in it.
            log.log(
                logging.INFO if trouble is None else logging.ERROR,
                "request",
                extra={
                    "facts": {
                        "request_id": scope[REQUEST_ID],
                        "client": (scope.get("client") or ("",))[0],
                        "method": scope["method"],
                        "route": route,
                        "path": scope["path"][:200],
                        "status": status,
                        "bytes": num_bytes,
                        "seconds": round(seconds, 4),
                    }
                    | ({} if trouble is None else {"trouble": trouble})
                },
            )


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's time, level and message, and what facts it has."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        } | getattr(record, "facts", {})
        if record.exc_info:
            line["trouble"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to_stderr() -> None:
    """Write our own lines and the server's to standard error, as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("metatne.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
