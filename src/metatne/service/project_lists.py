"""Lists over all label projects: what there is, how much, and what goes for good."""

from __future__ import annotations

import json
import sqlite3

from metatne.service.answers import ProjectHistory, Projects, ProjectSummary, ProjectVersion
from metatne.service.project_database import insert

PURGED = "purged"
"""The last version of a project that is gone for good; its rows stay, so that none are missing."""

IS_THERE = f"""
    v.version = (SELECT max(version) FROM versions WHERE project = v.project)
    AND v.what != '{PURGED}'
"""
"""Which row of `versions` shows a project as it is now."""

_EMPTY = json.dumps({"name": PURGED, "model": PURGED})


def count_projects(connection: sqlite3.Connection) -> int:
    """All that are there, deleted or not."""
    (number,) = connection.execute(f"SELECT count(*) FROM versions AS v WHERE {IS_THERE}")
    return int(number[0])


def list_projects(
    connection: sqlite3.Connection, *, deleted: bool, model: str | None, limit: int, offset: int
) -> Projects:
    """Summaries, the last changed first, and how many there are."""
    wanted = f"{IS_THERE} AND v.deleted = :deleted"
    if model is not None:
        wanted += " AND json_extract(c.body, '$.model') = :model"
    source = (
        "FROM versions AS v JOIN projects AS p ON p.id = v.project "
        f"JOIN contents AS c ON c.id = v.shown WHERE {wanted}"
    )
    given = {"deleted": int(deleted), "model": model, "limit": limit, "offset": offset}
    (number,) = connection.execute(f"SELECT count(*) {source}", given).fetchone()
    # Of several paths SQLite gives JSON, in which every character of a name survives.
    rows = connection.execute(
        "SELECT p.id, p.created, v.version, v.changed, v.deleted, "
        "json_extract(c.body, '$.name', '$.model', '$.graph'), "
        "json_array_length(c.body, '$.positives'), json_array_length(c.body, '$.negatives') "
        f"{source} ORDER BY v.changed DESC, p.id LIMIT :limit OFFSET :offset",
        given,
    ).fetchall()
    return Projects(projects=[_summary(*row) for row in rows], num_projects=number)


def _summary(
    project_id: str,
    created: str,
    version: int,
    changed: str,
    deleted: int,
    told: str,
    num_positives: int,
    num_negatives: int,
) -> ProjectSummary:
    name, model, graph = json.loads(told)
    return ProjectSummary(
        id=project_id,
        name=name,
        model=model,
        graph=graph,
        num_positives=num_positives,
        num_negatives=num_negatives,
        version=version,
        created=created,
        changed=changed,
        deleted=bool(deleted),
    )


def list_versions(connection: sqlite3.Connection, project_id: str) -> ProjectHistory:
    """Every version of a project, the newest first."""
    rows = connection.execute(
        "SELECT v.version, v.changed, v.what, json_extract(c.body, '$.name', '$.model'), "
        "json_array_length(c.body, '$.positives'), json_array_length(c.body, '$.negatives') "
        "FROM versions AS v JOIN contents AS c ON c.id = v.shown WHERE v.project = ? "
        "ORDER BY v.version DESC",
        (project_id,),
    )
    return ProjectHistory(
        versions=[
            ProjectVersion(
                version=version,
                changed=changed,
                name=json.loads(names)[0],
                num_positives=num_positives,
                num_negatives=num_negatives,
                what=what,
            )
            for version, changed, what, names, num_positives, num_negatives in rows
        ]
    )


def purge_deleted(connection: sqlite3.Connection, time: str) -> int:
    """Empty every deleted project for good; how many there were."""
    gone = connection.execute(
        f"SELECT project, version, shown, tip FROM versions AS v WHERE {IS_THERE} AND v.deleted = 1"
    ).fetchall()
    for project, version, shown, tip in gone:
        insert(connection, "versions", project, version + 1, time, PURGED, shown, tip, 1)
        connection.execute(
            "UPDATE contents SET body = :body, "
            "checksum = row_checksum(id, project, parent, :body) WHERE project = :project",
            {"body": _EMPTY, "project": project},
        )
    return len(gone)
