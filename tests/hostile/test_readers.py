"""Strangers' bytes, for seconds: seeds as they are, seeds that are damaged, and bombs.

The long form is `make fuzz`; the promise is in `targets.py`.
"""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import seeds
from hostile.bombs import BOMBS, MIB, UNFOLDED
from hostile.targets import TARGETS, Target
from metatne.bench.measuring import peak_memory
from metatne.errors import FileFormatError, OutOfMemoryError
from metatne.free_memory import unpack_limit
from metatne.graph.readers import plain_lines, read_graph

REFUSED = {
    "edges": {"utf-16", "latin-1", "nul", "weights", "comments", "unclosed"},
    "gzip": {"utf-16", "latin-1", "nul", "weights", "comments", "unclosed", "cut"},
    "labels": {"joined", "contradiction", "nul"},
    "graphml": {"encoding", "unknown-encoding", "billion-laughs", "outside", "deep"}
    | {"again", "weight", "hyperedge"},
    "matlab": {"struct", "cells", "text", "complex", "cube", "nan", "version-4"},
    "zip": {"empty"},
    "parquet": {"dictionary", "nulls", "weights", "nested", "maps", "bytes", "dates"}
    | {"name", "empty", "no-rows"},
    "parquet-labels": {"deep-lists", "structs"},
    "nodes": {"support", "bad"},
    "support": {"nodes", "bad", "paths"},
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_what_is_read_and_what_is_refused(target: Target, tmp_path: Path) -> None:
    refused = {
        name
        for name, data in target.seeds().items()
        if target.try_bytes(data, tmp_path) is not None
    }
    assert refused == REFUSED[target.name]


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_damaged_files_are_read_or_refused(
    target: Target, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp(target.name)

    @settings(max_examples=30, derandomize=True, database=None)
    @given(damaged(list(target.seeds().values())))
    def holds(data: bytes) -> None:
        target.try_bytes(data, folder)

    holds()


@st.composite
def damaged(draw: st.DrawFn, whole: list[bytes]) -> bytes:
    """A seed with bytes changed, left out, put in, or a piece of another one in its middle."""
    data = bytearray(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        end = place + draw(st.integers(0, 8))
        odd = st.sampled_from([b"\0", b"\xff", b"\r", b'"', b"nan", b"\xef\xbb\xbf", b"9" * 30])
        data[place:end] = draw(st.binary(max_size=8) | odd)
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))] + draw(st.sampled_from(whole))
    return bytes(data)


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    assert TARGETS["zip"].try_bytes(seeds.zipped()["outside"], folder) is None
    assert [path.name for path in folder.iterdir()] == ["graph.zip"]
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_ids_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(seeds.NUMBERS_AND_PATHS)
    ids = read_graph(path).node_ids
    for name in ("007", "1e5", "../../etc/passwd", "/dev/null", "=1+1", "nan", "0x10"):
        assert name in ids
    assert [found.name for found in tmp_path.iterdir()] == ["edges.txt"]


def test_bombs_are_refused_before_they_unfold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", f"{tests}:{os.environ.get('PYTHONPATH', '')}")
    for name, bomb in BOMBS.items():
        (tmp_path / name).write_bytes(bomb())
        assert (tmp_path / name).stat().st_size < 4 * MIB
    found = peak_memory("hostile.bombs:refusals", [str(tmp_path / name) for name in BOMBS])
    for name, (kind, message) in zip(BOMBS, found.result, strict=True):
        assert kind == FileFormatError.__name__, f"{name}: {message}"
        assert name in message
    assert found.peak - found.before < UNFOLDED // 2


def test_a_matrix_cannot_claim_more_rows_than_there_are_nodes(tmp_path: Path) -> None:
    whole = seeds.matlab()["sparse"]
    start = whole.rindex(struct.pack("<iiii", 5, 8, 3, 2), 0, whole.index(b"group")) + 8
    path = tmp_path / "graph.mat"
    path.write_bytes(whole[:start] + struct.pack("<i", 2**31 - 1) + whole[start + 4 :])
    with pytest.raises(FileFormatError, match="as many rows in 'group' as in 'network'"):
        read_graph(path)


def test_edges_that_go_by_in_blocks_stop_while_there_is_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(b"1 2\n" * 100_000))
    monkeypatch.setattr(plain_lines, "EDGES_A_BLOCK", 1_000)
    monkeypatch.setattr(plain_lines, "BLOCK", 4_096)
    monkeypatch.setattr(plain_lines, "available_memory", lambda: 50_000)
    with pytest.raises(OutOfMemoryError, match="the edges read so far take"):
        read_graph(path)


def labels_that_grow() -> dict[str, bytes]:
    return {"edges.csv": b"1 2\n", "labels.csv.gz": gzip.compress(b"1 2\n" * 150_000)}


def matrix_that_grows() -> dict[str, bytes]:
    return {"graph.mat": seeds.mat(do_compression=True, network=np.ones((600, 600), np.int8))}


def xml_that_grows() -> dict[str, bytes]:
    whole = seeds.graphml()["whole"]
    return {"graph.graphml.gz": gzip.compress(whole.replace(b"red", b"a;" * 300_000))}


@pytest.mark.parametrize("files", [labels_that_grow, matrix_that_grows, xml_that_grows])
def test_what_takes_more_apart_than_there_is_is_not_taken_apart(
    files: Callable[[], dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacked it would fit: its numbers and words would not."""
    for name, data in files().items():
        (tmp_path / name).write_bytes(data)
    sources = [tmp_path / name for name in files()]
    monkeypatch.setattr("metatne.free_memory.available_memory", lambda: 20 * MIB)
    with pytest.raises(OutOfMemoryError, match=f"{sources[-1]}: what is in it takes about"):
        read_graph(*sources)


def test_what_may_unpack_depends_on_memory_and_on_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    free = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=1_600 * MIB))
    monkeypatch.setattr("metatne.free_memory.psutil", free)
    monkeypatch.setattr("metatne.free_memory.OWN_CGROUPS", Path("/does/not/exist"))
    assert unpack_limit(0) == 100 * MIB
    assert unpack_limit(10 * MIB) == 320 * MIB
    assert unpack_limit(1_000 * MIB) == 800 * MIB
