"""Files with one node a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from metatne.errors import FileFormatError
from metatne.graph.readers import read_graph
from metatne.graph.readers.node_lists import read_node_list


def test_every_line_is_an_id(tmp_path: Path) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text('node\n#py\n  %go \n\n"New York, NY"\n"#rust"\n')
    assert read_node_list(path) == ["#py", "%go", "New York, NY", "#rust"]
    path.write_text("a,b\n")
    with pytest.raises(FileFormatError, match=r":1: expected one node .in quotes if"):
        read_node_list(path)


def test_nodes_without_annotation_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "unknown.txt"
    path.write_text('#py\n"Oslo, NO"\n')
    graph = read_graph([("a", "#py"), ("#py", "Oslo, NO")], {"a": ["x"]}, unannotated=path)
    assert graph.labels.states([0, 1, 2], 0).tolist() == [1, -1, -1]
