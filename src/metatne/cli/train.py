"""`metatne train`: a model from a graph and its known labels."""

from __future__ import annotations

import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say
from metatne.cli.options import (
    MACHINES,
    SETTINGS,
    AddressOption,
    Cluster,
    ConfigOption,
    DataDirOption,
    EngineOption,
    GraphArgument,
    OverwriteOption,
    PresetOption,
    SetOption,
    all_settings,
    check_new_directory,
    chosen_cluster,
    load_graph,
)
from metatne.cli.plots import check_plot, plot_history
from metatne.cli.saving import save_model
from metatne.cli.training_bar import training_progress
from metatne.errors import MAX_SHOWN, InputError, OutputExistsError, RunError
from metatne.estimator import MetaTNE
from metatne.free_memory import format_bytes
from metatne.graph.source import GraphSource
from metatne.graph.store import Graph
from metatne.parallel import num_cores
from metatne.quality import QualityWarning
from metatne.saved import HEADER
from metatne.storage import own_directory
from metatne.training.logs import DirectoryLog
from metatne.training.memory import GraphSize, check_memory, estimate_training_bytes
from metatne.training.team import check_team
from metatne.training.trainer import Observer, Stopped

EXAMPLE = """\b
Example:
  metatne train mygraph --out model --seed 1 --set head_steps=600"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def train(
    graph: GraphArgument,
    out: Annotated[Path, typer.Option("--out", metavar="MODEL", help="Directory for the model.")],
    preset: PresetOption = "default",
    config: ConfigOption = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="The seed that everything is drawn from, 0 if not given; the same seed, "
            "the same model.",
            rich_help_panel=SETTINGS,
        ),
    ] = None,
    assignments: SetOption = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a training that was stopped; ends with the model of an unbroken one.",
        ),
    ] = False,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            "--log-dir", metavar="DIR", help="Write JSON lines and TensorBoard events here."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE.png",
            help="Draw what each validation saw (pip install 'metatne[plot]').",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    engine: EngineOption = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            metavar="N",
            help="Workers that share every batch; with --engine ray, one a machine by default.",
            rich_help_panel=MACHINES,
        ),
    ] = None,
    address: AddressOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Learn from a graph and its known labels, and save the model.

    The default takes seconds. With the paper's head (--preset short, brief, paper-small or paper)
    Ctrl-C stops at the end of a step and keeps what was learned in MODEL.unfinished, as does a
    checkpoint now and then; --resume goes on from there.
    """
    cluster = chosen_cluster(engine, workers, address)
    checkpoint = _checkpoint(out)
    _check_outputs(out, checkpoint, resume=resume, overwrite=overwrite)
    check_plot(plot)
    loaded = load_graph(graph, data_dir)
    model = MetaTNE(**all_settings(preset, loaded.name, config, seed, assignments))
    if cluster is not None:
        check_team(model.config)
    estimate = estimate_training_bytes(GraphSize.of(loaded), model.config)
    say(f"{loaded!r}")
    say(f"training needs about {format_bytes(estimate)} of memory{' a worker' if cluster else ''}")
    if cluster is not None and cluster.address is None:
        check_memory((cluster.num_workers or 1) * estimate)
    with _kept_if_unfinished(checkpoint.parent):
        # Another training may have ended here since.
        _check_outputs(out, checkpoint, resume=resume, overwrite=overwrite)
        if not resume:
            checkpoint.unlink(missing_ok=True)
        _fit(model, loaded, cluster, checkpoint, resume=resume, log_dir=log_dir)
        save_model(model, GraphSource.of(graph), out, overwrite=overwrite)
        shutil.rmtree(checkpoint.parent)
    if plot is not None:
        plot_history(model.history_, model.best_step_, plot)
        say(f"drew {plot}")
    used = {*model.trained_.known_labels, *model.trained_.validation_labels}
    if unused := [name for name in loaded.labels.names if name not in used]:
        say(
            f"{len(unused)} of {loaded.labels.num_labels} labels have too few holders and were not "
            f"used ({', '.join(unused[:MAX_SHOWN])}{', …' if len(unused) > MAX_SHOWN else ''}); "
            "smaller tasks use more of them (--set positives=…)"
        )
    best = model.history_.set_index("step").loc[model.best_step_]
    say(
        f"saved {out}: step {model.best_step_} of {model.num_steps_}, "
        f"validation AUC {best['auc']:.3f}, F1 {best['f1']:.3f}"
    )
    if model.quality_ is not None:
        say(model.quality_.verdict())
    if model.best_step_ == 0:
        say(
            "no step beat the start on the validation labels, so the start was kept: "
            "there were too few labels, or too few steps, to learn more"
        )


