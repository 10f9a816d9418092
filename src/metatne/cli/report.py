"""`metatne report`: tables of the trials that were run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say
from metatne.cli.options import check_new_file
from metatne.errors import InputError
from metatne.evaluation.results import ResultsFile
from metatne.experiments.beyond.catalogue import results_file
from metatne.experiments.beyond.report import write_beyond
from metatne.experiments.plots import draw_plots
from metatne.experiments.report import write_report
from metatne.experiments.series import graphs_by_name, told_apart
from metatne.experiments.single_runs import evaluated_rows, write_single_runs
from metatne.experiments.studies import STUDIES
from metatne.storage import new_file

PAGE, FIGURES = Path("RESULTS.md"), Path("docs/figures")

EXAMPLE = """\b
Example:
  metatne report --results my-results --out my-results.md"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def report(
    results: Annotated[
        Path,
        typer.Option(
            "--results",
            metavar="DIR",
            help="Where `metatne reproduce` put its lines; those of `metatne evaluate` are shown "
            "from its folder `evaluate`.",
        ),
    ] = Path("results"),
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE.md", help="The page; one that exists is replaced."),
    ] = PAGE,
    plots: Annotated[
        Path | None,
        typer.Option(
            "--plots",
            metavar="DIR",
            help="Gets a picture where the paper has a figure; docs/figures for RESULTS.md, and "
            "FILE-figures beside any other page.",
        ),
    ] = None,
) -> None:
    """Make tables of the trials that were run.

    The paper's numbers stand beside ours; where the paper has a figure, there is a plot.
    """
    if not results.is_dir():
        raise InputError(f"--results: there is no directory {results}; run `metatne reproduce`")
    check_new_file("--out", out)
    if plots is None:  # nobody's page replaces another's pictures unasked
        plots = FIGURES if out == PAGE else out.with_name(f"{out.stem}-figures")
    found = {name: ResultsFile(results / f"{name}.jsonl").rows() for name in STUDIES}
    further = results_file(results).rows()
    graphs = graphs_by_name(row for rows in (*found.values(), further) for row in rows)
    found = {name: told_apart(rows, graphs) for name, rows in found.items()}
    further = told_apart(further, graphs)
    for name in (name for name, those in graphs.items() if len(those) > 1):
        others = ", ".join(f"{name} ({graph})" for graph in graphs[name][1:])
        say(f"there are {len(graphs[name])} graphs called {name}: the later ones are {others}")
    once = write_single_runs(results, plots, out.parent)
    if not any(found.values()) and not further and not once:
        raise InputError(
            f"--results: {results} has no lines of {', '.join(STUDIES)}; {_elsewhere(results)}"
        )
    page = write_report(found) + draw_plots(found, plots, out.parent)
    page += once
    page += write_beyond(further, plots, out.parent)
    with new_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    num_trials = sum(map(len, (*found.values(), further, evaluated_rows(results))))
    say(f"{out}: {num_trials:,} trials")


def _elsewhere(results: Path) -> str:
    """Where there are lines, if they are near; else how to make some."""
    below = sorted(path for path in results.iterdir() if path.is_dir())
    for near in (results.absolute().parent, *below):
        if any((near / f"{name}.jsonl").is_file() for name in STUDIES):
            return f"did you mean {near}?"
    return "run `metatne reproduce`"
