"""What the OpenAPI document says of errors, the same for every route."""

from __future__ import annotations

from typing import Any

from metatne.service.answers import ConflictAnswer, ErrorAnswer

Responses = dict[int | str, dict[str, Any]]

_MEANINGS = {
    400: "The body is no JSON, or came too slowly.",
    401: "The token is missing or wrong.",
    403: "The request came from a page elsewhere, or by a name that is not this service's.",
    404: "There is no such model, project or node.",
    409: "The model cannot do this, or it comes too late.",
    413: "The body or a list in it is too large.",
    415: "The body is of another kind than expected.",
    422: "A field is not what it should be.",
    503: "Too much to do, or models are being loaded: ask again after `Retry-After` seconds.",
}


def errors(*statuses: int, conflict: bool = False) -> Responses:
    """These errors, and those that any request may meet."""
    found: Responses = {
        status: {"model": ErrorAnswer, "description": _MEANINGS[status]}
        for status in sorted({401, 403, 503, *statuses})
    }
    if conflict:
        found[409] = {"model": ConflictAnswer, "description": "Somebody changed it meanwhile."}
    return found


OF_QUESTIONS = errors(400, 404, 409, 413, 415, 422)
OF_READING = errors(404, 422)
