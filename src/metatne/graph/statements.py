"""Label statements by position: which node and which label each row speaks of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int8, Int64

from metatne.errors import MAX_SHOWN, LabelError
from metatne.graph.label_pairs import distinct
from metatne.graph.labels import Labels
from metatne.graph.node_ids import NodeIds, as_integer
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN, RawLabels


@dataclass(frozen=True)
class Statements:
    """Statements "node, label, state" by position, checked, in the order of the source."""

    names: tuple[str, ...]
    nodes: Int64[np.ndarray, " statement"]
    labels: Int64[np.ndarray, " statement"]
    states: Int8[np.ndarray, " statement"]
    unannotated: Bool[np.ndarray, " node"]
    complete: Bool[np.ndarray, " node"]

    def annotated(self) -> Bool[np.ndarray, " node"]:
        """The nodes of which anything is known: a label that they hold, or that they lack."""
        mask = self.complete.copy()
        mask[self.nodes[self.states != UNKNOWN]] = True
        return mask

    def among(self, keep: Bool[np.ndarray, " node"]) -> Statements:
        """The statements about nodes that stay, with the nodes renumbered."""
        number = np.cumsum(keep) - 1
        stays = keep[self.nodes]
        return replace(
            self,
            nodes=number[self.nodes[stays]],
            labels=self.labels[stays],
            states=self.states[stays],
            unannotated=self.unannotated[keep],
            complete=self.complete[keep],
        )

    def labels_of(self, num_nodes: int) -> tuple[Labels, int]:
        """The labels that these statements make, and how many statements were repeats."""
        labels = Labels.from_statements(
            self.names,
            num_nodes,
            self.nodes,
            self.labels,
            self.states,
            unannotated=self.unannotated,
        )
        num_distinct = len(distinct(self.labels * num_nodes + self.nodes))
        return labels, len(self.nodes) - num_distinct


def place_statements(raw: RawLabels, ids: Any, node_ids: NodeIds) -> Statements:
    """The statements of `raw` by position.

    `ids` are the ids of the statements, of the unannotated and of the complete nodes, one
    after the other, in the type of `node_ids` where they can be.
    """
    num_statements = len(raw.nodes)
    positions = _positions(ids, node_ids)
    _refuse_unknown_nodes(raw, ids, positions, node_ids)
    nodes = positions[:num_statements]
    num_unannotated = 0 if raw.unannotated is None else len(raw.unannotated)
    is_stated, unannotated, complete = np.zeros((3, len(node_ids)), dtype=bool)
    is_stated[nodes] = True
    unannotated[positions[num_statements : num_statements + num_unannotated]] = True
    complete[positions[num_statements + num_unannotated :]] = True
    if raw.is_partial:
        unannotated |= ~is_stated
    unannotated &= ~complete
    names, labels = _number_labels(raw)
    states = raw.states
    if states is None:
        states = np.full(num_statements, HOLDS, dtype=np.int8)
    if not (len(labels) == len(states) == num_statements):
        raise LabelError(
            f"{raw.source}: {num_statements:,} nodes, {len(labels):,} labels and "
            f"{len(states):,} states do not make statements"
        )
    odd = np.flatnonzero(~np.isin(states, (HOLDS, LACKS, UNKNOWN)))
    if len(odd):
        raise LabelError(
            f"{_place(raw, int(odd[0]))}: a state is 1 (holds), 0 (lacks) or -1 (unknown), "
            f"not {states[odd[0]]}"
        )
    _refuse_contradictions(raw, nodes, labels, states, names, node_ids)
    return Statements(names, nodes, labels, states, unannotated, complete)


def _positions(ids: Any, node_ids: NodeIds) -> Int64[np.ndarray, " statement"]:
    """The position of each id, -1 where the graph has none."""
    if ids.type != node_ids.array.type:
        # Names among integer ids: some are no integers, so they are looked up one by one.
        return np.array(
            [
                node_ids.positions([name])[0] if as_integer(name) in node_ids else -1
                for name in ids.to_pylist()
            ],
            dtype=np.int64,
        )
    return np.asarray(pc.fill_null(pc.index_in(ids, value_set=node_ids.array), -1), dtype=np.int64)


def _refuse_unknown_nodes(
    raw: RawLabels, ids: Any, positions: Int64[np.ndarray, " statement"], node_ids: NodeIds
) -> None:
    missing = np.flatnonzero(positions < 0)
    if not len(missing):
        return
    first: dict[object, int] = {}
    for row, name in zip(missing.tolist(), ids.take(pa.array(missing)).to_pylist(), strict=True):
        first.setdefault(name, row)
    lines = [
        f"{_place(raw, row)}: the graph has no node {name!r}"
        for name, row in list(first.items())[:MAX_SHOWN]
    ]
    if len(first) > MAX_SHOWN:
        lines.append(f"… and {len(first) - MAX_SHOWN:,} more nodes that the graph lacks")
    if _looks_like_edges(raw, ids, node_ids):
        lines.append(
            f"most labels of {raw.source} are nodes: were its columns swapped (expected: a node, "
            "then a label), or were the edges and the labels swapped?"
        )
        raise LabelError("\n".join(lines))
    lines.append(
        f"the labels name {len(first):,} node{'' if len(first) == 1 else 's'} without an edge; "
        "mend the ids, or keep such nodes as isolated ones (keep_unlinked, --keep-unlinked)"
    )
    if _place(raw, int(missing[0])) == f"{raw.source}:1":
        lines.append("is line 1 a header? say --label-header (label_header=True)")
    raise LabelError("\n".join(lines))


def _looks_like_edges(raw: RawLabels, ids: Any, node_ids: NodeIds) -> bool:
    """Whether the labels are nodes themselves, and about as many.

    Numbers that name labels are often numbers of nodes too, but there are few of them.
    """
    text = pa.large_string()
    labels = pc.unique(pa.array(raw.labels).cast(text))
    named = pc.unique(ids.cast(text))
    nodes = pa.concat_arrays([named, node_ids.array.cast(text)])
    num_nodes_among = pc.sum(pc.is_in(labels, value_set=nodes)).as_py() or 0
    return bool(2 * num_nodes_among >= len(labels) and 2 * len(labels) >= len(named))


def _number_labels(raw: RawLabels) -> tuple[tuple[str, ...], Int64[np.ndarray, " statement"]]:
    """The label names in order, and the label of each statement by position."""
    encoded = pa.array(raw.labels).cast(pa.large_string()).dictionary_encode()
    codes = encoded.indices
    found: list[str] = encoded.dictionary.to_pylist()
    if codes.null_count or "" in found:
        row = codes.to_pylist().index(None if codes.null_count else found.index(""))
        raise LabelError(f"{_place(raw, row)}: the name of the label is empty")
    if raw.names:
        names = list(raw.names)
        extra = sorted(set(found) - set(names))
        if extra:
            raise LabelError(
                f"{raw.source}: these labels are not among the labels listed: "
                + ", ".join(map(repr, extra[:MAX_SHOWN]))
            )
    elif all(as_integer(name) is not None for name in found):
        names = sorted(found, key=int)
    else:
        names = sorted(found)
    number = {name: label for label, name in enumerate(names)}
    label_of = np.array([number[name] for name in found], dtype=np.int64)
    return tuple(names), label_of[np.asarray(codes, dtype=np.int64)]


def _refuse_contradictions(
    raw: RawLabels,
    nodes: Int64[np.ndarray, " statement"],
    labels: Int64[np.ndarray, " statement"],
    states: Int8[np.ndarray, " statement"],
    names: tuple[str, ...],
    node_ids: NodeIds,
) -> None:
    """Holding and lacking one label at once is refused; an unknown beside either is not."""
    known = np.flatnonzero(states != UNKNOWN)
    keys = labels[known] * len(node_ids) + nodes[known]
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], known[order]
    clash = np.flatnonzero((np.diff(keys) == 0) & (np.diff(states[rows]) != 0))
    if not len(clash):
        return
    lines = []
    for place in clash[:MAX_SHOWN].tolist():
        row, other = int(rows[place]), int(rows[place + 1])
        said = "holds" if states[row] == HOLDS else "lacks"
        denied = "holds" if states[other] == HOLDS else "lacks"
        lines.append(
            f"{_place(raw, other)}: node {node_ids[int(nodes[row])]!r} {denied} label "
            f"{names[labels[row]]!r} here, but it {said} it at {_place(raw, row)}"
        )
    if len(clash) > MAX_SHOWN:
        lines.append(f"… and {len(clash) - MAX_SHOWN:,} more contradictions")
    raise LabelError("\n".join(lines))


def _place(raw: RawLabels, row: int) -> str:
    if raw.lines is not None and row < len(raw.lines):
        return f"{raw.source}:{raw.lines[row]}"
    if row >= len(raw.nodes):
        return f"{raw.source} (nodes without statements)"
    return f"{raw.source} (statement {row + 1})"
