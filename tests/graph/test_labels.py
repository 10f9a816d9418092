"""Labels have three states; the sparse store answers as a dense table would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import GraphError, LabelError
from metatne.graph.label_pairs import LabelPairs
from metatne.graph.labels import Labels
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.fixture
def labels() -> Labels:
    """Five nodes; node 3 is unannotated but holds "red" and lacks "blue"; (1, "blue") unknown."""
    return Labels.from_statements(
        ["red", "green", "blue"],
        5,
        nodes=ints(2, 0, 3, 3, 1, 0, 0),
        labels=ints(0, 0, 0, 2, 2, 1, 0),
        states=np.array([1, 1, 1, 0, -1, 1, 1], dtype=np.int8),
        unannotated=np.array([0, 0, 0, 1, 0], dtype=bool),
    )


def test_states(labels: Labels) -> None:
    expected = [
        [HOLDS, HOLDS, LACKS],
        [LACKS, LACKS, UNKNOWN],
        [HOLDS, LACKS, LACKS],
        [HOLDS, UNKNOWN, LACKS],
        [LACKS, LACKS, LACKS],
    ]
    assert labels.states(np.arange(5)[:, None], np.arange(3)).tolist() == expected
    assert labels.states(3, 1) == UNKNOWN
    assert labels.states([3, 1], 2).tolist() == [LACKS, UNKNOWN]


def test_holders_and_counts(labels: Labels) -> None:
    assert labels.num_labels == 3
    assert labels.holders(0).tolist() == [0, 2, 3]
    assert labels.holders(2).tolist() == []
    assert labels.num_holders.tolist() == [3, 1, 0]
    assert [labels.num_known(label) for label in range(3)] == [5, 4, 4]
    assert labels.num_unknown_pairs == 2
    assert repr(labels) == "Labels(3 labels, 5 nodes, 4 held)"


@pytest.mark.parametrize("seed", range(3))
def test_what_is_known_among_some_nodes(seed: int) -> None:
    """Counted from pairs, it is what the states say; unknown pairs of unannotated nodes too."""
    generator = np.random.default_rng(seed)
    pairs = generator.permutation(120)[:60]
    labels = Labels.from_statements(
        ["a", "b", "c"],
        40,
        pairs // 3,
        pairs % 3,
        generator.choice(np.array([HOLDS, LACKS, UNKNOWN], dtype=np.int8), size=60),
        unannotated=generator.random(40) < 0.4,
    )
    twice = Labels(
        labels.names,
        40,
        labels.holds,
        unknown=LabelPairs.of(np.zeros(5, int), np.arange(5), 3, 40),
        unannotated=np.arange(40) < 3,
    )
    among = generator.random(40) < 0.5
    for some in (labels, twice):
        states = some.states(np.arange(40)[:, None], np.arange(3))
        for label in range(3):
            is_known = states[:, label] != UNKNOWN
            assert some.num_known(label, among) == (is_known & among).sum()
            assert some.num_known(label) == is_known.sum()


def test_by_node(labels: Labels) -> None:
    assert labels.held_by(0) == ["red", "green"]
    assert labels.held_by(4) == []
    matrix = labels.holds_matrix()
    assert matrix.dtype == np.float32
    assert matrix.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_select(labels: Labels) -> None:
    chosen = labels.select([2, 0])
    assert chosen.names == ("blue", "red")
    assert chosen.num_nodes == 5
    everywhere = np.arange(5)[:, None]
    assert np.array_equal(chosen.states(everywhere, [0, 1]), labels.states(everywhere, [2, 0]))
    assert labels.select([]).num_labels == 0
    with pytest.raises(LabelError, match="'red' is repeated"):
        labels.select([0, 0])
    with pytest.raises(IndexError, match=r"0 … 2, not 3"):
        labels.select([3])


def test_position_suggests_names(labels: Labels) -> None:
    assert labels.position("green") == 1
    with pytest.raises(LabelError, match=r"no label 'grean'; did you mean 'green'\?"):
        labels.position("grean")
    with pytest.raises(LabelError, match="the graph has 3: 'red', 'green', 'blue'"):
        labels.position("xyz")
    with pytest.raises(LabelError, match="no labels at all"):
        Labels.none(2).position("x")


def test_positions_out_of_range(labels: Labels) -> None:
    with pytest.raises(IndexError, match="node positions"):
        labels.states(5, 0)
    with pytest.raises(IndexError, match="label positions"):
        labels.states(0, -1)
    with pytest.raises(IndexError):
        labels.holders(-1)


def test_arrays_are_read_only(labels: Labels) -> None:
    with pytest.raises(ValueError, match="read-only"):
        labels.holders(0)[0] = 1
    assert labels.unannotated is not None
    with pytest.raises(ValueError, match="read-only"):
        labels.unannotated[0] = True


def test_no_labels() -> None:
    none = Labels.none(3)
    assert none.num_labels == 0
    assert none.holds_matrix().shape == (3, 0)
    assert none.states(np.zeros(0, int), np.zeros(0, int)).shape == (0,)
    assert none.held_by(2) == []


def test_what_does_not_fit_is_refused() -> None:
    holds = LabelPairs(ints(0, 1), ints(0), 2)
    with pytest.raises(LabelError, match="must not be empty"):
        Labels([""], 2, holds)
    with pytest.raises(GraphError, match="number of label names"):
        Labels(["a", "b"], 2, holds)
    with pytest.raises(GraphError, match="number of nodes"):
        Labels(["a"], 2, holds, unannotated=np.zeros(3, dtype=bool))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, 0, -1]))),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_sparse_states_are_those_of_a_dense_table(
    statements: list[tuple[int, int, int]], unannotated: list[bool]
) -> None:
    # One state a pair: holding and lacking at once is refused before it gets here.
    stated = {(node, label): state for node, label, state in statements}
    dense = np.where(np.array(unannotated)[:, None], UNKNOWN, LACKS) * np.ones((1, 4), int)
    for (node, label), state in stated.items():
        dense[node, label] = state
    labels = Labels.from_statements(
        list("abcd"),
        6,
        nodes=ints(*(node for node, _ in stated)),
        labels=ints(*(label for _, label in stated)),
        states=np.array(list(stated.values()), dtype=np.int8),
        unannotated=np.array(unannotated),
    )
    assert np.array_equal(labels.states(np.arange(6)[:, None], np.arange(4)), dense)
    known = [labels.num_known(label) for label in range(4)]
    assert known == (dense != UNKNOWN).sum(axis=0).tolist()
    assert np.array_equal(labels.holds_matrix().toarray(), dense == HOLDS)
    assert labels.num_unknown_pairs == (dense == UNKNOWN).sum()
