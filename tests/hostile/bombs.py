"""Bombs: files of some kilobytes that unfold into a hundred megabytes."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa

from hostile import seeds
from metatne import free_memory
from metatne.errors import MetaTNEError
from metatne.graph.readers import read_graph

MIB = 2**20
FREE, UNFOLDED = 16 * MIB, 64 * MIB


def gzip_bomb() -> bytes:
    return gzip.compress(bytes(UNFOLDED), compresslevel=1)


def zip_bomb() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("edges.csv", bytes(UNFOLDED))
    return stream.getvalue()


def lying_zip_bomb() -> bytes:
    """An archive that states a small size of what it holds."""
    size = struct.pack("<I", UNFOLDED)
    return zip_bomb().replace(size, struct.pack("<I", 10))


def matlab_bomb() -> bytes:
    packed = zlib.compress(struct.pack("<II", 14, UNFOLDED) + bytes(UNFOLDED), 1)
    return b"MATLAB 5.0".ljust(124) + b"\0\1IM" + struct.pack("<II", 15, len(packed)) + packed


def parquet_runs() -> bytes:
    """One number, millions of times."""
    column = pa.array(np.zeros(UNFOLDED // 16, dtype=np.int64))
    return seeds.parquet(source=column, target=column)


def parquet_dictionary() -> bytes:
    """One long text, thousands of times."""
    places = pa.array(np.zeros(UNFOLDED // 2**16, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 2**16]))
    return seeds.pq_bytes(pa.table({"source": column, "target": column}), store_schema=False)


BOMBS = {
    "graph.csv.gz": gzip_bomb,
    "graph.graphml.gz": gzip_bomb,
    "graph.zip": zip_bomb,
    "lying.zip": lying_zip_bomb,
    "graph.mat": matlab_bomb,
    "runs.parquet": parquet_runs,
    "texts.parquet": parquet_dictionary,
}


def refusals(paths: list[str]) -> list[list[str]]:
    """Of each file, how it is refused where little memory is free; for a process of its own."""
    free_memory.available_memory = lambda: FREE
    return [_refusal(path) for path in paths]


def _refusal(path: str) -> list[str]:
    try:
        read_graph(path)
    except MetaTNEError as error:
        return [type(error).__name__, str(error)]
    return ["nothing", ""]
