"""MATLAB files (version 5 to 7) with a `network` (n x n) and a `group` (n x labels).

SciPy reads such files too, but on a damaged one it can read past its own arrays and take
the program down without a word. The two matrices need little of the format:

    file      128 bytes of header, then variables, packed (zlib) or not
    variable  flags, dimensions, name, then the values: (row indices, column bounds,)  numbers
    part      type and size in 4 bytes each, then the content, padded to 8 bytes; or, where
              the content has up to 4 bytes, type and size in 2 bytes each, then the content
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from metatne.free_memory import unpack_limit
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.readers.matrices import edges_from_matrix, labels_from_matrix
from metatne.graph.readers.text import read_bytes, too_large_unpacked, wrong_file

NAMES = ("network", "group")
HEADER_SIZE = 128
MATRIX, COMPRESSED = 14, 15
DTYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
SPARSE, DENSE = 5, range(6, 16)
COMPLEX_FLAG = 0x800
HDF5_MAGIC = b"\x89HDF"


class _DamagedError(Exception):
    """Why a file cannot be read, in words for its user."""


def read_matlab(path: Path, *, weighted: bool | None = None) -> tuple[RawEdges, RawLabels | None]:
    """The graph of a MATLAB file, with labels if `group` is there; nodes are 0 … n-1."""
    data = read_bytes(path)
    if data.startswith(HDF5_MAGIC) or b"MATLAB 7.3" in data[:HEADER_SIZE]:
        raise wrong_file(path, "a MATLAB file of version 5 to 7", "version 7.3; save it with -v7")
    try:
        variables = _read_variables(path, data)
    except (_DamagedError, struct.error, zlib.error) as error:
        raise wrong_file(path, "a MATLAB file of version 5 to 7", str(error)) from error
    if "network" not in variables:
        raise wrong_file(path, "the variable 'network' (and 'group')", "no such variable")
    network = variables["network"]
    edges = edges_from_matrix(network, source=str(path), weighted=weighted)
    if "group" not in variables:
        return edges, None
    num_rows, num_nodes = variables["group"].shape[0], network.shape[0]
    if num_rows != num_nodes:  # first: a few bytes can claim billions of rows
        found = f"{num_rows:,} and {num_nodes:,}"
        raise wrong_file(path, "as many rows in 'group' as in 'network'", found)
    return edges, labels_from_matrix(variables["group"], source=str(path))


def _read_variables(path: Path, data: bytes) -> dict[str, Any]:
    order = {b"IM": "<", b"MI": ">"}.get(data[HEADER_SIZE - 2 : HEADER_SIZE])
    if order is None:
        raise _DamagedError("something else")
    variables: dict[str, Any] = {}
    place = HEADER_SIZE
    while place < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        piece = data[place + 8 : place + 8 + size]
        if len(piece) < size:
            raise _DamagedError("a file that ends in the middle of a variable")
        place += 8 + size
        if kind == COMPRESSED:
            piece = _unpack(path, piece)
            kind, size = struct.unpack_from(f"{order}II", piece, 0)
            piece = piece[8 : 8 + size]
        if kind != MATRIX or len(piece) < size:
            raise _DamagedError("a variable that is cut or of an unknown kind")
        parts = _parts(order, piece)
        try:
            flags, dims, name = (next(parts)[1] for _ in range(3))
        except (StopIteration, RuntimeError):
            raise _DamagedError("a variable without a name") from None
        called = name.decode("latin-1")
        if called in NAMES:
            variables[called] = _matrix(called, order, flags, dims, list(parts))
    return variables


def _unpack(path: Path, packed: bytes) -> bytes:
    limit = unpack_limit(len(packed))
    unpacked = zlib.decompressobj().decompress(packed, limit + 1)
    if len(unpacked) > limit:
        raise too_large_unpacked(path, limit)
    return unpacked


def _parts(order: str, piece: bytes) -> Iterator[tuple[int, bytes]]:
    """The type and the content of each part of a variable."""
    place = 0
    while place < len(piece):
        kind, size = struct.unpack_from(f"{order}II", piece, place)
        if kind >> 16:
            kind, size, start, end = kind & 0xFFFF, kind >> 16, place + 4, place + 8
        else:
            start = place + 8
            end = start + -(-size // 8) * 8
        content = piece[start : min(start + size, end)]
        if len(content) < size:
            raise _DamagedError("a part that ends outside its variable")
        yield kind, content
        place = end


def _matrix(
    name: str, order: str, flags: bytes, dims: bytes, parts: list[tuple[int, bytes]]
) -> Any:
    """The matrix in the parts of a variable, sparse or dense."""
    flag = struct.unpack_from(f"{order}I", flags)[0]
    shape = tuple(np.frombuffer(dims, f"{order}i4").tolist()) if len(dims) == 8 else ()
    array_class = flag & 0xFF
    # With no rows there may be billions of columns, each of them a label.
    if len(shape) != 2 or min(shape) < 1 or flag & COMPLEX_FLAG:
        raise _DamagedError(f"{name!r}, which is no real matrix")
    if array_class != SPARSE and array_class not in DENSE:
        raise _DamagedError(f"{name!r}, which is no matrix of numbers")
    values = [_numbers(name, order, kind, content) for kind, content in parts]
    if array_class != SPARSE:
        if not values or len(values[0]) != shape[0] * shape[1]:
            raise _DamagedError(f"{name!r} with another number of values than {shape} asks for")
        return values[0].reshape(shape, order="F")
    if len(values) < 3 or len(values[1]) != shape[1] + 1:
        raise _DamagedError(f"{name!r} without the indices of a sparse matrix")
    rows, bounds, numbers = values[:3]
    num_entries = int(bounds[-1])
    # MATLAB reserves room for more entries than there are.
    if not 0 <= num_entries <= min(len(rows), len(numbers)):
        raise _DamagedError(f"{name!r} with fewer entries than its indices ask for")
    entries = (numbers[:num_entries], rows[:num_entries], bounds)
    try:
        matrix = sp.csc_array(entries, shape=shape)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise _DamagedError(f"{name!r} with indices that do not fit ({error})") from error
    return matrix


def _numbers(name: str, order: str, kind: int, content: bytes) -> np.ndarray[Any, Any]:
    if kind not in DTYPES:
        raise _DamagedError(f"{name!r} with values that are no numbers")
    dtype = np.dtype(f"{order}{DTYPES[kind]}")
    if len(content) % dtype.itemsize:
        raise _DamagedError(f"{name!r} with a broken number")
    # SciPy wants the byte order of the machine.
    return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))
