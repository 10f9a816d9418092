"""What each expert learns from, and what becomes evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from metatne.config import Config
from metatne.estimator import MetaTNE
from metatne.evidence.description import NO_LABEL, describe
from metatne.evidence.fitting import _Learning, fit_evidence, typical_share
from metatne.evidence.learning import _windows, interleaved_episodes, make_episodes
from metatne.evidence.lessons import (
    NUM_FOLDS,
    _still_annotated,
    annotated_lesson,
    lesson_of_measure,
    task_shape,
    unannotated_lesson,
)
from metatne.evidence.model import EvidenceModel
from metatne.graph.labels import Labels
from metatne.graph.raw import HOLDS, UNKNOWN
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import TaskSampler
from planted import SETTINGS, SPLIT

CONFIG = Config(**SETTINGS)


@pytest.fixture(scope="module")
def graph(twenty_labels: Graph) -> Graph:
    return twenty_labels


@pytest.fixture(scope="module")
def model(evidence_model: EvidenceModel) -> EvidenceModel:
    return evidence_model


def test_every_annotated_node_is_hidden_once(graph: Graph) -> None:
    asked = np.arange(graph.num_nodes) % 3 == 0
    gone = graph.with_labels(graph.labels.forget(SPLIT.known, asked))
    description = describe(gone, SPLIT.known, seed=3)
    lesson = unannotated_lesson(gone, SPLIT, description, CONFIG, has_others=True)
    assert len(lesson.training) == NUM_FOLDS
    hidden = np.stack([source.asked for source in lesson.training if source.asked is not None])
    np.testing.assert_array_equal(hidden.sum(axis=0), (~asked).astype(int))
    for source, nodes in zip(lesson.training, hidden, strict=True):
        is_unknown = (source.description.states == UNKNOWN).all(axis=1)
        np.testing.assert_array_equal(is_unknown, nodes | asked)
        tasks = source.draw(task_shape(CONFIG), 20, 0, "test")
        assert nodes[tasks.queries].all()
        assert not nodes[tasks.positives].any()


def test_of_a_large_graph_one_fold_is_enough(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metatne.evidence.lessons.MANY_NODES", 600)
    description = describe(graph, SPLIT.known, seed=3)
    lesson = unannotated_lesson(graph, SPLIT, description, CONFIG, has_others=True)
    assert len(lesson.training) == len(lesson.validation) == 1


def test_episodes_of_several_descriptions_come_in_turn(graph: Graph) -> None:
    description = describe(graph, SPLIT.known, seed=3)
    lesson = unannotated_lesson(graph, SPLIT, description, CONFIG, has_others=True)
    drawn = []
    for source in lesson.training:
        tasks = source.draw(task_shape(CONFIG), 7, 0, "test")
        drawn.append((source.description, tasks, source.masked(tasks)))
    mixed = interleaved_episodes(lesson.encoding, drawn)
    assert len(mixed) == 7 * NUM_FOLDS
    for turn, some in enumerate(drawn):
        alone = make_episodes(lesson.encoding, *some)
        assert torch.equal(mixed.products[:, turn::NUM_FOLDS], alone.products)
        assert torch.equal(mixed.traits[turn::NUM_FOLDS], alone.traits)
        assert torch.equal(mixed.prior_rows[turn::NUM_FOLDS], alone.prior_rows)


def test_steps_go_through_all_tasks() -> None:
    for num_tasks, size in ((600, 32), (5, 64), (33, 32), (64, 64)):
        windows = _windows(num_tasks, size)
        covered = [task for part in windows for task in range(num_tasks)[part]]
        assert covered == list(range(num_tasks))
        lengths = [part.stop - part.start for part in windows]
        assert max(lengths) - min(lengths) <= 1
        assert min(size, num_tasks) <= min(lengths) < 2 * size


def test_a_trial_sees_known_labels_alone(model: EvidenceModel) -> None:
    np.testing.assert_array_equal(model.description.columns, SPLIT.known)


def test_in_use_labels_that_measured_it_are_evidence_too(graph: Graph) -> None:
    """But not one with too few holders for a task: nothing would say what it is worth."""
    labels = graph.labels
    few = np.arange(6)
    statements = (
        np.concatenate((labels.holds.nodes, few)),
        np.concatenate((labels.holds.pair_labels, np.full(6, 20))),
    )
    more = Labels.from_statements([*labels.names, "few"], graph.num_nodes, *statements)
    model = MetaTNE(**SETTINGS).fit(graph.with_labels(more))
    scorer = model.trained_.scorer
    assert isinstance(scorer, EvidenceModel)
    set_aside = model.trained_.validation_labels
    assert set_aside
    assert set(scorer.label_names) == {*model.trained_.known_labels, *set_aside}
    assert set(scorer.label_names) == set(labels.names)
    alike = labels.holders(labels.position(set_aside[0]))[:5].astype(np.int64)
    related = model.relate(positives=graph.node_ids.take(alike))
    assert set_aside[0] in related["label"].iloc[:3].tolist()


def test_labels_of_the_test_are_never_evidence(graph: Graph) -> None:
    model = fit_evidence(graph, SPLIT, CONFIG, is_for_use=True)[0]
    np.testing.assert_array_equal(model.description.columns, np.arange(16))


def test_what_is_measured_has_not_seen_the_validation_labels(graph: Graph) -> None:
    """They become evidence afterwards; a trial has its test labels and measures nothing."""
    measured = fit_evidence(graph, SPLIT, CONFIG, is_for_use=True)[1]
    assert measured is not None
    assert np.isin(measured.tasks.labels, SPLIT.validation).all()
    learning = _Learning(CONFIG, TaskSampler, lambda: False, typical_share(graph, SPLIT))
    of_known = describe(graph, SPLIT.known, seed=3)
    again = learning.measure(lesson_of_measure(graph, SPLIT, of_known, CONFIG))
    np.testing.assert_array_equal(measured.scores, again.scores)
    assert fit_evidence(graph, SPLIT, CONFIG)[1] is None


def test_where_nodes_asked_about_have_no_labels_those_are_measured(graph: Graph) -> None:
    asked = np.arange(graph.num_nodes) % 3 == 0
    gone = graph.with_labels(graph.labels.forget(SPLIT.known, asked))
    split = replace(SPLIT, asked=asked)
    lesson = lesson_of_measure(gone, split, describe(gone, SPLIT.known, seed=3), CONFIG)
    assert not lesson.encoding.asks_annotated
    measured = _Learning(CONFIG, TaskSampler, lambda: False, 0.1).measure(lesson)
    assert asked[measured.tasks.queries].all()
    assert measured.auc > 0.7


def test_no_lesson_for_annotated_nodes_where_masked_ones_are_not(graph: Graph) -> None:
    community = np.arange(graph.num_nodes) % 8
    labels = Labels.from_statements(
        [f"class {number}" for number in range(8)],
        graph.num_nodes,
        np.arange(0, graph.num_nodes, 2),
        community[::2],
        unannotated=np.arange(graph.num_nodes) % 2 == 1,
    )
    told = graph.with_labels(labels)
    split = LabelSplit(np.arange(6), np.arange(6, 8), np.arange(0))
    description = describe(told, split.known, seed=0)
    assert annotated_lesson(told, split, description, CONFIG) is None
    assert unannotated_lesson(told, split, description, CONFIG, has_others=True).training


def test_nodes_known_by_what_they_hold_do_not_tell_on_themselves(graph: Graph) -> None:
    """Where only holders are annotated, a task's holders all hold something else as well."""
    holds_some = np.zeros(graph.num_nodes, dtype=bool)
    holds_some[graph.labels.holds.nodes] = True
    labels = Labels(
        graph.labels.names, graph.num_nodes, graph.labels.holds, unannotated=~holds_some
    )
    assert labels.is_known_by_holding
    visible = labels.before_others(SPLIT.known)
    held = graph.labels.table(SPLIT.known) == HOLDS
    np.testing.assert_array_equal(visible.unannotated, ~held.any(axis=1))
    told = graph.with_labels(labels)
    description = describe(told, SPLIT.known, seed=0)
    drawn = _still_annotated(labels, description)
    for label in SPLIT.known.tolist():
        assert (held[drawn.holders(label)].sum(axis=1) > 1).all()
    for label in SPLIT.validation.tolist():
        assert held[drawn.holders(label)].any(axis=1).all()
    # One that holds nothing but its task's label looks as a holder of a novel one does.
    node, label = next(zip(*np.nonzero(held & (held.sum(axis=1) == 1)[:, None]), strict=True))
    told_of = description.annotated(np.array([[node], [node]]), np.array([label, NO_LABEL]))
    np.testing.assert_array_equal(told_of, [[False], [True]])
    fit_evidence(told, SPLIT, Config(**SETTINGS))


def test_nodes_known_by_what_they_hold_do_so_too_where_labels_are_hidden(graph: Graph) -> None:
    """A node that holds nothing but a validation label must not look annotated and bare."""
    holds_some = np.zeros(graph.num_nodes, dtype=bool)
    holds_some[graph.labels.holds.nodes] = True
    labels = Labels(
        graph.labels.names, graph.num_nodes, graph.labels.holds, unannotated=~holds_some
    )
    asked = np.random.default_rng(0).random(graph.num_nodes) < 0.4
    split = replace(SPLIT, asked=asked)
    hidden = labels.forget(split.known, asked)
    assert hidden.is_known_by_holding
    held = graph.labels.table(split.known) == HOLDS
    is_bare = ~asked & ~held.any(axis=1) & holds_some
    assert is_bare.any()
    told = graph.with_labels(hidden)
    assert not describe(told, split.known, seed=0).is_annotated[is_bare].any()
    fit_evidence(told, split, Config(**SETTINGS))
