"""Splits of the labels: the paper's own, number by number, and the one for use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import hand_made, held_by
from metatne.errors import LabelError
from metatne.sampling.splits import paper_split, split_for_use, validation_split
from metatne.sampling.tasks import TaskShape

# numpy.random.RandomState(1).permutation(39) and (50), the labels of BlogCatalog and of PPI.
PAPER = [
    (
        "2 30 3 21 26 28 22 36 19 25 31 17 29 35 32 27 4 14 10 34 23 24 33",
        "20 18 6 13 7 38 1",
        "16 0 15 5 11 9 8 12 37",
    ),
    (
        "27 35 40 38 2 3 48 29 46 31 32 39 21 36 19 42 49 26 22 13 41 17 45 24 23 4 33 14 30 10",
        "28 44 34 18 20 25 6 7 47 1",
        "16 0 15 5 11 9 8 12 43 37",
    ),
]


@pytest.mark.parametrize(("num_labels", "parts"), [(39, PAPER[0]), (50, PAPER[1])])
def test_trial_1_is_the_papers(num_labels: int, parts: tuple[str, str, str]) -> None:
    split = paper_split(num_labels, trial=1)
    known, test, validation = ([int(label) for label in part.split()] for part in parts)
    assert split.known.tolist() == known
    assert split.test.tolist() == test
    assert split.validation.tolist() == validation


@given(num_labels=st.integers(1, 200), trial=st.integers(1, 50))
def test_every_label_is_in_one_part(num_labels: int, trial: int) -> None:
    split = paper_split(num_labels, trial)
    parts = np.concatenate((split.known, split.test, split.validation))
    assert sorted(parts.tolist()) == list(range(num_labels))
    assert len(split.known) == int(0.6 * num_labels)
    assert len(split.test) == int(0.2 * num_labels)


def test_trials_differ_and_repeat() -> None:
    assert paper_split(39, 2).known.tolist() == paper_split(39, 2).known.tolist()
    assert paper_split(39, 2).known.tolist() != paper_split(39, 1).known.tolist()


@given(
    num_labels=st.integers(2, 60),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 5),
)
def test_a_validation_split_leaves_both_parts_something(
    num_labels: int, share: float, seed: int
) -> None:
    labels = np.arange(num_labels) * 3 + 1
    split = validation_split(labels, share=share, seed=seed)
    assert sorted([*split.known.tolist(), *split.validation.tolist()]) == labels.tolist()
    assert len(split.known) >= 1
    assert len(split.validation) >= 1
    assert abs(len(split.validation) - share * num_labels) <= 1
    assert len(split.test) == 0


def test_a_validation_split_is_the_seeds() -> None:
    labels = np.arange(30)

    def drawn(seed: int) -> list[int]:
        return list(validation_split(labels, share=0.2, seed=seed).validation.tolist())

    assert len(drawn(0)) == 6
    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)
    assert drawn(0) != list(range(6))


def test_one_label_is_too_few_however_many_hold_it() -> None:
    graph = hand_made([(1, 2), (2, 3)], {"spam": held_by(1, 2)})
    with pytest.raises(LabelError, match="has one label, 'spam'; two at least are needed"):
        split_for_use(graph, TaskShape(1, 1, 1, 1), share=0.2, seed=0)
