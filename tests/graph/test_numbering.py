"""Ends are numbered in the order that graphs keep, whatever way the numbers are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import GraphError
from metatne.graph.numbering import as_text, number_ends, renumber
from metatne.graph.raw import NumberedEdges, RawEdges

close = st.integers(-5, 100)
far = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.sampled_from("abc"), min_size=1, max_size=3)


def numbered(pairs: list[tuple[Any, Any]], **options: Any) -> NumberedEdges:
    sources, targets = zip(*pairs, strict=True)
    return number_ends(RawEdges(pa.array(sources), pa.array(targets), **options))


def by_id(edges: NumberedEdges) -> list[tuple[Any, Any]]:
    raw = edges.by_id()
    return list(zip(raw.sources.to_pylist(), raw.targets.to_pylist(), strict=True))


def by_appearance(pairs: list[tuple[Any, Any]]) -> list[Any]:
    return list(dict.fromkeys(end for pair in pairs for end in pair))


@given(st.lists(st.tuples(close, close), min_size=1) | st.lists(st.tuples(far, far), min_size=1))
def test_integers_ascend(pairs: list[tuple[int, int]]) -> None:
    edges = numbered(pairs)
    assert edges.ids.to_pylist() == sorted(by_appearance(pairs))
    assert by_id(edges) == pairs


@given(st.lists(st.tuples(texts, texts), min_size=1))
def test_texts_come_as_they_appear(pairs: list[tuple[str, str]]) -> None:
    edges = numbered(pairs)
    assert edges.ids.to_pylist() == by_appearance(pairs)
    assert edges.ids.type == pa.large_string()
    assert by_id(edges) == pairs


@given(st.lists(st.tuples(close, texts), min_size=1))
def test_integers_beside_texts_are_texts(pairs: list[tuple[int, str]]) -> None:
    expected = [(str(source), target) for source, target in pairs]
    assert by_id(numbered(pairs)) == expected
    assert numbered(pairs).ids.to_pylist() == by_appearance(expected)


@given(st.lists(st.tuples(close, close), min_size=1))
def test_integers_as_texts_come_as_they_appear(pairs: list[tuple[int, int]]) -> None:
    expected = [(str(source), str(target)) for source, target in pairs]
    edges = as_text(numbered(pairs))
    assert edges.ids.to_pylist() == by_appearance(expected)
    assert by_id(edges) == expected


def test_listed_nodes_become_texts_with_the_others() -> None:
    edges = as_text(numbered([("b", "1")], nodes=pa.array([1, 2])))
    assert edges.nodes is not None
    assert edges.nodes.to_pylist() == ["1", "2"]
    assert edges.ids.to_pylist() == ["b", "1"]


def test_no_edges_have_no_ids() -> None:
    edges = number_ends(RawEdges(pa.array([], pa.int64()), pa.array([], pa.int64())))
    assert edges.num_edges == len(edges.ids) == 0
    assert edges.by_id().sources.to_pylist() == []


def test_renumber() -> None:
    ends = [np.array([[0, 1]], np.int32), np.array([[2, 2]], np.int32)]
    renumber(ends, np.array([5, 0, 3]))
    assert [block.tolist() for block in ends] == [[[5, 0]], [[3, 3]]]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (RawEdges(pa.array([1, 2]), pa.array([1])), "2 edge sources do not pair with 1"),
        (RawEdges(pa.array([1]), pa.array([2]), np.ones(2, np.float32)), "1 edges need as many"),
        (RawEdges(pa.array([1, 1, None]), pa.array([2, None, 3])), "edge 2 has no source or no t"),
        (RawEdges(pa.array([1]), pa.array([None])), "edge 1 has no source or no target"),
    ],
)
def test_edges_that_cannot_be_numbered(edges: RawEdges, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        number_ends(edges)
