"""Names by a part of them: prefixes by binary search, the rest by one pass over all names."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int64, UInt8

SEPARATOR = "\0"
"""Between names: no name that can be typed has it, so no match runs from one into the next."""

CHUNK_BYTES = 2**18
"""What is looked at together: it stays in the cache, and a search that has enough stops there."""


def folded(text: str) -> str:
    """`text` as it is compared: composed (NFC), and without case.

    Taking away case can leave letters apart from their accents, hence composed once more.
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


class Found(NamedTuple):
    """Positions of names, and whether there would have been more."""

    places: list[int]
    more: bool


class NameSearch:
    """The names of all nodes, or of all labels: without case, ascending, in one text.

    A search takes milliseconds a million names and gives other threads their turn.
    """

    def __init__(self, ids: pa.Array) -> None:
        """Over names, or over integers as they are written."""
        names = _folded_names(ids)
        order = np.asarray(pc.sort_indices(names), dtype=np.int64)
        self._order: Int64[np.ndarray, " name"] = order
        nothing, separator = (pa.scalar(text, pa.large_string()) for text in ("", SEPARATOR))
        ascending = pc.binary_join_element_wise(names.take(pa.array(order)), nothing, separator)
        _, bounds, text = ascending.buffers()
        start, size = ascending.offset, len(ascending)
        self._starts: Int64[np.ndarray, " bounds"] = np.frombuffer(bounds, np.int64)[
            start : start + size + 1
        ]
        self._text: UInt8[np.ndarray, " byte"] = (
            np.frombuffer(text, np.uint8) if size else np.zeros(0, dtype=np.uint8)
        )
        self._counts: Int64[np.ndarray, " value"] = np.bincount(self._text, minlength=256)

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._order)

    def find(self, text: str, limit: int) -> Found:
        """Up to `limit` names: those that begin with the text, then those that have it.

        Each in ascending order; all begin with the empty text.
        """
        wanted = folded(text).encode("utf-8", errors="surrogatepass")
        if SEPARATOR.encode() in wanted:
            return Found([], more=False)
        first, last = self._prefix_range(wanted)
        rows = list(range(first, min(last, first + limit + 1)))
        if len(rows) <= limit and wanted:
            for row in self._rows_with(wanted, passing_over=(first, last)):
                rows.append(row)
                if len(rows) > limit:
                    break
        return Found(self._order[rows[:limit]].tolist(), more=len(rows) > limit)

    def contains(self, text: str) -> Bool[np.ndarray, " name"]:
        """Whether each name has the text in it."""
        wanted = folded(text).encode("utf-8", errors="surrogatepass")
        found = np.zeros(len(self), dtype=bool)
        if not wanted:
            found[:] = True
        elif SEPARATOR.encode() not in wanted:
            for places in self._places(np.frombuffer(wanted, np.uint8), 0, len(self._text)):
                found[self._order[self._rows_of(places)]] = True
        return found

    def _prefix_range(self, wanted: bytes) -> tuple[int, int]:
        """The rows that begin with these bytes; UTF-8 sorts like the text that it stands for."""
        size = len(wanted)

        def beginning(row: int) -> bytes:
            start, end = int(self._starts[row]), int(self._starts[row + 1]) - 1
            return self._text[start : min(end, start + size)].tobytes()

        rows = range(len(self))
        first = bisect_left(rows, wanted, key=beginning)
        # Beginnings ascend, so those that are equal to the text end before any that is larger.
        last = bisect_left(rows, True, lo=first, key=lambda row: beginning(row) > wanted)
        return first, last

    def _rows_with(self, wanted: bytes, *, passing_over: tuple[int, int]) -> Iterator[int]:
        """Rows that have the bytes, each once, but for a range of them that is known already."""
        pattern = np.frombuffer(wanted, np.uint8)
        before, after = (int(self._starts[row]) for row in passing_over)
        for start, stop in ((0, before), (after, len(self._text))):
            previous = -1
            for places in self._places(pattern, start, stop):
                for row in np.unique(self._rows_of(places)).tolist():
                    if row != previous:
                        yield row
                    previous = row

    def _rows_of(self, places: Int64[np.ndarray, " place"]) -> Int64[np.ndarray, " place"]:
        rows: Int64[np.ndarray, " place"] = np.searchsorted(self._starts, places, side="right") - 1
        return rows

    def _places(
        self, pattern: UInt8[np.ndarray, " byte"], start: int, stop: int
    ) -> Iterator[Int64[np.ndarray, " place"]]:
        """Where the pattern stands in the text, a chunk at a time.

        The bytes of the pattern that are rarest in the text are compared first: what NumPy does
        with a whole chunk is fast, and few places are left to look at.
        """
        size = len(pattern)
        by_rarity = np.argsort(self._counts[pattern], kind="stable").tolist()
        first, second = by_rarity[0], by_rarity[min(1, size - 1)]
        for low in range(start, stop - size + 1, CHUNK_BYTES):
            high = min(low + CHUNK_BYTES, stop - size + 1)
            is_likely = self._text[low + first : high + first] == pattern[first]
            is_likely &= self._text[low + second : high + second] == pattern[second]
            places = np.flatnonzero(is_likely) + low
            for byte in by_rarity[2:]:
                if not len(places):
                    break
                places = places[self._text[places + byte] == pattern[byte]]
            if len(places):
                yield places


def _folded_names(ids: pa.Array) -> pa.LargeStringArray:
    """The names without case; those in plain letters all at once, since most are."""
    names = ids.cast(pa.large_string())
    if pa.types.is_integer(ids.type):
        return names
    lower = pc.ascii_lower(names)
    others = np.flatnonzero(pc.invert(pc.string_is_ascii(names)))
    if not len(others):
        return lower
    mask = np.zeros(len(names), dtype=bool)
    mask[others] = True
    replaced = [folded(name) for name in names.take(pa.array(others)).to_pylist()]
    return pc.replace_with_mask(lower, pa.array(mask), pa.array(replaced, pa.large_string()))
