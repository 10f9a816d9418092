"""Text files as they are found: packed or not, with any line ending, and mended by nobody."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from metatne.errors import MAX_SHOWN, BadLine, FileFormatError, InputError
from metatne.free_memory import unpack_limit

MAX_UNPACKED = 16 * 2**30
"""Bytes that a packed file may unpack to while it goes by in blocks."""

GZIP_MAGIC = b"\x1f\x8b"
COMMENT_MARKS = ("#", "%")
CHUNK = 2**24


@dataclass(frozen=True)
class Text:
    """The checked content of a text file: UTF-8, no byte order mark, lines that end with \\n.

    `path` is only a name for messages; it may lead into an archive.
    """

    path: str
    data: bytes

    def lines(
        self, is_comment: Callable[[int, str], bool] = lambda number, line: True
    ) -> Iterator[tuple[int, str]]:
        """The lines that say something, with their numbers: no blank ones, no comments.

        `is_comment` is asked about lines that begin with # or %; all of them are by default.
        """
        stream = io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8", newline="\n")
        for number, line in enumerate(stream, 1):
            content = line.strip(" \t\r\n")
            line = line.rstrip("\r\n")
            if content and not (content.startswith(COMMENT_MARKS) and is_comment(number, line)):
                yield number, line


@dataclass
class BadLines:
    """Collects what is wrong with a file, to say it all at once."""

    path: str
    shown: list[BadLine] = field(default_factory=list)
    num_bad: int = 0

    def add(self, line: int, expected: str, found: str) -> None:
        """Note one bad line."""
        self.num_bad += 1
        if self.num_bad <= MAX_SHOWN:
            self.shown.append(BadLine(line, expected, found))

    def raise_if_any(self) -> None:
        """Raise `FileFormatError` for the lines noted so far."""
        if self.num_bad:
            raise FileFormatError(self.path, self.shown, num_bad=self.num_bad)


def wrong_file(path: object, expected: str, found: str, *, line: int = 1) -> FileFormatError:
    """The error for a file that is wrong as a whole, or from `line` on."""
    return FileFormatError(path, [BadLine(line, expected, found)])


def too_large_unpacked(path: object, limit: int) -> FileFormatError:
    """The error for a packed file that unfolds into more than there is room for."""
    return wrong_file(
        path,
        f"at most {limit:,} bytes unpacked (as free memory and the size of the file allow)",
        "more; if you trust the file, unpack it yourself and name what comes out",
    )


def quoted(text: str) -> str:
    """`text` in quotes, cut where it is too long for a message."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


@contextmanager
def open_unpacked(path: Path, *, is_kept: bool = False) -> Iterator[IO[bytes]]:
    """A file to be read, unpacked on the way if it is gzip; what goes wrong is an input error.

    Of a gzip file no more comes out than there is room for, if it `is_kept` in memory as a
    whole: beyond lies a mistake or an attack.
    """
    try:
        with path.open("rb") as stream:
            if stream.peek(2)[:2] != GZIP_MAGIC:
                yield stream
            else:
                limit = unpack_limit(path.stat().st_size) if is_kept else MAX_UNPACKED
                with gzip.open(stream) as unpacked:
                    yield cast(IO[bytes], _Bounded(path, cast(IO[bytes], unpacked), limit))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory, but a file was expected") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise wrong_file(path, "a whole gzip file", f"a damaged one ({error})") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


class _Bounded(io.RawIOBase):
    """A stream that ends with an error when too much comes out of it."""

    def __init__(self, path: Path, stream: IO[bytes], limit: int) -> None:
        self._path, self._stream, self._limit, self._size = path, stream, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), CHUNK))
        self._size += len(data)
        if self._size > self._limit:
            raise too_large_unpacked(self._path, self._limit)
        buffer[: len(data)] = data
        return len(data)


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it is gzip."""
    with open_unpacked(path, is_kept=True) as stream:
        return stream.read()


def load_text(path: Path) -> Text:
    """The text of a file, or an error that names the line that is not UTF-8 text."""
    return check_text(str(path), read_bytes(path))


def check_text(path: str, data: bytes) -> Text:
    """`data` as text under the name `path`, or an error that names the line that is none."""
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if data.startswith(mark):
            raise wrong_file(path, "UTF-8 text", "UTF-16 text; save the file as UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    place = data.find(b"\0")
    if place >= 0:
        line = data.count(b"\n", 0, place) + 1
        raise wrong_file(path, "text", "a NUL byte, which no text has", line=line)
    _check_utf8(path, data)
    return Text(path, data)


def _check_utf8(path: str, data: bytes) -> None:
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(data), CHUNK):
        # What the decoder keeps from the chunk before belongs to the character at its start.
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(view[start : start + CHUNK], start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            place = start - kept + error.start
            line = data.count(b"\n", 0, place) + 1
            raise wrong_file(
                path,
                "UTF-8 text",
                f"byte 0x{data[place]:02x}, which is none; save the file as UTF-8",
                line=line,
            ) from error
