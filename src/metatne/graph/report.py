"""What the builder did to the edges and labels on their way into the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BuildReport:
    """Counts of what was read, merged and dropped while a graph was built."""

    num_input_edges: int = 0
    num_self_loops: int = 0
    num_duplicates: int = 0
    """Edges stated again in the same direction."""

    num_reciprocal: int = 0
    """Edges stated in both directions, which are one edge here."""

    was_directed: bool = False
    was_symmetrised: bool = False
    """The input was directed and had edges in one direction only."""

    num_isolated: int = 0
    was_isolated_dropped: bool = False
    num_unlinked_label_nodes: int = 0
    """Nodes that only the labels name, kept as isolated nodes."""

    num_unlabelled_dropped: int = 0
    """Nodes left out because nothing was stated about their labels."""

    num_unlisted: int = 0
    """Nodes that the labels do not name, and that count as lacking all of them."""

    num_statements: int = 0
    num_repeated_statements: int = 0

    notes: Sequence[str] = ()
    """What a reader took for granted about a file, such as that its first line is a header."""

    def __post_init__(self) -> None:
        """A report that was stored as JSON brings its notes as a list."""
        object.__setattr__(self, "notes", tuple(self.notes))

    def lines(self) -> list[str]:
        """The report in plain English, one fact a line; nothing to say is said as such."""
        facts = [f"read {_count(self.num_input_edges, 'edge')}"]
        if self.num_self_loops:
            facts.append(f"removed {_count(self.num_self_loops, 'self-loop')}")
        if self.num_duplicates:
            facts.append(f"merged {_count(self.num_duplicates, 'repeated edge')}")
        if self.num_reciprocal:
            facts.append(
                f"merged the two directions of {_count(self.num_reciprocal, 'edge')} into one"
            )
        if self.was_symmetrised:
            facts.append("the input is directed; every edge now goes both ways")
        if self.num_unlinked_label_nodes:
            facts.append(
                f"added {_count(self.num_unlinked_label_nodes, 'node')} that only the labels name"
            )
        if self.num_unlabelled_dropped:
            facts.append(
                f"left out {_count(self.num_unlabelled_dropped, 'node')} without annotation"
            )
        if self.num_isolated:
            verb = "dropped" if self.was_isolated_dropped else "kept"
            facts.append(f"{verb} {_count(self.num_isolated, 'isolated node')}")
        if self.num_statements:
            facts.append(f"read {_count(self.num_statements, 'label statement')}")
        if self.num_repeated_statements:
            facts.append(
                f"merged {_count(self.num_repeated_statements, 'repeated label statement')}"
            )
        return [*facts, *self.notes]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
