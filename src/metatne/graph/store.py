"""The graph store: nodes, edges and labels as immutable arrays, in memory or mapped from disk."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float32, Int64, Integer

from metatne.errors import GraphError
from metatne.graph.disk import Arrays, Parts, check_digests, digests, open_parts, save_parts
from metatne.graph.label_pairs import LabelPairs
from metatne.graph.labels import Labels
from metatne.graph.node_ids import NodeIds
from metatne.graph.report import BuildReport
from metatne.storage import read_steadily

DERIVED = ("id_order",)  # arrays that follow from the others, so no part of the fingerprint


class Graph:
    """An undirected graph with labels; nodes are numbered 0 … n-1 and never change.

    Row i of the adjacency is `indices[indptr[i]:indptr[i + 1]]`, ascending; every edge is
    stored in both directions. Use `build_graph`, `read_graph`, `Graph.from_edges` or
    `Graph.open` to make one: the constructor checks only what is cheap.
    """

    def __init__(
        self,
        indptr: Int64[np.ndarray, " bounds"],
        indices: Integer[np.ndarray, " entry"],
        node_ids: NodeIds,
        labels: Labels | None = None,
        *,
        weights: Float32[np.ndarray, " entry"] | None = None,
        name: str = "graph",
        report: BuildReport | None = None,
    ) -> None:
        """A graph over these arrays, which become read-only."""
        self.indptr, self.indices, self.weights = indptr, indices, weights
        self.node_ids = node_ids
        self.labels = Labels.none(len(node_ids)) if labels is None else labels
        self.name = name
        self.report = BuildReport() if report is None else report
        self._stored: dict[str, Any] = {}  # the header, when the graph was opened from disk
        self._check()
        for array in (indptr, indices, weights):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_edges(
        cls, edges: Any, *, labels: Any = None, name: str = "graph", **options: Any
    ) -> Graph:
        """A graph from pairs, a 2- or 3-column array or a DataFrame (source, target[, weight]).

        `labels` and the options are those of `read_graph`.
        """
        # The readers stand before the store in the flow of data; this door leads back to them.
        from metatne.graph.readers import read_graph

        if isinstance(edges, str | Path):
            raise GraphError(f"from_edges takes pairs; read {str(edges)!r} with read_graph")
        return read_graph(edges, labels, name=name, **options)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.node_ids)

    @property
    def num_edges(self) -> int:
        """How many undirected edges there are."""
        return len(self.indices) // 2

    @property
    def directory(self) -> Path | None:
        """Where the graph was opened from, if it was."""
        return Path(self._stored["path"]) if self._stored else None

    @cached_property
    def degrees(self) -> Int64[np.ndarray, " node"]:
        """How many neighbours each node has."""
        degrees = np.diff(self.indptr)
        degrees.flags.writeable = False
        return degrees

    def neighbours(self, node: int) -> Integer[np.ndarray, " neighbour"]:
        """The neighbours of `node`, ascending."""
        if not 0 <= node < self.num_nodes:
            raise IndexError(f"node positions must lie in 0 … {self.num_nodes - 1}, not {node}")
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def adjacency(self) -> sp.csr_array:
        """The adjacency matrix over the graph's own arrays; do not change it in place."""
        return self._adjacency

    @cached_property
    def _adjacency(self) -> sp.csr_array:
        values = self.weights
        if values is None:
            values = np.ones(len(self.indices), dtype=np.float32)
            values.flags.writeable = False
        # SciPy wants one type for both index arrays; it is the small one that is copied.
        small = len(self.indices) <= np.iinfo(self.indices.dtype).max
        indptr = self.indptr.astype(self.indices.dtype) if small else self.indptr
        matrix = sp.csr_array(
            (values, self.indices, indptr), shape=(self.num_nodes, self.num_nodes)
        )
        # Known from the build; unsaid, SciPy would read all entries to find out.
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def with_labels(self, labels: Labels) -> Graph:
        """The same nodes and edges with other labels."""
        return Graph(
            self.indptr,
            self.indices,
            self.node_ids,
            labels,
            weights=self.weights,
            name=self.name,
            report=self.report,
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content (ids, edges, weights, labels), equal for equal graphs."""
        stored = self._stored.get("fingerprint")
        return _fingerprint(self._digests(), self.labels.names) if stored is None else str(stored)

    def _arrays(self) -> Arrays:
        labels = self.labels
        arrays: dict[str, np.ndarray[Any, Any] | None] = {
            "indptr": self.indptr,
            "indices": self.indices,
            "weights": self.weights,
            "id_order": self.node_ids.order,
            "unannotated": labels.unannotated,
        }
        for kind, pairs in (
            ("holds", labels.holds),
            ("unknown", labels.unknown),
            ("lacks", labels.lacks),
        ):
            if pairs is not None:
                arrays |= {f"{kind}_indptr": pairs.indptr, f"{kind}_nodes": pairs.nodes}
        return {name: array for name, array in arrays.items() if array is not None}

    def _digests(self) -> dict[str, str]:
        return digests(self.node_ids.array, self._arrays())

    def summary(self) -> dict[str, Any]:
        """What there is to say about the graph, as plain numbers (`metatne graph info`)."""
        labels, degrees = self.labels, self.degrees
        num_components, _ = sp.csgraph.connected_components(self.adjacency(), directed=False)
        return {
            "name": self.name,
            "nodes": self.num_nodes,
            "edges": self.num_edges,
            "weighted": self.weights is not None,
            "isolated": int((degrees == 0).sum()),
            "degree": _spread(degrees),
            "components": int(num_components),
            "labels": labels.num_labels,
            "holders": _spread(labels.num_holders) if labels.num_labels else None,
            "unannotated": 0 if labels.unannotated is None else int(labels.unannotated.sum()),
            "held_pairs": len(labels.holds),
            "unknown_pairs": labels.num_unknown_pairs,
            "fingerprint": self.fingerprint,
        }

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the graph as a directory that `Graph.open` maps; all of it or nothing."""
        found = self._digests()
        header = {
            "name": self.name,
            "fingerprint": _fingerprint(found, self.labels.names),
            "num_nodes": self.num_nodes,
            "num_edges": self.num_edges,
            "label_names": list(self.labels.names),
            "report": asdict(self.report),
            "digests": found,
        }
        parts = Parts(self.node_ids.array, self._arrays(), header)
        save_parts(Path(path), parts, overwrite=overwrite)

    @classmethod
    def open(cls, path: Path | str) -> Graph:
        """Open a saved graph: every byte is checked, and the arrays stay on disk."""
        parts = read_steadily(Path(path), open_parts)
        arrays, header = parts.arrays, parts.header
        num_nodes = len(parts.ids)

        def pairs(kind: str) -> LabelPairs | None:
            if f"{kind}_nodes" not in arrays:
                return None
            return LabelPairs(arrays[f"{kind}_indptr"], arrays[f"{kind}_nodes"], num_nodes)

        holds = pairs("holds")
        if holds is None:
            raise GraphError(f"{path} has no label arrays; build the graph again")
        labels = Labels(
            header["label_names"],
            num_nodes,
            holds,
            unknown=pairs("unknown"),
            lacks=pairs("lacks"),
            unannotated=arrays.get("unannotated"),
        )
        known = {field.name for field in fields(BuildReport)}
        graph = cls(
            arrays["indptr"],
            arrays["indices"],
            NodeIds(parts.ids, arrays["id_order"]),
            labels,
            weights=arrays.get("weights"),
            name=header["name"],
            report=BuildReport(**{k: v for k, v in header["report"].items() if k in known}),
        )
        graph._stored = {**header, "path": str(path)}
        return graph

    def verify(self) -> None:
        """Read everything; raise if it is not what was saved, or not a sound graph."""
        found = self._digests()
        if self._stored:
            check_digests(Path(self._stored["path"]), self._stored["files"], found)
        actual = _fingerprint(found, self.labels.names)
        if actual != self.fingerprint:
            raise GraphError(
                f"the graph {self.name!r} has fingerprint {actual[:12]}…, "
                f"but {self.fingerprint[:12]}… was recorded; "
                "its label names were changed: build the graph again"
            )
        self._check_rows()

    def __repr__(self) -> str:
        """The name and the size in one line."""
        weighted = ", weighted" if self.weights is not None else ""
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} edges{weighted}, "
            f"{self.labels.num_labels:,} labels)"
        )

    def _check(self) -> None:
        if self.labels.num_nodes != self.num_nodes:
            raise GraphError(
                f"the labels are those of {self.labels.num_nodes:,} nodes, "
                f"but the graph has {self.num_nodes:,}"
            )
        if len(self.indptr) != self.num_nodes + 1:
            raise GraphError(
                f"indptr must have one value more than there are nodes: "
                f"{self.num_nodes + 1:,}, not {len(self.indptr):,}"
            )
        if self.indptr[0] != 0 or self.indptr[-1] != len(self.indices):
            raise GraphError(
                f"indptr must go from 0 to the number of entries, {len(self.indices):,}; "
                f"it goes from {self.indptr[0]:,} to {self.indptr[-1]:,}"
            )
        if self.weights is not None and len(self.weights) != len(self.indices):
            raise GraphError("there must be one weight for each entry of indices")

    def _check_rows(self) -> None:
        if (np.diff(self.indptr) < 0).any():
            raise GraphError("indptr must not fall")
        if len(self.indices) and not (
            self.indices.min() >= 0 and self.indices.max() < self.num_nodes
        ):
            raise GraphError(f"indices must lie in 0 … {self.num_nodes - 1}")
        rows = np.repeat(np.arange(self.num_nodes), self.degrees)
        keys = rows * self.num_nodes + self.indices
        if (np.diff(keys) <= 0).any():
            raise GraphError("neighbours must be unique and ascend within each row")
        if (rows == self.indices).any():
            raise GraphError("the graph must have no self-loops")
        if not np.array_equal(np.sort(self.indices * np.int64(self.num_nodes) + rows), keys):
            raise GraphError("every edge must be stored in both directions")


def _fingerprint(found: dict[str, str], label_names: tuple[str, ...]) -> str:
    content = [f"{name} {digest}" for name, digest in sorted(found.items()) if name not in DERIVED]
    return hashlib.sha256("\n".join([*content, repr(label_names)]).encode()).hexdigest()


def _spread(values: Int64[np.ndarray, " some"]) -> dict[str, float]:
    return {
        "min": int(values.min()),
        "median": float(np.median(values)),
        "max": int(values.max()),
    }
