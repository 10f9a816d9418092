"""A trial: the paper's split, test labels out of sight, and means over the test tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
from jaxtyping import Float

from metatne.config import preset
from metatne.errors import ConfigError, LabelError
from metatne.evaluation.protocol import (
    UNLABELLED_QUERIES,
    LastFit,
    TrialSettings,
    hide_labels,
    new_trial_method,
    run_trial,
    trial_split,
)
from metatne.graph.raw import UNKNOWN
from metatne.graph.store import Graph
from metatne.metrics import average_precision, f1, recall, roc_auc
from metatne.sampling.splits import LabelSplit, paper_split
from metatne.sampling.tasks import Tasks, TaskShape, usable_labels

SETTINGS = TrialSettings("metatne", "default", positives=4, negatives=6, num_tasks=50)


class Oracle:
    """A method that knows the truth, and writes down what it was given."""

    seen: ClassVar[list[Oracle]] = []
    noise: ClassVar[float] = 0.0
    num_steps_ = 7

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        Oracle.seen.append(self)

    def get_params(self) -> dict[str, Any]:
        return self.settings

    def fit(self, graph: Graph, *, split: LabelSplit | None = None) -> Self:
        assert split is not None
        self.graph, self.split = graph, split
        return self

    def rank(self, **question: Any) -> pd.DataFrame:
        raise NotImplementedError("no trial ranks")

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        self.tasks = tasks
        noise = np.random.default_rng(0).standard_normal(tasks.is_positive.shape)
        self.scores = np.where(tasks.is_positive, 1.0, -1.0) + Oracle.noise * noise
        return self.scores


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Oracle]]:
    monkeypatch.setattr("metatne.estimator.MetaTNE", Oracle)
    monkeypatch.setattr(Oracle, "noise", 0.0)
    yield Oracle
    Oracle.seen.clear()


def names_of(graph: Graph, labels: Any) -> list[str]:
    return [graph.labels.names[label] for label in labels]


@pytest.mark.parametrize("draws_label_zero", [True, False])
@pytest.mark.parametrize("trial", [1, 2, 3])
def test_a_method_sees_no_test_label(
    planted: Graph, oracle: type[Oracle], trial: int, draws_label_zero: bool
) -> None:
    run_trial(planted, trial, replace(SETTINGS, draws_label_zero=draws_label_zero))
    (method,) = oracle.seen
    split = paper_split(10, trial)
    dropped = set() if draws_label_zero else {0}
    known = [label for label in split.known if label not in dropped]
    validation = [label for label in split.validation if label not in dropped]
    test = [label for label in split.test if label not in dropped]
    visible = method.graph.labels.names
    assert list(visible) == names_of(planted, [*known, *validation])
    assert names_of(method.graph, method.split.known) == names_of(planted, known)
    assert names_of(method.graph, method.split.validation) == names_of(planted, validation)
    assert len(method.split.test) == 0
    assert set(method.tasks.labels.tolist()) == set(test)
    assert not set(names_of(planted, test)) & set(visible)


def test_the_truth_scores_one(planted: Graph, oracle: type[Oracle]) -> None:
    result = run_trial(planted, 1, SETTINGS)
    assert (result.auc, result.f1, result.recall, result.average_precision) == (1, 1, 1, 1)
    assert (result.trial, result.steps) == (1, 7)
    assert result.seconds >= 0


def test_numbers_are_means_over_tasks(
    planted: Graph, oracle: type[Oracle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle, "noise", 1.5)
    result = run_trial(planted, 1, SETTINGS)
    (method,) = oracle.seen
    truth, decisions = method.tasks.is_positive, method.scores > 0
    assert truth.shape == (50, 10)
    assert result.auc == pytest.approx(roc_auc(method.scores, truth).mean())
    assert result.f1 == pytest.approx(f1(decisions, truth).mean())
    assert result.recall == pytest.approx(recall(decisions, truth).mean())
    assert result.average_precision == pytest.approx(average_precision(method.scores, truth).mean())
    assert 0.6 < result.auc < 0.95


def test_test_tasks_are_the_trials(planted: Graph, oracle: type[Oracle]) -> None:
    for trial in (1, 1, 2):
        run_trial(planted, trial, SETTINGS)
    first, again, other = (method.tasks.queries for method in oracle.seen)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_trials_that_differ_in_their_tasks_share_a_fit(
    planted: Graph, oracle: type[Oracle]
) -> None:
    last_fit = LastFit()
    more = replace(SETTINGS, query_positives=2, query_negatives=9, num_tasks=20)
    for settings in (SETTINGS, more, replace(SETTINGS, negatives=5)):
        run_trial(planted, 1, settings, last_fit=last_fit)
    run_trial(planted, 2, SETTINGS, last_fit=last_fit)
    assert [len(method.tasks) for method in oracle.seen] == [20, 50, 50]
    assert oracle.seen[0].tasks.queries.shape == (20, 11)


def test_settings_of_a_method() -> None:
    settings = TrialSettings("metatne", "paper", positives=10, negatives=40)
    assert settings.num_tasks == 1_000
    assert settings.draws_label_zero
    assert settings.shape == TaskShape(10, 40, 10, 40)
    given = new_trial_method(settings, "ppi", trial=3).get_params()
    expected = preset("paper", "ppi") | {"positives": 10, "negatives": 40, "seed": 3}
    assert given | expected == given
    on_top = replace(settings, settings=(("dim", 16), ("positives", 5)))
    changed = new_trial_method(on_top, "ppi", 3).get_params()
    assert changed == given | {"dim": 16, "positives": 5}
    with pytest.raises(ConfigError, match=r"method: expected one of lp, .*metatne.*, found 'gcm'"):
        replace(settings, method="gcm")
    with pytest.raises(ConfigError, match=r"protocol: expected one of paper, .*, found 'papre'"):
        replace(settings, protocol="papre")


def test_a_real_trial_repeats(planted: Graph, small_settings: dict[str, Any]) -> None:
    small = small_settings | {"num_steps": 10}
    settings = replace(SETTINGS, settings=tuple(small.items()), num_tasks=20)
    first, again = (run_trial(planted, 1, settings) for _ in range(2))
    same = {"seconds": 0, "memory_gb": 0}
    assert replace(first, **same) == replace(again, **same)
    assert first.steps == 10
    assert 0 < first.auc < 1


@pytest.mark.parametrize("num_labels", [1, 2, 4])
def test_too_few_labels_for_a_trial(planted: Graph, num_labels: int) -> None:
    graph = planted.with_labels(planted.labels.select(range(num_labels)))
    with pytest.raises(LabelError, match=rf"trial 1 leaves no \w+ labels: .* has {num_labels};"):
        run_trial(graph, 1, SETTINGS)


def test_hidden_labels_leave_the_rest_as_it_is(planted: Graph) -> None:
    split = paper_split(10, 1)
    visible, visible_split = hide_labels(planted, split)
    assert visible.num_edges == planted.num_edges
    for here, there in (
        (visible_split.known, split.known),
        (visible_split.validation, split.validation),
    ):
        for label, original in zip(here.tolist(), there.tolist(), strict=True):
            assert visible.labels.names[label] == planted.labels.names[original]
            assert np.array_equal(visible.labels.holders(label), planted.labels.holders(original))


ASKING = replace(SETTINGS, protocol=UNLABELLED_QUERIES)


def test_nodes_that_are_asked_about_lose_their_known_labels(
    planted: Graph, oracle: type[Oracle]
) -> None:
    run_trial(planted, 2, ASKING)
    (method,) = oracle.seen
    asked = method.split.asked
    assert asked is not None
    assert asked.sum() == round(0.4 * planted.num_nodes)
    nodes = np.flatnonzero(asked)
    labels, known = method.graph.labels, method.split.known
    assert (labels.states(nodes[:, None], known[None]) == UNKNOWN).all()
    others = np.flatnonzero(~asked)
    split = paper_split(10, 2)
    expected = planted.labels.states(others[:, None], split.known[None])
    assert np.array_equal(labels.states(others[:, None], known[None]), expected)
    # Validation labels are as they were on all nodes: choices need the truth of their queries.
    expected = planted.labels.states(np.arange(300)[:, None], split.validation[None])
    found = labels.states(np.arange(300)[:, None], method.split.validation[None])
    assert np.array_equal(found, expected)


def test_queries_are_asked_about_and_supports_are_not(planted: Graph, oracle: type[Oracle]) -> None:
    run_trial(planted, 1, ASKING)
    (method,) = oracle.seen
    asked, tasks = method.split.asked, method.tasks
    assert asked is not None
    assert asked[tasks.queries].all()
    assert not asked[tasks.positives].any()
    assert not asked[tasks.negatives].any()
    assert tasks.is_positive.sum(axis=1).tolist() == [4] * 50


def test_the_trial_decides_who_is_asked_about(planted: Graph) -> None:
    masks = [trial_split(planted, trial, ASKING).asked for trial in (1, 1, 2)]
    first, again, other = (mask for mask in masks if mask is not None)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert trial_split(planted, 1, SETTINGS).asked is None


def test_labels_without_enough_holders_on_a_side_are_not_drawn(planted: Graph) -> None:
    asked = np.zeros(planted.num_nodes, dtype=bool)
    holders = planted.labels.holders(3)
    asked[holders[:2]] = True  # too few to ask about
    shape = TaskShape(4, 6, 4, 6)
    assert 3 in usable_labels(planted.labels, range(10), shape)
    assert 3 not in usable_labels(planted.labels, range(10), shape, asked=asked)
