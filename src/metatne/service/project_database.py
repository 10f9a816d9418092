"""The file of label projects: SQLite, opened with care, brought up to date, never half written."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock

from metatne.errors import ProjectError, ServiceError, StorageError
from metatne.integrity import checksum

FILE = "projects.sqlite3"
APPLICATION = 0x4D544E45  # "MTNE", so that another program's file is not taken for ours
BUSY_SECONDS = 5.0
CHECKED_FROM = 2
"""The format from which on rows have checksums."""

Cell = str | int | None

MIGRATIONS = (
    """
    CREATE TABLE projects (
        id TEXT PRIMARY KEY,
        created TEXT NOT NULL
    ) STRICT;
    CREATE TABLE contents (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL REFERENCES projects (id),
        parent INTEGER REFERENCES contents (id),
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE versions (
        project TEXT NOT NULL REFERENCES projects (id),
        version INTEGER NOT NULL CHECK (version >= 1),
        changed TEXT NOT NULL,
        what TEXT NOT NULL,
        shown INTEGER NOT NULL REFERENCES contents (id),
        tip INTEGER NOT NULL REFERENCES contents (id),
        deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
        PRIMARY KEY (project, version)
    ) STRICT;
    """,
    """
    ALTER TABLE projects ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
    ALTER TABLE contents ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
    ALTER TABLE versions ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
    UPDATE projects SET checksum = row_checksum(id, created);
    UPDATE contents SET checksum = row_checksum(id, project, parent, body);
    UPDATE versions SET checksum =
        row_checksum(project, version, changed, what, shown, tip, deleted);
    """,
)
"""Each brings a file from the version of its place to the next; what is here is never changed.

A content is what a user wrote, and its parent what it was before. A version shows a content; its
tip is the newest content that redo can come to. Rows are only ever added, so their numbers have no
gaps. Each has a checksum of its cells: SQLite itself does not see a letter that changed.
"""

_COLUMNS = {
    "projects": "id, created",
    "contents": "id, project, parent, body",
    "versions": "project, version, changed, what, shown, tip, deleted",
}
"""By table, what a row's checksum is of."""

_GAPS = (
    "SELECT max(id) FROM contents HAVING count(*) != max(id)",
    "SELECT p.id FROM projects AS p LEFT JOIN versions AS v ON v.project = p.id "
    "GROUP BY p.id HAVING count(v.version) = 0 OR count(v.version) != max(v.version)",
)
"""What has a row only where rows are missing."""


class ProjectDatabase:
    """One connection for all threads: what is done with it takes milliseconds."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / FILE
        self._lock = RLock()
        self._is_closed = False
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not self.file.exists():
                _create(self.file)
            self._connection = _connect(self.file)
        except (OSError, sqlite3.Error) as error:
            raise ProjectError(
                f"label projects cannot be kept in {directory}: {error}; "
                "name a directory that can be written to with --data"
            ) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise self._trouble(error) from error
        except ProjectError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._is_closed = True
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The database as it is at one moment."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A change that happens whole when the block ends well, and else not at all."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._is_closed:
                raise ServiceError("the service is stopping; ask again when it is back")
            try:
                self._connection.execute(begin)
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
            except sqlite3.ProgrammingError:
                raise  # a mistake of ours says nothing of the file
            except sqlite3.Error as error:
                raise self._trouble(error) from error

    def _prepare(self) -> None:
        self._check()
        _bring_up_to_date(self._connection)

    def _check(self) -> None:
        """Refuse a file that is another program's, of a later version, or damaged."""
        connection = self._connection
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise ProjectError(
                f"{self.file} is not a file of label projects; move it away, "
                "or name another directory with --data"
            )
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise ProjectError(
                f"{self.file} was written by a later version of metatne "
                f"(format {version}, expected at most {len(MIGRATIONS)}); use that version"
            )
        problems = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
        if problems != ["ok"]:
            raise self._damaged(problems[0])
        if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            raise self._damaged("rows are missing that others refer to")
        if version >= CHECKED_FROM:
            self._check_rows()

    def _check_rows(self) -> None:
        """Refuse rows that are not as they were written, or are gone."""
        for table, columns in _COLUMNS.items():
            changed = self._connection.execute(
                f"SELECT 1 FROM {table} WHERE checksum IS NOT row_checksum({columns}) LIMIT 1"
            )
            if changed.fetchone() is not None:
                raise self._damaged(f"a row of its table {table} is not what was written")
        for gaps in _GAPS:
            if self._connection.execute(gaps).fetchone() is not None:
                raise self._damaged("rows are missing")

    def _trouble(self, error: sqlite3.Error) -> StorageError | ProjectError:
        """A file that is locked, read-only or without room is whole; any other trouble is damage.

        SQLITE_ERROR is what a statement meets whose table is not there.
        """
        is_passing = isinstance(error, sqlite3.OperationalError)
        if not is_passing or error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            return self._damaged(error)
        return StorageError(
            f"{self.file}: {error}, so nothing was changed; see that the disk has room and can be "
            "written to, and that no other program holds the file, then ask again",
            reason=str(error),
            retry_after=BUSY_SECONDS,
        )

    def _damaged(self, reason: object) -> ProjectError:
        told = " ".join(str(reason).split())
        return ProjectError(
            f"{self.file} is damaged: {told}; put back a copy of it, or move it away "
            "(with its -wal and -shm files) to begin with no projects"
        )


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)
    return connection


def _create(file: Path) -> None:
    """A file without projects, there at one moment: an empty one is damage, and no beginning."""
    with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
        made = Path(folder) / file.name
        connection = _connect(made)
        try:
            _bring_up_to_date(connection)
        finally:
            connection.close()
        with suppress(FileExistsError):  # another process was faster
            os.link(made, file)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # Another process may be at it as well: what there is to do is asked under the lock.
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        for number in range(found, len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def insert(connection: sqlite3.Connection, table: str, *cells: Cell) -> None:
    """Add a row with its checksum; cells in the order of the table's columns."""
    places = ", ".join("?" * (len(cells) + 1))
    connection.execute(
        f"INSERT INTO {table} ({_COLUMNS[table]}, checksum) VALUES ({places})",
        (*cells, _row_checksum(*cells)),
    )


def _row_checksum(*cells: Cell) -> str:
    return checksum(json.dumps(cells).encode())
