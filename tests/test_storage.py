"""Files and directories appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metatne import storage
from metatne.errors import OutputExistsError, OutputInUseError, WriteError
from metatne.storage import new_directory, new_file, own_directory, write_json


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def fail_at_file(path: Path) -> None:
    with new_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("power cut")


def fail_at_directory(path: Path, *, overwrite: bool) -> None:
    with new_directory(path, overwrite=overwrite) as temporary:
        (temporary / "half").write_text("half")
        raise RuntimeError("power cut")


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "file.txt"
    with new_file(path) as temporary:
        assert temporary.suffix == ".txt"
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert names(path.parent) == ["file.txt"]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("old", "new"):
        with new_file(path) as temporary:
            temporary.write_text(text)
    assert path.read_text() == "new"


def test_a_failure_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(RuntimeError, match="power cut"):
        fail_at_file(path)
    assert names(tmp_path) == []
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        fail_at_file(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_rights_are_those_of_any_other_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with new_file(tmp_path / "file") as temporary:
            temporary.write_text("")
        with new_directory(tmp_path / "directory"):
            pass
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "directory").stat().st_mode & 0o777 == 0o750


def test_a_new_directory(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "model"
    with new_directory(path) as temporary:
        (temporary / "part").mkdir()
        (temporary / "part" / "file").write_text("whole")
        assert not path.exists()
    assert (path / "part" / "file").read_text() == "whole"
    assert names(path.parent) == ["model"]


def test_a_directory_is_not_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(OutputExistsError, match=f"{path} exists already.*--overwrite"):
        fail_at_directory(path, overwrite=False)
    assert names(path) == ["old"]


def test_a_directory_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for name in ("old", "new"):
        with new_directory(path, overwrite=True) as temporary:
            (temporary / name).write_text(name)
    assert names(path) == ["new"]
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_failure_leaves_the_old_directory_and_no_rest(tmp_path: Path, is_there: bool) -> None:
    path = tmp_path / "model"
    if is_there:
        path.mkdir()
        (path / "old").write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        fail_at_directory(path, overwrite=True)
    assert names(tmp_path) == (["model"] if is_there else [])
    assert not is_there or names(path) == ["old"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_whoever_looks_meanwhile_sees_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    """Before and after each step; where names cannot be exchanged, under another name for one."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "file").write_text("old")
    seen: list[bool] = []

    def look() -> None:
        seen.append((path / "file").exists())
        assert {file.read_text() for file in tmp_path.rglob("file")} & {"old", "new"}

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*arguments: Any) -> Any:
            look()
            try:
                return step(*arguments)
            finally:
                look()

        return take

    exchange = storage._exchange if can_exchange else lambda first, second: False
    monkeypatch.setattr(storage, "_exchange", watched(exchange))
    monkeypatch.setattr(os, "replace", watched(os.replace))
    with new_directory(path, overwrite=True) as temporary:
        (temporary / "file").write_text("new")
    assert (path / "file").read_text() == "new"
    assert names(tmp_path) == ["model"]
    assert seen.count(False) == (0 if can_exchange else 2), "after the first step of two"


def test_without_exchange_a_failure_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "file").write_text("old")
    monkeypatch.setattr(storage, "_exchange", lambda first, second: False)

    def replace(source: Path, target: Path) -> None:
        if ".writing-" in str(source):
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    rename = os.replace
    monkeypatch.setattr(os, "replace", replace)
    with (
        pytest.raises(WriteError, match="Input/output error; what was there before is unchanged"),
        new_directory(path, overwrite=True) as temporary,
    ):
        (temporary / "file").write_text("new")
    assert (path / "file").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_what_a_killed_writer_moved_aside_comes_back(tmp_path: Path) -> None:
    path, aside = tmp_path / "model", tmp_path / ".model.replaced-0123456789abcdef"
    for name in ("old", "older"):
        aside.mkdir()
        (aside / name).touch()
        with pytest.raises(RuntimeError, match="power cut"):
            fail_at_directory(path, overwrite=True)
        assert names(tmp_path) == ["model"]
        assert names(path) == ["old"], "what has the name already stays"


def test_on_a_disk_without_locks_work_goes_on_and_nothing_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(storage, "MIN_AGE_SECONDS", -1.0)
    with own_directory(tmp_path / "training"):
        pass
    file = tmp_path / "file"
    with new_file(file) as living, new_file(file):
        assert living.exists(), "it may be somebody's"


def test_of_two_writers_the_later_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"

    def write_earlier() -> None:
        with new_directory(path) as earlier:
            (earlier / "file").write_text("earlier")

    with pytest.raises(OutputExistsError, match="exists already"), new_directory(path):
        write_earlier()
    assert (path / "file").read_text() == "earlier"
    assert names(tmp_path) == ["model"]


def test_what_a_killed_writer_left_is_swept_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = "import os, sys; from pathlib import Path; from metatne.storage import *\n"
    for kind, name in (("new_directory", "model"), ("new_file", "file.txt")):
        code = f"{killed}with {kind}(Path({name!r})): os.kill(os.getpid(), 9)"
        assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == -9
    assert len(names(tmp_path)) == 2
    for mine in (".model.notes", ".model.writing-notes", ".file.txt.writing-0123456789abcdef"):
        (tmp_path / mine).write_text("mine")
    file = tmp_path / "file.txt"
    with new_file(file):
        assert len(names(tmp_path)) == 6, "so young it may be somebody's who is about to lock it"
    monkeypatch.setattr(storage, "MIN_AGE_SECONDS", -1.0)
    with new_directory(tmp_path / "model"), new_file(file) as living, new_file(file):
        assert living.exists()
    assert names(tmp_path) == [
        ".file.txt.writing-0123456789abcdef",
        ".model.notes",
        ".model.writing-notes",
        "file.txt",
        "model",
    ]


def test_a_disk_without_room_is_told_with_the_name(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    told = rf"{tmp_path}/model could not be written: No space left.* is unchanged"
    with pytest.raises(WriteError, match=told), new_directory(tmp_path / "model", overwrite=True):
        Path("/dev/full").write_text("too much")
    with (
        pytest.raises(WriteError, match=told),
        new_directory(tmp_path / "model", overwrite=True) as temporary,
        new_file(temporary / "header"),
    ):
        Path("/dev/full").write_text("too much")
    assert names(tmp_path) == ["model"]


def test_a_directory_is_one_process_own(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "model.unfinished"
    with own_directory(path):
        with (
            pytest.raises(OutputInUseError, match="is in use: another process"),
            own_directory(path),
        ):
            raise AssertionError("two have it")
        write_json(path / "file", 1)
    with own_directory(path):
        assert names(path) == ["file"]


def test_json_is_readable_and_strict(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    write_json(path, {"name": "Gödel", "numbers": [1, 2.5]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"name": "Gödel", "numbers": [1, 2.5]}
    assert "Gödel" in path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="Out of range float values"):
        write_json(path, {"loss": float("nan")})
    assert json.loads(path.read_text(encoding="utf-8"))["name"] == "Gödel"
    assert names(tmp_path) == ["facts.json"]
