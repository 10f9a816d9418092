"""Which column is which: the names that edge and label tables give their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

END_NAMES = (
    ("source", "target"),
    ("source_id", "target_id"),
    ("src", "dst"),
    ("from", "to"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("protein1", "protein2"),
    ("start", "end"),
    ("head", "tail"),
    ("from_id", "to_id"),
    ("node_a", "node_b"),
    ("gene1", "gene2"),
    ("gene_a", "gene_b"),
    ("protein_a", "protein_b"),
    ("user1", "user2"),
    ("user", "item"),
    ("follower", "followee"),
    ("u", "v"),
)
WEIGHT_NAMES = ("weight", "w", "edge_weight", "combined_score", "score", "value")

LABEL_NAMES = ("label", "group", "class", "tag", "category", "label_id", "group_id")
LIST_NAMES = ("labels", "groups", "classes", "tags", "categories")
STATE_NAMES = ("state", "holds", "value")


@dataclass(frozen=True)
class EdgeColumns:
    """The columns of an edge table by position."""

    source: int
    target: int
    weight: int | None
    is_by_name: bool = False
    """The columns were told by their names, not only by where they stand."""


def name_edge_columns(names: Sequence[str]) -> EdgeColumns | None:
    """The columns that a header names; by place where it uses no known names and has two or three.

    None where neither tells, that is with more than three columns or fewer than two.
    """
    known = [name.casefold() for name in names]
    for source, target in END_NAMES:
        if source in known and target in known:
            ends = known.index(source), known.index(target)
            weight = next((known.index(name) for name in WEIGHT_NAMES if name in known), None)
            if weight is None and len(known) == 3:
                weight = 3 - sum(ends)  # the one of 0, 1, 2 that is left
            return EdgeColumns(*ends, weight, is_by_name=True)
    if len(known) not in (2, 3):
        return None
    return EdgeColumns(0, 1, 2 if len(known) == 3 else None)


def is_named_pairs(names: Sequence[str]) -> bool:
    """Whether a header says "node, label[, state]"."""
    known = [name.casefold() for name in names]
    return (
        len(known) in (2, 3)
        and known[1] in LABEL_NAMES
        and (len(known) == 2 or known[2] in STATE_NAMES)
    )


def is_named_lists(names: Sequence[str]) -> bool:
    """Whether a header says "node, labels"."""
    return len(names) == 2 and names[1].casefold() in LIST_NAMES
