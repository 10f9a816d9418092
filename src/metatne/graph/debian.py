"""The graph that comes with the package: Debian's packages, their links and their tags.

`scripts/build_debian_graph.py` makes the file from a package index; this module is the
file's format and the way from it to a `Graph`. The file is a chain of xz streams, so
`xz -dc debian.xz | head -n 1` shows the header:

    one line of JSON    what follows: the names of the lists and the types of the arrays
    lists of names      one name a line, ascending
    arrays              little-endian unsigned integers
"""

from __future__ import annotations

import hashlib
import json
import lzma
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import UInt32

from metatne.errors import DatasetError
from metatne.graph.build import build_graph
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.store import Graph

FILE = "debian.xz"
SHA256 = "4783453d0ff63a475f7f8a2afdd77d6074ce0ed813b6aa1a2e98ad9d7286c1ad"
FORMAT_VERSION = 1

LISTS = ("packages", "tags")
ARRAYS = ("num_links", "links", "tagging", "held_tags")

# Names are text. Numbers are two bytes wide (lp=1, pb=1), and that alone saves a tenth.
TEXT_FILTER = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}
NUMBER_FILTER = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lp": 1, "pb": 1}


@dataclass(frozen=True)
class PackageIndex:
    """Packages, the packages they name, and their tags, by position in two sorted lists."""

    release: str
    """Which index this is, for people."""

    packages: list[str]
    tags: list[str]
    num_links: UInt32[np.ndarray, " package"]
    """How many links each package declares; an edge stands with one of its two packages."""

    links: UInt32[np.ndarray, " link"]
    """The packages at the other end, package after package."""

    tagging: UInt32[np.ndarray, " package"]
    """0 for a package that nobody tagged, else 1 + how many of `tags` it holds."""

    held_tags: UInt32[np.ndarray, " held"]
    """The tags held, package after package."""


def debian_graph() -> Graph:
    """The embedded graph; packages without tags are unannotated: their labels are unknown."""
    data = files("metatne.graph").joinpath("data", FILE).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise DatasetError(
            f"the embedded graph is damaged: {FILE} should have SHA-256 {SHA256}, "
            f"found {found}; install metatne again"
        )
    return graph_of(decode(data))


def graph_of(index: PackageIndex) -> Graph:
    """Packages as nodes, links as edges, tags as labels."""
    packages: Any = pa.array(index.packages, pa.large_string())
    declaring = np.repeat(np.arange(len(packages)), index.num_links)
    edges = RawEdges(
        sources=packages.take(pa.array(declaring)),
        targets=packages.take(pa.array(index.links)),
        nodes=packages,
    )
    is_tagged = index.tagging > 0
    holders = np.repeat(np.arange(len(packages)), np.where(is_tagged, index.tagging, 1) - 1)
    labels = RawLabels(
        nodes=packages.take(pa.array(holders)),
        labels=pa.array(index.tags, pa.large_string()).take(pa.array(index.held_tags)),
        unannotated=packages.filter(pa.array(~is_tagged)),
        names=index.tags,
        source=FILE,
    )
    return build_graph(edges, labels, name="debian")


def encode(index: PackageIndex) -> bytes:
    """The index as a file; the same index gives the same bytes (with the same liblzma)."""
    lists: dict[str, list[str]] = {name: getattr(index, name) for name in LISTS}
    arrays = {name: _narrow(getattr(index, name)) for name in ARRAYS}
    header = {
        "format": "metatne-debian",
        "version": FORMAT_VERSION,
        "release": index.release,
        "lists": {name: len(values) for name, values in lists.items()},
        "arrays": {name: [array.dtype.str, len(array)] for name, array in arrays.items()},
    }
    text = [json.dumps(header), *(name for values in lists.values() for name in values)]
    streams = [_compress("".join(f"{line}\n" for line in text).encode(), TEXT_FILTER)]
    streams += [_compress(array.tobytes(), NUMBER_FILTER) for array in arrays.values()]
    return b"".join(streams)


def decode(data: bytes) -> PackageIndex:
    """The index that `encode` wrote."""
    content = lzma.decompress(data)
    header = json.loads(content[: content.index(b"\n")])
    if header["format"] != "metatne-debian" or header["version"] != FORMAT_VERSION:
        raise DatasetError(
            f"expected format metatne-debian, version {FORMAT_VERSION}, "
            f"found {header['format']}, version {header['version']}"
        )
    num_lines = 1 + sum(header["lists"].values())
    *lines, numbers = content.split(b"\n", num_lines)
    names = iter(line.decode() for line in lines[1:])
    parts: dict[str, Any] = {
        name: [next(names) for _ in range(length)] for name, length in header["lists"].items()
    }
    place = 0
    for name, (kind, length) in header["arrays"].items():
        values = np.frombuffer(numbers, kind, count=length, offset=place)
        place += values.nbytes
        parts[name] = values.astype(np.uint32)
    return PackageIndex(release=header["release"], **parts)


def _narrow(array: UInt32[np.ndarray, " any"]) -> np.ndarray[Any, Any]:
    return array.astype("<u2" if array.size == 0 or array.max() < 2**16 else "<u4")


def _compress(data: bytes, filter_: dict[str, int]) -> bytes:
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=[filter_])
