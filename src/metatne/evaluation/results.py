"""Finished trials as JSON lines: appended one by one, read back to skip what is done."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from metatne.errors import BadLine, FileFormatError

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


class ResultsFile:
    """A file with one JSON object a line; many processes may append to it."""

    def __init__(
        self, path: Path, *, key: Sequence[str] = KEY, measured: Sequence[str] = MEASURED
    ) -> None:
        self.path, self.key, self.needed = path, tuple(key), (*key, *measured)

    def rows(self) -> list[dict[str, Any]]:
        """All finished trials, each once; a line cut off by a crash at the end does not count."""
        if not self.path.exists():
            return []
        text = self.path.read_bytes().decode(encoding="utf-8", errors="replace")
        whole, _, _ = text.rpartition("\n")
        rows, bad = [], []
        for number, line in enumerate(whole.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                missing = [key for key in self.needed if key not in row]
            except (ValueError, TypeError):
                bad.append(BadLine(number, "a JSON object", repr(line[:80])))
                continue
            if missing:
                bad.append(
                    BadLine(
                        number, f"the keys {', '.join(self.needed)}", f"no {', '.join(missing)}"
                    )
                )
            else:
                rows.append(row)
        if bad:
            raise FileFormatError(self.path, bad)
        once: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in rows:  # two commands at once may have run the same trial
            once.setdefault(tuple(row[key] for key in self.key), row)
        return list(once.values())

    def append(self, row: dict[str, Any]) -> None:
        """Add one trial; when this returns, it is on disk."""
        line = json.dumps(row, allow_nan=False) + "\n"
        with self._locked() as file:
            file.seek(0, os.SEEK_END)
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # what a crash left of a line
                    self._cut_last_line(file)
            file.seek(0, os.SEEK_END)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        with self.path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file  # closing the file gives the lock back

    @staticmethod
    def _cut_last_line(file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def trial_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes this row the trial that it is."""
    return tuple(row[key] for key in KEY)
