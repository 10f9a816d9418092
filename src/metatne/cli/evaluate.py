"""`metatne evaluate`: the paper's protocol on a graph, trial by trial."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from metatne.cli.command import Command, new_app
from metatne.cli.console import counting_progress, say, show_table
from metatne.cli.options import (
    ConfigOption,
    DataDirOption,
    GraphArgument,
    PresetOption,
    SetOption,
    check_new_file,
    load_graph,
    own_settings,
)
from metatne.errors import ConfigError
from metatne.evaluation.methods import METHODS, check_method
from metatne.evaluation.paper import MeanStd, paper_result
from metatne.evaluation.protocol import PAPER, PROTOCOLS, TrialSettings, draws_label_zero
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import evaluate as run_cell
from metatne.graph.datasets import DATASETS

PAPER_TRIALS = 50
METRICS = ("auc", "f1", "recall", "average_precision")
PROTOCOL_PANEL = "Protocol"

EXAMPLE = """\b
Example:
  metatne evaluate blogcatalog --trials 1-10 --jobs 2 --out results.jsonl"""

TEST_LABELS = "test_labels"
"""How many labels a trial's tasks are of: of few, a mean says little of labels to come."""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def evaluate(
    graph: GraphArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE.jsonl",
            help="Gets one JSON line a trial; trials that it has already are not run again.",
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help=f"What is to be scored: {', '.join(METHODS)}. "
            "All but metatne may need pip install 'metatne[baselines]'.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = "metatne",
    trials: Annotated[
        str,
        typer.Option(
            "--trials",
            metavar="RANGE",
            help="Numbers such as 1-5 or 1,3,7-9. A trial's number draws its split of the "
            "labels (trial 3 is the paper's trial 3) and is its seed.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = "1-5",
    positives: Annotated[
        int,
        typer.Option(
            "--positives",
            min=1,
            metavar="N",
            help="K+: positives of a task's support, and of its query.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = 10,
    negatives: Annotated[
        int,
        typer.Option(
            "--negatives",
            min=1,
            metavar="N",
            help="K-: negatives of a task's support, and of its query.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = 20,
    tasks: Annotated[
        int,
        typer.Option(
            "--tasks",
            min=1,
            metavar="N",
            help="Test tasks of a trial.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = 1000,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            metavar="|".join(PROTOCOLS),
            help="The paper's, or one in which 40 % of the nodes have lost their known labels, "
            "queries are drawn from these, and supports from the others.",
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = PAPER,
    draw_label_zero: Annotated[
        bool | None,
        typer.Option(
            "--draw-label-zero/--skip-label-zero",
            help="Whether the first label takes part: is drawn, or known. The published code draws "
            "no task of it, so it is left out on the paper's data sets and takes part elsewhere, "
            "unless said here.",
            show_default=False,
            rich_help_panel=PROTOCOL_PANEL,
        ),
    ] = None,
    preset: PresetOption = "default",
    config: ConfigOption = None,
    assignments: SetOption = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", min=1, metavar="N", help="Trials to run at a time, one thread each."
        ),
    ] = 1,
    data_dir: DataDirOption = None,
) -> None:
    """Score a method on labels it has never seen.

    This is the paper's protocol: 60 % of the labels are trained on, 20 % choose the step, and
    tasks are drawn from the rest. Ends with a table of the means over the trials, beside the
    paper's numbers where it has any.
    """
    numbers = parse_trials(trials)
    check_new_file("--out", out)
    given = own_settings(config, assignments)
    if "seed" in given:
        raise ConfigError("seed: a trial's number is its seed; choose trials with --trials")
    name = load_graph(graph, data_dir).name  # fetched with a bar, before the workers need it
    settings = TrialSettings(
        method=method,
        preset=preset,
        positives=positives,
        negatives=negatives,
        num_tasks=tasks,
        protocol=protocol,
        draws_label_zero=draws_label_zero(name) if draw_label_zero is None else draw_label_zero,
        settings=tuple(given.items()),
    )
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

        rows = run_cell(
            graph, settings, numbers, results=results, jobs=jobs, data_dir=data_dir, on_result=show
        )
    show_table(results_table(rows, settings))


def _paper_key(dataset: str) -> str | None:
    """What the paper calls a data set, if it has it."""
    return DATASETS[dataset].paper_key if dataset in DATASETS else None


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


def results_table(rows: list[dict[str, Any]], settings: TrialSettings) -> Table:
    """Mean ± standard deviation over the trials, beside the paper's where it has them."""
    dataset = rows[0]["dataset"]
    table = Table(
        title=f"{dataset}, {settings.positives}/{settings.negatives}, "
        f"{settings.num_tasks:,} tasks a trial",
        title_justify="left",
        title_style="",
        box=None,
        pad_edge=False,
    )
    entry = check_method(settings.method)
    preset = f" ({settings.preset})" if entry.has_presets else ""
    columns = {f"{settings.method}{preset}": _measured(rows)}
    shots = settings.positives, settings.negatives
    paper = paper_result(_paper_key(dataset), *shots, entry.paper_title)
    if paper is not None and settings.protocol == PAPER:
        columns[f"{entry.paper_title} in the paper"] = _published(paper)
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for fact in (*METRICS, TEST_LABELS, "trials", "seconds"):
        if fact == TEST_LABELS and all(fact not in column for column in columns.values()):
            continue  # lines of before do not say
        cells = (column.get(fact, "-") for column in columns.values())
        table.add_row(fact.replace("_", " "), *cells)
    return table


def _measured(rows: list[dict[str, Any]]) -> dict[str, str]:
    cells = {}
    for metric in METRICS:
        values = [row[metric] for row in rows]
        spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
        cells[metric] = f"{statistics.mean(values):.4f}{spread}"
    if labels := [row[TEST_LABELS] for row in rows if TEST_LABELS in row]:
        few, many = min(labels), max(labels)
        cells[TEST_LABELS] = f"{few}" if few == many else f"{few} to {many}"
    seconds = statistics.mean(row["seconds"] for row in rows)
    return cells | {"trials": str(len(rows)), "seconds": f"{seconds:.0f}"}


def _published(paper: dict[str, MeanStd]) -> dict[str, str]:
    cells = {name: f"{value['mean']:.4f} ± {value['std']:.4f}" for name, value in paper.items()}
    return cells | {"trials": str(PAPER_TRIALS)}
