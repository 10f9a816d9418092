"""Every candidate node, ranked for a novel label (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64
from scipy.special import expit

from metatne.errors import SupportError
from metatne.graph.node_ids import NodeIds
from metatne.model import MetaTNENetwork
from metatne.prediction.support import Support
from metatne.scoring import score_nodes
from metatne.seeding import numpy_generator

Nodes = Int64[np.ndarray, " node"]

NUM_WEAK_SETS = 4
"""Sets of weak negatives that scores are averaged over; more than one, so that every drawn
node can be ranked by a set that it is not in."""


@dataclass(frozen=True)
class Scores:
    """Log-odds of the candidates, and the weak negatives that stood in for real ones, if any."""

    candidates: Nodes
    logits: Float[np.ndarray, " node"]
    weak_negatives: Int64[np.ndarray, " weak"]


def score_candidates(
    network: MetaTNENetwork,
    support: Support,
    candidates: Nodes,
    *,
    num_nodes: int,
    num_weak_negatives: int,
    seed: int,
) -> Scores:
    """Score the candidates; without negatives, against nodes drawn from the rest of the graph."""
    weak = weak_negatives(support, num_nodes=num_nodes, size=num_weak_negatives, seed=seed)
    score = partial(score_nodes, network, support.positives)
    logits = score_against(score, weak or [support.negatives], candidates)
    drawn = np.concatenate(weak) if weak else np.empty(0, dtype=np.int64)
    return Scores(candidates, logits, np.sort(drawn))


def score_against(
    score: Callable[[Int64[np.ndarray, " negative"], Nodes], Float[np.ndarray, " node"]],
    negative_sets: Sequence[Int64[np.ndarray, " negative"]],
    candidates: Nodes,
) -> Float[np.ndarray, " node"]:
    """The score of each candidate, averaged over the sets of negatives that it is not in.

    `score` has those of all candidates against one set.
    """
    total = np.zeros(len(candidates))
    times = np.zeros(len(candidates), dtype=np.int64)
    for negatives in negative_sets:
        # Members of the set are scored and not counted: left out, they would move the places
        # where candidates are cut into pieces, and a shard would differ from the whole in bits.
        logits = score(negatives, candidates)
        outside = ~np.isin(candidates, negatives)
        total += np.where(outside, logits, 0.0)
        times += outside
    return total / times


def weak_negatives(
    support: Support, *, num_nodes: int, size: int, seed: int
) -> list[Int64[np.ndarray, " weak"]]:
    """Where no negatives were given: disjoint sets, drawn uniformly from all but the positives.

    A novel label is rare, so nodes drawn at random mostly lack it.
    """
    if len(support.negatives):
        return []
    rest = np.setdiff1d(np.arange(num_nodes), support.positives)
    if len(rest) < 2:
        raise SupportError(
            "no negatives were given and the graph has too few other nodes to draw weak ones from; "
            "name at least 1 negative"
        )
    num_sets = min(NUM_WEAK_SETS, len(rest))
    size = min(size, len(rest) // num_sets)
    drawn = numpy_generator(seed, "weak negatives").choice(rest, num_sets * size, replace=False)
    return list(drawn.reshape(num_sets, size))


def rank_table(node_ids: NodeIds, scores: Scores, top: int | None) -> pd.DataFrame:
    """node, probability, rank: the likeliest first, equal scores in the order of their ids."""
    by_id = np.empty(len(node_ids), dtype=np.int64)
    by_id[node_ids.order] = np.arange(len(node_ids))
    order = np.lexsort((by_id[scores.candidates], -scores.logits))[:top]
    table = pd.DataFrame(
        {
            "node": node_ids.take(scores.candidates[order]),
            "probability": expit(scores.logits[order].astype(np.float64)),
            "rank": np.arange(1, len(order) + 1),
        }
    )
    table.attrs["weak_negatives"] = node_ids.take(scores.weak_negatives)
    return table
