"""No copyleft in the core; a package that brings some is found."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_licences.py"


@pytest.fixture(scope="module")
def licences() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_core_is_free_of_copyleft(licences: dict[str, Any]) -> None:
    core = set(licences["needed"](licences["CORE"]))
    assert {"torch", "numpy", "fastapi", "starlette", "httpx", "llvmlite"} <= core
    assert licences["core_faults"](core) == []


def test_copyleft_would_be_found(licences: dict[str, Any]) -> None:
    assert licences["core_faults"]({"gensim"}) == ["gensim is under LGPL-2.1-only"]


@pytest.mark.parametrize(
    ("licence", "is_copyleft"),
    [
        ("GPL-3.0-or-later", True),
        ("AGPL-3.0-only", True),
        ("GNU Lesser General Public License v3 (LGPLv3)", True),
        ("GNU General Public License v2 (GPLv2)", True),
        ("MIT AND GPL-2.0-only", True),
        ("Apache-2.0 OR GPL-2.0-only", False),
        ("MIT", False),
        ("Mozilla Public License 2.0 (MPL 2.0)", False),
    ],
)
def test_what_is_copyleft(licences: dict[str, Any], licence: str, is_copyleft: bool) -> None:
    assert licences["is_copyleft"](licence) is is_copyleft
