"""`metatne reproduce`: the trials of a table or figure of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import counting_progress, say
from metatne.cli.evaluate import PAPER_TRIALS, parse_trials
from metatne.cli.options import (
    MACHINES,
    AddressOption,
    Cluster,
    DataDirOption,
    EngineOption,
    PresetOption,
    check_new_file,
    chosen_cluster,
    load_graph,
)
from metatne.cli.single_studies import (
    count_datasets,
    draw_figure,
    run_search,
    those_that_are_here,
)
from metatne.config import PRESETS, not_one_of
from metatne.errors import InputError, RunError
from metatne.evaluation.methods import check_method
from metatne.evaluation.protocol import PAPER, PROTOCOLS, draws_label_zero
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import Engine, Trial, local_engine, run_trials
from metatne.experiments.studies import STUDIES, Study, cells_of, chosen
from metatne.graph.store import Graph

DATASETS_STUDY, VISUAL, SEARCH = "datasets", "visual", "search"
NAMES = (DATASETS_STUDY, *STUDIES, VISUAL, SEARCH)
NUM_TASKS, NUM_SAMPLES, NUM_STEPS, NUM_MINUTES = 1_000, 16, 2_000, 60.0
ALL_TRIALS = f"1-{PAPER_TRIALS}"
RESULTS = Path("results")
WHAT, SEARCHING = "What is run", "The study `search`"

_LIST = "\n".join(f"  {each.name:<10} {each.shows}: {each.title}" for each in STUDIES.values())

EXAMPLE = f"""\b
Studies:
  {DATASETS_STUDY:<10} Table 1: the data sets, counted
{_LIST}
  {VISUAL:<10} Figure 6: two queries before and after adaptation
  {SEARCH:<10} Table 4: the search for hyper-parameters, on validation tasks

