"""MATLAB files: what MATLAB and SciPy write is read, what is damaged is refused without a crash."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from metatne.errors import FileFormatError, InputError
from metatne.graph.readers import read_graph

PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], dtype=float)
GROUP = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=float)


def write(path: Path, do_compression: bool = False, **variables: Any) -> Path:
    scipy.io.savemat(path, variables, do_compression=do_compression)
    return path


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("kind", [sp.csc_array, np.asarray])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.int32, np.float32])
def test_matrices_of_any_kind(tmp_path: Path, is_packed: bool, kind: Any, dtype: Any) -> None:
    network, group = kind(PATH.astype(dtype)), kind(GROUP.astype(dtype))
    words = np.array(["a", "b"], dtype=object)
    path = write(tmp_path / "net.mat", is_packed, names=words, network=network, group=group)
    graph = read_graph(path, drop_isolated=True)
    assert graph.name == "net"
    assert graph.node_ids.take(range(3)) == [0, 1, 2]
    assert graph.num_edges == 2
    assert graph.weights is None
    assert graph.labels.names == ("0", "1")
    assert graph.labels.holders(1).tolist() == [1, 2]


def test_labels_are_optional_and_weights_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "net.mat", network=2 * PATH)
    graph = read_graph(path)
    assert graph.labels.num_labels == 0
    assert graph.weights is not None
    assert read_graph(path, weighted=False).weights is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"graph": PATH}, "the variable 'network'"),
        ({"network": PATH, "group": GROUP[:2]}, "found 2 and 4"),
        ({"network": PATH * 1j}, "no real matrix"),
        ({"network": np.ones((2, 2, 2))}, "no real matrix"),
        ({"network": "text"}, "no matrix of numbers"),
        ({"network": np.ones((2, 3))}, "must be square"),
        ({"network": np.ones((0, 0))}, "no real matrix"),
    ],
)
def test_variables_that_cannot_be(tmp_path: Path, variables: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_graph(write(tmp_path / "net.mat", **variables))


def test_other_versions_and_other_files(tmp_path: Path) -> None:
    path = tmp_path / "net.mat"
    with pytest.raises(InputError, match="there is no file"):
        read_graph(path)
    path.write_bytes(b"\x89HDF\r\n" + bytes(600))
    with pytest.raises(FileFormatError, match=r"version 7\.3; save it with -v7"):
        read_graph(path)
    scipy.io.savemat(path, {"network": PATH}, format="4")
    with pytest.raises(FileFormatError, match="a MATLAB file of version 5 to 7"):
        read_graph(path)
    for content in (b"", b"hello"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="found something else"):
            read_graph(path)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("kind", [sp.csc_array, np.asarray])
def test_damage_is_an_error_and_no_crash(tmp_path: Path, is_packed: bool, kind: Any) -> None:
    path = write(tmp_path / "net.mat", is_packed, network=kind(PATH), group=kind(GROUP))
    whole = path.read_bytes()
    chance = random.Random(1)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 2, 8])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        with contextlib.suppress(InputError):
            read_graph(path).verify()
