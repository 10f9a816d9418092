"""The user's examples of a novel label, checked and turned into node positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from metatne.errors import MAX_SHOWN, SupportError
from metatne.graph.node_ids import NodeIds

NodeId = str | int


@dataclass(frozen=True)
class Support:
    """Positions of the nodes said to hold the label and of those said to lack it."""

    positives: Int64[np.ndarray, " positive"]
    negatives: Int64[np.ndarray, " negative"]


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


def check_prior(prior: float | None) -> None:
    """Refuse a share of holders that cannot be one."""
    if prior is not None and not 0 < prior < 1:
        raise SupportError(f"prior: expected a share between 0 and 1, found {prior}")


def _names(node_ids: NodeIds, nodes: Sequence[int]) -> str:
    shown = ", ".join(repr(name) for name in node_ids.take(nodes[:MAX_SHOWN]))
    return shown if len(nodes) <= MAX_SHOWN else f"{shown} and {len(nodes) - MAX_SHOWN} more"


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
