"""`metatne beyond`: studies of what the paper leaves open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say
from metatne.cli.evaluate import parse_trials
from metatne.cli.options import DataDirOption
from metatne.config import not_one_of
from metatne.experiments.beyond.catalogue import STUDIES, results_file, run_study

_LIST = "\n".join(f"  {name:<16} {study.title}" for name, study in STUDIES.items())

EXAMPLE = f"""\b
Studies:
{_LIST}

\b
Example:
  metatne beyond shots --dataset ppi --trials 1-3"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def beyond(
    study: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of {', '.join(STUDIES)}.")],
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="NAME", help="A data set or a graph directory.")
    ] = "debian",
    trials: Annotated[
        str, typer.Option("--trials", metavar="RANGE", help="Numbers such as 1-5 or 1,3,7-9.")
    ] = "1-3",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Gets beyond.jsonl, a line a trial; trials that it has are not run again.",
        ),
    ] = Path("results"),
    data_dir: DataDirOption = None,
) -> None:
    """Run a study of what the paper leaves open.

    Everything is measured on labels that the model has not seen; `metatne report` makes tables
    and curves of what is there.
    """
    if study not in STUDIES:
        raise not_one_of("STUDY", study, STUDIES)
    metric = STUDIES[study].metric
    numbers = parse_trials(trials)
    for row in run_study(study, dataset, numbers, results_file(out), data_dir=data_dir):
        for case in row["cases"]:
            at = "" if case["at"] is None else f" at {case['at']:g}"
            names = [metric] if metric else [name for name in case if name not in ("series", "at")]
            found = ", ".join(
                f"{name} {case[name]:{'g' if isinstance(case[name], int) else '.4f'}}"
                for name in names
            )
            say(f"trial {row['trial']}: {case['series']}{at}: {found}")
