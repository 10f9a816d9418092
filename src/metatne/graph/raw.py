"""What a reader hands on: edges and labels as they were written, by id, nothing dropped yet.

Every reader ends here, and `build.build_graph` alone turns this into a `Graph`; so
cleaning (symmetrising, self-loops, duplicates, isolated nodes) happens in one place.
Readers of large files number the nodes on the way, so that the ids of the edges are never
all in memory; `numbering.number_ends` does it for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Int8, Int32, Int64


@dataclass(frozen=True)
class RawEdges:
    """Edges by id: `sources[e]` -- `targets[e]`, with an optional weight.

    Ids are Arrow arrays, all of int64 or all of (large) strings.
    """

    sources: pa.Array
    targets: pa.Array
    weights: Float32[np.ndarray, " edge"] | None = None
    is_directed: bool = False
    """The file says that (a, b) is not (b, a); the store symmetrises it and says so."""

    nodes: pa.Array | None = None
    """All node ids in the order to keep, where the source lists them (isolated ones too)."""


@dataclass(frozen=True)
class NumberedEdges:
    """Edges by the position of their ends in `ids`, block by block, in the order of the source.

    A builder empties the lists of blocks on its way, so that they do not take memory beside
    what it builds.
    """

    ids: pa.Array
    """The ids that the edges name, int64 and ascending or large_string by first appearance."""

    ends: list[Int32[np.ndarray, "_edge 2"]]
    weights: list[Float32[np.ndarray, " _edge"]] | None = None
    is_directed: bool = False
    """As in `RawEdges`."""

    nodes: pa.Array | None = None
    """As in `RawEdges`."""

    @property
    def num_edges(self) -> int:
        """How many edges there are."""
        return sum(map(len, self.ends))

    def by_id(self) -> RawEdges:
        """The same edges by id."""
        ends = np.concatenate([np.empty((0, 2), np.int32), *self.ends])
        return RawEdges(
            self.ids.take(pa.array(ends[:, 0])),
            self.ids.take(pa.array(ends[:, 1])),
            None if self.weights is None else np.concatenate(self.weights),
            self.is_directed,
            self.nodes,
        )


HOLDS, LACKS, UNKNOWN = 1, 0, -1
"""The three states of a node and a label; the numbers are those of `RawLabels.states`."""


@dataclass(frozen=True)
class RawLabels:
    """Statements "node, label, state" by id; a pair that is not stated is LACKS.

    Nodes in `unannotated` were never looked at: all their unstated pairs are UNKNOWN.
    """

    nodes: pa.Array
    labels: pa.Array
    states: Int8[np.ndarray, " statement"] | None = None
    """HOLDS for every statement when None."""

    unannotated: pa.Array | None = None
    complete: pa.Array | None = None
    """Nodes that were looked at for every label: their unstated pairs are LACKS, whatever
    `unannotated` and `is_partial` say."""

    is_partial: bool = False
    """Nodes that neither a statement nor `complete` names are unannotated as well."""

    names: list[str] = field(default_factory=list)
    """Label names in the order to keep, where the source has one; else sorted by name
    (numerically when all are integers)."""

    source: str = "labels"
    """Where the statements come from, for messages (a path, usually)."""

    lines: Int64[np.ndarray, " statement"] | None = None
    """The line of each statement in the source, for messages, where there are lines."""
