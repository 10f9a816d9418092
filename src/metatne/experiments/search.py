"""The paper's search for hyper-parameters (Table 4), by Ray Tune on validation tasks."""

from __future__ import annotations

import tempfile
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
    Point,
    Row,
    best_first,
    draw_points,
    point_hash,
    published_point,
)
from metatne.graph.datasets import open_graph
from metatne.training.trainer import Validation


class _Reporter:
    """Tells Ray Tune of every validation, so that it can end a training that lags behind."""

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """Nothing to tell."""

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """The score that selection maximises."""
        tune.report(
            {
                "score": validation.score,
                "auc": validation.auc,
                "f1": validation.f1,
                "step": max(1, validation.step),
            }
        )


class _Writer(tune.Callback):  # type: ignore[misc] # Ray has no types
    """Writes a point down when its training has ended: a search cut off keeps what it has."""

    def __init__(self, lines: ResultsFile, facts: Row) -> None:
        self.lines, self.facts = lines, facts
        self.best: dict[str, Row] = {}
        self.written: set[str] = set()

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
        """It is at its last step, or lagged behind, or the time is over."""
        self.write(trial.trial_id)

    def write(self, trial_id: str) -> None:
        """Append what a training reached, once."""
        if trial_id in self.best and trial_id not in self.written:
            self.written.add(trial_id)
            self.lines.append(self.best[trial_id])


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
) -> list[Row]:
    """Try the published point and so many others, and return what each reached, the best first.

    A point that `lines` has is not tried again. Asynchronous HyperBand ends most trainings
    early; when the time is over, those that still run count with what they have reached. Test
    labels are hidden from all of them. Needs a Ray session.
    """
    dataset = open_graph(reference, data_dir=data_dir).name
    facts = {
        "dataset": dataset,
        "trial": trial,
        "num_steps": num_steps,
        "validation_tasks": validation_tasks,
    }
    points = [published_point(dataset), *draw_points(num_samples, seed=trial)]
    missing = _missing(points, lines, facts)
    errors: list[Exception] = []
    if missing:
        writer = _Writer(lines, facts)
        with tempfile.TemporaryDirectory(prefix="metatne-search-") as folder:
            tuner = tune.Tuner(
                tune.with_resources(
                    tune.with_parameters(
                        _attempt,
                        reference=reference,
                        trial=trial,
                        data_dir=data_dir,
                        num_steps=num_steps,
                        validation_tasks=validation_tasks,
                    ),
                    {"cpu": 1},
                ),
                param_space={"point": tune.grid_search(missing)},
                tune_config=tune.TuneConfig(
                    metric="score",
                    mode="max",
                    time_budget_s=seconds,
                    scheduler=AsyncHyperBandScheduler(
                        time_attr="step", max_t=num_steps, grace_period=max(1, num_steps // 10)
                    ),
                ),
                run_config=tune.RunConfig(
                    storage_path=folder, name="search", verbose=0, callbacks=[writer]
                ),
            )
            errors = list(tuner.fit().errors)
        for trial_id in writer.best:  # what ran when the time was over
            writer.write(trial_id)
    rows = [row for row in lines.rows() if _is_of(row, facts, points)]
    if not rows:
        why = str(errors[0]) if errors else "the time was over before a first validation"
        raise RunError(f"no training of the search came to a validation: {why}")
    return best_first(rows)


def _missing(points: list[Point], lines: ResultsFile, facts: Row) -> list[Point]:
    """The points that no line has, each once."""
    done = {row["point_hash"] for row in lines.rows() if facts.items() <= row.items()}
    once = {point_hash(point): point for point in points}
    return [point for name, point in once.items() if name not in done]


def _is_of(row: Row, facts: Row, points: list[Point]) -> bool:
    return facts.items() <= row.items() and row["point"] in points


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
    model = MetaTNE(**preset("paper", graph.name) | length | config["point"] | {"seed": trial})
    with one_thread():
        model.fit(visible, split=split, observers=[_Reporter()])
