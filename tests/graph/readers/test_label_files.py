"""Label files in three kinds; their kind is told from their content, or asked for."""

from __future__ import annotations

import contextlib
from typing import Any

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import FileFormatError, InputError, LabelError
from metatne.graph.raw import RawLabels
from metatne.graph.readers import read_labels
from metatne.graph.readers.label_states import split_labels
from metatne.graph.readers.label_text import parse_labels
from metatne.graph.readers.objects import read_networkx
from metatne.graph.readers.text import check_text


def parse(content: str, path: str = "labels.txt", **options: Any) -> RawLabels:
    return parse_labels(check_text(path, content.encode()), **options)


def said(labels: RawLabels) -> list[tuple[Any, str, int]]:
    nodes, names = labels.nodes.to_pylist(), labels.labels.to_pylist()
    states = [1] * len(nodes) if labels.states is None else labels.states.tolist()
    return list(zip(nodes, names, states, strict=True))


@pytest.mark.parametrize(
    "content",
    [
        "1,x\n1,y\n2,x\n",
        "node,label\n1,x\n1,y\n2,x\n",
        "# c\nid\tgroup\n1\tx\n1\ty\n\n2\tx\n",
        "1 x\n1 y\n2 x\n",
        "node,label,state\n1,x,1\n1,y,1.0\n2,x,true\n",
        "1,x,1\n1,y,1\n2,x,1\n",
        "1 x y\n2 x\n",
        "1 x;y\n2 x\n",
        "1,x;y\n2,x\n",
        "1,x|y\n2,x\n",
        "node,labels\n1,x|y\n2,x\n",
        "1\tx\ty\n2\tx\n",
    ],
)
def test_layouts_of_one_set_of_labels(content: str) -> None:
    assert said(parse(content)) == [(1, "x", 1), (1, "y", 1), (2, "x", 1)]


def test_pairs_with_states() -> None:
    labels = parse("a,x,1\na,y,0\nb,x,\nb,y,unknown\nc,x,False\n")
    assert said(labels) == [
        ("a", "x", 1),
        ("a", "y", 0),
        ("b", "x", -1),
        ("b", "y", -1),
        ("c", "x", 0),
    ]
    assert labels.lines is not None
    assert labels.lines.tolist() == [1, 2, 3, 4, 5]


def test_lists_may_be_empty() -> None:
    labels = parse("10 1 8 12\n11 9\n12\n13 \n")
    assert said(labels) == [(10, "1", 1), (10, "8", 1), (10, "12", 1), (11, "9", 1)]
    assert labels.complete is not None
    assert labels.complete.to_pylist() == [12, 13]
    assert labels.lines is not None
    assert labels.lines.tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize(
    "content",
    [
        "node,x,y\na,1,0\nb,,0\nc,,\nd,0,0\n",
        "node,x,y\na,1.0,0.0\nb,NaN,0\nc,,\nd,0,0\n",
        "\tx\ty\na\t1\t0\nb\t\t0\nc\t\t\nd\t0\t0\n",
        "node x y\na 1 0\nb ? 0\nc ? ?\nd 0 0\n",
    ],
)
def test_wide_tables(content: str) -> None:
    labels = parse(content)
    assert labels.names == ["x", "y"]
    assert said(labels) == [("a", "x", 1), ("b", "x", -1)]
    assert labels.unannotated is not None
    assert labels.unannotated.to_pylist() == ["c"]
    assert labels.complete is not None
    assert labels.complete.to_pylist() == ["a", "b", "d"]


def test_a_wide_table_of_tabs_whose_rows_are_mostly_empty() -> None:
    """Its lines end in tabs, which are cells and not blanks."""
    rows = ["a\t1\t0", "b\t0\t1", *(f"nobody {n}\t\t" for n in range(8))]
    for suffix, corner in ((".tsv", "node"), (".txt", "node"), (".tsv", "")):
        content = "\n".join([f"{corner}\tx\ty", *rows]) + "\n"
        labels = parse(content, path=f"labels{suffix}")
        assert said(labels) == [("a", "x", 1), ("b", "y", 1)]
        assert labels.unannotated is not None
        assert labels.unannotated.to_pylist() == [f"nobody {n}" for n in range(8)]


@pytest.mark.parametrize("content", ["node,label\n", "node,labels\n"])
def test_a_header_alone_is_no_labels(content: str) -> None:
    with pytest.raises(FileFormatError, match="labels of nodes below the header"):
        parse(content)


def test_blanks_at_the_end_of_a_line_are_no_cells() -> None:
    assert said(parse("a spam\t\nb spam\t\n")) == [("a", "spam", 1), ("b", "spam", 1)]


