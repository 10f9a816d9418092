"""Label projects: a novel label's name, examples and notes, with all that they ever were.

Every change adds a version, so undo and redo are versions too, and nothing is lost. Whoever changes
a project says which version was read; a change to an older one is refused with both versions.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ConfigDict, ValidationError

from metatne.errors import ConflictError, ProjectError
from metatne.service.answers import (
    MarkedGraph,
    Project,
    ProjectHistory,
    Projects,
    Purged,
)
from metatne.service.limits import MAX_PROJECTS
from metatne.service.project_database import ProjectDatabase, insert
from metatne.service.project_lists import (
    IS_THERE,
    count_projects,
    list_projects,
    list_versions,
    purge_deleted,
)
from metatne.service.questions import ProjectContent
from metatne.service.refusals import Refusal


@dataclass(frozen=True)
class _Now:
    """The newest version of a project, as its row says."""

    id: str
    created: str
    version: int
    changed: str
    shown: int
    tip: int
    deleted: bool
    parent: int | None
    body: str


class _Stored(ProjectContent):
    """A content as it lies in the file; what other versions of metatne add is passed over."""

    model_config = ConfigDict(extra="ignore")

    graph: MarkedGraph | None = None


_NEWEST = f"""
    SELECT p.id, p.created, v.version, v.changed, v.shown, v.tip, v.deleted, c.parent, c.body
    FROM projects AS p
    JOIN versions AS v ON v.project = p.id
    JOIN contents AS c ON c.id = v.shown
    WHERE {IS_THERE}
