"""Finished trials as JSON lines: appended one by one, read back to skip what is done."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from metatne.errors import BadLine, FileFormatError
from metatne.integrity import SEAL, is_whole, parse_json, sealed
from metatne.storage import write_errors

KEY = (
    "dataset",
    "method",
    "preset",
    "positives",
    "negatives",
    "query_positives",
    "query_negatives",
    "protocol",
    "tasks",
    "trial",
    "config_hash",
)
"""What makes two lines the same trial."""

MEASURED = ("auc", "f1", "recall", "average_precision", "seconds", "memory_gb")
"""What is measured of a trial."""


WAY_OUT = "take these lines away; the command that wrote them runs their trials again"

MANY_MISSING = 3
"""Keys: a line that lacks more than so many is somebody else's."""


class ResultsFile:
    """A file with one JSON object a line; many processes may append to it.

    A line begins with a checksum of the rest. Lines of before begin with the key, and are held
    against nothing but their form.
    """

    def __init__(
        self, path: Path, *, key: Sequence[str] = KEY, measured: Sequence[str] = MEASURED
    ) -> None:
        self.path, self.key, self.needed = path, tuple(key), (*key, *measured)

    def rows(self) -> list[dict[str, Any]]:
        """All finished trials, each once; a line cut off by a crash at the end does not count."""
        if not self.path.exists():
            return []
        text = self.path.read_bytes().decode(encoding="utf-8", errors="replace")
        whole, _, rest = text.rpartition("\n")
        self._check_begun(rest)
        rows, bad = [], []
        for number, line in enumerate(whole.split("\n"), start=1):
            if not line.strip():
                continue
            row = self._row(line)
            if isinstance(row, dict):
                rows.append(row)
            else:
                bad.append(BadLine(number, *row))
        if bad:
            raise FileFormatError(self.path, bad, advice=WAY_OUT if rows else "")
        once: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in rows:  # two commands at once may have run the same trial
            once.setdefault(tuple(row[key] for key in self.key), row)
        return list(once.values())

    def _row(self, line: str) -> dict[str, Any] | tuple[str, str]:
        """The trial of a line, or what was expected and what was found."""
        try:
            row: dict[str, Any] = parse_json(line)
            missing = [key for key in self.needed if key not in row]
            first = next(iter(row))
        except (ValueError, TypeError, StopIteration):
            return "a JSON object", repr(line[:80])
        if missing:
            if len(missing) > MANY_MISSING:
                return "a line that this command has written", f"something else: {line[:80]!r}"
            return f"the keys {', '.join(self.needed)}", f"no {', '.join(missing)}"
        if first not in (SEAL, self.key[0]):
            return f"a line that begins with {SEAL!r} or {self.key[0]!r}", repr(line[:80])
        if first == SEAL and not is_whole(row):
            return "a trial as it was written", f"other numbers or names: {line[:80]!r}"
        row.pop(SEAL, None)
        return row

    def _check_begun(self, rest: str) -> None:
        """Refuse an unfinished last line that no crash of ours has left: it is somebody else's."""
        ours = [f'{{"{name}": ' for name in (SEAL, self.key[0])]
        if not any(rest.startswith(start) or start.startswith(rest) for start in ours):
            raise FileFormatError(self.path, [BadLine(0, "lines of JSON", repr(rest[-80:]))])

    def append(self, row: dict[str, Any]) -> None:
        """Add one trial; when this returns, it is on disk, and if it fails, nothing is."""
        line = (json.dumps(sealed(row), allow_nan=False) + "\n").encode()
        with write_errors(self.path), self._locked() as file:
            end = self._end_of_whole_lines(file)
            file.truncate(end)  # what a crash left of a line
            file.seek(end)
            try:
                while line:  # a disk that is nearly full takes a part
                    line = line[file.write(line) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise

    @contextmanager
    def _locked(self) -> Iterator[FileIO]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        with FileIO(self.path, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file  # closing the file gives the lock back

    def _end_of_whole_lines(self, file: FileIO) -> int:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                content = file.readall()
                end = content.rfind(b"\n") + 1
                self._check_begun(content[end:].decode(encoding="utf-8", errors="replace"))
                return end
        return size


def trial_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes this row the trial that it is."""
    return tuple(row[key] for key in KEY)
