"""A graph on disk: `graph.json`, one `.npy` file an array, and `ids.arrow`.

    graph.json      format version, fingerprint, names, and the size and checksums of each file
    ids.arrow       the node ids (Arrow IPC)
    *.npy           the arrays, named in `ARRAYS`

Opening maps the files, so a graph may be larger than memory. Before that every byte is held
against its checksum, which takes as long as reading the files does; the header has its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from metatne.errors import GraphError
from metatne.integrity import SEAL, file_checksum, is_whole, parse_json, sealed
from metatne.storage import new_directory, write_json

FORMAT = "metatne-graph"
FORMAT_VERSION = 2
UNSEALED = 1
"""The version before this one, whose header has no checksum."""

HEADER = "graph.json"
IDS = "ids.arrow"

ARRAYS = {
    "indptr": ("int64",),
    "indices": ("int32", "int64"),
    "weights": ("float32",),
    "id_order": ("int64",),
    "holds_indptr": ("int64",),
    "holds_nodes": ("int32", "int64"),
    "unknown_indptr": ("int64",),
    "unknown_nodes": ("int32", "int64"),
    "lacks_indptr": ("int64",),
    "lacks_nodes": ("int32", "int64"),
    "unannotated": ("bool",),
}
"""The arrays that a graph may have, with the types they may have."""

REQUIRED = ("indptr", "indices", "id_order", "holds_indptr", "holds_nodes")

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Parts:
    """A graph taken apart, as it lies on disk."""

    ids: Any
    arrays: Arrays
    header: dict[str, Any]


def digests(ids: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, str]:
    """The SHA-256 of every part, by the name of its file without the ending."""
    found = {"ids": _ids_digest(ids)}
    for name, array in arrays.items():
        digest = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
        found[name] = digest.hexdigest()
    return found


def _ids_digest(ids: Any) -> str:
    digest = hashlib.sha256(f"{ids.type} {len(ids)} ".encode())
    if pa.types.is_int64(ids.type):
        digest.update(np.ascontiguousarray(ids.to_numpy()).data)
    elif len(ids):
        _, bounds, text = ids.buffers()
        offsets = np.frombuffer(bounds, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
        digest.update((offsets - offsets[0]).data)
        # Empty ids are refused, so there is text where there are ids.
        digest.update(memoryview(text)[offsets[0] : offsets[-1]])
    return digest.hexdigest()


def save_parts(path: Path, parts: Parts, *, overwrite: bool) -> None:
    """Write the parts as a directory, whole or not at all."""
    if overwrite and path.exists() and not (path / HEADER).is_file():
        raise GraphError(f"{path} is not a saved graph, so it is not overwritten; name another")
    with new_directory(path, overwrite=overwrite) as folder:
        write_ids(folder / IDS, parts.ids)
        for name, array in parts.arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        files = {
            file.name: {
                "size": file.stat().st_size,
                "digest": parts.header["digests"][file.stem],
                "checksum": file_checksum(file),
            }
            for file in sorted(folder.iterdir())
        }
        header = {name: value for name, value in parts.header.items() if name != "digests"}
        write_json(
            folder / HEADER,
            sealed({"format": FORMAT, "version": FORMAT_VERSION, **header, "files": files}),
        )


def write_ids(path: Path, ids: Any) -> None:
    """Write an Arrow array of node ids so that `map_ids` can map it."""
    batch = pa.record_batch([ids], names=["id"])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def open_parts(path: Path) -> Parts:
    """Map the files of a saved graph; anything amiss is an error that names the file."""
    header = _read_header(path)
    files = header["files"]
    for name, facts in files.items():
        _check_file(path / name, facts)
    missing = [name for name in (IDS, *(f"{array}.npy" for array in REQUIRED)) if name not in files]
    if missing:
        raise _broken(path / HEADER, f"it does not list {', '.join(missing)}")
    arrays = {
        name: _map_array(path / f"{name}.npy", ARRAYS[name])
        for name in ARRAYS
        if f"{name}.npy" in files
    }
    ids = map_ids(path / IDS)
    _check_shapes(path, len(ids), arrays)
    if header["version"] == UNSEALED:  # which has no other checksums
        check_digests(path, files, digests(ids, arrays))
    _check_ranges(path, len(ids), arrays)
    return Parts(ids, arrays, header)


def check_digests(path: Path, files: dict[str, Any], found: dict[str, str]) -> None:
    """Refuse parts that are not those whose digests the header has."""
    for file, facts in files.items():
        if found.get(Path(file).stem) != facts["digest"]:
            raise _changed(path / file)


def _read_header(path: Path) -> dict[str, Any]:
    header_path = path / HEADER
    if not path.exists():
        raise GraphError(f"there is no saved graph at {path}")
    if not header_path.is_file():
        raise GraphError(
            f"{path} is not a saved graph: it has no {HEADER}; "
            "a saved graph is a directory that Graph.save or `metatne graph import` wrote"
        )
    try:
        header = parse_json(header_path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise _broken(header_path, f"it cannot be read as JSON ({error})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise GraphError(f"{header_path} is not the header of a saved graph")
    if header.get("version") not in (UNSEALED, FORMAT_VERSION):
        raise GraphError(
            f"{header_path} has format version {header.get('version')!r}, and this version of "
            f"metatne reads version {FORMAT_VERSION}; build the graph again"
        )
    is_sealed = header["version"] != UNSEALED or SEAL in header
    if is_sealed and not is_whole(header):
        raise _changed(header_path)
    try:
        is_sound = (
            all(isinstance(facts["size"], int) for facts in header["files"].values())
            and all(isinstance(facts["digest"], str) for facts in header["files"].values())
            and all("checksum" in facts or not is_sealed for facts in header["files"].values())
            and all(isinstance(header[name], str) for name in ("name", "fingerprint"))
            and all(isinstance(name, str) for name in header["label_names"])
            and isinstance(header["report"], dict)
        )
    except (KeyError, TypeError, AttributeError):
        is_sound = False
    if not is_sound:
        raise _broken(header_path, "entries are missing or of the wrong kind")
    return header


def _check_file(file: Path, facts: dict[str, Any]) -> None:
    try:
        size = file.stat().st_size
    except OSError:
        raise _broken(file, "it is missing") from None
    if size != facts["size"]:
        raise _broken(file, f"it has {size:,} bytes, but {HEADER} says {facts['size']:,}")
    if "checksum" in facts and file_checksum(file) != facts["checksum"]:
        raise _changed(file)


def _map_array(file: Path, dtypes: tuple[str, ...]) -> np.ndarray[Any, Any]:
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise _broken(file, f"it cannot be read as an array ({error})") from error
    if not isinstance(array, np.memmap) or array.ndim != 1 or array.dtype.name not in dtypes:
        found = f"{getattr(array, 'ndim', '?')} dimensions of {getattr(array, 'dtype', '?')}"
        raise _broken(file, f"expected one dimension of {' or '.join(dtypes)}, found {found}")
    # A plain view of the mapped memory: the memmap class only slows indexing down.
    return np.asarray(array)


def map_ids(file: Path) -> Any:
    """The Arrow array of node ids in `file`, left on disk."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(file), "r")).read_all()
        ids = table.column("id")
        ids.validate(full=True)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise _broken(file, f"it cannot be read as Arrow data ({error})") from error
    if ids.type not in (pa.int64(), pa.large_string()) or ids.num_chunks > 1:
        raise _broken(file, f"expected one batch of int64 or large_string, found {ids.type}")
    return ids.chunk(0) if ids.num_chunks else pa.array([], ids.type)


