"""Edge lists as they come: every layout is read alike, every bad line is named."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.errors import ConfigError, FileFormatError, GraphError, InputError
from metatne.graph.raw import NumberedEdges
from metatne.graph.readers import text as text_module
from metatne.graph.readers.delimited import parse_edge_list, read_edge_list
from metatne.graph.readers.text import check_text


def parse(content: str | bytes, path: str = "edges.txt", **options: Any) -> NumberedEdges:
    data = content.encode() if isinstance(content, str) else content
    return parse_edge_list(check_text(path, data), **options)


def rows(edges: NumberedEdges) -> list[tuple[Any, ...]]:
    raw = edges.by_id()
    ends = zip(raw.sources.to_pylist(), raw.targets.to_pylist(), strict=True)
    if raw.weights is None:
        return list(ends)
    return [(*pair, weight) for pair, weight in zip(ends, raw.weights.tolist(), strict=True)]


@pytest.mark.parametrize(
    "content",
    [
        "1,2\n2,3\n",
        "1,2\n2,3",
        "1, 2\n2 ,3\n",
        "\ufeff1,2\n2,3\n",
        "1,2\r\n2,3\r\n",
        "1,2\r2,3\r",
        "1\t2\n2\t3\n",
        "1 2\n2 3\n",
        "  1   2 \n\t2 \t 3\n",
        "1  2 \r\n2 3\r\n",
        "1;2\n2;3\n",
        "# comment\n% another\n\n1,2\n  # more\n\n2,3\n\n",
        "source,target\n1,2\n2,3\n",
        "Source\tTarget\n1\t2\n2\t3\n",
        "from to\n1 2\n2 3\n",
        "left,right\n1,2\n2,3\n",
        "# x\nleft,right\n\n1,2\n2,3\n",
        '"1","2"\n"2","3"\n',
        "target,source\n2,1\n3,2\n",
        "time,source,kind,target\n9,1,x,2\n9,2,y,3\n",
        "time,source,kind,target\n9,1,x,2\n\n# c\n9,2,y,3\n   \n",
    ],
)
def test_layouts_of_one_graph(content: str) -> None:
    assert rows(parse(content)) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    "content",
    [
        "a,b,0.5\nb,c,2e1\n",
        "a b 0.5\nb  c\t2e1\n",
        "source,target,weight\na,b,0.5\nb,c,20\n",
        "weight,source,target\n0.5,a,b\n20,b,c\n",
        "x,y,z\na,b,0.5\nb,c,20\n",
        "protein1 protein2 combined_score\na b 0.5\nb c 20\n",
        "source,target,note,weight\na,b,hm,0.5\nb,c,,20\n",
    ],
)
def test_layouts_with_weights(content: str) -> None:
    edges = parse(content)
    assert rows(edges) == [("a", "b", 0.5), ("b", "c", 20.0)]
    assert edges.weights is not None
    assert edges.weights[0].dtype == np.float32


def test_quoted_ids_may_have_commas_blanks_and_quotes() -> None:
    edges = parse('"New York, NY",  "a ""b"""\nGöteborg,日本 国\n "x" ,"#y"\n', "e.csv")
    assert rows(edges) == [("New York, NY", 'a "b"'), ("Göteborg", "日本 国"), ("x", "#y")]


def test_tab_separated_ids_may_have_blanks() -> None:
    assert rows(parse("New York\tOslo\nOslo\tBad Ems\n")) == [
        ("New York", "Oslo"),
        ("Oslo", "Bad Ems"),
    ]


@pytest.mark.parametrize("odd", ["007", "+7", "7.0", "1_000", "x", "99999999999999999999", "-0"])
def test_one_id_that_is_no_plain_integer_keeps_all_text(odd: str) -> None:
    assert rows(parse(f"1,2\n2,{odd}\n")) == [("1", "2"), ("2", odd)]


def test_ids_stay_large_integers() -> None:
    assert rows(parse("-5,9223372036854775807\n")) == [(-5, 2**63 - 1)]


def test_nodes_may_be_called_like_columns() -> None:
    assert rows(parse("u v\nv w\n")) == [("u", "v"), ("v", "w")]
    assert rows(parse("u v\n1 2\n")) == [(1, 2)]
    with pytest.raises(GraphError, match=r"line 1 was read as a header .header=False"):
        parse("u v\n")


