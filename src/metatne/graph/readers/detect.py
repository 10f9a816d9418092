"""Which format a path has: by its ending, and where that says nothing, by its first bytes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from metatne.errors import InputError
from metatne.graph.readers.text import GZIP_MAGIC

FORMATS = ("edges", "parquet", "graphml", "matlab", "asu")
"""Graph formats: a delimited edge list, Parquet, GraphML, MATLAB, a zip of ASU's."""

BY_SUFFIX = {
    ".csv": "edges",
    ".tsv": "edges",
    ".edges": "edges",
    ".edgelist": "edges",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".graphml": "graphml",
    ".mat": "matlab",
    ".zip": "asu",
}

BY_MAGIC = (
    (b"PAR1", "parquet"),
    (b"PK\x03\x04", "asu"),
    (b"MATLAB", "matlab"),
    (b"\x89HDF", "matlab"),
    (b"<?xml", "graphml"),
    (b"<graphml", "graphml"),
)


def detect_format(path: Path) -> str:
    """The format of the file or folder at `path`."""
    if path.is_dir():
        return "asu"
    suffixes = [suffix.casefold() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if suffixes and suffixes[-1] in BY_SUFFIX:
        return BY_SUFFIX[suffixes[-1]]
    start = _first_bytes(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    return next((name for magic, name in BY_MAGIC if start.startswith(magic)), "edges")


def stem(path: Path) -> str:
    """The name of a file without its folder and its endings."""
    name = path.name
    for suffix in (".gz", *BY_SUFFIX, ".txt"):
        if name.casefold().endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
    return name or "graph"


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            start = stream.read(512)
        if start.startswith(GZIP_MAGIC):
            with gzip.open(path) as unpacked:
                return unpacked.read(512)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b""  # the reader will say what is wrong
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return start
