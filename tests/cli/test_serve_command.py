"""Mistakes in `metatne serve`, each with its cure; `tests/service` has the service itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.conftest import Town
from cli.running import Run
from metatne.service.http import request_log


@pytest.fixture(autouse=True)
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log stays as the tests have it."""
    monkeypatch.setattr(request_log, "log_to_stderr", lambda: None)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing"], "there is no model at nothing"),
        (["{model}", "--graph", "nowhere"], "there is no graph directory"),
        (["{model}", "--graph", "debian"], "no model here was trained on 'debian'"),
        (["{model}", "--host", "0.0.0.0"], "a token is needed"),
        (["{model}", "--host", "no.such.host.invalid"], "a token is needed"),
        (["{model}", "--token", "missing"], "missing: No such file"),
        (["{model}", "--data", "{model}/model.json"], "--data"),
    ],
)
def test_mistakes_are_said_with_their_cure(
    run: Run, town: Town, arguments: list[str], expected: str
) -> None:
    given = [part.format(model=town.model) for part in arguments]
    if "--data" not in given:
        given += ["--data", "data"]
    done = run("serve", *given, "--port", 0)
    assert done.code == 2
    assert expected in done.err


def test_a_damaged_file_of_projects_is_named(run: Run, town: Town) -> None:
    Path("data").mkdir()
    Path("data/projects.sqlite3").write_text("no database" * 100)
    done = run("serve", town.model, "--port", 0, "--data", "data")
    assert done.code == 2
    assert "data/projects.sqlite3 is damaged" in done.err
    assert "move it away" in done.err


def test_a_missing_library_is_named(run: Run, town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("metatne.service.http")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = run("serve", town.model)
    assert done.code == 2
    assert "needs the package 'fastapi'" in done.err
    assert "pip install 'metatne[service]'" in done.err
