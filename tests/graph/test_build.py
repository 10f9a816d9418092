"""The builder cleans edges and labels, and reports all that it did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import GraphError, LabelError
from metatne.graph.build import BuildReport, build_graph
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.store import Graph


def raw(
    *pairs: tuple[Any, ...], nodes: list[Any] | None = None, directed: bool = False
) -> RawEdges:
    columns = list(zip(*pairs, strict=True)) if pairs else [(), ()]
    return RawEdges(
        pa.array(columns[0], pa.int64() if not pairs else None),
        pa.array(columns[1], pa.int64() if not pairs else None),
        np.array(columns[2], dtype=np.float32) if len(columns) == 3 else None,
        is_directed=directed,
        nodes=None if nodes is None else pa.array(nodes),
    )


def statements(
    *rows: tuple[Any, str, int], unannotated: list[Any] | None = None, **options: Any
) -> RawLabels:
    return RawLabels(
        pa.array([node for node, _, _ in rows]),
        pa.array([label for _, label, _ in rows], pa.string()),
        np.array([state for _, _, state in rows], dtype=np.int8),
        unannotated=None if unannotated is None else pa.array(unannotated),
        **options,
    )


def edge_set(graph: Graph) -> dict[frozenset[Any], float]:
    found = {}
    for node in range(graph.num_nodes):
        for entry in range(graph.indptr[node], graph.indptr[node + 1]):
            ends = frozenset(graph.node_ids.take([node, int(graph.indices[entry])]))
            found[ends] = 1.0 if graph.weights is None else float(graph.weights[entry])
    return found


def test_a_tiny_graph() -> None:
    graph = build_graph(raw((3, 1), (1, 2), (2, 3), (3, 9)), name="tiny")
    assert graph.node_ids.take(range(4)) == [1, 2, 3, 9]
    assert graph.indptr.tolist() == [0, 2, 4, 7, 8]
    assert graph.indices.tolist() == [1, 2, 0, 2, 0, 1, 3, 2]
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.int32
    assert graph.weights is None
    assert graph.num_edges == 4
    assert graph.report == BuildReport(num_input_edges=4)
    assert graph.report.lines() == ["read 4 edges"]
    graph.verify()


def test_strings_keep_the_order_of_their_first_appearance() -> None:
    graph = build_graph(raw(("z", "b"), ("a", "z"), ("b", "c")), name="g")
    assert graph.node_ids.take(range(4)) == ["z", "b", "a", "c"]


def test_listed_nodes_keep_their_order_and_may_be_isolated() -> None:
    graph = build_graph(raw((1, 2), nodes=[7, 2, 1]), name="g")
    assert graph.node_ids.take(range(3)) == [7, 2, 1]
    assert graph.degrees.tolist() == [0, 1, 1]
    assert graph.report.lines()[-1] == "kept 1 isolated node"
    dropped = build_graph(raw((1, 2), nodes=[7, 2, 1]), name="g", drop_isolated=True)
    assert dropped.node_ids.take(range(2)) == [2, 1]
    assert dropped.report.lines()[-1] == "dropped 1 isolated node"


def test_self_loops_repeats_and_directions_are_counted() -> None:
    graph = build_graph(raw((1, 2), (2, 1), (1, 2), (3, 3), (2, 3), directed=True), name="g")
    assert edge_set(graph) == {frozenset({1, 2}): 1, frozenset({2, 3}): 1}
    report = graph.report
    assert (report.num_self_loops, report.num_duplicates, report.num_reciprocal) == (1, 1, 1)
    assert report.was_directed
    assert report.was_symmetrised
    assert report.lines() == [
        "read 5 edges",
        "removed 1 self-loop",
        "merged 1 repeated edge",
        "merged the two directions of 1 edge into one",
        "the input is directed; every edge now goes both ways",
    ]


def test_a_symmetric_directed_input_is_not_symmetrised() -> None:
    report = build_graph(raw((1, 2), (2, 1), directed=True), name="g").report
    assert report.was_directed
    assert not report.was_symmetrised


def test_the_largest_weight_of_a_repeated_edge_stays() -> None:
    graph = build_graph(raw((1, 2, 0.5), (2, 1, 2.0), (1, 2, 1.0), (2, 3, 4.0)), name="g")
    assert graph.weights is not None
    assert graph.weights.dtype == np.float32
    assert graph.weights.tolist() == [2, 2, 4, 4]


edges_strategy = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0.5, 1.0, 2.0])), min_size=1
).filter(lambda edges: any(a != b for a, b, _ in edges))


@given(edges_strategy, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_order_repeats_and_direction_change_nothing(
    edges: list[tuple[int, int, float]], random: Any, weighted: bool, textual: bool
) -> None:
    changed = edges + random.choices(edges, k=random.randint(0, 5))
    changed = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in changed]
    random.shuffle(changed)

    def build(rows: list[tuple[int, int, float]]) -> Graph:
        named = [(f"n{a}", f"n{b}", w) if textual else (a, b, w) for a, b, w in rows]
        return build_graph(raw(*(row if weighted else row[:2] for row in named)), name="g")

    first, second = build(edges), build(changed)
    first.verify()
    assert edge_set(first) == edge_set(second)
    expected = {frozenset(e[:2]) for e in edges if e[0] != e[1]}
    assert first.num_edges == len(expected)
    if not textual:  # strings are numbered as they appear, so only integers agree in all
        assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (raw(), "no edges; expected at least one edge between two nodes"),
        (raw((1, 1), (2, 2)), "none of the 2 edges is left .2 were self-loops"),
        (raw((1, 2, 1.0), (2, 3, -1.0)), "finite and greater than 0, but 2 -- 3 has -1"),
        (raw((1, 2, float("nan"))), "1 -- 2 has nan"),
        (raw((1, 2, float("inf"))), "1 -- 2 has inf"),
        (raw((1, 2, 0.0)), "1 -- 2 has 0"),
        (raw((1, 2), (3, 4), nodes=[1, 2]), "2 nodes that the list of nodes lacks: 3, 4"),
        (raw((1, 2), nodes=[1, 2, 1]), "repeated: 1"),
        (raw(("a", "")), "must not be empty"),
        (raw(("a", None)), "edge 1 has no source or no target"),
        (RawEdges(pa.array([1, 2]), pa.array([1])), "2 edge sources do not pair with 1"),
        (RawEdges(pa.array([1]), pa.array([2]), np.ones(2, np.float32)), "as many weights"),
    ],
)
def test_edges_that_make_no_graph(edges: RawEdges, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        build_graph(edges, name="g")


def test_labels_are_placed_and_sorted() -> None:
    labels = statements((3, "b", 1), (1, "a", 1), (1, "b", 1), (2, "a", 0))
    graph = build_graph(raw((1, 2), (2, 3)), labels, name="g")
    assert graph.labels.names == ("a", "b")
    assert graph.labels.holders(1).tolist() == [0, 2]
    assert graph.labels.states(1, 0) == 0
    assert graph.report.num_statements == 4


def test_integer_labels_sort_as_numbers_and_listed_names_stay() -> None:
    labels = statements((1, "10", 1), (2, "9", 1))
    assert build_graph(raw((1, 2)), labels, name="g").labels.names == ("9", "10")
    labels = statements((1, "b", 1), names=["z", "b", "a"])
    assert build_graph(raw((1, 2)), labels, name="g").labels.names == ("z", "b", "a")
    labels = statements((1, "q", 1), names=["z"])
    with pytest.raises(LabelError, match="not among the labels listed: 'q'"):
        build_graph(raw((1, 2)), labels, name="g")


@pytest.mark.parametrize(("node", "other"), [(1, 2), ("1", "2")])
def test_label_ids_may_be_text_for_integers_and_the_reverse(node: Any, other: Any) -> None:
    labels = RawLabels(pa.array([node, other]), pa.array(["x", "x"]))
    assert build_graph(raw((1, 2)), labels, name="g").labels.holders(0).tolist() == [0, 1]
    assert build_graph(raw(("1", "2")), labels, name="g").labels.holders(0).tolist() == [0, 1]


def test_labels_of_nodes_that_the_graph_lacks() -> None:
    labels = statements((1, "x", 1), (8, "x", 1), (8, "y", 1), (9, "x", 1), source="my.csv")
    with pytest.raises(LabelError) as error:
        build_graph(raw((1, 2)), labels, name="g")
    assert str(error.value).splitlines() == [
        "my.csv (statement 2): the graph has no node 8",
        "my.csv (statement 4): the graph has no node 9",
        "the labels name 2 nodes without an edge; mend the ids, or keep such nodes as "
        "isolated ones (keep_unlinked, --keep-unlinked)",
    ]
    kept = build_graph(raw((1, 2)), labels, name="g", keep_unlinked=True)
    assert kept.node_ids.take(range(4)) == [1, 2, 8, 9]
    assert kept.report.num_unlinked_label_nodes == 2
    assert "added 2 nodes that only the labels name" in kept.report.lines()
    assert kept.report.num_isolated == 2


def test_many_missing_nodes_are_counted_not_all_listed() -> None:
    labels = statements(*((node, "x", 1) for node in range(100, 130)))
    with pytest.raises(LabelError, match="and 20 more nodes that the graph lacks"):
        build_graph(raw((1, 2)), labels, name="g")


def test_named_labels_of_an_integer_graph() -> None:
    labels = statements(("1", "x", 1), ("abc", "x", 1))
    with pytest.raises(LabelError, match="no node 'abc'"):
        build_graph(raw((1, 2)), labels, name="g")
    kept = build_graph(raw((1, 2)), labels, name="g", keep_unlinked=True)
    assert kept.node_ids.take(range(3)) == ["1", "2", "abc"]
    assert kept.labels.holders(0).tolist() == [0, 2]


def test_contradictions_are_named_with_their_places() -> None:
    lines = np.array([3, 4, 7], dtype=np.int64)
    labels = statements((1, "x", 1), (2, "x", 1), (1, "x", 0), source="l.csv", lines=lines)
    with pytest.raises(
        LabelError,
        match=r"l.csv:7: node 1 lacks label 'x' here, but it holds it "
        r"at l.csv:3",
    ):
        build_graph(raw((1, 2)), labels, name="g")


def test_what_is_known_goes_before_unknown() -> None:
    labels = statements((1, "x", -1), (1, "x", 1), (2, "x", 0), (2, "x", -1))
    graph = build_graph(raw((1, 2)), labels, name="g")
    assert graph.labels.states([0, 1], 0).tolist() == [1, 0]
    assert graph.report.num_repeated_statements == 2


def test_unannotated_nodes_are_unknown_unless_stated() -> None:
    labels = statements((1, "x", 1), (1, "y", 0), (2, "x", 0), (2, "z", -1), unannotated=[1, 3])
    graph = build_graph(raw((1, 2), (2, 3)), labels, name="g")
    assert graph.labels.states(np.arange(3)[:, None], np.arange(3)).tolist() == [
        [1, 0, -1],
        [0, 0, -1],
        [-1, -1, -1],
    ]


def test_partial_labels_leave_the_others_unknown() -> None:
    labels = statements((1, "x", 1), is_partial=True, complete=pa.array([2]))
    graph = build_graph(raw((1, 2), (2, 3)), labels, name="g")
    assert graph.labels.unannotated is not None
    assert graph.labels.unannotated.tolist() == [False, False, True]
    assert graph.labels.states([0, 1, 2], 0).tolist() == [1, 0, -1]


def test_labelled_only_keeps_the_annotated_and_the_edges_among_them() -> None:
    labels = statements((1, "x", 1), (2, "x", 0), (4, "x", -1), (5, "x", 1), (3, "x", 1))
    edges = raw((1, 2), (2, 3), (3, 4), (4, 5))
    graph = build_graph(edges, labels, name="g", labelled_only=True)
    assert graph.node_ids.take(range(4)) == [1, 2, 3, 5]
    assert edge_set(graph).keys() == {frozenset({1, 2}), frozenset({2, 3})}
    assert graph.report.num_unlabelled_dropped == 1
    assert graph.report.num_isolated == 1
    assert "left out 1 node without annotation" in graph.report.lines()
    linked = build_graph(edges, labels, name="g", labelled_only=True, drop_isolated=True)
    assert linked.node_ids.take(range(3)) == [1, 2, 3]
    assert linked.labels.holders(0).tolist() == [0, 2]


def test_labelled_only_without_labels_or_edges() -> None:
    with pytest.raises(LabelError, match="no labels are given"):
        build_graph(raw((1, 2)), name="g", labelled_only=True)
    with pytest.raises(GraphError, match="1 nodes without labels were left out"):
        build_graph(raw((1, 2)), statements((1, "x", 1)), name="g", labelled_only=True)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (RawLabels(pa.array([1]), pa.array([""])), "name of the label is empty"),
        (RawLabels(pa.array([1]), pa.array([None], pa.string())), "name of the label is empty"),
        (statements((1, "x", 5)), r"a state is 1 .holds., 0 .lacks. or -1 .unknown., not 5"),
        (RawLabels(pa.array([1, 2]), pa.array(["x"])), "do not make statements"),
    ],
)
def test_labels_that_cannot_be(labels: RawLabels, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        build_graph(raw((1, 2)), labels, name="g")
