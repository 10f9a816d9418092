"""Writing that leaves either the old or the new, never half of it, whoever is killed meanwhile.

A writer works on a temporary beside its target and holds a lock on it. A temporary that nobody
holds is what a killed writer left, and the next one to write there removes it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError

from metatne.errors import MetaTNEError, OutputExistsError, OutputInUseError, WriteError

T = TypeVar("T")
Identity = tuple[int, int]
"""Of a directory: its device and its number there."""

_MARK, _ASIDE = ".writing-", ".replaced-"
MIN_AGE_SECONDS = 5.0
"""Of what may be a leftover: between its making and its lock a temporary looks like one."""

_AT_WORKING_DIRECTORY = -100  # of Linux, <fcntl.h>
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, <linux/fs.h>, and RENAME_SWAP of macOS, <stdio.h>


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well."""
    with write_errors(path), _temporary(path, is_directory=False) as temporary:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)


@contextmanager
def new_directory(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary directory beside `path` that takes its place when the block ends well.

    With `overwrite` the two are exchanged at one moment where the system can do that (Linux and
    macOS, on most disks). Elsewhere the old one is moved aside first and deleted last: a kill in
    between leaves it whole, under another name, and the next to write there moves it back.
    """
    _check_new(path, overwrite=overwrite)
    with write_errors(path), _temporary(path, is_directory=True) as temporary:
        yield temporary
        for file in (*temporary.rglob("*"), temporary):
            _sync(file)
        temporary.chmod(0o777 & ~_umask())
        _put(temporary, path, overwrite=overwrite)
        _sync(path.parent)


@contextmanager
def own_directory(path: Path) -> Iterator[None]:
    """The directory, made if need be, for this process alone; refused while another has it."""
    with write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY)
    try:
        opened = os.fstat(descriptor)
        # Without its name it is what another process has just ended with.
        is_taken = _try_lock(descriptor) is False
        if is_taken or _identity(path) != (opened.st_dev, opened.st_ino):
            raise OutputInUseError(
                f"{path} is in use: another process trains into it; "
                "wait until that has ended, or name another directory"
            )
        yield
    finally:
        os.close(descriptor)


def read_steadily(path: Path, read: Callable[[Path], T]) -> T:
    """What `read` makes of a directory; once more if that was replaced meanwhile.

    Files of the old one and of the new one do not belong together, and look like damage.
    """
    while True:
        with _held(path) as held:
            try:
                found = read(path)
            except MetaTNEError:
                if _identity(path) == held:
                    raise
            else:
                if _identity(path) == held:
                    return found


@contextmanager
def _held(path: Path) -> Iterator[Identity | None]:
    """Which directory is there; while it is held, none that replaces it gets its number."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # not there: `read` says so
        yield None
        return
    try:
        yield _number(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _identity(path: Path) -> Identity | None:
    try:
        return _number(path.stat())
    except OSError:
        return None


def _number(facts: os.stat_result) -> Identity:
    return facts.st_dev, facts.st_ino


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON, atomically."""
    with new_file(path) as temporary:
        temporary.write_text(
            json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Say of what the system reports in the block that `path` could not be written."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        cause = error.__cause__ if isinstance(error, WriteError) else error
        reason = getattr(cause, "strerror", None) or str(cause)
        raise WriteError(
            f"{path} could not be written: {reason}; what was there before is unchanged. "
            "See that the disk has room and that the directory can be written to"
        ) from error


@contextmanager
def _temporary(path: Path, *, is_directory: bool) -> Iterator[Path]:
    """A new file or directory beside `path`, gone after the block unless it was renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary, descriptor = _make_locked(path, is_directory=is_directory)
    try:
        yield temporary
    finally:
        _remove(temporary)
        os.close(descriptor)


def _make_locked(path: Path, *, is_directory: bool) -> tuple[Path, int]:
    """A temporary, and what is open of it and holds the lock."""
    temporary = path.with_name(f".{path.name}{_MARK}{secrets.token_hex(8)}{path.suffix}")
    if is_directory:
        temporary.mkdir(mode=0o700)
    else:
        temporary.touch(mode=0o600, exist_ok=False)
    descriptor = os.open(temporary, os.O_RDONLY)
    _try_lock(descriptor)
    return temporary, descriptor


def _remove_leftovers(path: Path) -> None:
    """Delete the temporaries of `path` whose writers are gone; bring back what they moved aside."""
    for entry in _named(path, _MARK, path.suffix):
        with suppress(OSError):  # of another user, or gone by now
            descriptor = os.open(entry, os.O_RDONLY)
            try:
                age = time.time() - os.fstat(descriptor).st_mtime
                if age > MIN_AGE_SECONDS and _try_lock(descriptor):
                    _remove(entry)
            finally:
                os.close(descriptor)
    for entry in _named(path, _ASIDE):
        if path.exists():
            _remove(entry)
        else:
            entry.replace(path)


def _named(path: Path, mark: str, ending: str = "") -> list[Path]:
    """What lies beside `path` under names that were made from its own."""
    pattern = rf"{re.escape(f'.{path.name}{mark}')}[0-9a-f]{{16}}{re.escape(ending)}"
    return [entry for entry in path.parent.iterdir() if re.fullmatch(pattern, entry.name)]


def _check_new(path: Path, *, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise OutputExistsError(
            f"{path} exists already; choose another directory, "
            "or say that it may be overwritten (overwrite=True; --overwrite on the command line)"
        )


def _put(temporary: Path, path: Path, *, overwrite: bool) -> None:
    """Give `temporary` the name `path`; what had that name is left as `temporary`, if at all."""
    try:
        temporary.replace(path)
    except OSError:  # of what has the name: a directory with something in it, a file, a link
        _check_new(path, overwrite=overwrite)  # somebody else may have been faster
        if not _exchange(temporary, path):
            _replace_in_two_steps(temporary, path)


def _replace_in_two_steps(temporary: Path, path: Path) -> None:
    aside = path.with_name(f".{path.name}{_ASIDE}{secrets.token_hex(8)}")
    path.replace(aside)
    try:
        temporary.replace(path)
    except OSError:
        with suppress(OSError):  # another writer may have brought it back
            aside.replace(path)
        raise
    _remove(aside)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names at one moment; False where the system cannot."""
    system = ctypes.CDLL(None, use_errno=True)
    names = (os.fsencode(first), os.fsencode(second))
    here = _AT_WORKING_DIRECTORY
    if hasattr(system, "renameat2"):
        return bool(system.renameat2(here, names[0], here, names[1], _EXCHANGE) == 0)
    if hasattr(system, "renamex_np"):
        return bool(system.renamex_np(*names, _EXCHANGE) == 0)
    return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)  # another writer may be sweeping here too
    else:
        path.unlink(missing_ok=True)


def _try_lock(descriptor: int) -> bool | None:
    """Whether nobody else has this locked; then it is ours until it is closed.

    None where nobody can know, since the disk has no locks (some of NFS, some of Lustre).
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
