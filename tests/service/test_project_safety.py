"""Label projects survive crashes; a damaged file is named, never read wrongly."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from metatne.errors import ConflictError, ProjectError, ServiceError
from metatne.service import project_database, projects
from metatne.service.answers import Project
from metatne.service.project_database import APPLICATION, FILE, MIGRATIONS, ProjectDatabase
from metatne.service.projects import ProjectStore
from metatne.service.questions import ProjectContent
from metatne.service.refusals import Refusal

WRITER = """
import sys
from pathlib import Path
from metatne.service.project_database import ProjectDatabase
from metatne.service.projects import ProjectStore
from metatne.service.questions import ProjectContent

store = ProjectStore(ProjectDatabase(Path(sys.argv[1])))
project = store.create(ProjectContent(name="0", model="m"))
print(project.id, flush=True)
for number in range(1, 10**6):
    content = ProjectContent(name=str(number), model="m", positives=list(range(200)))
    project = store.change(project.id, content, project.version)
    print(project.version, flush=True)
"""


def a_content(name: str = "a") -> ProjectContent:
    return ProjectContent(name=name, model="m", positives=[1, "b"])


@pytest.mark.parametrize("seed", range(4))
def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path, seed: int) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    project_id = writer.stdout.readline().strip()
    acknowledged = [writer.stdout.readline() for _ in range(3)]
    time.sleep(random.Random(seed).random() * 0.1)
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += writer.stdout.readlines()
    writer.wait()
    writer.stdout.close()
    whole = [int(line) for line in acknowledged if line.endswith("\n")]
    database = ProjectDatabase(tmp_path)
    store = ProjectStore(database)
    now = store.get(project_id)
    assert now.version in (whole[-1], whole[-1] + 1), "the last may not have been told of yet"
    assert now.name == str(now.version - 1)
    assert [v.version for v in store.history(project_id).versions] == [*range(now.version, 0, -1)]
    assert store.change(project_id, a_content(), now.version).version == now.version + 1
    database.close()


def test_of_two_writers_each_change_is_one_of_them(tmp_path: Path) -> None:
    stores = [ProjectStore(ProjectDatabase(tmp_path)) for _ in range(2)]
    project = stores[0].create(a_content())
    won: list[list[int]] = [[], []]
    late: list[tuple[Project, Project]] = []

    def write(number: int) -> None:
        while len(won[0]) + len(won[1]) < 40:
            now = stores[number].get(project.id)
            try:
                made = stores[number].change(project.id, a_content(str(number)), now.version)
            except ConflictError as conflict:
                late.append((now, conflict.theirs))
            else:
                won[number].append(made.version)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(theirs.version > mine.version for mine, theirs in late)
    versions = stores[0].history(project.id).versions
    assert sorted(won[0] + won[1]) == list(range(2, len(versions) + 1))
    for line in versions[:-1]:
        assert line.version in won[int(line.name)]
    for store in stores:
        store._database.close()


def damage(file: Path, how: str) -> None:
    data = bytearray(file.read_bytes())
    if how == "cut":
        file.write_bytes(bytes(data[: len(data) // 2]))
    elif how == "header":
        data[0:16] = b"not a database.."
        file.write_bytes(bytes(data))
    elif how == "pages":
        for place in range(4096, len(data), 97):
            data[place] ^= 0xFF
        file.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["cut", "header", "pages"])
def test_a_damaged_file_is_named(tmp_path: Path, how: str) -> None:
    database = ProjectDatabase(tmp_path)
    store = ProjectStore(database)
    for number in range(20):
        store.create(a_content(str(number)))
    database.close()
    damage(tmp_path / FILE, how)
    with pytest.raises(ProjectError, match=f"{FILE} is damaged: .*; put back a copy"):
        ProjectDatabase(tmp_path)


def test_a_letter_that_changed_is_found(tmp_path: Path) -> None:
    """SQLite itself finds nothing wrong with it."""
    database = ProjectDatabase(tmp_path)
    ProjectStore(database).create(a_content("chess club"))
    database.close()
    content = (tmp_path / FILE).read_bytes()
    assert content.count(b"chess club") == 1
    (tmp_path / FILE).write_bytes(content.replace(b"chess club", b"cheese lub"))
    with pytest.raises(ProjectError, match=f"{FILE} is damaged: a row of its table contents"):
        ProjectDatabase(tmp_path)


@pytest.mark.parametrize(
    "loss",
    [
        "DELETE FROM versions WHERE version = 1",
        "DELETE FROM versions",
        "DELETE FROM contents WHERE id = 2",
    ],
)
def test_rows_that_are_gone_are_missed(tmp_path: Path, loss: str) -> None:
    database = ProjectDatabase(tmp_path)
    store = ProjectStore(database)
    project = store.create(a_content())
    for name in "bc":
        project = store.change(project.id, a_content(name), project.version)
    database.close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute(loss)
    other.close()
    with pytest.raises(ProjectError, match=f"{FILE} is damaged: .*rows are missing"):
        ProjectDatabase(tmp_path)


def test_projects_from_before_there_were_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = a_content().model_dump_json(exclude={"version"})
    with monkeypatch.context() as patched:
        patched.setattr(project_database, "MIGRATIONS", MIGRATIONS[:1])
        database = ProjectDatabase(tmp_path)
        with database.writing() as connection:
            connection.execute("INSERT INTO projects VALUES ('p', 'then')")
            connection.execute("INSERT INTO contents VALUES (1, 'p', NULL, ?)", (body,))
            connection.execute("INSERT INTO versions VALUES ('p', 1, 'then', 'created', 1, 1, 0)")
        database.close()
    for _ in range(2):  # migrated, then checked
        database = ProjectDatabase(tmp_path)
        assert ProjectStore(database).get("p").positives == [1, "b"]
        database.close()


def test_somebody_elses_file_is_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("CREATE TABLE precious (x)")
    other.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ProjectError, match="is not a file of label projects"):
        ProjectDatabase(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_later_format_is_refused_and_an_earlier_one_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = ProjectDatabase(tmp_path)
    project = ProjectStore(database).create(a_content())
    database.close()
    more = (*MIGRATIONS, "ALTER TABLE projects ADD COLUMN colour TEXT")
    with monkeypatch.context() as patched:
        patched.setattr(project_database, "MIGRATIONS", more)
        database = ProjectDatabase(tmp_path)
        with database.reading() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (found,) = connection.execute("SELECT colour FROM projects").fetchone()
        assert version == len(more)
        assert found is None
        assert ProjectStore(database).get(project.id) == project
        database.close()
    with pytest.raises(ProjectError, match="a later version of metatne"):
        ProjectDatabase(tmp_path)


def test_the_file_is_kept_safe(tmp_path: Path) -> None:
    database = ProjectDatabase(tmp_path)
    with database.reading() as connection:
        for pragma, expected in (
            ("journal_mode", "wal"),
            ("synchronous", 2),
            ("foreign_keys", 1),
            ("application_id", APPLICATION),
        ):
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (expected,)
    database.close()


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    database = ProjectDatabase(tmp_path)
    store = ProjectStore(database)
    project = store.create(a_content())
    with database.reading() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    database._connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # a full disk
    large = ProjectContent(name="large", model="m", notes="x" * 90_000)
    with pytest.raises(ServiceError, match="nothing was changed"):
        store.change(project.id, large, 1)
    assert store.get(project.id) == project
    database._connection.execute("PRAGMA max_page_count = 1000000")
    assert store.change(project.id, large, 1).version == 2
    database.close()


def test_deleted_projects_make_room_when_they_are_purged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MAX_PROJECTS", 2)
    database = ProjectDatabase(tmp_path)
    store = ProjectStore(database)
    kept, gone = store.create(a_content("kept")), store.create(a_content("secret"))
    store.delete(gone.id, 1)
    with pytest.raises(Refusal, match="projects/purge"):
        store.create(a_content())
    assert store.purge().num_purged == 1
    assert store.purge().num_purged == 0
    assert store.create(a_content("new")).version == 1
    database.close()
    database = ProjectDatabase(tmp_path)  # which misses no rows
    store = ProjectStore(database)
    assert store.get(kept.id) == kept
    assert store.all(deleted=True).projects == []
    assert {project.name for project in store.all().projects} == {"kept", "new"}
    for ask in (store.get, store.restore, store.history):
        with pytest.raises(Refusal, match="no project"):
            ask(gone.id)
    with database.reading() as connection:
        bodies = connection.execute("SELECT body FROM contents").fetchall()
    assert not any("secret" in body for (body,) in bodies)
    database.close()


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProjectError, match="--data"):
        ProjectDatabase(tmp_path / "file" / "data")


def test_a_lock_held_for_long_is_no_mistake_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_database, "BUSY_SECONDS", 0.1)
    database = ProjectDatabase(tmp_path)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ServiceError, match="locked"):
        ProjectStore(database).create(a_content())
    with pytest.raises(ServiceError, match="locked"):
        ProjectDatabase(tmp_path)
    other.execute("ROLLBACK")
    other.close()
    assert ProjectStore(database).create(a_content()).version == 1
    database.close()


def test_a_file_that_can_only_be_read_is_not_damaged(tmp_path: Path) -> None:
    database = ProjectDatabase(tmp_path)
    database._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(ServiceError, match="readonly"):
        ProjectStore(database).create(a_content())
    database.close()


def test_a_missing_table_is_damage(tmp_path: Path) -> None:
    database = ProjectDatabase(tmp_path)
    database._connection.execute("DROP TABLE versions")
    with pytest.raises(ProjectError, match="is damaged: no such table"):
        ProjectStore(database).all()
    database.close()


def test_once_closed_it_says_that_the_service_stops(tmp_path: Path) -> None:
    database = ProjectDatabase(tmp_path)
    database.close()
    with pytest.raises(ServiceError, match="the service is stopping"):
        ProjectStore(database).all()


def test_a_history_has_names_and_numbers_and_reads_no_damage(tmp_path: Path) -> None:
    database = ProjectDatabase(tmp_path)
    store = ProjectStore(database)
    project = store.create(a_content('a "b" \x00 ü\u2028'))
    (line,) = store.history(project.id).versions
    assert (line.name, line.num_positives, line.num_negatives) == (project.name, 2, 0)
    for body in ("{", "{}", "[]"):
        database._connection.execute("UPDATE contents SET body = ?", (body,))
        with pytest.raises(ProjectError, match="is damaged"):
            store.history(project.id)
    database.close()
