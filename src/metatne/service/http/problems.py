"""Every error in one shape, whoever found it: this package, FastAPI or Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from metatne.errors import MetaTNEError
from metatne.service.answers import Answer, ErrorCode
from metatne.service.refusals import Refusal, refusal_of

REQUEST_ID = "metatne.request_id"
TROUBLE = "metatne.trouble"
"""Where in a scope the log finds what went wrong."""

MAX_PROBLEMS = 5
_ANY: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])

_CODES: dict[int, ErrorCode] = {401: "unauthorised", 403: "forbidden_origin", 413: "too_large"}


class Json(Response):
    """A body of JSON that a worker thread may have made already."""

    media_type = "application/json"

    def __init__(
        self,
        answer: Answer | bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        data = answer if isinstance(answer, bytes) else as_json(answer)
        super().__init__(data, status, headers=dict(headers or {}))


def as_json(answer: Answer) -> bytes:
    """The answer as it travels."""
    return answer.model_dump_json(by_alias=True).encode()


def error_response(refusal: Refusal, scope: Scope) -> Response:
    """The refusal as it travels; what somebody has to look after goes into the log."""
    if refusal.is_trouble:
        scope[TROUBLE] = refusal.for_log
    return Json(error_body(refusal, scope), refusal.status, refusal.headers)


def error_body(refusal: Refusal, scope: Scope) -> bytes:
    """The one shape of all errors, with what some have beside it."""
    body: dict[str, Any] = {
        "error": {
            "code": refusal.code,
            "message": refusal.message,
            "field": refusal.field,
            "request_id": scope.get(REQUEST_ID, ""),
        }
    } | refusal.more
    return _ANY.dump_json(body)


def install(app: FastAPI) -> None:
    """Let the app answer every error in our shape."""

    async def answered(request: Request, error: Exception) -> Response:
        return error_response(refusal_of_any(error), request.scope)

    for kind in (Exception, Refusal, MetaTNEError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answered)


def refusal_of_any(error: Exception) -> Refusal:
    """What any error is over HTTP."""
    match error:
        case Refusal():
            return error
        case MetaTNEError():
            return refusal_of(error)
        case HTTPException():
            return _of_status(error)
        case RequestValidationError():
            return refusal_of_problems(error.errors())
    return unexpected()


def unexpected() -> Refusal:
    """A mistake of ours: what happened stands in the log, under the request's id."""
    return Refusal(
        "internal", "something went wrong here; the log has more under this request's id"
    )


def refusal_of_problems(problems: Sequence[Any]) -> Refusal:
    """What pydantic found wrong with a request, the first few of it by field."""
    for problem in problems:
        if problem["type"] == "json_invalid":
            reason = problem.get("ctx", {}).get("error", "")
            return Refusal("bad_request", f"the body is no JSON: {reason}", status=400)
    by_field: dict[str, list[Any]] = {}
    for problem in problems:
        by_field.setdefault(_field(problem["loc"]) or "body", []).append(problem)
    told = []
    for field, same in list(by_field.items())[:MAX_PROBLEMS]:
        found = same[0].get("input")
        shown = "" if isinstance(found, dict | list | bytes) else f", found {str(found)[:60]!r}"
        # Of a union there is one for each branch.
        told.append(f"{field}: {', or '.join(problem['msg'] for problem in same)}{shown}")
    if len(by_field) > MAX_PROBLEMS:
        told.append(f"… and {len(by_field) - MAX_PROBLEMS} more")
    is_too_long = any(problem["type"] == "too_long" for problem in problems)
    return Refusal(
        "too_large" if is_too_long else "bad_request",
        "\n".join(told),
        field=_field(problems[0]["loc"]),
    )


def _field(place: Sequence[Any]) -> str | None:
    """A place as programmers write it: positives[2], filter.holds."""
    text = ""
    for part in place[1:]:  # the first says body, query or path
        if isinstance(part, int):
            text += f"[{part}]"
        elif not _is_kind(str(part)):
            text += f".{part}" if text else str(part)
    return text or None


def _is_kind(part: str) -> bool:
    """Whether it names a branch of a union, which is no field of anybody's."""
    return part in ("int", "str", "constrained-int", "constrained-str") or "[" in part


def _of_status(error: HTTPException) -> Refusal:
    code = _CODES.get(error.status_code, "bad_request")
    messages = {
        404: "there is nothing here; /api/v1/openapi.json lists what there is",
        405: "this cannot be done here; /api/v1/openapi.json lists what can",
    }
    return Refusal(
        "internal" if error.status_code >= 500 else code,
        messages.get(error.status_code, str(error.detail)),
        status=error.status_code,
        headers=dict(error.headers or {}),
    )