def _fit(
    model: MetaTNE,
    graph: Graph,
    cluster: Cluster | None,
    checkpoint: Path,
    *,
    resume: bool,
    log_dir: Path | None,
) -> None:
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", QualityWarning)  # it is said at the end, as all else is
        observers: list[Observer] = [stack.enter_context(training_progress())]
        if log_dir is not None:
            observers.append(stack.enter_context(DirectoryLog(log_dir)))
        fit = model.fit if cluster is None else stack.enter_context(_fit_on_ray(model, cluster))
        should_stop = stack.enter_context(_stop_on_interrupt())
        try:
            fit(
                graph,
                observers=observers,
                checkpoint=checkpoint,
                resume=resume,
                should_stop=should_stop,
            )
        except Stopped as stopped:
            raise RunError(
                f"stopped; the training is kept in {checkpoint.parent}: "
                "give the same command with --resume to go on"
            ) from stopped


@contextmanager
def _fit_on_ray(model: MetaTNE, cluster: Cluster) -> Iterator[Callable[..., object]]:
    """Something to call like `model.fit`, while there is a Ray whose workers do it."""
    from metatne.cluster.session import cpus_by_machine, ray_session
    from metatne.cluster.training import fit_on_ray

    def say_restart() -> None:
        say("a worker died; all go on from the last checkpoint")

    num_cpus = max(cluster.num_workers or 1, num_cores())
    with ray_session(cluster.address, num_cpus=num_cpus):
        num_workers = cluster.num_workers or len(cpus_by_machine())
        say(f"Ray is ready; workers: {num_workers}")
        yield partial(fit_on_ray, model, num_workers=num_workers, on_restart=say_restart)


def _checkpoint(out: Path) -> Path:
    """The file of an unfinished training: beside the model that it will become."""
    return out.parent / f"{out.name}.unfinished" / "checkpoint.safetensors"


def _check_outputs(out: Path, checkpoint: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse all that could spoil the end of a long training, before it starts."""
    check_new_directory("--out", out, overwrite=overwrite)
    if out.exists() and not (out / HEADER).is_file():
        raise InputError(f"--out: {out} is not a saved model, so it is not replaced; name another")
    if resume and not checkpoint.exists():
        raise InputError(f"--resume: there is no unfinished training at {checkpoint.parent}")
    if checkpoint.exists() and not resume and not overwrite:
        raise OutputExistsError(
            f"{checkpoint.parent} holds an unfinished training; go on with --resume, "
            "or start again with --overwrite"
        )


@contextmanager
def _kept_if_unfinished(folder: Path) -> Iterator[None]:
    """The checkpoint's folder, ours while the block runs, and kept if there is a checkpoint."""
    with own_directory(folder):
        try:
            yield
        finally:
            with suppress(OSError):
                folder.rmdir()  # which only an empty one lets happen


@contextmanager
def _stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """While the block runs, Ctrl-C or SIGTERM asks for a stop; a second one ends at once."""
    is_asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal is_asked
        if is_asked:
            raise KeyboardInterrupt
        is_asked = True
        say("stopping at the end of a step …")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: is_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
