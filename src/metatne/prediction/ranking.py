"""Every candidate node, ranked for a novel label (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64
from scipy.special import expit, logit

from metatne.errors import SupportError
from metatne.evidence.model import EvidenceModel
from metatne.graph.node_ids import NodeIds
from metatne.model import MetaTNENetwork
from metatne.prediction.support import Support
from metatne.scoring import score_nodes
from metatne.seeding import numpy_generator

Nodes = Int64[np.ndarray, " node"]

CONFIDENCE = 1.96
"""Standard errors on either side of an interval of 95 %."""

NUM_WEAK_SETS = 4
"""Sets of weak negatives that scores are averaged over; more than one, so that every drawn
node can be ranked by a set that it is not in."""


@dataclass(frozen=True)
class Scores:
    """Log-odds of the candidates, and the weak negatives that stood in for real ones, if any."""

    candidates: Nodes
    logits: Float[np.ndarray, " node"]
    weak_negatives: Int64[np.ndarray, " weak"]
    errors: Float[np.ndarray, " node"] | None = None
    """Standard errors of the log-odds, from a head that has them."""

    thresholds: Float[np.ndarray, " node"] | None = None
    """The log-odds from which on a node is taken to hold the label; 0 where there are none."""


class Scored(NamedTuple):
    """Scores of candidates against one set of negatives, or averaged over several."""

    logits: Float[np.ndarray, " node"]
    errors: Float[np.ndarray, " node"] | None = None
    thresholds: Float[np.ndarray, " node"] | None = None


def score_candidates(
    scorer: MetaTNENetwork | EvidenceModel,
    support: Support,
    candidates: Nodes,
    *,
    num_nodes: int,
    num_weak_negatives: int,
    seed: int,
    prior: float | None = None,
) -> Scores:
    """Score the candidates; without negatives, against nodes drawn from the rest of the graph."""
    weak = weak_negatives(support, num_nodes=num_nodes, size=num_weak_negatives, seed=seed)
    sets = weak or [support.negatives]
    scored = score_by(scorer, support.positives, sets, candidates, prior=prior)
    drawn = np.concatenate(weak) if weak else np.empty(0, dtype=np.int64)
    return Scores(candidates, scored.logits, np.sort(drawn), scored.errors, scored.thresholds)


def score_by(
    scorer: MetaTNENetwork | EvidenceModel,
    positives: Int64[np.ndarray, " positive"],
    negative_sets: Sequence[Int64[np.ndarray, " negative"]],
    candidates: Nodes,
    *,
    prior: float | None,
) -> Scored:
    """Log-odds of the candidates, averaged over the sets of negatives, with what the head adds.

    The `prior` is the share of nodes that hold the label; None is for the share at which the
    paper's network was trained, and for that of the known labels with evidence.
    """
    if isinstance(scorer, EvidenceModel):
        return _score_by_evidence(scorer, positives, negative_sets, candidates, prior=prior)
    logits = score_against(partial(score_nodes, scorer, positives), negative_sets, candidates)
    if prior is not None:
        given = len(positives) / (len(positives) + len(negative_sets[0]))
        logits = logits + float(logit(prior) - logit(given))
    return Scored(logits)


def _score_by_evidence(
    model: EvidenceModel,
    positives: Int64[np.ndarray, " positive"],
    negative_sets: Sequence[Int64[np.ndarray, " negative"]],
    candidates: Nodes,
    *,
    prior: float | None,
) -> Scored:
    share = model.typical_share if prior is None else prior
    found = [
        model.score_nodes(positives, negatives, candidates, prior=share)
        for negatives in negative_sets
    ]
    evidence, errors, thresholds = (
        averaged(of_sets, negative_sets, candidates) for of_sets in zip(*found, strict=True)
    )
    shift = float(logit(share))
    return Scored(evidence + shift, errors, thresholds + shift)


def score_against(
    score: Callable[[Int64[np.ndarray, " negative"], Nodes], Float[np.ndarray, " node"]],
    negative_sets: Sequence[Int64[np.ndarray, " negative"]],
    candidates: Nodes,
) -> Float[np.ndarray, " node"]:
    """The score of each candidate, averaged over the sets of negatives that it is not in.

    `score` has those of all candidates against one set.
    """
    scores = [score(negatives, candidates) for negatives in negative_sets]
    return averaged(scores, negative_sets, candidates)


def averaged(
    scores: Sequence[Float[np.ndarray, " node"]],
    negative_sets: Sequence[Int64[np.ndarray, " negative"]],
    candidates: Nodes,
) -> Float[np.ndarray, " node"]:
    """The mean of each candidate's scores over the sets of negatives that it is not in."""
    total = np.zeros(len(candidates))
    times = np.zeros(len(candidates), dtype=np.int64)
    for values, negatives in zip(scores, negative_sets, strict=True):
        # Members of the set are scored and not counted: left out, they would move the places
        # where candidates are cut into pieces, and a shard would differ from the whole in bits.
        outside = ~np.isin(candidates, negatives)
        total += np.where(outside, values, 0.0)
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
    """node, probability, rank: the likeliest first, equal scores in the order of their ids.

    A head that knows its errors adds `low` and `high`, between which the probability lies with
    95 % confidence, and `holds`, the decision.
    """
    by_id = np.empty(len(node_ids), dtype=np.int64)
    by_id[node_ids.order] = np.arange(len(node_ids))
    order = np.lexsort((by_id[scores.candidates], -scores.logits))[:top]
    table = pd.DataFrame(
        {"node": node_ids.take(scores.candidates[order])}
        | ranked_columns(
            scores.logits[order],
            None if scores.errors is None else scores.errors[order],
            None if scores.thresholds is None else scores.thresholds[order],
        )
        | {"rank": np.arange(1, len(order) + 1)}
    )
    table.attrs["weak_negatives"] = node_ids.take(scores.weak_negatives)
    return table


def ranked_columns(
    logits: Float[np.ndarray, " node"],
    errors: Float[np.ndarray, " node"] | None,
    thresholds: Float[np.ndarray, " node"] | None,
) -> dict[str, np.ndarray]:
    """What is said of nodes besides their names and ranks."""
    exact = logits.astype(np.float64)
    columns: dict[str, np.ndarray] = {"probability": expit(exact)}
    if errors is not None:
        columns |= {
            "low": expit(exact - CONFIDENCE * errors),
            "high": expit(exact + CONFIDENCE * errors),
        }
    if thresholds is not None:
        columns["holds"] = exact >= thresholds
    return columns
