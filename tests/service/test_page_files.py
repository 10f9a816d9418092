"""The page's files: a fixed table, whatever is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.requests import Request

from metatne.service.http.page_files import PageFiles
from metatne.service.refusals import Refusal


def request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": raw})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html>")
    (page / "assets" / "app.js").write_text("1")
    (page / "assets" / "app.py").write_text("secret")
    (tmp_path / "beside.js").write_text("secret")
    return page


def test_files_are_served_from_memory(folder: Path) -> None:
    page = PageFiles(folder)
    (folder / "index.html").unlink()
    answer = page.answer(request(), "index.html")
    assert answer.body == b"<!doctype html>"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    script = page.answer(request(), "assets/app.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    again = page.answer(request(if_none_match=script.headers["etag"]), "assets/app.js")
    assert again.status_code == 304
    assert again.body == b""


@pytest.mark.parametrize(
    "name",
    ["assets/app.py", "assets/../../beside.js", "../beside.js", "assets", "/etc/passwd", "a\0b"],
)
def test_nothing_else_is(folder: Path, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        PageFiles(folder).answer(request(), name)
    assert refused.value.status == 404


def test_a_page_that_was_not_built_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="was not built"):
        PageFiles(tmp_path / "nothing").answer(request(), "index.html")
