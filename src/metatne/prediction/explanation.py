"""Reasons, relations and suggestions of a head that has them, as tables by name."""

from __future__ import annotations

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

DRAWN = "was drawn to stand for the others"
"""The reason of weak negatives."""


def explanation(
    model: EvidenceModel, ids: NodeIds, support: Support, node: int, *, prior: float | None
) -> pd.DataFrame:
    """Parts of the node's log-odds, a row each: the prior, any label, then every example.

    Against several sets of weak negatives, the mean over those that the node is not in. Behind
    them, in the table's `attrs`: the neighbours that the node shares with examples (if the model
    keeps the graph's edges, as it does to walk), and what is known of it, with the weight of each
    label in `relation`.
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
    table = pd.DataFrame(rows)
    table.attrs["shared_neighbours"] = _shared(model, ids, support, node)
    table.attrs["labels"] = _known_labels(model, support, node)
    return table


def _shared(
    model: EvidenceModel, ids: NodeIds, support: Support, node: int
) -> list[dict[str, Any]] | None:
    """Neighbours that the node has in common with examples that were given."""
    reach = model.description.reach
    if not reach.has_walks:
        return None
    given = [support.positives, *([] if support.weak else support.negative_sets)]
    found = shared_neighbours(reach.adjacency, node, np.concatenate(given).tolist())
    return [
        {"node": ids[near], "with": ids.take(np.array(examples, dtype=np.int64))}
        for near, examples in found.items()
    ]


def _known_labels(model: EvidenceModel, support: Support, node: int) -> list[dict[str, Any]]:
    """Labels that the node holds, those that say most first."""
    held = [
        model.label_names[place]
        for place in np.flatnonzero(model.description.states[node] == HOLDS)
    ]
    if not held:
        return []
    weights = relation(model, support).set_index("label")["weight"]
    of_held = sorted(((float(weights[label]), label) for label in held), key=lambda x: -abs(x[0]))
    return [{"label": label, "weight": weight} for weight, label in of_held]


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
