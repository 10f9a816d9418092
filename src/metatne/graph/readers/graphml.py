"""GraphML: nodes, edges, the edge attribute "weight" and a node attribute of labels.

The parser refuses any document type declaration, so that no entity can be defined: a small
file could otherwise unfold into gigabytes, or pull other files in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from metatne.errors import LabelError
from metatne.free_memory import check_room
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.readers.delimited import WEIGHT
from metatne.graph.readers.fields import integers_if_all_are
from metatne.graph.readers.label_states import split_labels
from metatne.graph.readers.layout import parse_weight
from metatne.graph.readers.text import BadLines, quoted, read_bytes, wrong_file

LABELS = "labels"
"""The node attribute that holds the labels, separated by ; or |, unless told otherwise."""


def read_graphml(
    path: Path, *, label_attribute: str | None = None, weighted: bool | None = None
) -> tuple[RawEdges, RawLabels | None]:
    """The edges of a GraphML file, and its labels where nodes have the attribute for them."""
    content = _parse(path, label_attribute or LABELS)
    content.bad.raise_if_any()
    ids = integers_if_all_are(pa.array(list(content.nodes), pa.large_string()))
    sources = ids.take(pa.array([content.nodes[source] for source in content.sources], pa.int64()))
    targets = ids.take(pa.array([content.nodes[target] for target in content.targets], pa.int64()))
    weights = None
    if weighted is not False and any(weight is not None for weight in content.weights):
        # Without the attribute and a default an edge weighs 1, as GraphML's tools have it.
        weights = np.array([1 if w is None else w for w in content.weights], dtype=np.float32)
    elif weighted:
        raise wrong_file(path, "edges with the attribute 'weight'", "none")
    edges = RawEdges(sources, targets, weights, is_directed=content.is_directed, nodes=ids)
    if not content.labels:
        if label_attribute is not None:
            raise LabelError(f"{path}: no node has the attribute {label_attribute!r}")
        return edges, None
    rows = [row for row, _, _ in content.labels]
    return edges, RawLabels(
        ids.take(pa.array(rows, pa.int64())),
        pa.array([label for _, label, _ in content.labels], pa.large_string()),
        source=str(path),
        lines=np.array([line for _, _, line in content.labels], dtype=np.int64),
    )


PART_BYTES = 80
"""What an element, or a label in a list of some, takes once it is apart."""


@dataclass
class _Content:
    """What has been read so far."""

    bad: BadLines
    nodes: dict[str, int] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    weights: list[float | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    labels: list[tuple[int, str, int]] = field(default_factory=list)
    is_directed: bool = False


def _parse(path: Path, label_attribute: str) -> _Content:
    data = read_bytes(path)
    check_room(path, PART_BYTES * sum(map(data.count, (b"<", b",", b";", b"|"))))
    parser = expat.ParserCreate(namespace_separator=" ")
    handler = _Handler(path, parser, label_attribute)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise wrong_file(
            path, "XML", f"an error ({expat.ErrorString(error.code)})", line=error.lineno
        ) from error
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        raise wrong_file(path, "XML in UTF-8", f"an error ({error})") from error
    content = handler.content
    if not handler.has_graph:
        raise wrong_file(path, "GraphML with a <graph> element", "none")
    for source, target, line in zip(content.sources, content.targets, content.lines, strict=True):
        for end in (source, target):
            if end not in content.nodes:
                content.bad.add(line, "an edge between nodes of the file", f"{quoted(end)}")
    return content


class _Handler:
    """Follows the elements as the parser meets them."""

    def __init__(self, path: Path, parser: expat.XMLParserType, label_attribute: str) -> None:
        self.path, self.parser, self.label_attribute = path, parser, label_attribute
        self.content = _Content(BadLines(str(path)))
        self.has_graph = False
        self._weight_keys: set[str] = set()
        self._label_keys: set[str] = set()
        self._declared: str | None = None
        self._in_default = False
        self._weight_default: float | None = None
        self._label_default: list[str] = []
        self._has_labels = False
        self._node: str | None = None
        self._in_edge = False
        self._data_key: str | None = None
        self._text: list[str] = []
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_doctype

    @property
    def _line(self) -> int:
        return self.parser.CurrentLineNumber

    def _refuse_doctype(self, *_: object) -> None:
        raise wrong_file(
            self.path,
            "GraphML without a document type declaration",
            "<!DOCTYPE …>, which is refused because it can define entities; remove it",
            line=self._line,
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        match name.rpartition(" ")[2]:
            case "key":
                self._declare(attributes)
            case "default":
                self._in_default, self._text = self._declared is not None, []
            case "graph":
                self.has_graph = True
                self.content.is_directed = attributes.get("edgedefault") == "directed"
            case "node":
                self._add_node(attributes)
            case "edge":
                self._add_edge(attributes)
            case "hyperedge":
                self.content.bad.add(self._line, "edges between two nodes", "a hyperedge")
            case "data":
                self._data_key, self._text = attributes.get("key"), []

    def _declare(self, attributes: dict[str, str]) -> None:
        key, name = attributes.get("id", ""), attributes.get("attr.name", "")
        about = attributes.get("for", "all")  # as the schema of GraphML has it
        if about in ("edge", "all") and name.casefold() == "weight":
            self._weight_keys.add(key)
        if about in ("node", "all") and name == self.label_attribute:
            self._label_keys.add(key)
        self._declared = key

    def _add_node(self, attributes: dict[str, str]) -> None:
        node = attributes.get("id", "")
        if not node:
            self.content.bad.add(self._line, "a node with an id", "one without")
        elif node in self.content.nodes:
            self.content.bad.add(self._line, "one node an id", f"{quoted(node)} again")
        else:
            self._node, self._has_labels = node, False
            self.content.nodes[node] = len(self.content.nodes)

    def _add_edge(self, attributes: dict[str, str]) -> None:
        source, target = attributes.get("source", ""), attributes.get("target", "")
        if not source or not target:
            self.content.bad.add(self._line, "an edge with source and target", "one without")
            return
        self._in_edge = True
        self.content.sources.append(source)
        self.content.targets.append(target)
        self.content.weights.append(self._weight_default)
        self.content.lines.append(self._line)

    def _characters(self, text: str) -> None:
        if self._data_key is not None or self._in_default:
            self._text.append(text)

    def _end(self, name: str) -> None:
        match name.rpartition(" ")[2]:
            case "data":
                self._read_data("".join(self._text).strip())
                self._data_key = None
            case "default":
                self._read_default("".join(self._text).strip())
                self._in_default = False
            case "key":
                self._declared = None
            case "node":
                if self._node is not None and not self._has_labels:
                    self._add_labels(self._node, self._label_default)
                self._node = None
            case "edge":
                self._in_edge = False

    def _read_default(self, text: str) -> None:
        if self._declared in self._weight_keys:
            self._weight_default = self._read_weight(text)
        if self._declared in self._label_keys:
            self._label_default = split_labels(text)

    def _read_data(self, text: str) -> None:
        if self._in_edge and self._data_key in self._weight_keys:
            self.content.weights[-1] = self._read_weight(text)
        elif self._node is not None and self._data_key in self._label_keys:
            self._has_labels = True
            self._add_labels(self._node, split_labels(text))

    def _read_weight(self, text: str) -> float | None:
        weight = parse_weight(text)
        if weight is None:
            self.content.bad.add(self._line, WEIGHT, quoted(text))
        return weight

    def _add_labels(self, node: str, labels: list[str]) -> None:
        row, line = self.content.nodes[node], self._line
        self.content.labels.extend((row, label, line) for label in labels)