def test_a_bad_weight_in_the_first_line_is_no_header() -> None:
    assert message("a,b,nan\nb,c,1\n")[0].startswith("e.csv:1: expected a weight")


def test_options_overrule_detection() -> None:
    assert rows(parse("a,b\nc,d\n", header=True)) == [("c", "d")]
    assert rows(parse("from,to\nc,d\n", header=False)) == [("from", "to"), ("c", "d")]
    assert rows(parse("a,b,2\nc,d,3\n", weighted=False)) == [("a", "b"), ("c", "d")]
    assert rows(parse("a|b\n", delimiter="|")) == [("a", "b")]
    assert parse("a,b\n", directed=True).is_directed
    with pytest.raises(FileFormatError, match=r"expected 3 fields .*, found 2 fields"):
        parse("a,b\nc,d\n", weighted=True)
    with pytest.raises(ConfigError, match="a delimiter is one character"):
        parse("a,b\n", delimiter="||")


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n2,3\n"))
    assert rows(read_edge_list(path)) == [(1, 2), (2, 3)]
    path.write_bytes(gzip.compress(b"1,2\n2,3\n" * 1000)[:-12])
    with pytest.raises(FileFormatError, match="a whole gzip file, found a damaged one"):
        read_edge_list(path)


def test_gzip_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "MAX_UNPACKED", 1000)
    monkeypatch.setattr(text_module, "unpack_limit", lambda packed: 1000)
    path = tmp_path / "edges.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 1000))
    with pytest.raises(FileFormatError, match="at most 1,000 bytes unpacked"):
        read_edge_list(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_edge_list(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a directory"):
        read_edge_list(tmp_path)


def message(content: str | bytes, **options: Any) -> list[str]:
    with pytest.raises(FileFormatError) as error:
        parse(content, "e.csv", **options)
    return str(error.value).splitlines()


def test_each_kind_of_bad_line_is_named() -> None:
    content = (
        "# weights\na,b,1\nb,c\nb\n\nc,d,1,5\n,d,1\nd,e,nan\nd,e,-1\nd,e,inf\nd,e,x\n"
        'd,e,0\n"d,e,1\nd,e,1e39\n' + "a,b,2\n" * 30
    )
    weight = "expected a weight that is a finite number greater than 0"
    assert message(content) == [
        "e.csv:3: expected 3 fields (source, target, weight) as on most lines, "
        "found 2 fields: 'b,c'",
        "e.csv:4: expected 2 or 3 fields (source, target[, weight]), found 1 field: 'b'",
        "e.csv:6: expected 2 or 3 fields (source, target[, weight]), found 4 fields: 'c,d,1,5'",
        "e.csv:7: expected a source and a target, found an empty one: ',d,1'",
        f"e.csv:8: {weight}, found 'nan'",
        f"e.csv:9: {weight}, found '-1'",
        f"e.csv:10: {weight}, found 'inf'",
        f"e.csv:11: {weight}, found 'x'",
        f"e.csv:12: {weight}, found '0'",
        "e.csv:13: expected quotes that close where their field ends, found '\"d,e,1'",
        "… and 1 more bad lines in e.csv",
    ]


def test_all_bad_lines_are_counted() -> None:
    lines = message("a,b\n" * 100 + "x\n" * 25 + "a,b\n" * 100)
    assert len(lines) == 11
    assert lines[0].startswith("e.csv:101: ")
    assert lines[-1] == "… and 15 more bad lines in e.csv"


def test_lines_with_unlike_fields() -> None:
    assert "as on most lines, found 3 fields" in message("a,b\nb,c\nc,d,1\n")[0]
    assert message("source,kind,note,target\n1,2,3,4\n1,2\n")[0].startswith(
        "e.csv:3: expected 4 fields, as in the header, found 2 fields"
    )
    assert message("a,b,c,d\n1,2,3,4\n", header=True)[0].startswith(
        "e.csv:1: expected columns called source and target where there are more than three"
    )
    assert len(message("foo\nbar\n")) == 2
    assert "found 1 field: 'xxxxx" in message("x" * 500 + "\n")[0]
    assert len(message("x" * 500 + "\n")[0]) < 200


def test_a_broken_line_among_many_is_found(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    lines = ["12345,67890\n"] * 200_000
    lines[100_000] = "foo\n"
    path.write_text("".join(lines))
    with pytest.raises(FileFormatError) as error:
        read_edge_list(path)
    assert str(error.value) == (
        f"{path}:100001: expected 2 or 3 fields (source, target[, weight]), found 1 field: 'foo'"
    )


def test_what_is_no_text() -> None:
    assert (
        message(b"1,2\n3,\x004\n")[0]
        == "e.csv:2: expected text, found a NUL byte, which no text has"
    )
    assert message("1,2\né,3\n".encode("latin-1"))[0].startswith(
        "e.csv:2: expected UTF-8 text, found byte 0xe9, which is none"
    )
    assert message("1,2\n".encode("utf-16"))[0].startswith(
        "e.csv:1: expected UTF-8 text, found UTF-16 text"
    )


def test_bad_bytes_are_found_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "CHUNK", 4)
    assert rows(parse("ä,öü\nß,日本\n")) == [("ä", "öü"), ("ß", "日本")]
    assert message("ä,öü\nß,日本\n".encode() + b"a,\xe6\x97\n")[0].startswith("e.csv:3: ")


@pytest.mark.parametrize("content", ["", "\n\n", "# only\n% comments\n", "source,target\n"])
def test_no_edges(content: str) -> None:
    with pytest.raises(GraphError, match=r"e\.csv has no edges; expected lines of 2 or 3 fields"):
        parse(content, "e.csv")


ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda name: name == name.strip(" \t")
)


@given(st.lists(st.tuples(ids, ids), min_size=1))
def test_quoted_ids_survive(pairs: list[tuple[str, str]]) -> None:
    def quote(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    content = "".join(f"{quote(a)},{quote(b)}\n" for a, b in pairs)
    edges = parse(content, "e.csv", header=False, delimiter=",")
    found = [(str(a), str(b)) for a, b in rows(edges)]
    assert found == pairs


@given(st.text())
def test_no_text_breaks_the_reader(content: str) -> None:
    try:
        edges = parse(content, "e.csv")
    except InputError:
        return
    assert edges.num_edges > 0


@given(st.binary())
def test_no_bytes_break_the_reader(content: bytes) -> None:
    with contextlib.suppress(InputError):
        parse(content, "e.txt")


@pytest.mark.parametrize(
    "content",
    [
        "py,go\n#py,rust\n%go,#py\n",
        "# a comment\npy,go\n#py,rust\n# one more\n%go,#py\n",
        "source,target\npy,go\n#py,rust\n%go,#py\n",
        "py\tgo\n#py\trust\n%go\t#py\n",
        "py go\n#py rust\n# a\n  %go  #py\n",
        'py,go\n"#py",rust\n"%go","#py"\n',
        'py , "go"\n#py,rust\n%go,"#py"\n',  # line by line
    ],
)
def test_ids_may_begin_with_a_comment_mark(content: str) -> None:
    assert rows(parse(content)) == [("py", "go"), ("#py", "rust"), ("%go", "#py")]


def test_a_header_may_stand_above_hashtags_only() -> None:
    assert rows(parse("source,target\n#a,#b\n#b,#c\n")) == [("#a", "#b"), ("#b", "#c")]


def test_what_was_taken_for_a_comment_is_said() -> None:
    notes: list[str] = []
    parse("# SNAP\n#a,b\na,b\n#b,c\n# x\n% y\nb,d\n", "in/e.csv", notes=notes)
    assert notes == [
        "e.csv:2 ('#a,b') was read as a comment; if it is none, move it below another line, "
        "or put ids that begin with # or % in quotes",
        "e.csv: 1 line that begins with # or % and as many fields as the others was read like "
        "them, not as comments",
        "e.csv: 2 lines that begin with # or % below the first other line were read as comments",
    ]
    notes.clear()
    parse("# FromNodeId\tToNodeId\n1\t2\n2\t3\n", notes=notes)
    assert notes == []
    with pytest.raises(GraphError, match=r"has no edges.*\ne\.txt:1 .'#a,#b'. was read as a comm"):
        parse("#a,#b\n#b,#c\n", "e.txt", delimiter=",")
