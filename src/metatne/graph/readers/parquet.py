"""Parquet files, read piece by piece, so that a small one cannot unfold into all of memory.

A few bytes can say "this long text, a million times" (a dictionary), "this number, a billion times"
(a run), or unpack to gigabytes; what the file says of its own size need not be true. So what comes
out is counted, in pieces that are small even where the longest text comes in every row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from metatne.errors import InputError
from metatne.free_memory import unpack_limit
from metatne.graph.readers.text import too_large_unpacked, wrong_file

ROWS = 2**16
"""Rows of a piece, where no text is long."""


def read_parquet(path: Path) -> pa.Table:
    """The table in a Parquet file."""
    try:
        table = _read(path)
        table.validate(full=True)  # text that is not UTF-8 would fail much later
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise wrong_file(path, "a Parquet file", f"something else ({error})") from error
    return table


def _read(path: Path) -> pa.Table:
    with pyarrow.parquet.ParquetFile(path) as file:
        limit = unpack_limit(path.stat().st_size)
        pieces, size = [], 0
        for group in range(file.num_row_groups):
            num_rows = _rows_of_piece(path, file, group, limit)
            for piece in file.iter_batches(num_rows, row_groups=[group]):
                size += piece.nbytes
                if size > limit:
                    raise too_large_unpacked(path, limit)
                pieces.append(piece)
        return pa.Table.from_batches(pieces, schema=file.schema_arrow)


def _rows_of_piece(path: Path, file: Any, group: int, limit: int) -> int:
    """As many rows as cannot take more than the limit, whatever texts they repeat."""
    texts = [
        file.schema.column(column).path
        for column in range(len(file.schema))
        if file.schema.column(column).physical_type == "BYTE_ARRAY"
    ]
    if not texts or file.metadata.row_group(group).num_rows == 0:
        return ROWS
    # The first row brings the dictionaries of the group with it.
    with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as peeking:
        first = next(peeking.iter_batches(1, row_groups=[group]), None)
    longest = max((_longest(column) for column in first.columns), default=0) if first else 0
    return max(1, min(ROWS, limit // max(longest * len(texts), 1)))


def _longest(values: Any) -> int:
    """Bytes of the longest text in the dictionaries of a column, however deep they lie."""
    if pa.types.is_dictionary(values.type):
        return int(pc.max(pc.binary_length(values.dictionary)).as_py() or 0)
    if pa.types.is_struct(values.type):
        return max(map(_longest, values.flatten()), default=0)
    if pa.types.is_nested(values.type):
        return _longest(values.values)
    return 0
