"""Names are numbered as a dictionary would number them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Int32, UInt8

from metatne.graph.names import Names

# Lengths around 8 bytes, which are read at a time, with beginnings and endings in common.
names = st.one_of(
    st.text(st.sampled_from("ab"), min_size=1, max_size=20),
    st.integers(0, 40).map(lambda number: f"node-{number:08d}"),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
    st.integers(6, 40).map(lambda length: "x" * length),
)
pair_lists = st.lists(st.tuples(names, names), min_size=1, max_size=40)


def laid_out(
    pairs: list[tuple[str, str]],
) -> tuple[UInt8[np.ndarray, " byte"], Int32[np.ndarray, "line 2 2"]]:
    """The names one after the other, and where each of them is."""
    encoded = [name.encode() for pair in pairs for name in pair]
    stops = np.cumsum([len(name) for name in encoded])
    fields = np.stack([stops - [len(name) for name in encoded], stops], axis=1)
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return data, fields.reshape(-1, 2, 2).astype(np.int32)


def number(table: Names, pairs: list[tuple[str, str]]) -> list[list[int]]:
    data, fields = laid_out(pairs)
    ends = np.empty((len(pairs), 2), dtype=np.int32)
    table.look_up(data, fields, ends)
    table.add_unseen(data, fields, ends)
    found: list[list[int]] = ends.tolist()
    return found


@given(st.lists(pair_lists, min_size=1, max_size=4))
def test_names_are_numbered_as_they_come(blocks: list[list[tuple[str, str]]]) -> None:
    table = Names()
    expected: dict[str, int] = {}
    for pairs in blocks:
        numbers = [[expected.setdefault(name, len(expected)) for name in pair] for pair in pairs]
        assert number(table, pairs) == numbers
    assert table.array().to_pylist() == list(expected)
    table.array().validate(full=True)
    assert len(table) == len(expected)


@pytest.mark.parametrize("width", [1, 9, 3000])
def test_the_table_grows(width: int) -> None:
    """Past the first room for names, for their text, and for both at once."""
    count = 9001 if width < 100 else 101
    every = [f"{place:0{width}d}" for place in range(count)]
    pairs = list(zip(every, reversed(every), strict=True))
    table = Names()
    first = number(table, pairs)
    assert table.array().to_pylist() == list(dict.fromkeys(name for pair in pairs for name in pair))
    assert number(table, pairs) == first
    data, fields = laid_out(pairs)
    ends = np.empty((len(pairs), 2), dtype=np.int32)
    table.look_up(data, fields, ends)
    assert ends.tolist() == first


def test_looking_up_adds_nothing() -> None:
    table = Names()
    number(table, [("a", "b")])
    data, fields = laid_out([("b", "c"), ("c", "a")])
    ends = np.empty((2, 2), dtype=np.int32)
    table.look_up(data, fields, ends)
    assert ends.tolist() == [[1, -1], [-1, 0]]
    assert len(table) == 2
