"""Edge lists to read: random edges, a few nodes with very many, a line each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8

from metatne.compiled import compiled
from metatne.seeding import numpy_generator

LINES_A_BLOCK = 1_000_000
LINES_A_NODE = 10
DIGITS_OF_NAMES = 8


def write_edge_file(path: Path, num_lines: int, *, prefix: str = "") -> None:
    """Write so many edges, tab-separated, among a tenth as many nodes.

    Ids are integers, or with a prefix names like "node-00001234". Node of rank r is drawn in
    proportion to r^-1/2, which gives degrees a tail of exponent 3; ranks and ids have nothing
    to do with each other.
    """
    num_nodes = max(num_lines // LINES_A_NODE, 2)
    ids = numpy_generator(0, "ids of an edge file").permutation(num_nodes)
    letters = np.frombuffer(prefix.encode("ascii"), dtype=np.uint8)
    width = DIGITS_OF_NAMES if prefix else 1
    longest = 2 * (len(prefix) + 20 + 1)
    with path.open("wb") as file:
        for block, start in enumerate(range(0, num_lines, LINES_A_BLOCK)):
            size = min(LINES_A_BLOCK, num_lines - start)
            uniform = numpy_generator(0, "edges of a file", block).random((size, 2))
            ends = ids[(num_nodes * uniform**2).astype(np.int64)]
            text = np.empty(size * longest, dtype=np.uint8)
            file.write(text[: _write_lines(ends, letters, width, text)].data)


@compiled
def _write_lines(
    ends: Int64[np.ndarray, "line 2"],
    prefix: UInt8[np.ndarray, " letter"],
    width: int,
    text: UInt8[np.ndarray, " byte"],
) -> int:
    """Write the lines into `text`; how many bytes they take."""
    digits = np.empty(20, dtype=np.uint8)
    size = 0
    for line in range(len(ends)):
        for end in range(2):
            for letter in prefix:
                text[size] = letter
                size += 1
            number = ends[line, end]
            num_digits = 0
            while number > 0 or num_digits < width:
                digits[num_digits] = ord("0") + number % 10
                number //= 10
                num_digits += 1
            for place in range(num_digits):
                text[size + place] = digits[num_digits - 1 - place]
            size += num_digits
            text[size] = ord("\n") if end else ord("\t")
            size += 1
    return size
