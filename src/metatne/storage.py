"""Writing that leaves either the old or the new, never half of it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metatne.errors import OutputExistsError


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix
    )
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_directory(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary directory beside `path` that takes its place when the block ends well.

    With `overwrite` the old directory is moved aside first and deleted last, so a crash
    in between leaves one whole directory on disk, at worst under its temporary name.
    """
    if path.exists() and not overwrite:
        raise OutputExistsError(
            f"{path} exists already; choose another directory, "
            "or say that it may be overwritten (--overwrite)"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        for file in temporary.rglob("*"):
            _sync(file)
        temporary.chmod(0o777 & ~_umask())
        if path.exists():
            aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.old."))
            path.replace(aside / path.name)
            temporary.replace(path)
            shutil.rmtree(aside)
        else:
            temporary.replace(path)
        _sync(path.parent)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON, atomically."""
    with new_file(path) as temporary:
        temporary.write_text(
            json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )
