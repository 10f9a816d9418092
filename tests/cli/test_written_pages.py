"""The pages that are written from the code are up to date (`make docs` writes them)."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

from metatne.bench.figure import Figure
from metatne.bench.registry import BENCHMARKS

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


def test_the_methods_are_not_stale() -> None:
    written = _script("write_methods_page.py")["page"]()
    assert written == _page("methods.md"), "docs/methods.md is stale; run `make docs`"


def test_the_figures_are_not_stale() -> None:
    """The tables are those of `results/bench.json`, and so are the plots."""
    report = json.loads((ROOT / "results" / "bench.json").read_text(encoding="utf-8"))
    script = _script("write_performance_page.py")
    assert script["page"](_page("performance.md"), report) == _page("performance.md"), (
        "docs/performance.md is stale; run `make docs`"
    )
    drawn = {
        path.stem: path.read_text(encoding="utf-8")
        for path in (ROOT / "docs" / "plots").glob("*.svg")
    }
    expected = script["all_panels"](report)
    assert drawn.keys() == expected.keys()
    for name, panels in expected.items():
        made_from = f"<dc:description>{script['fingerprint'](panels)}<"
        assert made_from in drawn[name], f"docs/plots/{name}.svg is stale; run `make docs`"


def test_the_load_is_not_stale() -> None:
    report = json.loads((ROOT / "results" / "service.json").read_text(encoding="utf-8"))
    page = _script("write_load_table.py")["page"]
    assert page(_page("service.md"), report) == _page("service.md"), "run `make docs`"
    report["figures"][0]["per_second"] += 100
    assert page(_page("service.md"), report) != _page("service.md")


def test_the_page_shows_every_benchmark() -> None:
    for name in BENCHMARKS:
        assert f"<!-- {name} -->" in _page("performance.md")


def test_a_page_of_figures_can_be_stale() -> None:
    report = json.loads((ROOT / "results" / "bench.json").read_text(encoding="utf-8"))
    script = _script("write_performance_page.py")
    panels = script["all_panels"](report)
    report["machine"]["matmul_gflops"] += 100
    for figure in report["figures"]:
        figure["value"] *= 1.5
    stale = _page("performance.md")
    renewed = script["page"](stale, report)
    assert renewed != stale
    assert script["page"](renewed, report) == renewed
    changed = script["all_panels"](report)
    for name in panels:
        assert script["fingerprint"](panels[name]) != script["fingerprint"](changed[name])


def test_the_arithmetic_of_scale_is_not_stale() -> None:
    """It follows from results/bench.json, and takes from there all that was measured."""
    report = json.loads((ROOT / "results" / "bench.json").read_text(encoding="utf-8"))
    script = _script("write_scale_page.py")
    assert script["page"](_page("scale.md"), report) == _page("scale.md"), (
        "docs/scale.md is stale; run `make docs`"
    )
    costs = script["costs_of"](report)
    measured = {figure["bench"] for figure in report["figures"]}
    for name, (bench, _, _) in script["BENCHED"].items():
        is_from_bench = costs[name].source.startswith(f"`bench {bench}`")
        assert is_from_bench == (bench in measured), f"{name}: {costs[name].source}"


def test_a_measured_cost_goes_through_to_the_hours() -> None:
    script = _script("write_scale_page.py")
    figure = Figure("1,000,000 nodes", "nodes scored a second", 2.0e6, "1/s")
    report = {"figures": [asdict(figure) | {"bench": "score", "is_met": None}]}
    written = script["page"](_page("scale.md"), report)
    assert "| q | nodes scored a second, 2 cores | 2 million | `bench score`" in written
    assert "V / (q / 2) = 16.7 min" in written


def _script(name: str) -> dict[str, Any]:
    folder = ROOT / "scripts"
    with mock.patch.object(sys, "path", [str(folder), *sys.path]):  # where a script's own are found
        return runpy.run_path(str(folder / name))


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")
