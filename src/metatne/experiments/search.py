"""The paper's search for hyper-parameters (Table 4), by Ray Tune on validation tasks."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.experiment import Trial as Attempt
from ray.tune.schedulers import AsyncHyperBandScheduler

from metatne.config import preset
from metatne.device import one_thread
from metatne.errors import RunError
from metatne.estimator import MetaTNE
from metatne.evaluation.protocol import TrialSettings, draws_label_zero, hide_labels, trial_split
from metatne.evaluation.results import ResultsFile
from metatne.experiments.search_space import (
    VERSION,
    Point,
    Row,
    best_first,
    config_hash,
    point_hash,
    points_to_try,
    settings_of,
)
from metatne.graph.datasets import open_graph
from metatne.graph.source import GraphSource
from metatne.training.trainer import Validation

FIRST_CUT = 4
"""What part of the steps, a quarter, every training takes: sooner, few of them are meta steps, and
points differ by their structural rates alone."""

REDUCTION = 2
"""Then HyperBand goes on with one training of so many, and again at twice the steps."""


class _Reporter:
    """Tells Ray Tune of every validation, so that it can end a training that lags behind."""

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """Nothing to tell."""

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """The score that selection maximises; HyperBand's clock begins at 1."""
        tune.report(
            {
                "score": validation.score,
                "auc": validation.auc,
                "f1": validation.f1,
                "step": validation.step,
                "clock": max(1, validation.step),
            }
        )


class Writer(tune.Callback):  # type: ignore[misc] # Ray has no types
    """Writes a point down when its training has ended: a search cut off keeps what it has.

    What failed, or ran when the time was over, is not written, and tried again another time.
    """

    def __init__(
        self, lines: ResultsFile, facts: Row, on_point: Callable[[Row], None] = lambda row: None
    ) -> None:
        self.lines, self.facts, self.on_point = lines, facts, on_point
        self.best: dict[str, Row] = {}
        self.num_written = 0

    def on_trial_result(
        self, iteration: int, trials: list[Attempt], trial: Attempt, result: Row, **_: Any
    ) -> None:
        """Keep the best validation of a training so far."""
        best = self.best.get(trial.trial_id)
        reached = {name: result[name] for name in ("score", "auc", "f1", "step")}
        if best is not None and best["score"] >= reached["score"]:
            reached = {name: best[name] for name in reached}
        point = trial.config["point"]
        self.best[trial.trial_id] = self.facts | {
            "point_hash": point_hash(point),
            "point": point,
            **reached,
            "steps": result["step"],
            "seconds": round(result["time_total_s"], 1),
        }

    def on_trial_complete(
        self, iteration: int, trials: list[Attempt], trial: Attempt, **_: Any
    ) -> None:
        """It took its last step, or lagged behind."""
        row = self.best[trial.trial_id]
        self.lines.append(row)
        self.num_written += 1
        self.on_point(row)


def search(
    reference: str,
    trial: int,
    lines: ResultsFile,
    *,
    data_dir: Path | None,
    num_samples: int,
    num_steps: int,
    seconds: float,
    validation_tasks: int = 1_000,
    on_point: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Try the published point and so many others, and return what each reached, the best first.

    A point that `lines` has is not tried again. Asynchronous HyperBand ends most trainings
    early; a search that goes on from lines holds its points against each other alone. When the
    time is over, trainings that still run are given up. Test labels are hidden from all of them.
    Needs a Ray session.
    """
    graph = open_graph(reference, data_dir=data_dir)
    facts = {
        "dataset": graph.name,
        "trial": trial,
        "num_steps": num_steps,
        "validation_tasks": validation_tasks,
        "config_hash": config_hash(graph),
        "version": VERSION,
    }
    points = points_to_try(graph.name, num_samples, seed=trial)

    def done() -> dict[str, Row]:
        rows = {row["point_hash"]: row for row in lines.rows() if facts.items() <= row.items()}
        return {name: row for name, row in rows.items() if name in points}

    before = done()
    missing = [point for name, point in points.items() if name not in before]
    if missing:
        attempt = tune.with_parameters(
            _attempt,
            # A training works in a directory of Ray's, where a relative path leads nowhere.
            reference=GraphSource.of(reference).reference,
            trial=trial,
            data_dir=data_dir and data_dir.absolute(),
            num_steps=num_steps,
            validation_tasks=validation_tasks,
        )
        writer = Writer(lines, facts, on_point)
        _tune(attempt, missing, writer, num_steps=num_steps, seconds=seconds)
    found = best_first(list(done().values()))
    if not found:
        raise RunError("no training of the search has ended in its time; give it more minutes")
    return found


def _tune(
    attempt: Any, points: list[Point], writer: Writer, *, num_steps: int, seconds: float
) -> None:
    """Train at these points, one a core, until all have ended or the time is over."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="metatne-search-") as folder:
        tuned = tune.Tuner(
            tune.with_resources(attempt, {"cpu": 1}),
            param_space={"point": tune.grid_search(points)},
            tune_config=tune.TuneConfig(
                metric="score",
                mode="max",
                time_budget_s=seconds,
                scheduler=AsyncHyperBandScheduler(
                    time_attr="clock",
                    max_t=num_steps,
                    grace_period=max(1, num_steps // FIRST_CUT),
                    reduction_factor=REDUCTION,
                ),
            ),
            run_config=tune.RunConfig(
                storage_path=folder, name="search", verbose=0, callbacks=[writer]
            ),
        ).fit()
    if tuned.errors:
        raise RunError(
            f"{len(tuned.errors)} of {len(points)} trainings of the search failed; those that "
            f"ended are kept. The first: {_cause(tuned.errors[0])}"
        )
    is_cut = writer.num_written < len(points)
    if is_cut and time.monotonic() - started < seconds:  # Ctrl-C, which Ray keeps to itself
        raise RunError(
            f"interrupted; {writer.num_written} of {len(points)} points were tried and are kept, "
            "give the same command to go on"
        )


def _cause(error: BaseException) -> str:
    """What went wrong in a worker: the last line of what Ray tells, which is all of a traceback."""
    return (str(error).strip() or repr(error)).splitlines()[-1]


def _attempt(
    config: dict[str, Point],
    *,
    reference: str,
    trial: int,
    data_dir: Path | None,
    num_steps: int,
    validation_tasks: int,
) -> None:
    """One training, in a worker."""
    graph = open_graph(reference, data_dir=data_dir)
    settings = TrialSettings(
        "metatne", "paper", 10, 20, draws_label_zero=draws_label_zero(graph.name)
    )
    visible, split = hide_labels(graph, trial_split(graph, trial, settings))
    length = {
        "num_steps": num_steps,
        "validate_every": max(1, num_steps // 10),
        "validation_tasks": validation_tasks,
    }
    point = settings_of(config["point"], num_steps)
    model = MetaTNE(**preset("paper", graph.name) | length | point | {"seed": trial})
    with one_thread():
        model.fit(visible, split=split, observers=[_Reporter()])
