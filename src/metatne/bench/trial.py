"""A whole trial of the paper's protocol with the default preset, against the paper's preset."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metatne.bench.data import paper_graph
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import once, seconds
from metatne.config import Config, make_config, preset
from metatne.device import one_thread
from metatne.evaluation.protocol import TrialResult, TrialSettings, run_trial
from metatne.graph.store import Graph
from metatne.sampling.splits import paper_split
from metatne.schedule import structural_probability
from metatne.training.trainer import Trainer

GOALS = {"ppi": 45.0, "blogcatalog": 90.0}
POSITIVES, NEGATIVES = 10, 20


def measure(quick: bool) -> Iterator[Figure | Skipped]:
    """Seconds from the graph to test scores, and the scores; trial 1, or 1 to 3.

    The paper's preset takes hours, so its steps and validations are timed and added up over
    the published schedule.
    """
    trials = (1,) if quick else (1, 2, 3)
    for name, goal in GOALS.items():
        graph = paper_graph(name)
        if isinstance(graph, Skipped):
            yield graph
            continue
        case = f"{name} {POSITIVES}/{NEGATIVES}"
        paper_preset = seconds_of_paper_preset(graph, make_config(preset("paper", name)))
        results = [_run(graph, trial) for trial in trials]
        for result in results:
            yield Figure(
                f"{case}, trial {result.trial}",
                "a whole trial",
                result.seconds,
                "s",
                against=paper_preset,
                ratio=paper_preset / result.seconds,
                goal=goal,
                details={"steps": result.steps, "against is": "added up, not run"},
            )
        for score in ("auc", "f1"):
            mean = float(np.mean([getattr(result, score) for result in results]))
            yield Figure(f"{case}, {len(results)} trials", f"test {score}", mean, "")


def _run(graph: Graph, trial: int) -> TrialResult:
    settings = TrialSettings("metatne", "default", POSITIVES, NEGATIVES)
    with one_thread():
        return run_trial(graph, trial, settings)


def seconds_of_paper_preset(graph: Graph, config: Config) -> float:
    """What all steps and validations of the published schedule take with this code."""
    with one_thread():
        trainer = Trainer(graph, paper_split(graph.labels.num_labels, 1), config)
        meta = seconds(trainer.meta_step, repeats=3)
        structural = seconds(trainer.structural_step, repeats=20)
        validation, _ = once(trainer.score_validation_tasks)
    tau = np.array(
        [
            structural_probability(
                step, decay_rate=config.decay_rate, decay_period=config.decay_period
            )
            for step in range(config.num_steps)
        ]
    )
    num_structural = float(tau.sum())
    steps = num_structural * structural + (config.num_steps - num_structural) * meta
    return steps + config.num_steps / config.validate_every * validation