\b
Example:
  metatne reproduce overall --dataset ppi --trials 1-2 --methods lp,line,metatne --tasks 200 \\
    --out my-results"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def reproduce(
    study: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of {', '.join(NAMES)}.")],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="NAME,…",
            help="Data sets or graph directories; by default those of the study whose files "
            "are here.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="NAME,…",
            help="All of the study's by default.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    trials: Annotated[
        str,
        typer.Option(
            "--trials",
            metavar="RANGE",
            help="Numbers such as 1-5 or 1,3,7-9.",
            rich_help_panel=WHAT,
        ),
    ] = ALL_TRIALS,
    shots: Annotated[
        str | None,
        typer.Option(
            "--shots",
            metavar="K+/K-,…",
            help="Such as 10/20; all of the study's by default.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    tasks: Annotated[
        int,
        typer.Option(
            "--tasks", min=1, metavar="N", help="Test tasks of a trial.", rich_help_panel=WHAT
        ),
    ] = NUM_TASKS,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            metavar="|".join(PROTOCOLS),
            help="The paper's, or one in which the nodes asked about have lost their labels.",
            rich_help_panel=WHAT,
        ),
    ] = PAPER,
    preset: PresetOption = "default",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Gets STUDY.jsonl, a line a trial; trials that it has already are not run again.",
        ),
    ] = RESULTS,
    engine: EngineOption = "local",
    address: AddressOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            metavar="N",
            help="Trials at a time on this machine, one thread each; by default 1, with Ray as "
            "many as there are cores.",
            rich_help_panel=MACHINES,
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=1,
            metavar="N",
            help="Points of the space that the search tries beside the published one; "
            f"{NUM_SAMPLES} by default.",
            rich_help_panel=SEARCHING,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=10,
            metavar="N",
            help=f"Steps of a training in the search at most; {NUM_STEPS:,} by default.",
            rich_help_panel=SEARCHING,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            min=0.1,
            metavar="N",
            help="After so many the search ends and gives up what still runs; "
            f"{NUM_MINUTES:g} by default.",
            rich_help_panel=SEARCHING,
        ),
    ] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Run the trials of a table or figure of the paper.

    Every trial is written down as it ends, so that the command can be stopped and given again;
    `metatne report` makes tables of what is there.
    """
    # Before any graph is fetched.
    for field, found, choices in (
        ("STUDY", study, NAMES),
        ("preset", preset, PRESETS),
        ("protocol", protocol, PROTOCOLS),
    ):
        if found not in choices:
            raise not_one_of(field, found, choices)
    _refuse_idle_options(
        study,
        {
            "--trials": trials != ALL_TRIALS,
            "--methods": methods is not None,
            "--shots": shots is not None,
            "--tasks": tasks != NUM_TASKS,
            "--protocol": protocol != PAPER,
            "--jobs": jobs is not None,
            "--samples": samples is not None,
            "--steps": steps is not None,
            "--minutes": minutes is not None,
            "--preset": preset != "default",
            "--engine": engine != "local",
            "--address": address is not None,
        },
    )
    if address is not None and jobs is not None:
        raise InputError(
            "--jobs: the cluster at --address runs as many trials at a time as it has CPUs; "
            "leave it out"
        )
    if study == DATASETS_STUDY:
        count_datasets(dataset, out, data_dir)
        return
    if study == VISUAL:
        draw_figure(dataset or "ppi", _one_trial(study, trials), preset, out, data_dir)
        return
    if study == SEARCH:
        cluster = chosen_cluster("ray", None, address)
        assert cluster is not None
        size = (samples or NUM_SAMPLES, steps or NUM_STEPS, minutes or NUM_MINUTES)
        run_search(dataset or "ppi", _one_trial(study, trials), cluster, *size, out, data_dir)
        return
    wanted = STUDIES[study]
    if preset == "default" != wanted.preset:
        say(f"with the preset {wanted.preset}, which this study's methods have in common")
    path = out / f"{study}.jsonl"
    check_new_file("--out", path)
    numbers = parse_trials(trials)
    cluster = chosen_cluster(engine, None, address)
    names = chosen("--methods", methods, wanted.methods)
    shot_names = chosen("--shots", shots, _shots_of(wanted))
    todo = []
    for reference, graph in _graphs(wanted, dataset, data_dir):
        cells = cells_of(
            wanted,
            names,
            preset=preset,
            num_tasks=tasks,
            protocol=protocol,
            draws_label_zero=draws_label_zero(graph.name),
        )
        # Cells of one method and trial follow each other: some need but one fit (`protocol`).
        todo += [
            Trial(reference, cell, number, data_dir)
            for method in names
            for number in numbers
            for cell in cells
            if cell.method == method and f"{cell.positives}/{cell.negatives}" in shot_names
        ]
    say(f"{_counted(len(todo))}, but for those that {path} has: a line as each ends")
    with (
        _engine(cluster, jobs) as run,
        counting_progress("trials", total=len(todo)) as progress,
    ):
        bar = progress.tasks[0].id

        def show(row: dict[str, Any]) -> None:
            progress.advance(bar)
            say(
                f"{row['dataset']} {row['positives']}/{row['negatives']}{_circumstances(row)} "
                f"{_with_preset(row)} trial {row['trial']}: AUC {row['auc']:.4f}  "
                f"F1 {row['f1']:.4f}  recall {row['recall']:.4f}  {row['seconds']:.0f} s"
            )

        try:
            run_trials(todo, results=ResultsFile(path), engine=run, on_result=show)
        except KeyboardInterrupt as stop:
            raise RunError(
                f"interrupted; {path} keeps the trials that have ended: "
                "give the same command to go on with the others"
            ) from stop
    elsewhere = "" if out == RESULTS else f" --results {out} --out {out}.md"
    are = "is" if len(todo) == 1 else "are"
    say(
        f"the {_counted(len(todo))} that you asked for {are} in {path}; "
        f"`metatne report{elsewhere}` makes tables of them"
    )


def _counted(num_trials: int) -> str:
    return f"{num_trials} trial{'' if num_trials == 1 else 's'}"


def _circumstances(row: dict[str, Any]) -> str:
    """How many queries a task has, where they are not as many as supports; another protocol."""
    queries = row["query_positives"], row["query_negatives"]
    is_as_supports = queries == (row["positives"], row["negatives"])
    text = "" if is_as_supports else f" queries {queries[0]}/{queries[1]}"
    return text if row["protocol"] == PAPER else f"{text} {row['protocol']}"


def _with_preset(row: dict[str, Any]) -> str:
    """The method, and the preset of one that has some."""
    has_presets = check_method(row["method"]).has_presets
    return f"{row['method']} ({row['preset']})" if has_presets else str(row["method"])


_OF_TRIALS = ("--methods", "--shots", "--tasks", "--protocol", "--jobs")
_OF_THE_SEARCH = ("--samples", "--steps", "--minutes")


def _refuse_idle_options(study: str, is_given: dict[str, bool]) -> None:
    """An option that a study does not heed was misunderstood; better said before it runs."""
    idle = [] if study in STUDIES else [*_OF_TRIALS]
    if study != SEARCH:
        idle += _OF_THE_SEARCH
    if study == DATASETS_STUDY:
        idle.append("--trials")
    if study in (DATASETS_STUDY, SEARCH):
        idle.append("--preset")
    if study in (DATASETS_STUDY, VISUAL):
        idle += ("--engine", "--address")
    for option in idle:
        if is_given[option]:
            raise InputError(f"{option}: the study {study!r} does not take it")


def _one_trial(study: str, text: str) -> int:
    """Of a study that is of one trial: the first, unless another is asked for."""
    numbers = parse_trials(text)
    if text != ALL_TRIALS and len(numbers) > 1:
        raise InputError(f"--trials: the study {study!r} is of one trial, found {text!r}")
    return numbers[0]


def _shots_of(study: Study) -> list[str]:
    return list(dict.fromkeys(f"{cell.positives}/{cell.negatives}" for cell in study.cells()))


def _graphs(study: Study, text: str | None, data_dir: Path | None) -> Iterator[tuple[str, Graph]]:
    """The graphs to run on; of the study's own, those whose files cannot be had are left out."""
    if text is not None:
        for reference in dict.fromkeys(part.strip() for part in text.split(",")):
            yield reference, load_graph(reference, data_dir)
        return
    yield from those_that_are_here(study.datasets, data_dir)


@contextmanager
def _engine(cluster: Cluster | None, jobs: int | None) -> Iterator[Engine]:
    if cluster is None:
        yield local_engine(jobs or 1)
        return
    from metatne.cluster.session import ray_session
    from metatne.cluster.trials import ray_engine

    with ray_session(cluster.address, num_cpus=jobs):
        yield ray_engine()
