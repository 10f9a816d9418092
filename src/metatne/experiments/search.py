"""The paper's search for hyper-parameters (Table 4), by Ray Tune on validation tasks."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler

from metatne.config import preset
from metatne.device import one_thread
from metatne.errors import RunError
from metatne.estimator import MetaTNE
from metatne.evaluation.protocol import TrialSettings, draws_label_zero, hide_labels, trial_split
from metatne.graph.datasets import open_graph
from metatne.training.trainer import Validation

SPACE: Mapping[str, tuple[float, ...]] = {
    "pairs_per_step": (512, 1024, 2048),
    "tasks_per_step": (32, 64, 128),
    "num_heads": (1, 2, 4),
    "attention_dim": (128, 256),
    "feedforward_dim": (256, 512),
    "num_blocks": (1, 2, 3),
    "l2": (0.001, 0.01, 0.1),
    "structural_rate": (0.0001, 0.001),
    "meta_rate": (0.0001, 0.001),
    "decay_period": (500, 1000, 1500, 2000),
}
"""Table 4."""


class _Reporter:
    """Tells Ray Tune of every validation, so that it can end a trial that lags behind."""

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


def search(
    reference: str,
    trial: int,
    *,
    data_dir: Path | None,
    num_samples: int,
    num_steps: int,
    validation_tasks: int = 1_000,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Try so many points of the space, and return what each reached, the best first.

    Asynchronous HyperBand ends three quarters of the trials early. Test labels are hidden
    from all of them. Needs a Ray session.
    """
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
            param_space={name: tune.choice(list(values)) for name, values in SPACE.items()},
            tune_config=tune.TuneConfig(
                metric="score",
                mode="max",
                num_samples=num_samples,
                scheduler=AsyncHyperBandScheduler(
                    time_attr="step", max_t=num_steps, grace_period=max(1, num_steps // 10)
                ),
                search_alg=tune.search.BasicVariantGenerator(random_state=seed),
            ),
            run_config=tune.RunConfig(storage_path=folder, name="search", verbose=0),
        )
        found = tuner.fit()
        rows = [_row(result) for result in found if not result.error]
    if not rows:
        raise RunError(f"no training of the search ended well: {found[0].error}")
    return sorted(rows, key=lambda row: -float(row["score"]))


def _attempt(
    point: dict[str, Any],
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
    model = MetaTNE(**preset("paper", graph.name) | length | point | {"seed": trial})
    with one_thread():
        model.fit(visible, split=split, observers=[_Reporter()])


def _row(result: Any) -> dict[str, Any]:
    """The best validation of a trial, and the point of the space that it was at."""
    history = result.metrics_dataframe
    best = history.loc[history["score"].idxmax()]
    return {
        "score": float(best["score"]),
        "auc": float(best["auc"]),
        "f1": float(best["f1"]),
        "step": int(best["step"]),
        "steps": int(history["step"].max()),
        "point": dict(result.config),
    }