"""


class ProjectStore:
    """All label projects of one data directory."""

    def __init__(self, database: ProjectDatabase) -> None:
        self._database = database

    def all(
        self,
        *,
        deleted: bool = False,
        model: str | None = None,
        limit: int = MAX_PROJECTS,
        offset: int = 0,
    ) -> Projects:
        """The projects that are there, or those that were deleted; the last changed first."""
        try:
            with self._database.reading() as connection:
                return list_projects(
                    connection, deleted=deleted, model=model, limit=limit, offset=offset
                )
        except (ValidationError, ValueError) as error:
            raise self._no_project() from error

    def purge(self) -> Purged:
        """Let go of every deleted project for good: room for others."""
        with self._database.writing() as connection:
            return Purged(num_purged=purge_deleted(connection, _time()))

    def get(self, project_id: str) -> Project:
        """The newest version of a project, deleted or not."""
        with self._database.reading() as connection:
            now = _newest(connection, project_id)
        return self._project(now)

    def create(
        self, content: ProjectContent, *, graph: MarkedGraph | None = None, what: str = "created"
    ) -> Project:
        """A new project."""
        project_id = uuid.uuid4().hex
        with self._database.writing() as connection:
            number = count_projects(connection)
            if number >= MAX_PROJECTS:
                raise Refusal(
                    "too_large",
                    f"there are {number} projects already, deleted ones among them, and there "
                    f"may be {MAX_PROJECTS}; remove the deleted ones for good (POST "
                    "/api/v1/projects/purge), or serve from another directory (--data)",
                )
            insert(connection, "projects", project_id, _time())
            shown = _write(connection, project_id, None, content, graph)
            _add_version(connection, project_id, 1, what, shown, shown, deleted=False)
            now = _newest(connection, project_id)
        return self._project(now)

    def change(
        self,
        project_id: str,
        content: ProjectContent,
        version: int,
        *,
        graph: MarkedGraph | None = None,
    ) -> Project:
        """The project with this content, if `version` is still the newest."""

        def step(connection: sqlite3.Connection, now: _Now) -> tuple[str, int, int, bool]:
            shown = _write(connection, project_id, now.shown, content, graph)
            return "changed", shown, shown, False

        return self._next(project_id, version, step, yours=content)

    def undo(self, project_id: str, version: int) -> Project:
        """The project as it was before its last change."""

        def step(connection: sqlite3.Connection, now: _Now) -> tuple[str, int, int, bool]:
            if now.parent is None:
                raise Refusal("nothing_to_undo", "there is nothing to undo")
            return "undone", now.parent, now.tip, False

        return self._next(project_id, version, step)

    def redo(self, project_id: str, version: int) -> Project:
        """The project as it was before the last undo."""

        def step(connection: sqlite3.Connection, now: _Now) -> tuple[str, int, int, bool]:
            if now.tip == now.shown:
                raise Refusal("nothing_to_undo", "there is nothing to redo")
            return "redone", _next_towards(connection, now.shown, now.tip), now.tip, False

        return self._next(project_id, version, step)

    def delete(self, project_id: str, version: int) -> Project:
        """The project, marked as deleted; its history stays."""

        def step(connection: sqlite3.Connection, now: _Now) -> tuple[str, int, int, bool]:
            return "deleted", now.shown, now.tip, True

        return self._next(project_id, version, step)

    def restore(self, project_id: str) -> Project:
        """The project, deleted no more."""
        with self._database.writing() as connection:
            now = _newest(connection, project_id)
            if now.deleted:
                _add_version(
                    connection,
                    project_id,
                    now.version + 1,
                    "restored",
                    now.shown,
                    now.tip,
                    deleted=False,
                )
            return self._project(_newest(connection, project_id))

    def history(self, project_id: str) -> ProjectHistory:
        """Every version of a project, the newest first."""
        with self._database.reading() as connection:
            _newest(connection, project_id)
            try:
                return list_versions(connection, project_id)
            except ValidationError as error:
                raise self._no_project() from error

    def _next(
        self,
        project_id: str,
        version: int,
        step: Callable[[sqlite3.Connection, _Now], tuple[str, int, int, bool]],
        *,
        yours: ProjectContent | None = None,
    ) -> Project:
        with self._database.writing() as connection:
            now = _newest(connection, project_id)
            if now.version == version and not now.deleted:
                what, shown, tip, deleted = step(connection, now)
                _add_version(connection, project_id, version + 1, what, shown, tip, deleted=deleted)
                # Before it is final, so that no undo comes to a body that cannot be read.
                return self._project(_newest(connection, project_id))
        raise self._conflict(now, version, yours)

    def _conflict(self, now: _Now, version: int, yours: ProjectContent | None) -> ConflictError:
        theirs = self._project(now)
        mine = theirs.model_copy(update={"version": version})
        if yours is not None:
            mine = mine.model_copy(update=_plain(yours))
        if now.deleted:
            message = "the project was deleted; restore it first"
        else:
            message = (
                f"you read version {version} of the project, but version {now.version} is the "
                "newest: somebody changed it meanwhile; look at both, then save what is right"
            )
        return ConflictError(message, yours=mine, theirs=theirs)

    def _project(self, now: _Now) -> Project:
        return Project(
            id=now.id,
            **self._content(now.body).model_dump(),
            version=now.version,
            created=now.created,
            changed=now.changed,
            deleted=now.deleted,
            can_undo=now.parent is not None and not now.deleted,
            can_redo=now.tip != now.shown and not now.deleted,
        )

    def _content(self, body: str) -> _Stored:
        try:
            return _Stored.model_validate_json(body)
        except ValidationError as error:
            raise self._no_project() from error

    def _no_project(self) -> ProjectError:
        return ProjectError(
            f"{self._database.file} is damaged: a project in it is none; put back a copy of it"
        )


def _newest(connection: sqlite3.Connection, project_id: str) -> _Now:
    row = connection.execute(f"{_NEWEST} AND p.id = ?", (project_id,)).fetchone()
    if row is None:
        raise Refusal(
            "unknown_project",
            f"there is no project {project_id!r}; the list of projects has those that are",
        )
    return _now(row)


def _now(row: tuple[str, str, int, str, int, int, int, int | None, str]) -> _Now:
    project_id, created, version, changed, shown, tip, deleted, parent, body = row
    return _Now(project_id, created, version, changed, shown, tip, bool(deleted), parent, body)


def _plain(content: ProjectContent) -> dict[str, Any]:
    """The content alone, without what a change says of itself."""
    return content.model_dump(include=set(ProjectContent.model_fields))


def _write(
    connection: sqlite3.Connection,
    project_id: str,
    parent: int | None,
    content: ProjectContent,
    graph: MarkedGraph | None,
) -> int:
    stored = _plain(content) | {"graph": None if graph is None else graph.model_dump()}
    body = json.dumps(stored, ensure_ascii=False)
    (number,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM contents").fetchone()
    insert(connection, "contents", number, project_id, parent, body)
    return int(number)


def _add_version(
    connection: sqlite3.Connection,
    project_id: str,
    version: int,
    what: str,
    shown: int,
    tip: int,
    *,
    deleted: bool,
) -> None:
    insert(connection, "versions", project_id, version, _time(), what, shown, tip, int(deleted))


def _next_towards(connection: sqlite3.Connection, shown: int, tip: int) -> int:
    """The content after `shown` on the way to `tip`."""
    (after,) = connection.execute(
        "WITH RECURSIVE way (id, parent) AS ("
        " SELECT id, parent FROM contents WHERE id = ?"
        " UNION ALL SELECT c.id, c.parent FROM contents AS c JOIN way ON c.id = way.parent)"
        " SELECT id FROM way WHERE parent = ?",
        (tip, shown),
    ).fetchone()
    return int(after)


def _time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
