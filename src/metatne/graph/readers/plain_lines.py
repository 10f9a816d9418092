"""Edges from plain lines: a file goes by in blocks, and only the numbers of its nodes stay.

Plain are lines with the right number of fields and nothing that asks for care (`scanning`).
Integers that lie close together are their own numbers at first and ranked in the end; all
other ids are numbered by a hash table as they come.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Int32, UInt8

from metatne.errors import OutOfMemoryError
from metatne.free_memory import available_memory, format_bytes
from metatne.graph.names import Names
from metatne.graph.numbering import MAX_SPREAD, rank_integers, sort_integers
from metatne.graph.raw import NumberedEdges
from metatne.graph.readers.fields import WHITESPACE, integers_if_all_are
from metatne.graph.readers.layout import LARGEST, SMALLEST, Layout
from metatne.graph.readers.scanning import (
    DELIMITERS,
    IRREGULAR,
    byte_kinds,
    find_fields,
    is_ascii,
    join_fields,
    next_line,
    parse_integers,
)
from metatne.graph.readers.text import Text, open_unpacked
from metatne.parallel import in_threads

BLOCK = 2**22
"""Bytes of a file in memory at a time."""

PIECE = 2**19
"""Bytes of a block that a thread takes at a time."""

EDGES_A_BLOCK = 2**22
"""Ends of so many edges take 32 MiB: what malloc always gives back to the system at once."""

MAX_INTEGER = 2**31 - 1

Ends = Int32[np.ndarray, "_line 2"]
Fields = Int32[np.ndarray, "_line _slot 2"]
Bytes = UInt8[np.ndarray, " _byte"]


class Irregular(Exception):  # noqa: N818 - it is no error: another reader takes over
    """Lines that are not plain, or that come before it can be told whether they are."""


@dataclass(frozen=True)
class Lines:
    """A text that can be read more than once, from a file or from memory."""

    path: str
    source: Path | bytes

    @classmethod
    def of_text(cls, text: Text) -> Lines:
        """The lines of a text in memory."""
        return cls(text.path, text.data)

    @classmethod
    def of_file(cls, path: Path) -> Lines:
        """The lines of a file, packed or not."""
        return cls(str(path), path)

    @property
    def size(self) -> int:
        """How many bytes there are, roughly; a packed file is taken to be several times longer."""
        if isinstance(self.source, bytes):
            return len(self.source)
        return self.source.stat().st_size * (4 if self.source.suffix == ".gz" else 1)

    def blocks(self) -> Iterator[Bytes]:
        """Whole lines, each with its newline, many at a time; a block lasts until the next."""
        buffer = bytearray(BLOCK + 1)
        data = np.frombuffer(buffer, dtype=np.uint8)
        size = 0
        with self._open() as stream:
            while (size := _fill(stream, memoryview(buffer)[:BLOCK], size)) == BLOCK:
                end = buffer.rfind(b"\n", 0, BLOCK) + 1
                if not end:
                    raise Irregular("a line that is longer than a block")
                yield data[:end]
                size -= end
                buffer[:size] = buffer[end:BLOCK]
        if size:
            buffer[size] = ord("\n")  # one blank line more, unless the last one had no end
            yield data[: size + 1]

    def _open(self) -> AbstractContextManager[IO[bytes]]:
        if isinstance(self.source, bytes):
            return nullcontext(io.BytesIO(self.source))
        return open_unpacked(self.source)


def _fill(stream: IO[bytes], buffer: memoryview, size: int) -> int:
    """Read on behind the first `size` bytes; how many there are then, all but at the end."""
    while num_read := cast(Any, stream).readinto(buffer[size:]):
        size += num_read
    return size


def read_plain_lines(lines: Lines, layout: Layout, start: int) -> NumberedEdges:
    """The edges from byte `start` on, which lies in the first block; else raises Irregular."""
    if layout.delimiter not in DELIMITERS:
        raise Irregular("an unusual delimiter")
    try:
        return _read(lines, layout, start, _CloseIntegers(max(MAX_SPREAD, lines.size)))
    except _NotClose:
        return _read(lines, layout, start, _Texts())


def _read(lines: Lines, layout: Layout, start: int, ids: _Ids) -> NumberedEdges:
    finder = _Finder(layout)
    edges = _EdgeBlocks(is_weighted=layout.columns.weight is not None)
    for block in lines.blocks():
        edges.add(in_threads(finder.find, _pieces(block[start:])), ids)
        start = 0
    ends, weights = edges.blocks()
    return NumberedEdges(ids.of(ends), ends, weights)


def _pieces(block: Bytes) -> Iterator[Bytes]:
    """About equal pieces of whole lines."""
    while len(block):
        stop = next_line(block, min(PIECE, len(block)) - 1)
        yield block[:stop]
        block = block[stop:]


class _Found(NamedTuple):
    """The lines of a piece: where in `data` their ids are, and their weights."""

    data: Bytes
    fields: Fields
    weights: Float32[np.ndarray, " line"] | None


class _Finder:
    """Finds the fields of lines with one layout."""

    def __init__(self, layout: Layout) -> None:
        self._kinds = byte_kinds(layout.delimiter)
        self._blanks_separate = layout.delimiter == WHITESPACE
        columns = layout.columns
        self._is_weighted = columns.weight is not None
        self._slots = np.full(layout.num_fields, -1, dtype=np.int32)
        self._slots[[columns.source, columns.target]] = 0, 1
        if columns.weight is not None:
            self._slots[columns.weight] = 2

    def find(self, data: Bytes) -> _Found:
        """The lines in a piece."""
        if not is_ascii(data):
            _check_utf8(data)
        shortest = len(self._slots) + 2  # a delimiter or newline a field, and two ids of a byte
        num_slots = 3 if self._is_weighted else 2
        fields = np.empty((len(data) // shortest + 1, num_slots, 2), dtype=np.int32)
        num_lines = find_fields(data, self._kinds, self._blanks_separate, self._slots, fields)
        if num_lines == IRREGULAR:
            raise Irregular("a line that is not plain")
        fields = fields[:num_lines]
        return _Found(data, fields, _parse_weights(data, fields) if self._is_weighted else None)


def _check_utf8(data: Bytes) -> None:
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError:
        raise Irregular("bytes that are not UTF-8") from None


def _parse_weights(data: Bytes, fields: Fields) -> Float32[np.ndarray, " line"]:
    """The third fields as numbers, read by Arrow, as in all other edge lists."""
    bounds = np.zeros(len(fields) + 1, dtype=np.int64)
    np.cumsum(fields[:, 2, 1] - fields[:, 2, 0], out=bounds[1:])
    text = np.empty(bounds[-1], dtype=np.uint8)
    join_fields(data, fields, 2, bounds, text)
    texts = pa.LargeStringArray.from_buffers(len(fields), pa.py_buffer(bounds), pa.py_buffer(text))
    try:
        values = texts.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        raise Irregular("a weight that is no plain number") from None
    if not ((values >= SMALLEST) & (values <= LARGEST)).all():
        raise Irregular("a weight out of range")
    weights: Float32[np.ndarray, " line"] = values.astype(np.float32)
    return weights


class _EdgeBlocks:
    """Edges in blocks that are never moved when more come."""

    def __init__(self, *, is_weighted: bool) -> None:
        self._ends: list[Ends] = []
        self._weights: list[Float32[np.ndarray, " _edge"]] = []
        self._is_weighted = is_weighted
        self._room = self._used = 0

    def add(self, found: list[_Found], ids: _Ids) -> None:
        """Add the lines found, with their nodes numbered by `ids`."""
        lengths = [len(piece.fields) for piece in found]
        num_lines = sum(lengths)
        if not self._ends or self._used + num_lines > self._room:
            self._trim()
            self._check_memory()
            self._room, self._used = max(EDGES_A_BLOCK, num_lines), 0
            self._ends.append(np.empty((self._room, 2), dtype=np.int32))
            if self._is_weighted:
                self._weights.append(np.empty(self._room, dtype=np.float32))
        bounds = list(pairwise(accumulate(lengths, initial=self._used)))
        pieces = [
            _Piece(piece.data, piece.fields, self._ends[-1][first:last])
            for piece, (first, last) in zip(found, bounds, strict=True)
        ]
        ids.number(pieces)
        for piece, (first, last) in zip(found, bounds, strict=True):
            if piece.weights is not None:
                self._weights[-1][first:last] = piece.weights
        self._used += num_lines

    def _check_memory(self) -> None:
        """Stop while there is still as much memory as the edges have taken so far."""
        taken = sum(block.nbytes for block in (*self._ends, *self._weights))
        if taken and taken > (available := available_memory()):
            raise OutOfMemoryError(
                f"the edges read so far take {format_bytes(taken)}, and {format_bytes(available)} "
                "are free: the file is too large for this machine, or was made to look so"
            )

    def _trim(self) -> None:
        if self._ends:
            self._ends[-1] = self._ends[-1][: self._used]
        if self._weights:
            self._weights[-1] = self._weights[-1][: self._used]

    def blocks(self) -> tuple[list[Ends], list[Float32[np.ndarray, " _edge"]] | None]:
        """The ends, and the weights where there are any."""
        self._trim()
        if not sum(map(len, self._ends)):
            raise Irregular("no edges")
        return self._ends, self._weights if self._is_weighted else None


class _Piece(NamedTuple):
    """Where in `data` the ids of lines are, and where the numbers of their nodes go."""

    data: Bytes
    fields: Fields
    ends: Ends


@runtime_checkable
class _Ids(Protocol):
    """A way to number ids."""

    def number(self, pieces: list[_Piece]) -> None:
        """Fill in numbers for the ids of the pieces."""

    def of(self, ends: list[Ends]) -> Any:
        """The ids in order, when all lines have come; `ends` are made to be places in it."""


class _NotClose(Exception):  # noqa: N818 - it is no error: they are numbered another way
    """Ids that are not integers from 0 to a limit."""


class _CloseIntegers:
    """Ids that are integers from 0 up, below `limit`."""

    def __init__(self, limit: int) -> None:
        self._largest = min(limit, MAX_INTEGER)

    def number(self, pieces: list[_Piece]) -> None:
        def parse(piece: _Piece) -> bool:
            return parse_integers(piece.data, piece.fields, self._largest, piece.ends)

        if not all(in_threads(parse, pieces)):
            raise _NotClose

    def of(self, ends: list[Ends]) -> Any:
        return rank_integers(ends)


class _Texts:
    """Ids of any kind, by their text; if all turn out to be integers, they become those."""

    def __init__(self) -> None:
        self._names = Names()

    def number(self, pieces: list[_Piece]) -> None:
        in_threads(lambda piece: self._names.look_up(*piece), pieces)
        for piece in pieces:
            self._names.add_unseen(*piece)

    def of(self, ends: list[Ends]) -> Any:
        ids = integers_if_all_are(self._names.array())
        return sort_integers(ids, ends) if pa.types.is_int64(ids.type) else ids
