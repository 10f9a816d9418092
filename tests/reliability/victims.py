"""What is killed: each function does one kind of work, and says when it has begun or done some.

Imported once by the process that all victims are forked from (`killing.py`).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from metatne.cli import main
from metatne.cli import train as _  # noqa: F401 - imported before the fork, not after
from metatne.config import make_config
from metatne.estimator import MetaTNE
from metatne.evaluation.protocol import TrialSettings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import Outcome, Trial, evaluate, run_one
from metatne.graph.planted import planted_graph
from metatne.graph.readers import read_graph
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.service.project_database import ProjectDatabase
from metatne.service.projects import ProjectStore
from metatne.service.questions import ProjectContent
from metatne.training import checkpoint
from metatne.training.trainer import Trainer

Say = Callable[[Any], None]

WARM_UP = "METATNE_WARM_UP"
"""The variable that is set for the process from which victims are forked."""

TRIAL = TrialSettings("degree", "default", positives=4, negatives=6, num_tasks=20)
SPLIT = LabelSplit(known=np.arange(7), validation=np.arange(7, 10), test=np.arange(0))
NETWORK = {
    "head": "prototypes",
    "dim": 16,
    "attention_dim": 16,
    "num_heads": 2,
    "feedforward_dim": 16,
    "positives": 4,
    "negatives": 6,
    "device": "cpu",
}


def small_graph(seed: int = 2) -> Graph:
    """150 nodes and 10 labels."""
    return planted_graph(150, num_labels=10, num_communities=6, seed=seed).graph


def command(*arguments: object) -> None:
    """A command of `metatne`, which must end well."""
    sys.argv = ["metatne", *map(str, arguments)]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def import_again_and_again(say: Say, sources: Sequence[tuple[Path, Path]], out: Path) -> None:
    """Import one pair of files after the other into the same place."""
    say("begun")
    for number in count():
        edges, labels = sources[number % len(sources)]
        command("graph", "import", edges, "--labels", labels, "--out", out, "--overwrite")
        say(number)


def train(say: Say, graph: Path, out: Path, settings: Sequence[str]) -> None:
    """Train, or go on with it; a checkpoint at the end of every step."""
    change: Any = checkpoint.Checkpointer.__init__
    change.__kwdefaults__["every_seconds"] = 0.0
    checkpoint.SHARE_OF_TIME = float("inf")
    unfinished = out.parent / f"{out.name}.unfinished" / "checkpoint.safetensors"
    resume = ["--resume"] if unfinished.exists() else []
    say("begun")
    command("train", graph, "--out", out, "--overwrite", *resume, *settings)


def new_trainer(step: int = 0) -> Trainer:
    """One that is at this step, with weights that no other step has."""
    trainer = Trainer(small_graph(), SPLIT, make_config(NETWORK))
    trainer.state.step = step
    trainer.network.embeddings.data.add_(step)
    return trainer


def checkpoint_again_and_again(say: Say, path: Path, steps: Sequence[int]) -> None:
    """Save one training after the other into the same file."""
    trainers = [new_trainer(number) for number in steps]
    for number in count():
        trainer = trainers[number % len(trainers)]
        checkpoint.save_checkpoint(path, trainer, "print", SPLIT)
        say(number)


def evaluate_trials(say: Say, graph: Path, results: Path, trials: Sequence[int]) -> None:
    """Run trials, two at a time; say which are done, and by whom."""
    import psutil

    def on_result(row: dict[str, Any]) -> None:
        workers = [child.pid for child in psutil.Process().children()]
        say((row["trial"], workers))

    evaluate(
        str(graph),
        TRIAL,
        trials,
        results=ResultsFile(results),
        jobs=2,
        on_result=on_result,
    )


def die_in_trial_3(trial: Trial) -> Outcome:
    """Run a trial in a worker that does not survive one of them, and writes down each death."""
    if trial.number == 3:
        with (Path(trial.reference).parent / "deaths").open("a") as file:
            file.write("one\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return run_one(trial)


def die_in_any_trial(trial: Trial) -> Outcome:
    """No worker survives, whatever it is given; each writes down its death."""
    with (Path(trial.reference).parent / "deaths").open("a") as file:
        file.write("one\n")
    os.kill(os.getpid(), signal.SIGKILL)
    return run_one(trial)


def append_again_and_again(say: Say, path: Path, first: int, row: dict[str, Any]) -> None:
    """Append trials, a new one each time."""
    results = ResultsFile(path)
    for trial in count(first):
        results.append(row | {"trial": trial})
        say(trial)


def append_some(say: Say, path: Path, trials: Sequence[int], row: dict[str, Any]) -> None:
    """Append these trials, with time for another writer between a look at the end and the line."""
    look: Any = ResultsFile._end_of_whole_lines

    def look_slowly(self: ResultsFile, file: Any) -> int:
        end: int = look(self, file)
        time.sleep(0.002)
        return end

    with mock.patch.object(ResultsFile, "_end_of_whole_lines", look_slowly):
        _append(path, trials, row)


def _append(path: Path, trials: Sequence[int], row: dict[str, Any]) -> None:
    for trial in trials:
        ResultsFile(path).append(row | {"trial": trial})


def replace_again_and_again(say: Say, sources: Sequence[Path], out: Path) -> None:
    """Save one graph or model after the other into the same place."""
    loaded: list[Any] = [
        Graph.open(source) if (source / "graph.json").exists() else MetaTNE.load(source)
        for source in sources
    ]
    for number in count():
        loaded[number % len(loaded)].save(out, overwrite=True)
        say(number)


def write_projects(say: Say, folder: Path) -> None:
    """Change a label project in every way there is; say which version was acknowledged."""
    store = ProjectStore(ProjectDatabase(folder))
    project = store.create(ProjectContent(name="new", model="m"))
    say((project.id, project.version))
    for number in count():
        content = ProjectContent(name=str(number), model="m", positives=list(range(200)))
        for step in ("change", "undo", "redo", "delete", "restore"):
            if step == "change":
                project = store.change(project.id, content, project.version)
            elif step == "restore":
                project = store.restore(project.id)
            else:
                project = getattr(store, step)(project.id, project.version)
            say((project.id, project.version))


def warm_up() -> None:
    """Load what is loaded when it is first needed, compiled loops above all."""
    trainer = new_trainer()
    trainer.structural_step()
    trainer.meta_step()
    with TemporaryDirectory() as folder:
        edges = Path(folder) / "edges.csv"
        edges.write_text("a,b\nb,c\n")
        read_graph(edges).save(Path(folder) / "graph")


if WARM_UP in os.environ:
    warm_up()
