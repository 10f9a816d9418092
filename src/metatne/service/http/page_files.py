"""The page's files, read once when the service starts: no request ever reaches the disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from metatne.service.refusals import Refusal

PAGE = files("metatne.service") / "page"
INDEX = "index.html"
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "woff2": "font/woff2",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
"""What a page may consist of; a file of any other kind is not served."""


@dataclass(frozen=True)
class _File:
    data: bytes
    media_type: str
    tag: str


class PageFiles:
    """A fixed table of files by name."""

    def __init__(self, folder: Traversable = PAGE) -> None:
        self._files: dict[str, _File] = {}
        if folder.is_dir():
            self._read(folder, "")

    def _read(self, folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            name = prefix + entry.name
            kind = MEDIA_TYPES.get(entry.name.rpartition(".")[2])
            if entry.is_dir():
                self._read(entry, f"{name}/")
            elif kind is not None:
                data = entry.read_bytes()
                self._files[name] = _File(data, kind, f'"{hashlib.sha256(data).hexdigest()[:32]}"')

    def answer(self, request: Request, name: str) -> Response:
        """The file of this name, or that the browser has it already."""
        file = self._files.get(name)
        if file is None:
            what = "the page was not built into this installation" if name == INDEX else "no file"
            raise Refusal("bad_request", f"{what}; the API is under /api/v1", status=404)
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.data, media_type=file.media_type, headers=headers)
