"""A model that is no better than what needs no learning says so; one that is better does not."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL
from metatne.estimator import MetaTNE
from metatne.graph.labels import Labels
from metatne.graph.planted import planted_graph
from metatne.graph.raw import HOLDS
from metatne.graph.store import Graph
from metatne.quality import Control, Quality, QualityWarning, measure_quality
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape

QUICK = {
    "positives": 5,
    "negatives": 10,
    "head_steps": 60,
    "head_tasks": 100,
    "validation_tasks": 80,
}
SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
NETWORK = SMALL | {"num_steps": 1, "validation_tasks": 60}


def planted(seed: int) -> Graph:
    return planted_graph(400, num_labels=20, num_communities=6, seed=seed).graph


def with_random_labels(graph: Graph, seed: int) -> Graph:
    """As many holders of each label, drawn at random: nothing is to be learned from the graph."""
    draw = np.random.default_rng(seed)
    counts = graph.labels.num_holders.tolist()
    nodes = [draw.choice(graph.num_nodes, count, replace=False) for count in counts]
    labels = np.repeat(np.arange(len(counts)), counts)
    states = np.full(len(labels), HOLDS, dtype=np.int8)
    names = graph.labels.names
    return graph.with_labels(
        Labels.from_statements(names, graph.num_nodes, np.concatenate(nodes), labels, states)
    )


@SEEDS
def test_of_random_labels_the_user_is_told(seed: int, tmp_path: Path) -> None:
    graph = with_random_labels(planted(seed), seed)
    with pytest.warns(QualityWarning, match=r"no better than its controls \(AUC 0\.\d+, "):
        model = MetaTNE(**QUICK, seed=seed).fit(graph)
    model.save(tmp_path / "model")
    quality = MetaTNE.load(tmp_path / "model").quality_
    assert quality is not None
    assert not quality.is_better
    assert quality == model.quality_
    assert "do not rely on its rankings" in quality.verdict()


@SEEDS
def test_of_labels_that_follow_the_graph_nothing_is_said(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quality = MetaTNE(**QUICK, seed=seed).fit(planted(seed)).quality_
    assert quality is not None
    assert quality.is_better
    assert quality.verdict().startswith("the model is better than all controls (AUC 0.")
    assert [control.name for control in quality.controls] == [
        "chance",
        "degree",
        "holding no known label",
        "personalised PageRank",
    ]


def test_the_papers_head_is_judged_too() -> None:
    with pytest.warns(QualityWarning, match="no better than its controls"):
        model = MetaTNE(**NETWORK).fit(with_random_labels(planted(0), 0))
    assert model.quality_ is not None
    assert model.quality_.auc == pytest.approx(model.history_["auc"].max(), abs=0.05)


def test_trials_with_a_split_of_their_own_are_not_judged() -> None:
    split = LabelSplit(known=np.arange(8), validation=np.arange(8, 12), test=np.arange(0))
    assert MetaTNE(**NETWORK).fit(planted(0), split=split).quality_ is None


def validation_tasks(graph: Graph) -> tuple[Tasks, LabelSplit]:
    split = LabelSplit(known=np.arange(8), validation=np.arange(8, 12), test=np.arange(0))
    sampler = TaskSampler(graph.labels, split.validation, TaskShape(5, 10, 5, 10))
    return sampler.draw(50, np.random.default_rng(0)), split


def test_scores_that_are_a_controls_own_do_not_beat_it() -> None:
    graph = planted(1)
    tasks, split = validation_tasks(graph)
    degrees = graph.degrees[tasks.queries].astype(np.float64)
    by_name = {c.name: c for c in measure_quality(degrees, tasks, graph, split).controls}
    assert (by_name["degree"].gain, by_name["degree"].error) == (0.0, 0.0)
    assert not by_name["degree"].is_beaten
    truth = measure_quality(tasks.is_positive.astype(np.float64), tasks, graph, split)
    assert truth.auc == 1.0
    assert truth.is_better
    assert (truth.num_tasks, truth.num_labels) == (50, 4)


def test_a_lead_that_may_be_chance_is_none() -> None:
    control = Control("degree", 10, auc=0.5, gain=0.1, error=0.04)
    assert control.is_beaten
    for unsure in (replace(control, error=0.06), replace(control, gain=-0.1)):
        assert not unsure.is_beaten
        assert not Quality(0.6, 10, 2, (control, unsure)).is_better


def test_walks_that_cost_too_much_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted(0)
    tasks, split = validation_tasks(graph)
    monkeypatch.setattr("metatne.quality.MAX_VISITS", 9 * graph.num_nodes)  # of nine tasks
    quality = measure_quality(tasks.is_positive.astype(np.float64), tasks, graph, split)
    assert [control.name for control in quality.controls][-1] == "holding no known label"
    assert "PageRank was not tried" in quality.verdict()
    monkeypatch.setattr("metatne.quality.MAX_VISITS", 12 * graph.num_nodes)
    quality = measure_quality(tasks.is_positive.astype(np.float64), tasks, graph, split)
    assert [control.num_tasks for control in quality.controls] == [50, 50, 50, 12]
    assert "PageRank was not tried" not in quality.verdict()


def replace_gain(quality: Quality, gain: float) -> Quality:
    (control,) = quality.controls
    return replace(quality, controls=(replace(control, gain=gain),))


def test_what_is_told_is_of_the_tasks_that_both_have() -> None:
    """And a header that has no controls, or says less of them, is no model's."""
    walks = Control("personalised PageRank", 12, auc=0.75, gain=0.05, error=0.02)
    quality = Quality(0.71, 200, 4, (walks,))
    assert (
        "AUC 0.800, personalised PageRank 0.750: +0.050 ± 0.020, on 12 tasks of 4"
        in quality.verdict()
    )
    assert "tell little" not in quality.verdict()
    assert "so few" in replace(quality, num_labels=3).verdict()
    assert (
        "of 1 label that it had not seen; so few labels tell little"
        in replace(quality, num_labels=1).verdict()
    )
    assert "the labels follow the graph" in replace_gain(quality, 0.0).verdict()
    told = quality.to_json()
    assert Quality.from_json(told) == quality
    of_before = told | {
        "controls": [
            {k: v for k, v in walks_of.items() if k != "num_tasks"} for walks_of in told["controls"]
        ]
    }
    assert Quality.from_json(of_before).controls[0].num_tasks == 200
    with pytest.raises(TypeError, match="no controls"):
        Quality.from_json(told | {"controls": []})
