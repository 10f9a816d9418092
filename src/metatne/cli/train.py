"""`metatne train`: a model from a graph and its known labels."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from metatne.cli.console import say, training_progress
from metatne.cli.options import (
    ConfigOption,
    DataDirOption,
    GraphArgument,
    OverwriteOption,
    PresetOption,
    SetOption,
    all_settings,
    load_graph,
)
from metatne.errors import OutputExistsError, RunError
from metatne.estimator import MetaTNE
from metatne.training.logs import DirectoryLog
from metatne.training.memory import estimate_training_bytes, format_bytes
from metatne.training.trainer import Observer, Stopped


def train(
    graph: GraphArgument,
    out: Annotated[Path, typer.Option("--out", help="Directory for the model.")],
    preset: PresetOption = "default",
    config: ConfigOption = None,
    assignments: SetOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything drawn.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a training that was stopped.")
    ] = False,
    log_dir: Annotated[
        Path | None, typer.Option("--log-dir", help="Write JSON lines and TensorBoard events here.")
    ] = None,
    data_dir: DataDirOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Learn from a graph and its known labels, and save the model."""
    if out.exists() and not overwrite:
        raise OutputExistsError(f"--out: {out} exists already; name another, or add --overwrite")
    checkpoint = _checkpoint_path(out, resume=resume, overwrite=overwrite)
    loaded = load_graph(graph, data_dir)
    model = MetaTNE(**{"seed": seed} | all_settings(preset, loaded.name, config, assignments))
    estimate = estimate_training_bytes(loaded.num_nodes, len(loaded.indices), model.config)
    say(f"{loaded!r}")
    say(f"training needs about {format_bytes(estimate)} of memory")
    with ExitStack() as stack:
        observers: list[Observer] = [stack.enter_context(training_progress())]
        if log_dir is not None:
            observers.append(stack.enter_context(DirectoryLog(log_dir)))
        should_stop = stack.enter_context(_stop_on_interrupt())
        try:
            model.fit(
                loaded,
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
    model.save(out, overwrite=overwrite)
    shutil.rmtree(checkpoint.parent, ignore_errors=True)
    best = model.history_.set_index("step").loc[model.best_step_]
    say(
        f"saved {out}: step {model.best_step_} of {model.num_steps_}, "
        f"validation AUC {best['auc']:.3f}, F1 {best['f1']:.3f}"
    )


def _checkpoint_path(out: Path, *, resume: bool, overwrite: bool) -> Path:
    """Where an unfinished training lies: beside the model that it will become."""
    folder = out.parent / f"{out.name}.unfinished"
    file = folder / "checkpoint.safetensors"
    if resume and not file.exists():
        raise OutputExistsError(f"--resume: there is no unfinished training at {folder}")
    if file.exists() and not resume:
        if not overwrite:
            raise OutputExistsError(
                f"{folder} holds an unfinished training; go on with --resume, "
                "or start again with --overwrite"
            )
        shutil.rmtree(folder)
    return file


@contextmanager
def _stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """While the block runs, Ctrl-C or SIGTERM asks for a stop; a second one ends at once."""
    is_asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal is_asked
        if is_asked:
            raise KeyboardInterrupt
        is_asked = True
        say("stopping at the end of this step …")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: is_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
