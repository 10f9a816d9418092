"""Reasons, relations and suggestions of a head that has them, as tables by name."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int64

from metatne.evidence.model import EvidenceModel
from metatne.evidence.reasons import block_names, explain, relate, suggest, visits_of
from metatne.graph.node_ids import NodeIds
from metatne.graph.raw import HOLDS
from metatne.graph.shared import shared_neighbours
from metatne.prediction.ranking import score_candidates
from metatne.prediction.support import Support

MOST_SHARED = 100
"""Neighbours that are told: the table that carries them is copied with them."""

DRAWN = "was drawn to stand for the others"
"""The reason of weak negatives."""


def explanation(
    model: EvidenceModel, ids: NodeIds, support: Support, node: int, *, prior: float | None
) -> pd.DataFrame:
    """Parts of the node's log-odds, a row each: the prior, any label, then every example.

    Against several sets of weak negatives, the mean over those that the node is not in.
    """
    sets = [negatives for negatives in support.negative_sets if node not in negatives]
    visits = visits_of(model, node)
    found = [explain(model, support.positives, some, node, visits, prior=prior) for some in sets]
    any_label = float(np.mean([reasons.any_label for reasons in found]))
    rows: list[dict[str, Any]] = [
        {"reason": "prior", "node": None, "contribution": found[0].prior},
        {"reason": "any label", "node": None, "contribution": any_label},
    ]
    size = len(support.positives)
    of_positives = np.sum([reasons.by_support[:size] for reasons in found], axis=0)
    lacks = DRAWN if support.weak else "lacks it"
    told = [("holds it", support.positives, of_positives)]
    told += [(lacks, some, r.by_support[size:]) for some, r in zip(sets, found, strict=True)]
    names = block_names(model, node)
    for reason, nodes, parts in told:
        for name, part in zip(ids.take(nodes), parts / len(found), strict=True):
            shares = dict(zip(names, part, strict=True))
            rows.append(
                {"reason": reason, "node": name, "contribution": float(part.sum())} | shares
            )
    return pd.DataFrame(rows)


def behind(model: EvidenceModel, ids: NodeIds, support: Support, node: int) -> dict[str, Any]:
    """What lies behind the parts: `shared_neighbours`, how many there are, and `labels`.

    Neighbours are those in common with the examples that were given, the first MOST_SHARED of
    them, and None in a model that does not keep the graph's edges to walk on. Labels are those
    that the node holds, as far as the model has a column for them, with their weight in
    `relation`, the largest first.
    """
    reach = model.description.reach
    shared = num_shared = None
    if reach.has_walks:
        given = np.concatenate((support.positives, support.negatives))
        found = shared_neighbours(reach.adjacency, node, given.tolist())
        num_shared = len(found)
        shared = [
            {"node": ids[near], "with": ids.take(examples)}
            for near, examples in islice(found.items(), MOST_SHARED)
        ]
    return {
        "shared_neighbours": shared,
        "num_shared_neighbours": num_shared,
        "labels": _held_labels(model, support, node),
    }


def _held_labels(model: EvidenceModel, support: Support, node: int) -> list[dict[str, Any]]:
    held = np.flatnonzero(model.description.states[node] == HOLDS)
    if not len(held):
        return []
    weights = relation(model, support).set_index("label")["weight"]
    labels = [
        {"label": name, "weight": float(weights[name])}
        for name in (model.label_names[place] for place in held)
    ]
    return sorted(labels, key=lambda known: -abs(known["weight"]))


def relation(model: EvidenceModel, support: Support) -> pd.DataFrame:
    """The known labels and what each adds to the log evidence, the largest first."""
    weights = np.mean(
        [relate(model, support.positives, some) for some in support.negative_sets], axis=0
    )
    table = pd.DataFrame({"label": list(model.label_names), "weight": weights})
    return table.sort_values("weight", ascending=False, kind="stable", ignore_index=True)


def suggestion(
    model: EvidenceModel,
    support: Support,
    candidates: Int64[np.ndarray, " node"],
    number: int,
    *,
    prior: float | None,
) -> Int64[np.ndarray, " chosen"]:
    """The nodes to label next, the most helpful first."""
    scores = score_candidates(model, support, candidates, prior=prior)
    return suggest(model, candidates, scores.logits, number=number)
