"""From few examples to many, against embeddings with logistic regression."""

from __future__ import annotations

from dataclasses import replace

from metatne.baselines.base import Baseline
from metatne.baselines.line import LINE
from metatne.baselines.node2vec import Node2vec
from metatne.baselines.planetoid import Planetoid
from metatne.device import one_thread
from metatne.experiments.beyond.trial import SHAPE, Lines, Trial, line
from metatne.sampling.tasks import usable_labels

SHOTS = (5, 10, 20, 50, 100, 200, 500, 1_000)
WALKS = 10
SMALL_GRAPH = 20_000
"""Up to so many nodes Planetoid starts from all the walks that it has by default, else from those
of Node2vec here: an hour of a core less on `debian`."""

FEWEST_LABELS = 2
"""Test labels that a number of shots must have, to say something of more than one label."""


def shots(trial: Trial) -> Lines:
    """K+ from 5 to 1,000, K- twice that; every method is trained once, at 10 and 20."""
    plain = {"p_choices": (1.0,), "q_choices": (1.0,), "walks_per_node": WALKS}
    fewer = {} if trial.graph.num_nodes <= SMALL_GRAPH else {"first_walks": WALKS}
    one_choice = {"batch_choices": (1024,), "rate_choices": (0.003,)}
    planetoid = Planetoid(**one_choice, **fewer, seed=trial.number)
    others: dict[str, Baseline] = {
        "LINE": LINE(),
        f"Node2vec ({WALKS} walks)": Node2vec(**plain),
        f"Planetoid ({WALKS} walks)" if fewer else "Planetoid": planetoid,
    }
    with one_thread():
        for method in others.values():
            method.fit(trial.visible, split=trial.visible_split)
    model = trial.fit()
    for positives in SHOTS:
        shape = replace(SHAPE, positives=positives, negatives=2 * positives)
        labels = usable_labels(trial.graph.labels, trial.split.test, shape)
        if len(labels) < FEWEST_LABELS:
            return
        tasks = trial.draw(shape, labels.tolist())
        yield line("MetaTNE", model.score_tasks(tasks), tasks, at=positives)
        for name, method in others.items():
            yield line(name, method.score_tasks(tasks), tasks, at=positives)
