"""GraphML is read, and what could hurt in XML is refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from metatne.errors import FileFormatError, InputError, LabelError
from metatne.graph.readers import read_graph

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = """
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<key id="l" for="node" attr.name="labels" attr.type="string"/>
<key id="t" for="node" attr.name="topics" attr.type="string"/>"""
BODY = """
<graph edgedefault="undirected">
  <node id="n1"><data key="l">x; y</data></node>
  <node id="n0"/>
  <node id="n2"><data key="l">x</data><data key="t">q</data></node>
  <edge source="n1" target="n0"><data key="w">0.5</data></edge>
  <edge source="n0" target="n1"/>
</graph>"""


def write(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "g.graphml"
    path.write_text(content, encoding="utf-8")
    return path


def test_nodes_edges_weights_and_labels(tmp_path: Path) -> None:
    graph = read_graph(write(tmp_path, f"{HEAD}{KEYS}{BODY}</graphml>"))
    assert graph.name == "g"
    assert graph.node_ids.take(range(3)) == ["n1", "n0", "n2"]
    assert graph.num_edges == 1
    assert graph.weights is not None
    assert graph.weights.tolist() == [1, 1]  # an edge without a weight weighs 1, the larger stays
    assert graph.labels.names == ("x", "y")
    assert graph.labels.held_by(0) == ["x", "y"]
    assert graph.report.num_isolated == 1


def test_options(tmp_path: Path) -> None:
    path = write(tmp_path, f"{HEAD}{KEYS}{BODY}</graphml>")
    assert read_graph(path, label_attribute="topics").labels.names == ("q",)
    assert read_graph(path, weighted=False).weights is None
    with pytest.raises(LabelError, match="no node has the attribute 'nothing'"):
        read_graph(path, label_attribute="nothing")
    path = write(tmp_path, f"{HEAD}{BODY}</graphml>")
    assert read_graph(path).labels.num_labels == 0
    with pytest.raises(FileFormatError, match="edges with the attribute 'weight'"):
        read_graph(path, weighted=True)


def test_what_networkx_writes(tmp_path: Path) -> None:
    written = nx.DiGraph()
    written.add_edge(1, 2, weight=2.0)
    written.add_edge(2, 3, weight=0.5)
    written.add_node(10, labels="é|b")
    path = tmp_path / "g.graphml"
    nx.write_graphml(written, path)
    graph = read_graph(path)
    assert graph.node_ids.take(range(4)) == [1, 2, 3, 10]
    assert graph.report.was_symmetrised
    assert graph.labels.names == ("b", "é")


def test_entities_are_refused(tmp_path: Path) -> None:
    bomb = (
        '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n'
        '<graphml><graph><node id="&b;"/></graph></graphml>'
    )
    with pytest.raises(FileFormatError, match=r"g\.graphml:2: .*document type declaration"):
        read_graph(write(tmp_path, bomb))
    outside = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><graphml/>'
    with pytest.raises(FileFormatError, match="document type declaration"):
        read_graph(write(tmp_path, outside))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<graphml><graph>", r":1: expected XML, found an error"),
        ("hello", r":1: expected XML, found an error"),
        ("", "expected XML"),
        ("<graphml/>", "GraphML with a <graph> element, found none"),
        ('<?xml version="1.0" encoding="klingon"?><graphml/>', "expected XML"),
        (
            '<graphml><graph><node id="a"/>\n<edge source="a" target="b"/></graph></graphml>',
            ":2: expected an edge between nodes of the file, found 'b'",
        ),
        ('<graphml><graph><node id="a"/><node id="a"/></graph></graphml>', "one node an id"),
        ("<graphml><graph><node/></graph></graphml>", "a node with an id"),
        ('<graphml><graph><edge source="a"/></graph></graphml>', "an edge with source and target"),
        ("<graphml><graph><hyperedge/></graph></graphml>", "found a hyperedge"),
        (f"{HEAD}{KEYS}{BODY.replace('0.5', '-1')}</graphml>", "expected a weight .* found '-1'"),
        ("<graphml><graph></graph></graphml>", "no edges"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_graph(write(tmp_path, content))


def test_a_key_is_for_all_unless_it_says(tmp_path: Path) -> None:
    keys = KEYS.replace(' for="edge"', "").replace(' for="node"', "")
    graph = read_graph(write(tmp_path, f"{HEAD}{keys}{BODY}</graphml>"), label_attribute="labels")
    assert graph.weights is not None
    assert graph.labels.names == ("x", "y")


def test_keys_have_defaults(tmp_path: Path) -> None:
    keys = (
        '<key id="w" for="edge" attr.name="weight"><default> 0.25 </default></key>'
        '<key id="l" for="node" attr.name="labels"><default>z</default></key>'
        '<key id="o" for="edge" attr.name="other"><default>7</default></key>'
    )
    graph = read_graph(write(tmp_path, f"{HEAD}{keys}{BODY}</graphml>"))
    assert graph.weights is not None
    assert graph.weights.tolist() == [0.5, 0.5]
    assert graph.labels.names == ("x", "y", "z")
    assert graph.labels.holders(2).tolist() == [1]
    body = BODY.replace('<data key="w">0.5</data>', "")
    graph = read_graph(write(tmp_path, f"{HEAD}{keys}{body}</graphml>"))
    assert graph.weights is not None
    assert graph.weights.tolist() == [0.25, 0.25]
    bad = keys.replace("0.25", "heavy")
    with pytest.raises(FileFormatError, match=r"g\.graphml:2: expected a weight .*'heavy'"):
        read_graph(write(tmp_path, f"{HEAD}{bad}{BODY}</graphml>"))
