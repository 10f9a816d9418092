"""Plain lines read by the fast loop are what the careful reader makes of them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import InputError
from metatne.graph.raw import NumberedEdges
from metatne.graph.readers import delimited, fields, plain_lines
from metatne.graph.readers.delimited import (
    EdgeListOptions,
    read_carefully,
    read_edge_list,
    read_plainly,
)
from metatne.graph.readers.plain_lines import Lines
from metatne.graph.readers.text import check_text

integers = st.one_of(st.integers(0, 30), st.integers(0, 2**33), st.integers(-(2**63), 2**63 - 1))
names = st.text(st.sampled_from("abcäß日_-0"), min_size=1, max_size=12)
ids = st.one_of(st.integers(0, 30).map(str), integers.map(str), names)
weights = st.one_of(
    st.floats(1e-30, 1e30).map(repr), st.sampled_from(["1", "2.50", "1e3", "0.1234567890123456789"])
)
odd_fields = st.sampled_from(
    ["007", "+7", "-0", "7.0", "", " ", "nan", "1e999", "#x", "%", '"q"', '"', "a b", "\0", "x\ry"]
)
odd_lines = st.sampled_from(["# note", "%", "", "  ", "\t", "x", ",,", "a,b,c,d", "1 2 3 4 5"])
delimiters = st.sampled_from([",", "\t", ";", "|", " ", "  ", " , ", " \t "])
line_ends = st.sampled_from(["\n", "\r\n"])
starts = st.sampled_from(["", "# SNAP\n# a\tb\n", "\ufeff", "source,target\n", "from to\n", "\n\n"])


@st.composite
def plain_files(draw: st.DrawFn) -> str:
    """A file of plain lines."""
    kind = draw(st.sampled_from([st.integers(0, 30).map(str), integers.map(str), names]))
    columns = [kind, kind] + [weights] * draw(st.integers(0, 1))
    delimiter, end = draw(delimiters), draw(line_ends)
    lines = draw(st.lists(st.tuples(*columns), min_size=1, max_size=20))
    text = end.join(delimiter.join(line) for line in lines)
    return text + end * draw(st.integers(0, 2))


@st.composite
def mixed_files(draw: st.DrawFn) -> str:
    """A file in which anything may come."""
    delimiter, end = draw(delimiters), draw(line_ends)
    columns = [ids, ids] + [weights] * draw(st.integers(0, 1))
    odd = st.lists(st.one_of(ids, odd_fields), min_size=1, max_size=4)
    lines = st.one_of(
        st.tuples(*columns).map(delimiter.join),
        st.tuples(*columns).map(delimiter.join),
        st.tuples(*columns).map(delimiter.join),
        odd.map(delimiter.join),
        odd_lines,
    )
    return draw(starts) + end.join(draw(st.lists(lines, max_size=15))) + draw(st.just(end))


@contextmanager
def in_small_blocks(size: int, *, num_sampled: int = 1, threads: int = 2) -> Iterator[None]:
    """Files are cut into many blocks, and these into pieces; few lines tell the layout."""
    with ExitStack() as patches:
        for module, name, value in (
            (plain_lines, "BLOCK", size),
            (plain_lines, "PIECE", 16),
            (plain_lines, "EDGES_A_BLOCK", 3),
            (fields, "NUM_SAMPLED", num_sampled),
            (delimited, "NUM_SAMPLED", num_sampled),
        ):
            patches.enter_context(mock.patch.object(module, name, value))
        patches.enter_context(mock.patch.dict(os.environ, OMP_NUM_THREADS=str(threads)))
        yield


def outcome(read: Any, *args: Any) -> tuple[Any, ...]:
    """All that a reader says: ids and their type, ends, weights, notes; or its error."""
    notes: list[str] = []
    try:
        edges = read(*args, notes)
    except InputError as error:
        return type(error), str(error)
    if edges is None:
        return (None,)
    return (*content(edges), edges.is_directed, notes)


def content(edges: NumberedEdges) -> tuple[Any, ...]:
    raw = edges.by_id()
    return (
        str(edges.ids.type),
        edges.ids.to_pylist(),
        raw.sources.to_pylist(),
        raw.targets.to_pylist(),
        None if raw.weights is None else raw.weights.tolist(),
    )


options = st.builds(
    EdgeListOptions,
    directed=st.booleans(),
    delimiter=st.sampled_from([None, None, None, ",", "\t", " ", "b", "ß"]),
    header=st.sampled_from([None, None, True, False]),
    weighted=st.sampled_from([None, None, True, False]),
)


@given(plain_files(), st.sampled_from([150, 1000]))
def test_plain_files_are_read_plainly(content: str, size: int) -> None:
    text = check_text("e.txt", content.encode())
    asked = EdgeListOptions(header=False)
    with in_small_blocks(size):
        expected = outcome(read_carefully, text, asked)
        found = outcome(read_plainly, Lines.of_text(text), asked)
    is_error = len(expected) == 2
    assert found == ((None,) if is_error else expected)


@given(
    content=mixed_files() | plain_files(),
    asked=options,
    size=st.sampled_from([40, 64, 1000]),
    num_sampled=st.integers(1, 3),
    threads=st.integers(1, 3),
)
def test_the_fast_loop_changes_nothing(
    content: str, asked: EdgeListOptions, size: int, num_sampled: int, threads: int
) -> None:
    try:
        text = check_text("e.csv", content.encode())
    except InputError:
        return  # no reader sees it
    with in_small_blocks(size, num_sampled=num_sampled, threads=threads):
        expected = outcome(read_carefully, text, asked)
        found = outcome(read_plainly, Lines.of_text(text), asked)
    assert found in (expected, (None,))


def lines(*rows: str, header: bool | None = None, path: str = "e.csv") -> Any:
    data = "".join(f"{row}\n" for row in rows).encode()
    return outcome(read_plainly, Lines(path, data), EdgeListOptions(header=header))


@pytest.mark.parametrize(
    "rows",
    [
        ["1,2", "2,3"],
        ["1,2\r", " 2 ,\t3"],
        ["1,2", "", "  ", "2,3"],
        ["# above", "% all", "1,2", "2,3"],
        ["source,target", "1,2", "2,3"],
        ["time,source,note,target", "9,1,,2", ",2,x y,3"],
        ["1 2", " 2  \t3 "],
        ["1\t2", "2\t 3"],
    ],
)
def test_what_is_plain(rows: list[str]) -> None:
    path = "e.csv" if "," in rows[-1] else "e.txt"
    assert lines(*rows, path=path)[1:4] == ([1, 2, 3], [1, 2], [2, 3])


@pytest.mark.parametrize(
    "row", ['"2",3', "2,3,4", "2", ",3", "# x", "%2,3", "2\r,3", "2,\0", "2,3,", "\t#,3"]
)
def test_what_is_not_plain(row: str) -> None:
    assert lines("1,2", row, "3,4") == (None,)


@pytest.mark.parametrize("name", ["2147483648", "9223372036854775807", "-1", "16777217"])
def test_integers_far_apart_are_integers_too(name: str) -> None:
    found = lines("1,2", f"{name},1")
    assert found[0] == "int64"
    assert found[1] == sorted([1, 2, int(name)])
    assert found[2:4] == ([1, int(name)], [2, 1])


@pytest.mark.parametrize("odd", ["007", "x", "9223372036854775808", "-0", "00", "1 2"])
def test_an_id_that_is_no_integer_keeps_all_text(odd: str) -> None:
    found = lines("5,2", f"2,{odd}")
    assert found[0] == "large_string"
    assert found[1] == ["5", "2", odd]


def test_files_packed_or_not_are_read_plainly(tmp_path: Path) -> None:
    rows = "".join(f"{place % 7}\tn{place}\t{place + 1}\n" for place in range(1000)).encode()
    (tmp_path / "e.tsv").write_bytes(rows)
    (tmp_path / "e.tsv.gz").write_bytes(gzip.compress(rows))
    expected = content(read_carefully(check_text("e.tsv", rows), EdgeListOptions()))
    with (
        mock.patch.object(plain_lines, "BLOCK", 4000),
        mock.patch.object(delimited, "read_carefully", side_effect=AssertionError),
    ):
        assert content(read_edge_list(tmp_path / "e.tsv")) == expected
        assert content(read_edge_list(tmp_path / "e.tsv.gz")) == expected


def test_pipes_are_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "e.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(pipe.write_bytes, b"1,2\n2,3\n")
        assert read_edge_list(pipe).num_edges == 2
        writing.result()


def test_text_that_is_not_utf8_is_left_to_the_careful_reader() -> None:
    rows = b"a,b\n" * 300 + b"\xe9,b\n"
    text = Lines("e.csv", rows)
    with mock.patch.object(plain_lines, "BLOCK", 900):
        assert read_plainly(text, EdgeListOptions()) is None
