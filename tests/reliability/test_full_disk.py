"""No room, or no right to write: the error names the place, and the old is unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.running import files_up_to
from metatne.errors import MetaTNEError
from metatne.estimator import MetaTNE
from metatne.evaluation.results import KEY, MEASURED, ResultsFile
from metatne.service.project_database import ProjectDatabase
from metatne.service.projects import ProjectStore
from metatne.service.questions import ProjectContent
from metatne.training.checkpoint import save_checkpoint
from reliability import victims

READ_ONLY = Path("/sys/metatne")  # where nobody can make anything, not even root


def write_graph(folder: Path, number: int) -> None:
    victims.small_graph(2 + number).save(folder / "graph", overwrite=True)


def write_model(folder: Path, number: int) -> None:
    model = MetaTNE(**victims.NETWORK, num_steps=1, validation_tasks=2, seed=number)
    model.fit(victims.small_graph()).save(folder / "model", overwrite=True)


def write_checkpoint(folder: Path, number: int) -> None:
    path = folder / "checkpoint.safetensors"
    save_checkpoint(path, victims.new_trainer(number), "print", victims.SPLIT)


def write_results(folder: Path, number: int) -> None:
    row: dict[str, Any] = dict.fromkeys((*KEY, *MEASURED), 1) | {"note": "x" * 9_000}
    ResultsFile(folder / "results.jsonl").append(row | {"trial": number})


def write_project(folder: Path, number: int) -> None:
    database = ProjectDatabase(folder)
    try:
        ProjectStore(database).create(ProjectContent(name="a", model="m", notes="x" * 90_000))
    finally:
        database.close()


WRITERS = [write_graph, write_model, write_checkpoint, write_results, write_project]


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("write", WRITERS)
def test_a_full_disk(write: Any, tmp_path: Path) -> None:
    write(tmp_path, 0)
    before = content(tmp_path)
    room = 4_096 if write in (write_graph, write_model, write_checkpoint) else 12_000
    told = r"(?s)(could not be written: .*unchanged|nothing was changed)"
    with files_up_to(room), pytest.raises(MetaTNEError, match=told) as raised:
        write(tmp_path, 1)
    assert str(tmp_path) in str(raised.value)
    after = content(tmp_path)
    if write is write_project:  # SQLite's notes of the moment come and go
        after = {name: data for name, data in after.items() if name == "projects.sqlite3"}
    assert after == before
    write(tmp_path, 1)
    assert content(tmp_path) != before


@pytest.mark.skipif(not READ_ONLY.parent.exists(), reason="there is no /sys to fail at")
@pytest.mark.parametrize("write", WRITERS)
def test_a_directory_that_cannot_be_written_to(write: Any) -> None:
    told = r"(could not be written|cannot be kept in .*can be written to)"
    with pytest.raises(MetaTNEError, match=told) as raised:
        write(READ_ONLY, 0)
    assert str(READ_ONLY) in str(raised.value)
