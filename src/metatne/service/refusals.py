"""Why a request is not answered: a code that programs read, and a message for people."""

from __future__ import annotations

import math
from typing import Any

from metatne.errors import (
    ConfigError,
    ConflictError,
    FileFormatError,
    InputError,
    LabelError,
    MetaTNEError,
    ProjectError,
    ServiceError,
    StorageError,
    SupportError,
    UnknownNodeError,
)
from metatne.service.answers import ErrorCode

STATUS: dict[ErrorCode, int] = {
    "bad_request": 422,
    "unknown_node": 422,
    "unknown_model": 404,
    "unknown_project": 404,
    "bad_support": 422,
    "conflict": 409,
    "nothing_to_undo": 409,
    "too_large": 413,
    "unauthorised": 401,
    "forbidden_origin": 403,
    "overloaded": 503,
    "loading": 503,
    "storage": 503,
    "not_supported": 409,
    "no_graph": 409,
    "cancelled": 503,
    "internal": 500,
}
"""The HTTP status of each code, unless the refusal says otherwise."""

_CODES: tuple[tuple[type[MetaTNEError], ErrorCode], ...] = (
    (UnknownNodeError, "unknown_node"),
    (SupportError, "bad_support"),
    (LabelError, "bad_request"),
    (FileFormatError, "bad_request"),
    (ConflictError, "conflict"),
    (ConfigError, "not_supported"),
    (InputError, "bad_request"),
)
_FIELDS = ("positives", "negatives", "candidates", "prior", "node", "top")


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """A request that is answered with an error."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        field: str | None = None,
        status: int | None = None,
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
        for_log: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field
        self.status = STATUS[code] if status is None else status
        self.headers = headers or {}
        self.more = more or {}
        """What stands beside the error in the body: both versions of a conflict."""

        self.for_log = message if for_log is None else for_log
        """What the log says, which may name files: clients are not told where they lie."""

    @property
    def is_trouble(self) -> bool:
        """Whether somebody has to look after it; to load, to be busy and to stop is usual."""
        return self.status >= 500 and self.code not in ("loading", "overloaded", "cancelled")


def refusal_of(error: MetaTNEError) -> Refusal:
    """What an error of the library is over HTTP."""
    message = str(error)
    if isinstance(error, ServiceError):
        seconds = 1 if error.retry_after is None else math.ceil(error.retry_after)
        headers = {"Retry-After": str(seconds)}
        if isinstance(error, StorageError):
            told = (
                f"the service cannot write to its file of label projects ({error.reason}), so "
                "nothing was changed; see that its disk has room, and look into its log"
            )
            return Refusal("storage", told, headers=headers, for_log=message)
        return Refusal("overloaded", message, headers=headers)
    if isinstance(error, ProjectError):
        told = "the service cannot read its file of label projects; its log says what to do"
        return Refusal("storage", told, status=500, for_log=message)
    for kind, code in _CODES:
        if isinstance(error, kind):
            field = message.partition(":")[0]
            more = {}
            if isinstance(error, ConflictError):
                more = {"yours": error.yours, "theirs": error.theirs}
            return Refusal(code, message, field=field if field in _FIELDS else None, more=more)
    return Refusal("internal", message)
