"""The pages that are written from the code are up to date (`make docs` writes them)."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def test_the_reference_is_not_stale() -> None:
    written = _script("write_cli_reference.py")["reference"]()
    assert written == _page("cli.md"), "docs/cli.md is stale; run `make docs`"


def test_the_errors_are_not_stale() -> None:
    # The file of a million lines is one of a thousand here, broken in the middle as well.
    written: str = _script("write_errors_page.py")["errors_page"](num_lines=1_000)
    for found, on_the_page in (("long.csv:500:", "long.csv:500000:"), ("'499'", "'499999'")):
        assert written.count(found) == 1
        written = written.replace(found, on_the_page)
    assert written == _page("errors.md"), "docs/errors.md is stale; run `make docs`"


def _script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / name))


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")
