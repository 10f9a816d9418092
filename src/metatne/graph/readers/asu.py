"""Data sets of Arizona State University (BlogCatalog, Flickr): a zip archive or its folder.

    data/edges.csv          node,node
    data/group-edges.csv    node,group
    data/nodes.csv          all nodes, one a line (optional)
    data/groups.csv         all groups, one a line (optional)

An archive is read in memory and never unpacked to disk.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pyarrow as pa

from metatne.errors import InputError
from metatne.free_memory import unpack_limit
from metatne.graph.raw import NumberedEdges, RawLabels
from metatne.graph.readers.delimited import parse_edge_list
from metatne.graph.readers.fields import integers_if_all_are
from metatne.graph.readers.label_text import parse_labels
from metatne.graph.readers.text import (
    Text,
    check_text,
    load_text,
    too_large_unpacked,
    wrong_file,
)

EDGES, LABELS, NODES, GROUPS = "edges.csv", "group-edges.csv", "nodes.csv", "groups.csv"

DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    UnicodeDecodeError,
)
"""What zipfile raises on damaged archives."""


def read_asu(path: Path) -> tuple[NumberedEdges, RawLabels | None]:
    """The edges and labels of a data set, from its zip archive or its folder."""
    if path.is_dir():
        return _read(path, _folder(path))
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, _archive(path, archive))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except DAMAGED as error:
        raise wrong_file(path, "a whole zip archive", f"a damaged one ({error})") from error
    except (OSError, RuntimeError) as error:  # zipfile says RuntimeError of a missing password
        raise InputError(f"{path} cannot be read: {error}") from error


_Open = Callable[[str], Text | None]


def _folder(path: Path) -> _Open:
    def find(name: str) -> Text | None:
        found = next((p for p in (path / "data" / name, path / name) if p.is_file()), None)
        return None if found is None else load_text(found)

    return find


def _archive(path: Path, archive: zipfile.ZipFile) -> _Open:
    def find(name: str) -> Text | None:
        found = [
            member for member in archive.infolist() if PurePosixPath(member.filename).name == name
        ]
        # macOS adds shadows of all files in a folder of its own.
        found = [member for member in found if not member.filename.startswith("__MACOSX/")]
        if not found:
            return None
        member = min(found, key=lambda member: len(member.filename))
        place = f"{path}/{member.filename}"
        data = b""
        # The sizes that the archive states may be lies, so what comes out is measured.
        limit = unpack_limit(path.stat().st_size)
        if member.file_size <= limit:
            with archive.open(member) as stream:
                data = stream.read(limit + 1)
        if max(len(data), member.file_size) > limit:
            raise too_large_unpacked(place, limit)
        return check_text(place, data)

    return find


def _read(path: Path, find: _Open) -> tuple[NumberedEdges, RawLabels | None]:
    edge_text, label_text = find(EDGES), find(LABELS)
    if edge_text is None:
        raise wrong_file(path, f"{EDGES} (and {LABELS}, {NODES}, {GROUPS})", f"no {EDGES}")
    edges = parse_edge_list(edge_text, delimiter=",", header=False)
    nodes, groups = find(NODES), find(GROUPS)
    if nodes is not None:
        edges = replace(
            edges, nodes=integers_if_all_are(pa.array(_column(nodes), pa.large_string()))
        )
    if label_text is None:
        return edges, None
    labels = parse_labels(label_text, kind="pairs", delimiter=",", header=False)
    if groups is not None:
        labels = replace(labels, names=_column(groups))
    return edges, labels


def _column(text: Text) -> list[str]:
    lines = text.lines(is_comment=lambda number, line: False)
    return [line.split(",")[0].strip() for _, line in lines]
