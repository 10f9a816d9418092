"""A file from the web that arrives whole: resumed when cut, checked, put in place at once.

destination             only ever a whole, checked file
destination.part        what has arrived so far
destination.part.json   which remote file the part belongs to (address, ETag)
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any

from metatne.errors import DatasetError

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes in all, when the server says how many."""

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30.0
PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}


def download(
    url: str,
    destination: Path,
    *,
    sha256: str | None = None,
    expected_size: int | None = None,
    progress: Progress | None = None,
    num_attempts: int = 4,
    first_pause: float = 0.5,
) -> Path:
    """Bring `url` to `destination` and return it; one that is there and sound is kept.

    A cut transfer goes on where it stopped, in this call or in a later one, as long as the
    server still has the same file. Pauses between attempts double from `first_pause` seconds.
    """
    if urllib.parse.urlsplit(url).scheme.lower() not in ("http", "https"):
        raise DatasetError(f"only http and https addresses are downloaded, not {url!r}")
    expected = _Expected(sha256, expected_size)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _one_process(destination.parent):
            if destination.exists() and not expected.flaw(destination):
                return destination
            part = _Part.beside(destination)
            _fetch(url, part, expected, progress, num_attempts, first_pause)
            part.path.replace(destination)
            part.note_path.unlink(missing_ok=True)
    except (_TransferError, OSError) as error:
        kept = f" ({destination} was not touched)" if destination.exists() else ""
        raise DatasetError(
            f"could not download {url}: {error}{kept}; download it by hand and put it into "
            f"{destination.parent} as {destination.name}, or name the directory that "
            "has it (--data-dir DIR, data_dir=…, or the variable METATNE_DATA)"
        ) from error
    return destination


class _TransferError(Exception):
    """A transfer that failed; `may_pass` when another attempt can help."""

    def __init__(self, cause: object, *, may_pass: bool) -> None:
        super().__init__(str(cause))
        self.may_pass = may_pass


@dataclass(frozen=True)
class _Remote:
    """What tells one remote file from a later one at the same address."""

    url: str
    validator: str | None


@dataclass(frozen=True)
class _Expected:
    """What the whole file has to be, as far as that is known."""

    sha256: str | None
    size: int | None

    def flaw(self, path: Path) -> str:
        """What is wrong with the file, or nothing."""
        size = path.stat().st_size
        if self.size is not None and size != self.size:
            return f"expected {self.size} bytes, found {size}"
        if self.sha256 is not None and (found := file_sha256(path)) != self.sha256.lower():
            return f"expected SHA-256 {self.sha256.lower()}, found {found}"
        return ""


@dataclass(frozen=True)
class _Part:
    """The bytes that have arrived so far, and the note of where they come from."""

    path: Path
    note_path: Path

    @classmethod
    def beside(cls, destination: Path) -> _Part:
        name = destination.name
        return cls(
            destination.with_name(f"{name}.part"), destination.with_name(f"{name}.part.json")
        )

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def remote(self) -> _Remote | None:
        with suppress(OSError, ValueError, TypeError):  # a broken note is no note
            return _Remote(**json.loads(self.note_path.read_text(encoding="utf-8")))
        return None

    def start_over(self, remote: _Remote | None = None) -> None:
        self.path.unlink(missing_ok=True)
        self.note_path.unlink(missing_ok=True)
        if remote is not None:
            self.note_path.write_text(json.dumps(asdict(remote)), encoding="utf-8")


def _fetch(
    url: str,
    part: _Part,
    expected: _Expected,
    progress: Progress | None,
    num_attempts: int,
    first_pause: float,
) -> None:
    """Attempt after attempt, until the part is whole and sound."""
    for attempt in range(num_attempts):
        try:
            was_resumed = _transfer(url, part, expected, progress)
            flaw = expected.flaw(part.path)
            if not flaw:
                return
            part.start_over()
            # Two halves of different files can meet in a resumed part: that is worth one more try.
            raise _TransferError(f"{flaw}; what arrived was thrown away", may_pass=was_resumed)
        except _TransferError as error:
            if not error.may_pass:
                raise
            if attempt + 1 == num_attempts:
                raise _TransferError(f"{error} ({num_attempts} attempts)", may_pass=True) from error
        time.sleep(first_pause * 2**attempt)


def _transfer(
    url: str,
    part: _Part,
    expected: _Expected,
    progress: Progress | None,
) -> bool:
    """One attempt; True when it went on from bytes that were there before."""
    remote = part.remote()
    validator = remote.validator if remote is not None and remote.url == url else None
    # Without a validator only the checksum can tell whether both halves belong together.
    offset = part.size if validator or expected.sha256 else 0
    headers = {"User-Agent": "metatne", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if validator:
            headers["If-Range"] = validator
    try:
        response = _open(urllib.request.Request(url, headers=headers))
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and offset:
                if _range_of(error.headers)[1] == offset:
                    return True  # nothing was missing
                part.start_over()
                raise _TransferError("the remote file has changed", may_pass=True) from error
            raise _TransferError(
                f"the server answered {error.code} {error.reason}",
                may_pass=error.code in PASSING_STATUS,
            ) from error
    with response:
        start, total = _extent(response)
        if expected.size is not None and total not in (None, expected.size):
            # Before the part is touched: a log-in page must not cost what has arrived.
            raise _TransferError(
                f"expected {expected.size} bytes, the server has {total}", may_pass=False
            )
        if start not in (0, offset):
            part.start_over()
            raise _TransferError("the server sent another range than asked for", may_pass=True)
        if start == 0:
            part.start_over(_Remote(url, _validator_of(response.headers)))
        done = start
        with part.path.open("ab" if done else "wb") as file:
            while chunk := _read(response):
                file.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
            file.flush()
            os.fsync(file.fileno())
    if total is not None and done < total:
        raise _TransferError(f"the connection ended after {done} of {total} bytes", may_pass=True)
    return start > 0


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Which byte the answer starts at, and how long the whole file is.

    A 200 starts at 0: the first attempt, a server without ranges, or a file that changed.
    """
    if response.status == 206:
        start, total = _range_of(response.headers)
        return -1 if start is None else start, total
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _validator_of(headers: Message) -> str | None:
    """What If-Range can name; only a strong ETag promises the same bytes."""
    etag = headers.get("ETag", "")
    return etag if etag.startswith('"') else headers.get("Last-Modified")


def _range_of(headers: Message) -> tuple[int | None, int | None]:
    """First byte and length in all, of `Content-Range: bytes 5-9/10` or `bytes */10`."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", headers.get("Content-Range", ""))
    if match is None:
        return None, None
    start, total = match.groups()
    return int(start) if start else None, int(total) if total != "*" else None


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _TransferError(f"the connection broke: {error}", may_pass=True) from error


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https down to http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            raise _TransferError(f"the server redirects to {newurl}", may_pass=False)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(request: urllib.request.Request) -> http.client.HTTPResponse:
    opener = urllib.request.OpenerDirector()  # no file:, ftp: or data:, whatever a redirect says
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _SafeRedirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    try:
        response: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError:
        raise
    except urllib.error.URLError as error:
        is_lasting = isinstance(error.reason, ssl.SSLCertVerificationError | str)
        raise _TransferError(error.reason, may_pass=not is_lasting) from error
    except (OSError, http.client.HTTPException) as error:
        raise _TransferError(str(error) or type(error).__name__, may_pass=True) from error
    return response


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _one_process(directory: Path) -> Iterator[None]:
    """Two processes never write the same part: the second waits, and finds the file there.

    The directory itself is locked, so no lock file is left behind; where the file system
    or the platform has no such locks, the checksum is the last guard.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
