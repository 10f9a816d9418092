"""Who may ask, from where, and how much: checked before a request reaches any route."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metatne.service.http.problems import error_response
from metatne.service.limits import (
    BODY_SECONDS,
    MAX_BODY_BYTES,
    MAX_IN_FLIGHT,
    MAX_PROJECT_BODY_BYTES,
)
from metatne.service.refusals import Refusal

PROJECTS_PATH = "/api/v1/projects"
IMPORT_PATH = f"{PROJECTS_PATH}/import"
ALWAYS_OPEN = ("/health", "/ready")
"""What a supervisor asks: answered without a token and however busy the service is."""

WRITES = ("POST", "PUT", "DELETE", "PATCH")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Guard:
    """Refuses what must not get in; hands on the rest with its body read whole.

    Reading it here bounds bodies however they are sent, in chunks or slowly, in one place.
    """

    def __init__(
        self, app: ASGIApp, *, token: str | None, hosts: Collection[str] | None = LOOPBACK
    ) -> None:
        """`hosts` are the names by which the service may be called; None is for any."""
        self._app, self._hosts = app, hosts
        self._token = None if token is None else token.encode()
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in ALWAYS_OPEN:
            await self._app(scope, receive, send)
            return
        self._in_flight += 1
        try:
            headers = Headers(scope=scope)
            self._check_load()
            self._check_host(headers)
            self._check_origin(scope["method"], headers)
            self._check_token(scope["path"], headers)
            if scope["method"] in WRITES:
                receive = await _with_whole_body(scope, headers, receive)
        except Refusal as refusal:
            await error_response(refusal, scope)(scope, receive, send)
        except _GoneError:
            pass
        else:
            await self._app(scope, receive, send)
        finally:
            self._in_flight -= 1

    def _check_load(self) -> None:
        if self._in_flight > MAX_IN_FLIGHT:
            raise Refusal(
                "overloaded",
                f"{MAX_IN_FLIGHT} requests are being answered already; ask again in a moment",
                headers={"Retry-After": "1"},
            )

    def _check_host(self, headers: Headers) -> None:
        """A page elsewhere could give its own name our address, and then be our origin."""
        if self._hosts is None:
            return
        name = _host_name(headers.get("host", ""))
        if name not in self._hosts:
            raise Refusal(
                "forbidden_origin",
                f"expected a request to {' or '.join(self._hosts)}, found the host {name!r}; "
                "a service that is to be known by other names needs a token (--token)",
            )

    def _check_origin(self, method: str, headers: Headers) -> None:
        origin = headers.get("origin")
        if method not in WRITES or origin is None:
            return
        if _place(origin) != headers.get("host", "").lower():
            raise Refusal(
                "forbidden_origin",
                f"expected a request from this service's own page, found the origin {origin!r} at "
                f"the host {headers.get('host', '')!r}; a proxy in front of it has to hand on the "
                "host that the browser asked for (nginx: `proxy_set_header Host $host`, with "
                "`:$server_port` where that is no usual one)",
            )

    def _check_token(self, path: str, headers: Headers) -> None:
        """The page itself is open, since it is what asks for the token."""
        is_open = not path.startswith("/api/") and path != "/metrics"
        if self._token is None or is_open:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), self._token)
        if scheme.lower() != "bearer" or not is_right:
            raise Refusal(
                "unauthorised",
                "expected the header `Authorization: Bearer TOKEN` with the service's token, "
                f"found {'another token' if given else 'none'}",
                headers={"WWW-Authenticate": "Bearer"},
            )


class _GoneError(Exception):
    """The client went away while it sent its body."""


async def _with_whole_body(scope: Scope, headers: Headers, receive: Receive) -> Receive:
    """What the routes receive from: the body in one piece, then whatever comes after it."""
    is_import = scope["path"] == IMPORT_PATH
    is_project = scope["path"].startswith(PROJECTS_PATH)
    limit = MAX_PROJECT_BODY_BYTES if is_project else MAX_BODY_BYTES
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)
    try:
        body = await asyncio.wait_for(_read(receive, limit), BODY_SECONDS)
    except TimeoutError:
        raise Refusal(
            "bad_request",
            f"expected the body within {BODY_SECONDS:.0f} s, found it unfinished",
            status=400,
        ) from None
    _check_media_type(headers, body, "text/csv" if is_import else "application/json")
    message: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def replayed() -> Message:
        nonlocal message
        if message is None:
            return await receive()
        first, message = message, None
        return first

    return replayed


async def _read(receive: Receive, limit: int) -> bytes:
    parts, size, is_more = [], 0, True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        is_more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> Refusal:
    # What is left of the body will not be read, so the connection is of no more use.
    return Refusal(
        "too_large",
        f"expected a body of at most {limit:,} bytes, found a larger one",
        headers={"Connection": "close"},
    )


def _check_media_type(headers: Headers, body: bytes, expected: str) -> None:
    found = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and found != expected:
        raise Refusal(
            "bad_request",
            f"expected the header `Content-Type: {expected}`, found {found or 'none'!r}",
            status=415,
        )


def _place(origin: str) -> str | None:
    """The host and port of an Origin header; None if it is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
