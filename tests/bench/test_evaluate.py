"""Both ways of the benchmark `evaluate` do the same work, and it says what it could not do."""

from __future__ import annotations

import numpy as np
import pytest

from metatne.bench import evaluate
from metatne.bench.figure import Figure, Skipped
from metatne.config import make_config
from metatne.graph.store import Graph
from metatne.model import MetaTNENetwork
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator


@pytest.fixture
def tasks(planted: Graph) -> Tasks:
    sampler = TaskSampler(planted.labels, range(10), TaskShape(3, 4, 5, 6))
    return sampler.draw(evaluate.TASKS_PER_BATCH + 3, numpy_generator(0, "tasks"))


def test_the_plain_way_gives_the_same_scores(planted: Graph, tasks: Tasks) -> None:
    network = MetaTNENetwork(planted.num_nodes, make_config({"dim": 16, "identity_start": False}))
    ours = score_tasks(network, tasks)
    assert ours.shape == tasks.queries.shape
    np.testing.assert_allclose(
        ours, evaluate.naive_scores(network, tasks), atol=1e-5 * np.abs(ours).max()
    )


def test_the_plain_way_gives_the_same_metrics(tasks: Tasks) -> None:
    scores = numpy_generator(0, "scores").normal(size=tasks.queries.shape).round(1)  # some ties
    ours = evaluate.measured(scores, tasks)
    assert ours.shape == (4, len(tasks))
    assert ours.std(axis=1).min() > 0.05
    np.testing.assert_allclose(ours, evaluate.plainly_measured(scores, tasks), atol=1e-12)


@pytest.mark.parametrize("has_sklearn", [True, False])
def test_the_figures(planted: Graph, monkeypatch: pytest.MonkeyPatch, has_sklearn: bool) -> None:
    monkeypatch.setattr(evaluate, "paper_graph", lambda name: planted)
    monkeypatch.setattr(evaluate, "NUM_TASKS", 5)
    if not has_sklearn:
        monkeypatch.setattr(evaluate, "find_spec", lambda name: None)
    *found, last = evaluate.measure(quick=True)
    figures = [figure for figure in (*found, last) if isinstance(figure, Figure)]
    assert [figure.quantity for figure in figures] == ["scored", "measured", "scored and measured"]
    assert figures[2].goal == 2.0
    assert (figures[2].ratio is not None) == has_sklearn
    assert isinstance(last, Skipped) != has_sklearn


def test_it_is_skipped_without_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "paper_graph", lambda name: Skipped(name, "not here"))
    assert list(evaluate.measure(quick=False)) == [Skipped("ppi", "not here")]
