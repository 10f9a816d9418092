"""`make stress` and `make long-run`, for seconds: the same commands, the same promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from watching import Watch

ROOT = Path(__file__).parents[2]


def run(command: str, out: Path, *options: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / command, *map(str, options), "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return figures


@pytest.mark.parametrize("what", ["mib", "handles", "threads"])
def test_what_grows_is_not_flat(what: str) -> None:
    """Nor is it because of what else stays; that in the beginning it grew is forgiven."""
    seen: dict[str, Any] = {name: [50, *[100] * 20] for name in ("mib", "handles", "threads")}
    assert Watch(**seen).figures()["is_flat"]
    assert not Watch(**seen | {what: list(range(50, 155, 5))}).figures()["is_flat"]


def test_a_service_under_stress(tmp_path: Path) -> None:
    found = run("stress.py", tmp_path / "s.json", "--seconds", 3, "--lives", 2, "--nodes", 1_000)
    assert found["num_broken"] == 0
    assert found["kills"] == 1
    assert found["acknowledged_writes"] > 0
    assert {"rank", "search", "change project", "oversized"} <= set(found["asked"])


def test_cycles_leave_nothing_behind(tmp_path: Path) -> None:
    found = run("long_run.py", tmp_path / "l.json", "--seconds", 0, "--nodes", 200)
    assert found["is_flat"]
    assert found["changed_rankings"] == 0
