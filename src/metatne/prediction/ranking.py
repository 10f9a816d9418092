"""Every candidate node, ranked for a novel label (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64
from scipy.special import expit, logit

from metatne.evidence.model import EvidenceModel
from metatne.graph.node_ids import NodeIds
from metatne.model import MetaTNENetwork
from metatne.parallel import Progress, Progressing
from metatne.prediction.support import Support
from metatne.scoring import score_nodes

Nodes = Int64[np.ndarray, " node"]

CONFIDENCE = 1.96
"""Errors on either side of an interval of 95 %; heads widen theirs where examples are few."""


@dataclass(frozen=True)
class Scores:
    """Log-odds of the candidates, and the weak negatives that stood in for real ones, if any."""

    candidates: Nodes
    logits: Float[np.ndarray, " node"]
    weak_negatives: Int64[np.ndarray, " weak"]
    errors: Float[np.ndarray, " node"] | None = None
    """Of the log-odds, from a head that has them: see CONFIDENCE."""

    thresholds: Float[np.ndarray, " node"] | None = None
    """The log-odds from which on a node is taken to hold the label; 0 where there are none."""

    prior: float | None = None
    """The share of holders that the log-odds were made with, where the head knows of one."""


def score_candidates(
    scorer: MetaTNENetwork | EvidenceModel,
    support: Support,
    candidates: Nodes,
    *,
    prior: float | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Log-odds of the candidates, averaged over the sets of negatives, with what the head adds.

    The `prior` is the share of nodes that hold the label; None is for the share at which the
    paper's network was trained, and for that of the known labels with evidence.
    """
    if isinstance(scorer, EvidenceModel):
        return _score_by_evidence(scorer, support, candidates, prior, progress)
    sets = support.negative_sets
    progressing = Progressing(progress, len(sets) * len(candidates))
    of_nodes = partial(score_nodes, scorer, support.positives, progressing=progressing)
    shift = shift_to_prior(support, prior)
    logits = score_against(of_nodes, sets, candidates) + shift
    thresholds = None
    if scorer.decides_by_line:  # who is taken to hold the label does not hang on the prior
        thresholds = np.full(len(candidates), scorer.line.item() + shift)
    return Scores(candidates, logits, support.drawn, thresholds=thresholds)


def shift_to_prior(support: Support, prior: float | None) -> float:
    """What brings the network's log-odds from the share of the examples to that of the nodes."""
    if prior is None:
        return 0.0
    num_negatives = len(support.negative_sets[0])
    given = len(support.positives) / (len(support.positives) + num_negatives)
    return float(logit(prior) - logit(given))


def _score_by_evidence(
    model: EvidenceModel,
    support: Support,
    candidates: Nodes,
    prior: float | None,
    progress: Progress | None,
) -> Scores:
    share = model.typical_share if prior is None else float(prior)
    sets = support.negative_sets
    found = model.score_nodes(support.positives, sets, candidates, prior=share, progress=progress)
    evidence, errors, thresholds = (averaged(list(part), sets, candidates) for part in found)
    shift = float(logit(share))
    return Scores(candidates, evidence + shift, support.drawn, errors, thresholds + shift, share)


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


def rank_table(node_ids: NodeIds, scores: Scores, top: int | None) -> pd.DataFrame:
    """node, probability, rank: the likeliest first, equal scores in the order of their ids.

    A head that knows its errors adds `low` and `high`, between which the probability lies with
    95 % confidence (none where a sign has a single example), and `holds`, the decision. The
    table's `attrs` have the weak negatives, the probability at which decisions change, how many
    nodes are taken to hold the label, of all and not of `top` alone, and the prior.
    """
    order = ranked_order(node_ids, scores)[:top]
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
    table.attrs["decision_line"] = decision_line(scores.thresholds)
    is_decided = scores.thresholds is not None
    num_holding = int((scores.logits >= scores.thresholds).sum()) if is_decided else None
    table.attrs["num_holding"] = num_holding
    table.attrs["prior"] = scores.prior
    return table


def decision_line(thresholds: Float[np.ndarray, " node"] | None) -> float:
    """The probability from which on most nodes are taken to hold the label.

    Nodes that nobody has annotated have a line of their own; the larger group's is told.
    """
    if thresholds is None or not len(thresholds):
        return 0.5
    lines, counts = np.unique(thresholds, return_counts=True)
    return float(expit(lines[np.argmax(counts)]))


def ranked_order(node_ids: NodeIds, scores: Scores) -> Int64[np.ndarray, " node"]:
    """Where the candidates stand, the likeliest first, equal scores in the order of their ids."""
    by_id = np.empty(len(node_ids), dtype=np.int64)
    by_id[node_ids.order] = np.arange(len(node_ids))
    order: Int64[np.ndarray, " node"] = np.lexsort((by_id[scores.candidates], -scores.logits))
    return order


def ranked_columns(
    logits: Float[np.ndarray, " node"],
    errors: Float[np.ndarray, " node"] | None,
    thresholds: Float[np.ndarray, " node"] | None,
) -> dict[str, np.ndarray]:
    """What is said of nodes besides their names and ranks."""
    exact = logits.astype(np.float64)
    columns: dict[str, np.ndarray] = {"probability": expit(exact)}
    if errors is not None:
        # An infinite error is that of examples which cannot tell it: nothing is said then.
        told = np.where(np.isfinite(errors), errors, np.nan)
        columns |= {
            "low": expit(exact - CONFIDENCE * told),
            "high": expit(exact + CONFIDENCE * told),
        }
    if thresholds is not None:
        columns["holds"] = exact >= thresholds
    return columns
