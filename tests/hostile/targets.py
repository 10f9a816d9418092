"""What reads strangers' bytes, and the promise of all of it.

Any bytes give what was asked for or a `MetaTNEError` that names the file; nothing else.
`fuzz.py` holds the readers to it for minutes, `test_readers.py` for seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hostile import seeds
from metatne.cli.support_file import read_support
from metatne.errors import MetaTNEError
from metatne.graph.readers import read_graph
from metatne.graph.readers.node_lists import read_node_list

FRIENDS = [("a", "b"), ("b", "c"), ("c", "d"), ("7", "a")]


@dataclass(frozen=True)
class Target:
    """A reader, the name that its file has, and bytes to start from."""

    name: str
    file: str
    read: Callable[[Path], None]
    seeds: Callable[[], dict[str, bytes]]

    def try_bytes(self, data: bytes, folder: Path) -> str | None:
        """Read the bytes as a file; the message if they were refused, as the promise has it."""
        path = folder / self.file
        path.write_bytes(data)
        try:
            self.read(path)
        except MetaTNEError as error:
            if str(path) not in str(error):
                raise AssertionError(f"an error that does not name its file: {error}") from error
            return str(error)
        return None


def _graph(path: Path) -> None:
    read_graph(path).verify()


def _labels(path: Path) -> None:
    read_graph(FRIENDS, labels=path, keep_unlinked=True).verify()


TARGETS = {
    target.name: target
    for target in (
        Target("edges", "edges.txt", _graph, seeds.edges),
        Target("gzip", "edges.csv.gz", _graph, seeds.gzipped),
        Target("labels", "labels.txt", _labels, seeds.labels),
        Target("graphml", "graph.graphml", _graph, seeds.graphml),
        Target("matlab", "graph.mat", _graph, seeds.matlab),
        Target("zip", "graph.zip", _graph, seeds.zipped),
        Target("parquet", "graph.parquet", _graph, seeds.parquet_edges),
        Target("parquet-labels", "labels.parquet", _labels, seeds.parquet_labels),
        Target("nodes", "nodes.txt", lambda path: void(read_node_list(path)), seeds.nodes),
        Target("support", "support.csv", lambda path: void(read_support(path)), seeds.nodes),
    )
}


def void(_: object) -> None:
    """Nothing, whatever was read."""
