"""The fields of plain lines, found byte by byte in a block of a file.

These loops know lines without quotes, comments or anything else that is out of the ordinary,
and say so as soon as they meet any; a careful reader then takes over.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64, UInt8

from metatne.graph.loops import loop
from metatne.graph.readers.fields import WHITESPACE

DELIMITERS = (",", "\t", ";", "|", ":", WHITESPACE)
"""Delimiters that are neither a mark of comments nor a character of numbers."""

PLAIN, BLANK, DELIMITER, NEWLINE, RETURN, ODD = range(6)
"""What a byte can be."""

IRREGULAR = -1
"""Instead of a number of lines: not all of them are plain."""


def byte_kinds(delimiter: str) -> UInt8[np.ndarray, " 256"]:
    """What each byte is in a file with this delimiter, one of `DELIMITERS`."""
    kinds = np.full(256, PLAIN, dtype=np.uint8)
    kinds[ord("\n")], kinds[ord("\r")], kinds[0] = NEWLINE, RETURN, ODD
    kinds[ord(" ")] = kinds[ord("\t")] = BLANK
    if delimiter != WHITESPACE:
        kinds[ord(delimiter)] = DELIMITER
        kinds[ord('"')] = ODD  # between blanks a quote is a character like any other
    return kinds


@loop
def find_fields(
    data: UInt8[np.ndarray, " byte"],
    kinds: UInt8[np.ndarray, " 256"],
    blanks_separate: bool,
    slots: Int32[np.ndarray, " field"],
    fields: Int32[np.ndarray, "line slot 2"],
) -> int:
    """How many lines the data has, blank ones apart, or IRREGULAR; a newline must end it.

    Field f of a line, without the blanks around it, goes from `fields[line, slots[f], 0]` up
    to `fields[line, slots[f], 1]`; where `slots[f]` is -1 nobody asks for it.
    """
    line = 0
    place = 0
    while place < len(data):
        while kinds[data[place]] == BLANK:
            place += 1
        if data[place] == ord("#") or data[place] == ord("%"):
            return IRREGULAR
        field = 0
        while True:  # over the fields of a line; a blank line has none
            first = last = place
            kind = kinds[data[place]]
            while kind == PLAIN or (kind == BLANK and not blanks_separate):
                place += 1
                if kind == PLAIN:
                    last = place
                kind = kinds[data[place]]
            while kinds[data[place]] == BLANK:
                place += 1
            kind = kinds[data[place]]
            if kind == RETURN:
                place += 1  # not beyond the end, which is a newline
                kind = kinds[data[place]]
                if kind != NEWLINE:
                    return IRREGULAR
            is_blank_line = field == 0 and first == last and kind == NEWLINE
            if is_blank_line:
                break
            if field == len(slots) or kind == ODD:
                return IRREGULAR
            if slots[field] >= 0:
                if first == last:
                    return IRREGULAR
                fields[line, slots[field], 0] = first
                fields[line, slots[field], 1] = last
            field += 1
            if kind == NEWLINE:
                break
            if kind == DELIMITER:
                place += 1
                while kinds[data[place]] == BLANK:
                    place += 1
        place += 1
        if field == len(slots):
            line += 1
        elif field > 0:
            return IRREGULAR
    return line


@loop
def parse_integers(
    data: UInt8[np.ndarray, " byte"],
    fields: Int32[np.ndarray, "line slot 2"],
    limit: int,
    ends: Int32[np.ndarray, "line 2"],
) -> bool:
    """Fill `ends` with the first two fields; False if one is no integer of 0 … `limit`.

    Only the usual decimal text counts, since "07" is not the id "7".
    """
    for line in range(len(ends)):
        for end in range(2):
            first = fields[line, end, 0]
            last = fields[line, end, 1]
            if last - first > 10 or (data[first] == ord("0") and last - first > 1):
                return False
            value = 0
            for place in range(first, last):
                digit = int(data[place]) - ord("0")
                if digit < 0 or digit > 9:
                    return False
                value = 10 * value + digit
            if value > limit:
                return False
            ends[line, end] = value
    return True


@loop
def is_ascii(data: UInt8[np.ndarray, " byte"]) -> bool:
    """Whether no byte has its highest bit set."""
    seen = np.uint8(0)
    for byte in data:
        seen |= byte
    return bool(seen < 128)


@loop
def next_line(data: UInt8[np.ndarray, " byte"], place: int) -> int:
    """Where the line after the one at `place` begins; the data must end with a newline."""
    while data[place] != ord("\n"):
        place += 1
    return place + 1


@loop
def join_fields(
    data: UInt8[np.ndarray, " byte"],
    fields: Int32[np.ndarray, "line slot 2"],
    slot: int,
    bounds: Int64[np.ndarray, " bound"],
    text: UInt8[np.ndarray, " joined"],
) -> None:
    """Put the fields in `slot` one after the other; that of a line begins at `bounds[line]`."""
    for line in range(len(fields)):
        shift = fields[line, slot, 0] - bounds[line]
        for place in range(bounds[line], bounds[line + 1]):
            text[place] = data[place + shift]
