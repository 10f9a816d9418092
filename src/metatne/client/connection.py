"""The way to a service and back: requests, streams of events, and errors as the library's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pydantic import ValidationError

from metatne.errors import (
    ConflictError,
    GraphError,
    InputError,
    MetaTNEError,
    ModelFormatError,
    ProjectError,
    ServiceError,
    SupportError,
    UnknownNodeError,
)
from metatne.extras import needs_extra
from metatne.service.answers import Answer, Project

with needs_extra("client", "the client"):
    import httpx

Given = TypeVar("Given", bound=Answer)
Progress = Callable[[int, int], None]


class Connection:
    """To a service at an address, until it is closed."""

    def __init__(self, url: str, *, token: str | None, timeout: float) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

    def is_ready(self) -> bool:
        """Whether the service answers questions yet."""
        try:
            return self.http.get("/ready").status_code == 200
        except httpx.TransportError:
            return False

    def get(self, kind: type[Given], place: str, **query: Any) -> Given:
        """The answer to a question that is in the address."""
        return read(kind, self.send("GET", place, params=query).content)

    def post(self, kind: type[Given], place: str, body: dict[str, Any]) -> Given:
        """The answer to a question that is in the body."""
        return read(kind, self.send("POST", place, json=body).content)

    def send(self, method: str, place: str, **options: Any) -> httpx.Response:
        """What came back, if that is an answer; else the error that it tells of."""
        try:
            response = self.http.request(method, f"/api/v1{place}", **options)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        if not response.is_success or _is_page(response):
            raise _error_of(response.content, response)
        return response

    def stream(
        self, kind: type[Given], place: str, body: dict[str, Any], progress: Progress
    ) -> Given:
        """As `post`, with `progress` told how far the answer is."""
        headers = {"Accept": "text/event-stream"}
        try:
            with self.http.stream(
                "POST", f"/api/v1{place}", json=body, headers=headers
            ) as response:
                if not response.is_success or _is_page(response):
                    raise _error_of(response.read(), response)
                for name, data in _events(_lines(response.iter_text())):
                    if name == "progress":
                        told = json.loads(data)
                        progress(told["done"], told["total"])
                    elif name == "error":
                        raise _error_of(data.encode(), response)
                    else:
                        return read(kind, data.encode())
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        raise ServiceError("the service ended the answer before its result; ask again")

    def _unreachable(self, error: httpx.TransportError) -> ServiceError:
        return ServiceError(
            f"there is no answer from {self.http.base_url}: {error or type(error).__name__}; "
            "is `metatne serve` running there?"
        )


def read(kind: type[Given], content: bytes) -> Given:
    """An answer of the service; anything else may come from whatever stands before it."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise ServiceError(
            f"expected an answer of metatne, found {content[:60]!r}; is there a proxy in between, "
            "or a service of another version?"
        ) from error


def _is_page(response: httpx.Response) -> bool:
    """A page of HTML, such as a proxy shows to whoever has to log in."""
    kind: str = response.headers.get("content-type", "")
    return kind.startswith("text/html")


def _lines(parts: Iterator[str]) -> Iterator[str]:
    """Lines as the service ends them; `iter_lines` ends them at U+2028 in a name as well."""
    pending: list[str] = []
    for part in parts:
        first, *others = part.split("\n")
        pending.append(first)
        for line in others:
            yield "".join(pending)
            pending = [line]


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """The name and data of each event in a stream."""
    name, data = "", ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
        elif not line and name:
            yield name, data
            name, data = "", ""


def _error_of(content: bytes, response: httpx.Response) -> MetaTNEError:
    """The exception that the library would have raised."""
    try:
        body = json.loads(content)
        code, message = body["error"]["code"], body["error"]["message"]
    except (ValueError, KeyError, TypeError):
        kind = response.headers.get("content-type", "no content type")
        return ServiceError(
            f"expected an answer of metatne, found status {response.status_code} with {kind}; "
            "is there a proxy in between?"
        )
    if code == "conflict" and body.get("theirs") is not None:
        yours, theirs = (Project.model_validate(body[side]) for side in ("yours", "theirs"))
        return ConflictError(message, yours=yours, theirs=theirs)
    if code == "unknown_node":
        return _unknown_node(message)
    if code in ("overloaded", "loading", "storage", "cancelled", "internal"):
        wait = response.headers.get("retry-after", "")
        return ServiceError(message, retry_after=float(wait) if wait.isdecimal() else None)
    return _KINDS.get(code, InputError)(message)


def _unknown_node(message: str) -> UnknownNodeError:
    """With the service's message, since which nodes it would suggest stands there."""
    error = UnknownNodeError({})
    error.args = (message,)
    return error


_KINDS: dict[str, type[InputError]] = {
    "bad_support": SupportError,
    "unknown_model": ModelFormatError,
    "unknown_project": ProjectError,
    "no_graph": GraphError,
}
