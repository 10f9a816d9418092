"""Numbers for ids that are text, in the order of their first appearance."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from jaxtyping import Int32, Int64, UInt8, UInt64

from metatne.graph.loops import loop

UNSEEN = -1
"""Instead of a number: the table does not have this name yet."""

Unsigned: TypeAlias = Any
"""An np.uint64. Sums of them with others are not what NumPy's stubs say, once compiled."""

FREE = np.uint64(0)
BATCH = 512


class Names:
    """Distinct names, numbered as they come; a name is given as a slice of a block of bytes.

    A hash table with open addressing. A slot has half of a name's hash and its number plus
    one, so that a name's bytes are looked at only when it is most likely the right one, and
    memory is that of the distinct names, however often they come. Looking up changes
    nothing, so threads may do it at once; adding is for one.
    """

    def __init__(self) -> None:
        """No names yet."""
        self._slots: UInt64[np.ndarray, " slot"] = np.full(2**12, FREE)
        self._text: UInt8[np.ndarray, " byte"] = np.empty(2**16, dtype=np.uint8)
        self._starts: Int64[np.ndarray, " start"] = np.zeros(2**12, dtype=np.int64)
        self._num_names = 0

    def __len__(self) -> int:
        """How many names there are."""
        return self._num_names

    def look_up(
        self,
        data: UInt8[np.ndarray, " byte"],
        fields: Int32[np.ndarray, "line slot 2"],
        ends: Int32[np.ndarray, "line 2"],
    ) -> None:
        """Fill `ends` with the numbers of the first two fields of each line, UNSEEN if new."""
        _look_up(data, fields, self._slots, self._text, self._starts, ends)

    def add_unseen(
        self,
        data: UInt8[np.ndarray, " byte"],
        fields: Int32[np.ndarray, "line slot 2"],
        ends: Int32[np.ndarray, "line 2"],
    ) -> None:
        """Number the names that are UNSEEN in `ends`: source, target, next line."""
        line = 0
        while True:
            line, self._num_names = _add_unseen(
                data, fields, line, self._slots, self._text, self._starts, self._num_names, ends
            )
            if line == len(ends):
                return
            self._make_room(num_bytes=int(np.diff(fields[line, :2]).sum()))

    def array(self) -> Any:
        """The names in order, as an Arrow array over this table's own memory."""
        num_bytes = self._starts[self._num_names]
        return pa.LargeStringArray.from_buffers(
            self._num_names,
            pa.py_buffer(self._starts[: self._num_names + 1]),
            pa.py_buffer(self._text[:num_bytes]),
        )

    def _make_room(self, num_bytes: int) -> None:
        """Let two more names of so many bytes in all fit in."""
        num_names, used = self._num_names, int(self._starts[self._num_names])
        if not _has_text_room(self._text, used, num_bytes):
            self._text = _longer(self._text, used, 2 * (used + num_bytes))
        if not _has_name_room(self._starts, self._slots, num_names):
            self._starts = _longer(self._starts, num_names + 1, 2 * len(self._starts))
            self._slots = np.full(2 * len(self._slots), FREE)
            _insert_all(self._text, self._starts, num_names, self._slots)


def _longer(array: Any, used: int, length: int) -> Any:
    longer = np.empty(length, dtype=array.dtype)
    longer[:used] = array[:used]
    return longer


@loop
def _has_text_room(text: UInt8[np.ndarray, " byte"], used: int, num_bytes: int) -> bool:
    return used + num_bytes <= len(text)


@loop
def _has_name_room(
    starts: Int64[np.ndarray, " start"], slots: UInt64[np.ndarray, " slot"], num_names: int
) -> bool:
    """Whether two more names fit, with at least half of the slots free."""
    return num_names + 3 <= len(starts) and 2 * (num_names + 2) <= len(slots)


@loop
def _word(data: UInt8[np.ndarray, " byte"], place: Unsigned) -> Unsigned:
    """The 8 bytes from `place` on as a number, which the compiler makes one load.

    Places are unsigned here: of signed ones it would ask each time whether they are negative.
    """
    word = np.uint64(0)
    for byte in range(np.uint64(8)):
        word |= np.uint64(data[place + byte]) << (np.uint64(8) * byte)
    return word


@loop
def _mix(bits: Unsigned) -> Unsigned:
    """Bits that each depend on all of `bits` (the end of MurmurHash3)."""
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return bits ^ (bits >> np.uint64(33))


@loop
def _hash(data: UInt8[np.ndarray, " byte"], first: Unsigned, last: Unsigned) -> Unsigned:
    """64 bits from `data[first:last]`, 8 bytes at a time; the last 8 may overlap others."""
    eight = np.uint64(8)
    bits = last - first
    if bits < eight:
        word = np.uint64(0)
        for place in range(first, last):
            word = (word << eight) | np.uint64(data[place])
        return _mix(bits ^ (word << eight))
    place = first
    while place + eight < last:
        bits = _mix(bits ^ _word(data, place))
        place += eight
    return _mix(bits ^ _word(data, last - eight))


@loop
def _is_name(
    data: UInt8[np.ndarray, " byte"],
    first: Unsigned,
    last: Unsigned,
    text: UInt8[np.ndarray, " byte"],
    start: Unsigned,
    stop: Unsigned,
) -> bool:
    """Whether `data[first:last]` is `text[start:stop]`."""
    eight = np.uint64(8)
    length = last - first
    if stop - start != length:
        return False
    if length < eight:
        for place in range(length):  # noqa: SIM110 - numba knows no generators
            if data[first + place] != text[start + place]:
                return False
        return True
    done = np.uint64(0)
    while done + eight < length:
        if _word(data, first + done) != _word(text, start + done):
            return False
        done += eight
    return bool(_word(data, last - eight) == _word(text, stop - eight))


