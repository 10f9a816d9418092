"""Ids go from position to id and back, and a wrong one is told what is near."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import GraphError, UnknownNodeError
from metatne.graph.node_ids import FEW_IDS, NodeIds, as_integer, id_array


@pytest.fixture
def names() -> NodeIds:
    return NodeIds(["vim", "emacs", "Ärger", "nano", "🙂"])


@pytest.fixture
def numbers() -> NodeIds:
    return NodeIds([30, 10, 20])


def test_take_and_index(names: NodeIds, numbers: NodeIds) -> None:
    assert len(names) == 5
    assert names[1] == "emacs"
    assert names.take([4, 0]) == ["🙂", "vim"]
    assert numbers[0] == 30
    assert isinstance(numbers[0], int)
    assert names.is_integer is False
    assert numbers.is_integer is True


def test_positions_are_those_of_the_ids(names: NodeIds) -> None:
    found = names.positions(["nano", "🙂", "Ärger", "nano"])
    assert found.tolist() == [3, 4, 2, 3]
    assert found.dtype == np.int64


def test_few_and_many_ids_are_found_alike() -> None:
    ids = NodeIds([f"n{i}" for i in range(3 * FEW_IDS)])
    wanted = [f"n{i}" for i in range(0, 3 * FEW_IDS, 2)]
    one_by_one = [int(ids.positions([name])[0]) for name in wanted]
    assert ids.positions(wanted).tolist() == one_by_one


def test_text_and_integers_are_one_id(numbers: NodeIds) -> None:
    assert numbers.positions(["10", 20]).tolist() == [1, 2]
    assert NodeIds(["7", "x"]).positions([7]).tolist() == [0]
    assert "10" in numbers
    assert np.int32(10) in numbers
    assert "010" not in numbers
    assert True not in NodeIds([1, 2])
    assert 1.0 not in NodeIds([1, 2])
    assert 2**70 not in numbers


def test_unknown_names_get_suggestions(names: NodeIds) -> None:
    with pytest.raises(UnknownNodeError, match=r"no node 'emcs'; did you mean 'emacs'\?") as error:
        names.positions(["emcs", "vim", "zzzzzz"])
    assert error.value.suggestions == {"emcs": ["emacs"], "zzzzzz": []}


def test_unknown_integers_get_the_nearest(numbers: NodeIds) -> None:
    with pytest.raises(UnknownNodeError, match="did you mean '10', '20', '30'"):
        numbers.positions([11])
    with pytest.raises(UnknownNodeError, match=r"no node 'foo'$"):
        numbers.positions(["foo"])


def test_many_unknown_ids_are_found_and_counted(numbers: NodeIds) -> None:
    with pytest.raises(UnknownNodeError, match="and 990 more unknown nodes"):
        numbers.positions([*range(1000, 2000), 10])


def test_text_that_is_no_utf8_is_unknown(names: NodeIds) -> None:
    with pytest.raises(UnknownNodeError):
        names.positions(["\ud800"])
    with pytest.raises(UnknownNodeError):
        names.positions(["\ud800"] * (FEW_IDS + 1))


def test_suggestions_stay_quick_in_a_large_graph() -> None:
    ids = NodeIds(pa.array(np.arange(1_000_000)).cast(pa.large_string()))
    start = time.perf_counter()
    near = ids.nearest("x999999")
    assert "999999" in near  # the slip is at the front, far off in the sorted order
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "", "b"], "must not be empty, but that of node 1"),
        (["a", "b", "a"], "unique, but these are repeated: 'a'"),
        ([1, 2, 2, 1], "unique, but these are repeated: 1, 2"),
        ([1.5], "integers or text, not float"),
        ([True, False], "integers or text, not bool"),
        ([("a", "b")], "integers or text, not tuple"),
        ([2**70], "64-bit"),
        (["\ud800"], "valid text"),
    ],
)
def test_ids_that_cannot_be(ids: list[object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        NodeIds(ids)


alike = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "node-", "a long beginning "]),
    st.text(st.sampled_from("ab\0日"), max_size=9),
    st.text(st.sampled_from("xyz"), max_size=3),
).filter(bool)


@given(st.lists(alike, unique=True) | st.lists(st.integers(-(2**63), 2**63 - 1), unique=True))
def test_the_order_is_that_of_python(ids: list[str] | list[int]) -> None:
    found = NodeIds(ids)
    ascending = sorted(range(len(ids)), key=ids.__getitem__)
    assert found.order.tolist() == ascending
    some = NodeIds(found.array[1:])  # an array that begins within its memory
    assert some.take(some.order) == sorted(found.array[1:].to_pylist())


@given(st.lists(alike, min_size=1, unique=True), st.data())
def test_a_repeated_id_is_found(ids: list[str], data: st.DataObject) -> None:
    again = data.draw(st.sampled_from(ids))
    with pytest.raises(GraphError, match="these are repeated") as error:
        NodeIds([*ids, again])
    assert str(error.value).endswith(f": {again!r}")


def test_null_ids_are_refused() -> None:
    with pytest.raises(GraphError, match="that of node 1"):
        NodeIds(pa.array(["a", None]))


def test_arrow_arrays_of_any_kind_become_one() -> None:
    assert id_array(pa.chunked_array([["a"], ["b"]])).type == pa.large_string()
    assert id_array(pa.array(["a", "b"]).dictionary_encode()).to_pylist() == ["a", "b"]
    assert id_array(pa.array([1, 2], pa.uint8())).type == pa.int64()
    assert id_array([1, "b"]).to_pylist() == ["1", "b"]
    with pytest.raises(GraphError, match="not double"):
        id_array(pa.array([1.0]))
    with pytest.raises(GraphError, match="64-bit"):
        id_array(pa.array([2**63], pa.uint64()))


@pytest.mark.parametrize("text", ["7", "-7", "0", "9223372036854775807"])
def test_canonical_integers(text: str) -> None:
    assert as_integer(text) == int(text)


@pytest.mark.parametrize("text", ["07", "+7", "-0", "1_0", " 7", "٣", "", "-", "--1", "9" * 19])
def test_other_spellings_are_no_integers(text: str) -> None:
    assert as_integer(text) is None


def test_ids_may_come_as_anything_that_can_be_gone_through() -> None:
    ids = NodeIds(["a", "b", "c"])
    series = pd.Series(["c", "a"], index=[7, 9])
    assert ids.positions(series).tolist() == [2, 0]
    assert ids.positions({"b"}).tolist() == [1]
    assert ids.positions(name for name in "ba").tolist() == [1, 0]
    for unknown in (pd.Series(["c", "q"], index=[7, 9]), {"q"}, (name for name in "q")):
        with pytest.raises(UnknownNodeError, match="'q'"):
            ids.positions(unknown)


def test_long_names_are_neither_compared_nor_repeated_in_full() -> None:
    """Comparing two names takes the product of their lengths: minutes, for a few long ones."""
    ids = NodeIds(["short", "ab" * 5_000])
    assert ids.nearest("shorn") == ["short"]
    assert ids.nearest("x" + "ab" * 5_000) == []
    with pytest.raises(UnknownNodeError) as error:
        ids.positions(["x" * 10_000])
    assert len(str(error.value)) < 400
