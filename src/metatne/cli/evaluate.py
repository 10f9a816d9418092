"""`metatne evaluate`: the paper's protocol on a graph, trial by trial."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from metatne.cli.console import counting_progress, output, say
from metatne.cli.options import (
    ConfigOption,
    DataDirOption,
    GraphArgument,
    PresetOption,
    SetOption,
    load_graph,
    own_settings,
)
from metatne.errors import ConfigError
from metatne.evaluation.paper import paper_result
from metatne.evaluation.protocol import METHODS, TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import evaluate as run_trials
from metatne.graph.datasets import DATASETS

METRICS = ("auc", "f1", "recall", "average_precision")


def evaluate(
    graph: GraphArgument,
    out: Annotated[
        Path, typer.Option("--out", help="JSON lines, one a trial; trials in it are skipped.")
    ],
    method: Annotated[
        str, typer.Option("--method", help=f"One of: {', '.join(METHODS)}.")
    ] = "metatne",
    preset: PresetOption = "default",
    trials: Annotated[str, typer.Option("--trials", help="Such as 1-5 or 1,3,7-9.")] = "1-5",
    positives: Annotated[int, typer.Option("--positives", min=1, help="K+ of each set.")] = 10,
    negatives: Annotated[int, typer.Option("--negatives", min=1, help="K- of each set.")] = 20,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Test tasks a trial.")] = 1000,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Trials at a time, one thread each.")
    ] = 1,
    draw_label_zero: Annotated[
        bool,
        typer.Option(
            "--draw-label-zero", help="Draw the first label too; the published code never does."
        ),
    ] = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Score a method on labels it has never seen, by the paper's protocol."""
    numbers = parse_trials(trials)
    settings = TrialSettings(
        method=method,
        preset=preset,
        positives=positives,
        negatives=negatives,
        num_tasks=tasks,
        draws_label_zero=draw_label_zero,
        settings=tuple(own_settings(config, assignments).items()),
    )
    load_graph(graph, data_dir)  # fetched once, with a bar, before the workers need it
    results = ResultsFile(out)
    with counting_progress("trials", total=len(numbers)) as progress:
        task = progress.tasks[0].id

        def show(row: dict[str, Any]) -> None:
            progress.advance(task)
            say(
                f"trial {row['trial']}: AUC {row['auc']:.4f}  F1 {row['f1']:.4f}  "
                f"recall {row['recall']:.4f}  AP {row['average_precision']:.4f}  "
                f"{row['seconds']:.0f} s, {row['steps']} steps"
            )

        rows = run_trials(
            graph, settings, numbers, results=results, jobs=jobs, data_dir=data_dir, on_result=show
        )
    output.print(_table(rows, settings))


def parse_trials(text: str) -> list[int]:
    """The numbers that `1-5` or `1,3,7-9` stands for."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ConfigError(f"--trials: expected numbers such as 1-5 or 1,3,7-9, found {text!r}")
        low, high = int(first), int(last if dash else first)
        if low < 1 or high < low:
            raise ConfigError(f"--trials: expected numbers from 1 up, in order, found {part!r}")
        numbers.extend(range(low, high + 1))
    return list(dict.fromkeys(numbers))


def _table(rows: list[dict[str, Any]], settings: TrialSettings) -> Table:
    dataset = rows[0]["dataset"]
    table = Table(
        title=f"{dataset}, {settings.positives}/{settings.negatives}, "
        f"{settings.num_tasks:,} tasks a trial"
    )
    table.add_column("", no_wrap=True)
    for metric in METRICS:
        table.add_column(metric.replace("_", " "), justify="right", no_wrap=True)
    table.add_column("trials", justify="right")
    table.add_column("seconds", justify="right")
    spreads = [_mean_std([row[metric] for row in rows]) for metric in METRICS]
    seconds = statistics.mean(row["seconds"] for row in rows)
    table.add_row(
        f"{settings.method} ({settings.preset})", *spreads, str(len(rows)), f"{seconds:.0f}"
    )
    paper_key = DATASETS[dataset].paper_key if dataset in DATASETS else None
    paper = paper_result(paper_key, settings.positives, settings.negatives)
    if paper is not None:
        cells = [
            f"{paper[metric]['mean']:.4f} ± {paper[metric]['std']:.4f}" if metric in paper else "-"
            for metric in METRICS
        ]
        table.add_row("MetaTNE in the paper", *cells, "50", "-")
    return table


def _mean_std(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.4f} ± {spread:.4f}"