@loop
def _find(
    data: UInt8[np.ndarray, " byte"],
    first: Unsigned,
    last: Unsigned,
    bits: Unsigned,
    slots: UInt64[np.ndarray, " slot"],
    text: UInt8[np.ndarray, " byte"],
    starts: Int64[np.ndarray, " start"],
) -> Unsigned:
    """The slot of the name `data[first:last]` with the hash `bits`, or where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = bits & mask
    while slots[slot] != FREE:
        if _half(slots[slot]) == _half(bits):
            name = _number(slots[slot])
            start, stop = np.uint64(starts[name]), np.uint64(starts[name + 1])
            if _is_name(data, first, last, text, start, stop):
                break
        slot = (slot + np.uint64(1)) & mask
    return slot


@loop
def _half(bits: Unsigned) -> Unsigned:
    return bits >> np.uint64(32)


@loop
def _number(slot: Unsigned) -> int:
    """The number of the name in a slot, UNSEEN if the slot is free."""
    return int(np.uint32(slot)) - 1


@loop
def _slot_of(bits: Unsigned, name: int) -> Unsigned:
    return (_half(bits) << np.uint64(32)) | np.uint64(name + 1)


@loop
def _look_up(
    data: UInt8[np.ndarray, " byte"],
    fields: Int32[np.ndarray, "line slot 2"],
    slots: UInt64[np.ndarray, " slot"],
    text: UInt8[np.ndarray, " byte"],
    starts: Int64[np.ndarray, " start"],
    ends: Int32[np.ndarray, "line 2"],
) -> None:
    """See `Names.look_up`.

    A name takes three visits to memory that is rarely in the cache: slot, start, text. A
    batch goes through each of them together, so that the waits overlap (3 times faster).
    """
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BATCH, dtype=np.uint64)
    likely = np.empty(BATCH, dtype=np.int64)
    text_bounds = np.empty((BATCH, 2), dtype=np.uint64)
    num_ends = 2 * len(ends)
    for base in range(0, num_ends, BATCH):
        size = min(BATCH, num_ends - base)
        for place in range(size):
            line, end = (base + place) >> 1, (base + place) & 1
            first, last = np.uint64(fields[line, end, 0]), np.uint64(fields[line, end, 1])
            hashes[place] = _hash(data, first, last)
        for place in range(size):
            slot = slots[hashes[place] & mask]
            likely[place] = _number(slot) if _half(slot) == _half(hashes[place]) else UNSEEN
        for place in range(size):
            if likely[place] != UNSEEN:
                text_bounds[place, 0] = starts[likely[place]]
                text_bounds[place, 1] = starts[likely[place] + 1]
        for place in range(size):
            if likely[place] != UNSEEN:
                first = fields[(base + place) >> 1, (base + place) & 1, 0]
                is_alike = text[text_bounds[place, 0]] == data[first]
                likely[place] = likely[place] if is_alike else UNSEEN
        for place in range(size):
            line, end = (base + place) >> 1, (base + place) & 1
            first, last = np.uint64(fields[line, end, 0]), np.uint64(fields[line, end, 1])
            start, stop = text_bounds[place, 0], text_bounds[place, 1]
            name = likely[place]
            if name == UNSEEN or not _is_name(data, first, last, text, start, stop):
                slot = slots[_find(data, first, last, hashes[place], slots, text, starts)]
                name = _number(slot)
            ends[line, end] = name


@loop
def _add_unseen(
    data: UInt8[np.ndarray, " byte"],
    fields: Int32[np.ndarray, "line slot 2"],
    line: int,
    slots: UInt64[np.ndarray, " slot"],
    text: UInt8[np.ndarray, " byte"],
    starts: Int64[np.ndarray, " start"],
    num_names: int,
    ends: Int32[np.ndarray, "line 2"],
) -> tuple[int, int]:
    """The line, from `line` on, that there is no room for, and how many names there are then."""
    while line < len(ends):
        num_bytes = 0
        for end in range(2):
            num_bytes += fields[line, end, 1] - fields[line, end, 0]
        if not (
            _has_name_room(starts, slots, num_names)
            and _has_text_room(text, starts[num_names], num_bytes)
        ):
            break
        for end in range(2):
            if ends[line, end] != UNSEEN:
                continue
            first, last = np.uint64(fields[line, end, 0]), np.uint64(fields[line, end, 1])
            bits = _hash(data, first, last)
            slot = _find(data, first, last, bits, slots, text, starts)
            if slots[slot] == FREE:
                start = np.uint64(starts[num_names])
                for place in range(last - first):
                    text[start + place] = data[first + place]
                starts[num_names + 1] = start + (last - first)
                slots[slot] = _slot_of(bits, num_names)
                num_names += 1
            ends[line, end] = _number(slots[slot])
        line += 1
    return line, num_names


@loop
def _insert_all(
    text: UInt8[np.ndarray, " byte"],
    starts: Int64[np.ndarray, " start"],
    num_names: int,
    slots: UInt64[np.ndarray, " slot"],
) -> None:
    """Put names that are known to differ into free slots."""
    mask = np.uint64(len(slots) - 1)
    for name in range(num_names):
        bits = _hash(text, np.uint64(starts[name]), np.uint64(starts[name + 1]))
        slot = bits & mask
        while slots[slot] != FREE:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _slot_of(bits, name)
