"""`metatne bench`, with benchmarks that take no time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.running import Finished, Run
from metatne.bench import registry
from metatne.bench.figure import Figure
from metatne.bench.registry import Registered
from metatne.bench.running import figures_of

FAKES = {
    "fast": """
def measure(quick):
    print("chatter of a library")
    yield Figure("small", "time", 1.0, "s", against=9.0, ratio=9.0, goal=8, judged="ratio at least")
    if not quick:
        yield Figure("large", "time", 5.0, "s", goal=2.0, details={"nodes": 7, "name": "ü"})
""",
    "broken": """
def measure(quick):
    yield Figure("before", "time", 1.0, "s")
    raise ZeroDivisionError("of the benchmark")
""",
    "refused": """
def measure(quick):
    raise OutOfMemoryError("too little memory")
    yield
""",
    "killed": """
import os, signal
def measure(quick):
    os.kill(os.getpid(), signal.SIGKILL)
    yield
""",
    "endless": """
def measure(quick):
    yield Figure("case", "time", float("nan"), "s")
""",
    "data": """
def measure(quick):
    yield Skipped("blogcatalog", "its file is not here")
    yield Figure("planted", "time", 1.0, "s")
    raise DatasetError("Homo_sapiens.mat is not in " + os.environ.get("METATNE_DATA", "the cache"))
""",
}
IMPORTS = """
import os
from metatne.bench.figure import Figure, Skipped
from metatne.errors import DatasetError, OutOfMemoryError
"""


@pytest.fixture(autouse=True)
def _fakes(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("fakes")
    for name, code in FAKES.items():
        (folder / f"{name}_bench.py").write_text(IMPORTS + code)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    fakes = {name: Registered(f"{name}_bench", f"is {name}") for name in FAKES}
    monkeypatch.setattr(registry, "BENCHMARKS", fakes | {"missing": Registered("no_such", "-")})
    monkeypatch.setattr("metatne.cli.bench.matmul_peak", lambda threads: 123.456)


def last_line(done: Finished) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.out.splitlines()[-1])
    return found


def test_a_table_as_figures_come_and_a_last_line_of_json(run: Run) -> None:
    done = run("bench", "fast")
    assert done.code == 0  # though a goal is missed
    about, headings, small, large, empty, _ = done.out.splitlines()
    assert about == "fast: is fast"
    assert headings.split() == ["case", "quantity", "value", "against", "ratio", "goal"]
    assert " ".join(small.split()) == "small time 1 s 9 s 9 × ≥ 8 × met"
    assert " ".join(large.split()) == "large time 5 s ≤ 2 s MISSED"
    assert empty == ""
    assert "chatter" not in done.out

    found = last_line(done)
    assert list(found)[:4] == ["bench", "quick", "machine", "seconds"]
    assert (found["bench"], found["quick"]) == ("fast", False)
    assert found["machine"]["matmul_gflops"] == 123.5
    assert found["machine"]["cpu"]
    assert found["seconds"] == found["seconds_by_bench"]["fast"] > 0
    assert [figure["is_met"] for figure in found["figures"]] == [True, False]
    assert found["figures"][1]["details"] == {"nodes": 7, "name": "ü"}
    assert found["skipped"] == found["failed"] == []
    assert figures_of(found) == [
        ("fast", Figure("small", "time", 1.0, "s", 9.0, 9.0, 8, "ratio at least")),
        ("fast", Figure("large", "time", 5.0, "s", goal=2.0, details={"nodes": 7, "name": "ü"})),
    ]


def test_quick_is_passed_on_and_the_file_has_what_is_shown(run: Run) -> None:
    done = run("bench", "fast", "--quick", "--out", "deep/bench.json")
    found = last_line(done)
    assert found["quick"]
    assert [figure["case"] for figure in found["figures"]] == ["small"]
    assert json.loads(Path("deep/bench.json").read_text(encoding="utf-8")) == found


def test_all_run_though_some_fail(run: Run) -> None:
    done = run("bench", "all")
    assert done.code == 1
    found = last_line(done)
    assert found["bench"] == "all"
    assert list(found["seconds_by_bench"]) == list(registry.BENCHMARKS)
    assert [(figure["bench"], figure["case"]) for figure in found["figures"]] == [
        ("fast", "small"),
        ("fast", "large"),
        ("broken", "before"),
        ("data", "planted"),
    ]
    reasons = {row["bench"]: row["reason"] for row in found["failed"]}
    assert reasons == {
        "broken": "ZeroDivisionError: of the benchmark",
        "refused": "too little memory",
        "killed": "was ended by SIGKILL (out of memory?)",
        "endless": reasons["endless"],
        "missing": "ModuleNotFoundError: No module named 'no_such'",
    }
    assert "JSON compliant" in reasons["endless"]
    for name, reason in reasons.items():
        assert f"error: {name} failed: {reason}" in done.err


def test_what_needs_absent_data_is_skipped_in_words(run: Run, tmp_path: Path) -> None:
    done = run("bench", "data", "--data-dir", tmp_path)
    assert done.code == 0
    assert "  blogcatalog skipped: its file is not here\n" in done.out
    assert f"  what is left skipped: Homo_sapiens.mat is not in {tmp_path}\n" in done.out
    found = last_line(done)
    assert [row["case"] for row in found["skipped"]] == ["blogcatalog", "what is left"]
    assert [figure["case"] for figure in found["figures"]] == ["planted"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["slow"], "there is no benchmark 'slow'; expected one of fast, broken"),
        (["fast", "--data-dir", "none"], "--data-dir: there is no directory none"),
        (["fast", "--out", "."], "--out: expected a file, found the directory ."),
    ],
)
def test_mistakes_are_said_before_any_work(run: Run, arguments: list[str], message: str) -> None:
    done = run("bench", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
