"""`metatne bench`: speed and memory, measured here and held against the goals."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from metatne.bench import registry
from metatne.bench.figure import Figure
from metatne.bench.measuring import machine_facts, matmul_peak
from metatne.bench.running import Failed, Report, Result
from metatne.bench.showing import HEADINGS, cells
from metatne.cli.command import FAILED, Command, new_app
from metatne.cli.console import fail, say, show
from metatne.cli.options import check_data_dir, check_new_file
from metatne.graph.datasets import DATA_VARIABLE
from metatne.parallel import num_threads
from metatne.storage import write_json

WIDTHS = (30, 26, 20, 20, 9, 20, 6)
"""Of the table's columns, which are set before the first figure is there."""

_LISTED = "\n".join(f"  {name:10}  {known.about}" for name, known in registry.BENCHMARKS.items())
EXAMPLE = f"""\b
Benchmarks:
{_LISTED}

\b
Example:
  metatne bench all --quick"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def bench(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"{', '.join(registry.BENCHMARKS)}, or all of them."),
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smaller cases and fewer repeats: minutes for all of them."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.json",
            help="Write the JSON here too; a file that exists is replaced.",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            help=f"Look here for the files of datasets, none of which is downloaded "
            f"(so does the variable {DATA_VARIABLE}).",
        ),
    ] = None,
) -> None:
    """Measure speed and memory on this machine.

    Each figure comes with that of the plain way to do the same work, measured in the same
    run, and with its goal. The last line is one JSON object with all of them and the facts of
    the machine. A missed goal is marked MISSED and is no error; a benchmark that fails is
    one (exit code 1), and the others still run. What needs a data set that is not on this
    machine is skipped, and said.
    """
    names = registry.chosen(name)
    if out is not None:
        check_new_file("--out", out)
    check_data_dir(data_dir)
    if data_dir is not None:
        os.environ[DATA_VARIABLE] = str(data_dir)  # the benchmarks' processes inherit it
    threads = num_threads()
    machine = machine_facts() | {"matmul_gflops": round(matmul_peak(threads), 1)}
    say(
        f"{machine['cpu']}, {threads} threads: matrix products reach "
        f"{machine['matmul_gflops']:.0f} GFLOP/s"
    )
    report = Report(name, quick, machine)
    for chosen in names:
        show(f"{chosen}: {registry.BENCHMARKS[chosen].about}")
        _show_row(HEADINGS)
        for result in report.collect(chosen):
            _show_result(chosen, result)
        show("")
    found = report.as_json()
    if out is not None:
        write_json(out, found)
    show(json.dumps(found, ensure_ascii=False, allow_nan=False))
    if report.has_failed:
        raise typer.Exit(FAILED)


def _show_result(name: str, result: Result) -> None:
    if isinstance(result, Figure):
        _show_row(cells(result))
    elif isinstance(result, Failed):
        fail(f"{name} failed: {result.reason}")
    else:
        show(f"  {result.case} skipped: {result.reason}")


def _show_row(row: Iterable[str]) -> None:
    padded = (f"{cell:{width}}" for cell, width in zip(row, WIDTHS, strict=True))
    show(f"  {'  '.join(padded)}".rstrip())
