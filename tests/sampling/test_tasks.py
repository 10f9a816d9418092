"""Tasks: the right nodes with the right signs, drawn uniformly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from metatne.errors import LabelError
from metatne.graph.labels import Labels
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN
from metatne.sampling.tasks import SCARCE, Tasks, TaskSampler, TaskShape, usable_labels

IMPROBABLE = 1e-4
SHAPE = TaskShape(positives=2, negatives=3, query_positives=1, query_negatives=2)


def labels_of(
    num_nodes: int,
    holders: dict[str, Iterable[int]],
    *,
    lacks: dict[str, Iterable[int]] | None = None,
    unknown: dict[str, Iterable[int]] | None = None,
    unannotated: Iterable[int] = (),
) -> Labels:
    names = list(holders)
    statements = [
        (node, names.index(name), state)
        for said, state in ((holders, HOLDS), (lacks or {}, LACKS), (unknown or {}, UNKNOWN))
        for name, nodes in said.items()
        for node in nodes
    ]
    nodes, labels, states = np.array(statements, dtype=np.int64).T
    mask = np.zeros(num_nodes, dtype=bool)
    mask[list(unannotated)] = True
    return Labels.from_statements(
        names, num_nodes, nodes, labels, states.astype(np.int8), unannotated=mask
    )


def draw(sampler: TaskSampler, num_tasks: int, seed: int = 0) -> Tasks:
    return sampler.draw(num_tasks, np.random.default_rng(seed))


def assert_sound(tasks: Tasks, labels: Labels, shape: TaskShape) -> None:
    """Sizes, signs by the labels themselves, and no node twice within a task."""
    num_queries = shape.query_positives + shape.query_negatives
    assert tasks.positives.shape == (len(tasks), shape.positives)
    assert tasks.negatives.shape == (len(tasks), shape.negatives)
    assert tasks.queries.shape == tasks.is_positive.shape == (len(tasks), num_queries)
    assert (tasks.is_positive.sum(axis=1) == shape.query_positives).all()
    label = tasks.labels[:, None]
    assert (labels.states(tasks.positives, label) == HOLDS).all()
    assert (labels.states(tasks.negatives, label) == LACKS).all()
    expected = np.where(tasks.is_positive, HOLDS, LACKS)
    assert (labels.states(tasks.queries, label) == expected).all()
    everyone = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
    assert all(len(set(row)) == len(row) for row in everyone.tolist())


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_tasks_are_sound_whatever_is_known(data: st.DataObject) -> None:
    """Any mixture of held, lacked and unknown pairs, annotated nodes and others."""
    num_nodes = data.draw(st.integers(6, 30))
    nodes = st.integers(0, num_nodes - 1)
    stated = data.draw(st.dictionaries(nodes, st.sampled_from([HOLDS, HOLDS, LACKS, UNKNOWN])))
    unannotated = data.draw(st.sets(nodes))
    labels = labels_of(
        num_nodes,
        {"label": [node for node, state in stated.items() if state == HOLDS], "other": [0]},
        lacks={"label": [node for node, state in stated.items() if state == LACKS]},
        unknown={"label": [node for node, state in stated.items() if state == UNKNOWN]},
        unannotated=unannotated,
    )
    states = labels.states(np.arange(num_nodes), 0)
    num_holding, num_lacking = int((states == HOLDS).sum()), int((states == LACKS).sum())
    shape = TaskShape(*(data.draw(st.integers(1, 4), label=name) for name in "pnPN"))
    if num_holding <= shape.num_positives or num_lacking < shape.num_negatives:
        with pytest.raises(LabelError, match="no label can be used"):
            TaskSampler(labels, [0], shape)
    else:
        assert_sound(draw(TaskSampler(labels, [0], shape), 20), labels, shape)


def test_a_label_needs_one_holder_more_than_a_task() -> None:
    labels = labels_of(20, {"three": range(3), "four": range(4), "five": range(5)})
    assert SHAPE.num_positives == 3
    assert usable_labels(labels, [2, 0, 1], SHAPE).tolist() == [2, 1]
    drawn = draw(TaskSampler(labels, [2, 0, 1], SHAPE), 200)
    assert set(drawn.labels.tolist()) == {1, 2}


def test_a_label_needs_as_many_lacking_nodes_as_a_task() -> None:
    labels = labels_of(20, {"five lack it": range(15), "four lack it": range(16)})
    assert SHAPE.num_negatives == 5
    assert usable_labels(labels, range(2), SHAPE).tolist() == [0]
    tasks = draw(TaskSampler(labels, [0], SHAPE), 50)
    assert_sound(tasks, labels, SHAPE)


def test_only_candidates_are_drawn() -> None:
    labels = labels_of(30, {"a": range(5), "b": range(10), "c": range(6), "d": range(7)})
    tasks = draw(TaskSampler(labels, np.array([3, 1]), SHAPE), 200)
    assert set(tasks.labels.tolist()) == {1, 3}
    assert_sound(tasks, labels, SHAPE)


def test_labels_are_drawn_uniformly_however_many_hold_them() -> None:
    labels = labels_of(100, {"few": range(4), "some": range(20), "many": range(80)})
    tasks = draw(TaskSampler(labels, range(3), SHAPE), 6_000)
    assert chisquare(np.bincount(tasks.labels)).pvalue > IMPROBABLE


@pytest.mark.parametrize("num_holders", [30, 8], ids=["negatives are scarce", "are not"])
def test_nodes_are_drawn_uniformly_in_every_place(num_holders: int) -> None:
    num_nodes = 38
    labels = labels_of(num_nodes, {"label": range(num_holders)})
    assert ((num_nodes - num_holders) < SCARCE * num_nodes) == (num_holders == 30)
    tasks = draw(TaskSampler(labels, [0], SHAPE), 12_000)
    columns = {
        HOLDS: np.concatenate((tasks.positives, tasks.queries[:, : SHAPE.query_positives]), axis=1),
        LACKS: np.concatenate((tasks.negatives, tasks.queries[:, SHAPE.query_positives :]), axis=1),
    }
    for state, drawn in columns.items():
        low, high = (0, num_holders) if state == HOLDS else (num_holders, num_nodes)
        for column in drawn.T:
            counts = np.bincount(column, minlength=num_nodes)
            assert counts.sum() == counts[low:high].sum()
            assert chisquare(counts[low:high]).pvalue > IMPROBABLE


@pytest.mark.parametrize("num_unlooked", [4, 60])
def test_lacks_stated_of_unannotated_nodes_count(num_unlooked: int) -> None:
    """However few of the annotated nodes lack the label, the stated ones are drawn too."""
    unlooked = range(10, 10 + num_unlooked)
    labels = labels_of(
        100, {"label": range(9)}, lacks={"label": unlooked}, unannotated=range(10, 100)
    )
    shape = TaskShape(positives=2, negatives=2, query_positives=1, query_negatives=1)
    tasks = draw(TaskSampler(labels, [0], shape), 4_000)
    assert_sound(tasks, labels, shape)
    counts = np.bincount(tasks.negatives[:, 0], minlength=100)[9 : 10 + num_unlooked]
    assert chisquare(counts).pvalue > IMPROBABLE


def test_the_generator_alone_decides() -> None:
    labels = labels_of(60, {"a": range(20), "b": range(5, 50)})
    one, other = (TaskSampler(labels, range(2), SHAPE) for _ in range(2))
    draw(one, 3, seed=5)
    same = [draw(one, 10, seed=1), draw(other, 10, seed=1)]
    for part in ("labels", "positives", "negatives", "queries"):
        first, second = (getattr(tasks, part) for tasks in same)
        assert np.array_equal(first, second)
    assert not np.array_equal(draw(one, 10, seed=2).queries, same[0].queries)


def test_a_slice_of_tasks() -> None:
    labels = labels_of(60, {"a": range(20), "b": range(5, 50)})
    tasks = draw(TaskSampler(labels, range(2), SHAPE), 10)
    part = tasks[3:7]
    assert len(part) == 4
    assert np.array_equal(part.queries, tasks.queries[3:7])
    assert np.array_equal(part.labels, tasks.labels[3:7])
    assert_sound(part, labels, SHAPE)


def test_the_error_names_counts_and_labels() -> None:
    labels = labels_of(20, {"three": range(3), "two": range(2)})
    with pytest.raises(LabelError) as raised:
        TaskSampler(labels, range(2), SHAPE)
    message = str(raised.value)
    assert "2 + 1 holders" in message
    assert "at least 4 holders and 5 nodes known to lack it" in message
    assert "2 labels: 'three' (3), 'two' (2)" in message


def test_the_error_without_any_label() -> None:
    with pytest.raises(LabelError, match="the most held of 0 labels: none"):
        TaskSampler(Labels.none(5), [], SHAPE)