def _check_shapes(path: Path, num_nodes: int, arrays: Arrays) -> None:
    expected = {"indptr": num_nodes + 1, "id_order": num_nodes, "unannotated": num_nodes}
    if "weights" in arrays:
        expected["weights"] = len(arrays["indices"])
    for name, length in expected.items():
        if name in arrays and len(arrays[name]) != length:
            raise _broken(
                path / f"{name}.npy", f"it has {len(arrays[name]):,} values, expected {length:,}"
            )
    for kind in ("unknown", "lacks"):
        if (f"{kind}_indptr" in arrays) != (f"{kind}_nodes" in arrays):
            raise _broken(path / f"{kind}_nodes.npy", f"it needs {kind}_indptr.npy and the reverse")


def _check_ranges(path: Path, num_nodes: int, arrays: Arrays) -> None:
    """Refuse numbers that lead out of an array: compiled loops and SciPy follow them unasked.

    Checksums are no help against who writes a graph on purpose.
    """
    rows = {"indptr": "indices"} | {
        f"{kind}_indptr": f"{kind}_nodes" for kind in ("holds", "unknown", "lacks")
    }
    for name, nodes in rows.items():
        if name not in arrays:
            continue
        bounds = arrays[name]
        ends = (bounds[0], bounds[-1]) if len(bounds) else None
        if ends != (0, len(arrays[nodes])) or (bounds[1:] < bounds[:-1]).any():
            raise _broken(path / f"{name}.npy", f"expected it to cut {nodes}.npy into rows")
    for name in ("id_order", *rows.values()):
        values = arrays.get(name)
        if values is not None and len(values) and not 0 <= values.min() <= values.max() < num_nodes:
            raise _broken(path / f"{name}.npy", f"expected nodes from 0 to {num_nodes - 1:,}")


def _changed(file: Path) -> GraphError:
    return _broken(file, "its content is not what was saved")


def _broken(file: Path, what: str) -> GraphError:
    return GraphError(f"{file} is damaged: {what}; build or copy the graph again")
