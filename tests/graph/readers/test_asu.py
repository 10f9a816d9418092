"""ASU's data sets, zipped or not."""

from __future__ import annotations

import contextlib
import random
import zipfile
from pathlib import Path

import pytest

from metatne.errors import FileFormatError, GraphError, InputError
from metatne.graph.readers import asu, read_graph

FILES = {
    "edges.csv": "1,2\n2,3\n",
    "group-edges.csv": "1,2\n3,1\n",
    "nodes.csv": "1\n2\n3\n4\n",
    "groups.csv": "1\n2\n3\n",
}


def write_zip(path: Path, files: dict[str, str], prefix: str = "Blog-dataset/data/") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/Blog-dataset/data/edges.csv", "rubbish")
        for name, content in files.items():
            archive.writestr(prefix + name, content)
    return path


def write_folder(path: Path, files: dict[str, str]) -> Path:
    (path / "data").mkdir(parents=True)
    for name, content in files.items():
        (path / "data" / name).write_text(content)
    return path


def test_archive_and_folder_agree(tmp_path: Path) -> None:
    zipped = read_graph(write_zip(tmp_path / "Blog.zip", FILES))
    unpacked = read_graph(write_folder(tmp_path / "Blog", FILES))
    inside = read_graph(tmp_path / "Blog" / "data")
    assert zipped.fingerprint == unpacked.fingerprint == inside.fingerprint
    assert zipped.name == "Blog"
    assert zipped.node_ids.take(range(4)) == [1, 2, 3, 4]
    assert zipped.labels.names == ("1", "2", "3")
    assert zipped.labels.holders(1).tolist() == [0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Blog", "Blog.zip"]


def test_only_edges_are_needed(tmp_path: Path) -> None:
    graph = read_graph(write_zip(tmp_path / "b.zip", {"edges.csv": "7,8\n"}))
    assert graph.node_ids.take(range(2)) == [7, 8]
    assert graph.labels.num_labels == 0


def test_errors_name_the_place(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "b.zip", {**FILES, "edges.csv": "1,2\nfoo\n"})
    with pytest.raises(FileFormatError, match=r"b\.zip/Blog-dataset/data/edges\.csv:2: "):
        read_graph(path)
    path = write_zip(tmp_path / "b.zip", {**FILES, "group-edges.csv": "1\n1,2\n"})
    with pytest.raises(FileFormatError, match=r"group-edges\.csv:1: expected 2 fields"):
        read_graph(path)
    path = write_zip(tmp_path / "b.zip", {**FILES, "nodes.csv": "1\n2\n"})
    with pytest.raises(GraphError, match="1 nodes that the list of nodes lacks: 3"):
        read_graph(path)


def test_archives_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with pytest.raises(InputError, match="there is no file"):
        read_graph(path)
    path.write_text("no archive")
    with pytest.raises(FileFormatError, match="a whole zip archive, found a damaged one"):
        read_graph(path)
    write_zip(path, {"letters.csv": "1,2\n"}, prefix="x/")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letters.csv", "1,2\n")
    with pytest.raises(FileFormatError, match=r"expected edges\.csv .*, found no edges\.csv"):
        read_graph(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match=r"found no edges\.csv"):
        read_graph(tmp_path / "empty")


def test_damage_is_an_error(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "b.zip", FILES)
    whole = path.read_bytes()
    chance = random.Random(1)
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 2, 8])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        with contextlib.suppress(InputError):
            read_graph(path).verify()


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asu, "unpack_limit", lambda packed: 1000)
    path = write_zip(tmp_path / "b.zip", {"edges.csv": "1,2\n" * 1000})
    with pytest.raises(FileFormatError, match="at most 1,000 bytes unpacked"):
        read_graph(path)
