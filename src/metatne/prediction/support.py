"""The user's examples of a novel label, checked and turned into node positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Int64

from metatne.errors import MAX_SHOWN, SupportError
from metatne.graph.node_ids import NodeIds
from metatne.seeding import numpy_generator

NodeId = str | int

NUM_WEAK_SETS = 4
"""Sets of weak negatives that scores are averaged over; more than one, so that every drawn
node can be ranked by a set that it is not in."""


@dataclass(frozen=True)
class Support:
    """Positions of the nodes said to hold the label and of those said to lack it."""

    positives: Int64[np.ndarray, " positive"]
    negatives: Int64[np.ndarray, " negative"]
    weak: tuple[Int64[np.ndarray, " weak"], ...] = ()
    """Where no negatives were given: disjoint sets of nodes that stand for those that lack it."""

    @property
    def negative_sets(self) -> tuple[Int64[np.ndarray, " negative"], ...]:
        """Against which candidates are scored: the given negatives, or the sets that were drawn."""
        return self.weak or (self.negatives,)

    @property
    def drawn(self) -> Int64[np.ndarray, " drawn"]:
        """All weak negatives, ascending."""
        return np.sort(np.concatenate((*self.weak, self.negatives[:0])))


def with_weak_negatives(support: Support, *, num_nodes: int, size: int, seed: int) -> Support:
    """The support; where it has no negatives, with sets drawn from all nodes but the positives.

    A novel label is rare, so nodes drawn at random mostly lack it.
    """
    if len(support.negatives):
        return support
    rest = np.setdiff1d(np.arange(num_nodes), support.positives)
    if len(rest) < 2:
        raise SupportError(
            "no negatives were given and the graph has too few other nodes to draw weak ones from; "
            "name at least 1 negative"
        )
    num_sets = min(NUM_WEAK_SETS, len(rest))
    size = min(size, len(rest) // num_sets)
    drawn = numpy_generator(seed, "weak negatives").choice(rest, num_sets * size, replace=False)
    return replace(support, weak=tuple(drawn.reshape(num_sets, size)))


def resolve_support(
    node_ids: NodeIds, positives: Sequence[NodeId], negatives: Sequence[NodeId]
) -> Support:
    """The positions of the examples; none, repeated and contradicting ones are refused by name."""
    for kind, ids in (("positives", positives), ("negatives", negatives)):
        if isinstance(ids, str):
            raise SupportError(f"{kind}: expected a list of node ids, found the text {ids!r}")
    if not len(positives):
        raise SupportError("positives: expected at least 1 node that holds the label, found none")
    found = node_ids.positions([*positives, *negatives])
    support = Support(found[: len(positives)], found[len(positives) :])
    for kind, nodes in (("positives", support.positives), ("negatives", support.negatives)):
        repeated = [node for node, count in Counter(nodes.tolist()).items() if count > 1]
        if repeated:
            raise SupportError(
                f"{kind}: each node once, but found twice: {_names(node_ids, repeated)}"
            )
    both = np.intersect1d(support.positives, support.negatives).tolist()
    if both:
        raise SupportError(
            "a node cannot both hold and lack the label, but found in both: "
            f"{_names(node_ids, both)}"
        )
    return support


def check_top(top: int | None) -> None:
    """Refuse a length of the table that is none."""
    if top is not None and top < 1:
        raise SupportError(f"top: expected at least 1, found {top}")


def check_prior(prior: Any) -> None:
    """Refuse a share of holders that cannot be one."""
    is_number = isinstance(prior, Real) and not isinstance(prior, bool)
    if prior is not None and not (is_number and 0 < prior < 1):
        raise SupportError(f"prior: expected a share above 0 and below 1, found {prior!r}")


def _names(node_ids: NodeIds, nodes: Sequence[int]) -> str:
    shown = ", ".join(repr(name) for name in node_ids.take(nodes[:MAX_SHOWN]))
    return shown if len(nodes) <= MAX_SHOWN else f"{shown} and {len(nodes) - MAX_SHOWN} more"


def resolve_asked(node_ids: NodeIds, node: NodeId, support: Support) -> int:
    """The position of a node that is asked about, which is no example."""
    place = int(node_ids.positions([node])[0])
    if place in support.positives or place in support.negatives:
        raise SupportError(
            f"node: {node!r} is an example already; ask about another, "
            "or leave it out of the examples"
        )
    return place


def resolve_candidates(
    node_ids: NodeIds, candidates: Sequence[NodeId] | None, support: Support
) -> Int64[np.ndarray, " candidate"]:
    """The positions of the nodes to rank, ascending: all that are no examples, or just these."""
    examples = np.concatenate((support.positives, support.negatives))
    if candidates is None:
        return np.setdiff1d(np.arange(len(node_ids)), examples)
    if isinstance(candidates, str):
        raise SupportError(
            f"candidates: expected a list of node ids, found the text {candidates!r}"
        )
    chosen = np.unique(node_ids.positions(candidates))
    overlap = np.intersect1d(chosen, examples)
    if len(overlap):
        raise SupportError(
            f"candidates: {node_ids[int(overlap[0])]!r} is an example already "
            f"({len(overlap)} in all); leave the examples out of the candidates"
        )
    if not len(chosen):
        raise SupportError("candidates: expected at least 1 node to rank, found none")
    return chosen