def test_the_kind_can_be_told() -> None:
    content = "id,spam\na,1\nb,0\n"
    assert said(parse(content, kind="wide")) == [("a", "spam", 1)]
    assert said(parse(content, kind="pairs", header=True)) == [("a", "1", 1), ("b", "0", 1)]
    assert said(parse("1 0 1\n", kind="lists")) == [(1, "0", 1), (1, "1", 1)]
    assert said(parse("1 5 0\n", kind="pairs")) == [(1, "5", 0)]
    assert said(parse("a,x;y\n", kind="pairs")) == [("a", "x;y", 1)]
    with pytest.raises(LabelError, match="one of pairs, lists, wide, not 'tall'"):
        parse("a,b\n", kind="tall")


@pytest.mark.parametrize(
    "content",
    ["id,spam\na,1\nb,0\n", "1 0 1\n2 3 0\n", "7,0,1\n8,1,0\n", "7,0,1\n"],
)
def test_what_can_be_read_in_two_ways_is_asked_about(content: str) -> None:
    with pytest.raises(LabelError, match=r"can be read in two ways.*label_format="):
        parse(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,x\nb\nc,y\n", "l.csv:2: expected 2 fields (node, label), found 1 field: 'b'"),
        ("a,x\nb,\nc,y\n", "l.csv:2: expected a node and a label, found an empty one: 'b,'"),
        ("a,x\nb,y,1\nc,y\n", "l.csv:2: expected 2 fields (node, label), found 3 fields: 'b y 1'"),
        (
            "node,label,state\na,x,1\nb,x,2\n",
            "l.csv:3: expected as the state 1 (holds), 0 (lacks) or an empty field (unknown), "
            "found '2'",
        ),
        (
            "node,x,y,z\na,1,0,0\nb,1\n",
            "l.csv:3: expected 4 fields, as in the header, found 2 fields",
        ),
        (
            "node,x,y,z\na,1,0,2\nb,1,1,1\n",
            "l.csv:2: expected for label 'z' 1 (holds), 0 (lacks) or an empty field (unknown), "
            "found '2'",
        ),
        (
            "node,x,y\na,1,0\n,1,1\n",
            "l.csv:3: expected a node in the first field, found an empty field",
        ),
        (
            "node,x,y\na,1,0\na,1,1\n",
            "l.csv:3: expected one line a node, found 'a' again, which line 2 has",
        ),
        (
            "node,x,x\na,1,0\nb,1,1\n",
            "l.csv:1: expected a header with a different name for each label, found 'node,x,x'",
        ),
        (",x;y\na,x\n", "l.csv:1: expected a node, then its labels, found no node: ',x;y'"),
        (
            'a,"x\nb,y\n',
            "l.csv:1: expected quotes that close where their field ends, found 'a,\"x'",
        ),
        ("", "l.csv:1: expected labels of nodes, found no line that says something"),
    ],
)
def test_bad_lines(content: str, expected: str) -> None:
    with pytest.raises(FileFormatError) as error:
        parse(content, "l.csv")
    assert str(error.value) == expected


@given(st.text(), st.sampled_from([None, "pairs", "lists", "wide"]))
def test_no_text_breaks_the_reader(content: str, kind: str | None) -> None:
    with contextlib.suppress(InputError):
        parse(content, "l.csv", kind=kind)


def test_nodes_may_begin_with_a_comment_mark() -> None:
    notes: list[str] = []
    labels = parse("# c\npy,x\n#py,x\n# more\n%go,y\n", "l.csv", notes=notes)
    assert said(labels) == [("py", "x", 1), ("#py", "x", 1), ("%go", "y", 1)]
    assert notes == [
        "l.csv: 2 lines that begin with # or % and as many fields as the others were read like "
        "them, not as comments",
        "l.csv: 1 line that begins with # or % below the first other line was read as comments",
    ]
    assert said(parse("py x y z\ngo x\n#py y z\n# a b\n"))[-2:] == [
        ("#py", "y", 1),
        ("#py", "z", 1),
    ]
    wide = parse("node,x,y\npy,1,0\n#py,0,1\n")
    assert said(wide) == [("py", "x", 1), ("#py", "y", 1)]


def test_lists_are_split_alike_in_every_format() -> None:
    text = " x ;y|;z z| "
    names = ["x", "y", "z z"]
    assert split_labels(text) == names
    file = parse(f'a,"{text}"\n', kind="lists", delimiter=",")
    frame = read_labels(pd.DataFrame({"node": ["a"], "labels": [text]}))
    network = nx.Graph([("a", "b")])
    network.nodes["a"]["labels"] = text
    _, own = read_networkx(network)
    assert own is not None
    for found in (file, frame, own):
        assert found.labels.to_pylist() == names
