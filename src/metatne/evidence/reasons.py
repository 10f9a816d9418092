"""Why a node has its score, which known labels speak for the novel one, what to label next.

All of it is read off the closed form: a score is a prior and a sum over the supports, both are
sums over blocks, and walks come from the supports as well. Nothing here is an approximation of the
model but the model itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int64
from scipy.special import expit, logit

from metatne.evidence.adaptation import Expert, adapt
from metatne.evidence.description import OWN, nobody
from metatne.evidence.model import EvidenceModel
from metatne.evidence.reach import reach_of

ALIKENESS_POWER = 6
"""Of the cosine of two nodes, which makes one less urgent once the other is chosen: the higher, the
more alike they must be for that. Chosen on validation labels (LOG.md)."""

MAX_POOL = 2_000
"""Nodes among which those to label next are sought: the ones that are least certain."""


class Reasons(NamedTuple):
    """Parts of a node's log-odds; they add up to it."""

    prior: float
    """The log-odds of the share of nodes that hold the label."""

    any_label: float
    """That the node is one to hold labels at all, and the level that all nodes have in common."""

    by_support: Float64[np.ndarray, "support block"]
    """What each example adds, by block of the node: a mixed one against all mixed ones of it. The
    last column is of walks: what all examples of a sign add, by how often each is visited.
    """


def explain(
    model: EvidenceModel,
    positives: Int64[np.ndarray, " positive"],
    negatives: Int64[np.ndarray, " negative"],
    node: int,
    visits: Float32[np.ndarray, " node"],
    *,
    prior: float | None = None,
) -> Reasons:
    """The parts of the log-odds that `MetaTNE.rank` gives the node for these examples.

    The `visits` are `visits_of` the node.
    """
    supports = np.concatenate((positives, negatives))
    expert = _expert_of(model, node)
    encoded = expert.encoding(
        model.description,
        np.concatenate((supports, [node]))[None],
        nobody(1),
    )
    head, size = expert.head, len(supports)
    with torch.no_grad():
        kernel = encoded.kernel(head, size)
        before = head.prior(encoded.traits, encoded.for_prior(expert.encoding.of_prior))
        adapted = head.adapt(kernel[:, :size], before[:, :size], len(positives))
        alpha = adapted.alpha[0]
        by_block = torch.stack(
            [
                (weighted[0, :size] @ rows[0, size]) * alpha
                for rows, weighted in zip(encoded.rows, encoded.weighted(head), strict=True)
            ],
            dim=1,
        )
        bias = float(head.log_bias.exp() * alpha.sum())
        own = float(before[0, size] - adapted.shift[0] + adapted.level)
        by_reach = head.by_reach().numpy()
    by_walk = _shares_of_reach(visits, (positives, negatives), by_reach)
    calibration = expert.calibration
    shape = len(positives), len(negatives)
    slope = calibration.slope(*shape)
    level = float(calibration.evidence(np.zeros(1), *shape)[0])
    share = model.typical_share if prior is None else prior
    return Reasons(
        prior=float(logit(share)),
        any_label=slope * (own + bias) + level,
        by_support=slope * np.column_stack((by_block.numpy().astype(np.float64), by_walk)),
    )


def visits_of(model: EvidenceModel, node: int) -> Float32[np.ndarray, " node"]:
    """How often walks from each other node, as an example, are at this one."""
    # Walks to a node are as frequent as walks from it: one walk has those of all examples.
    visits: Float32[np.ndarray, " node"] = model.description.reach.everywhere([np.array([node])])[
        :, 0
    ]
    return visits


def _shares_of_reach(
    visits: Float32[np.ndarray, " node"],
    signs: Sequence[Int64[np.ndarray, " _"]],
    by_reach: Float32[np.ndarray, " sign"],
) -> Float64[np.ndarray, " support"]:
    """What walks add to the score: of each sign as a whole, shared out by visits."""
    found = []
    for supports, weight in zip(signs, by_reach, strict=True):
        of_each = visits[supports].astype(np.float64)
        total = float(of_each.sum())
        mean = np.array([total / max(len(supports), 1)], dtype=np.float32)
        reached = float(weight * reach_of(mean)[0])
        found.append(of_each * (reached / total if total > 0 else 0.0))
    return np.concatenate(found)


def block_names(model: EvidenceModel, node: int) -> list[str]:
    """The names of the columns by which a node's reasons are told."""
    return [*(block.name for block in _expert_of(model, node).encoding.blocks), "walks"]


def relate(
    model: EvidenceModel,
    positives: Int64[np.ndarray, " positive"],
    negatives: Int64[np.ndarray, " negative"],
) -> Float64[np.ndarray, " column"]:
    """How much more log evidence a node has for holding each known label, itself or around it.

    For every column of the label blocks: its weight in the adapted head, times how much larger
    the column is, on average, at holders of the label than at nodes that lack it.
    """
    expert = model.annotated
    supports = np.concatenate((positives, negatives))
    linear = adapt(expert, model.description, supports, len(positives), with_error=False)
    weights = np.zeros(len(model.label_names))
    for number, gap in model.label_gaps.items():
        of_block = linear.of_block(expert.encoding, number)[:, 0].astype(np.float64)
        if expert.encoding.blocks[number] == OWN[0] and expert.encoding.asks_annotated:
            of_block = of_block - _prior_of_own_labels(expert)  # the same for any novel label
        weights += of_block * gap
    return expert.calibration.slope(len(positives), len(negatives)) * weights


def suggest(
    model: EvidenceModel,
    candidates: Int64[np.ndarray, " node"],
    log_odds: Float64[np.ndarray, " node"],
    *,
    number: int,
) -> Int64[np.ndarray, " chosen"]:
    """The nodes whose labels would help most: uncertain ones, and not all of a kind.

    One by one, the node whose label is least certain; each choice makes those that the head takes
    for similar less urgent, since it will tell of them as well. Least certain is whose probability
    is nearest one half, not who is nearest the line of decisions: of a rare label that line, where
    F1 is best, lies among nodes that almost surely lack it (LOG.md).
    """
    chance = expit(log_odds)
    worth = chance * (1 - chance)
    pool = candidates[np.argsort(-worth, kind="stable")[:MAX_POOL]]
    worth = np.sort(worth)[::-1][:MAX_POOL].copy()
    expert = model.annotated if model.description.is_annotated[pool].all() else model.unannotated
    encoded = expert.encoding(model.description, pool[None], nobody(1))
    with torch.no_grad():
        vectors = encoded.vectors(expert.head)[0].numpy()
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    chosen = []
    for _ in range(min(number, len(pool))):
        best = int(np.argmax(worth))
        chosen.append(best)
        worth *= 1 - np.clip(vectors @ vectors[best], 0, 1) ** ALIKENESS_POWER
        worth[chosen] = -1
    picked: Int64[np.ndarray, " chosen"] = pool[chosen]
    return picked


def _expert_of(model: EvidenceModel, node: int) -> Expert:
    return model.annotated if model.description.is_annotated[node] else model.unannotated


def _prior_of_own_labels(expert: Expert) -> Float64[np.ndarray, " column"]:
    """The prior's weights of the node's own labels, which come first."""
    width = len(expert.encoding.means[0])
    weights: Float64[np.ndarray, " column"] = (
        expert.head.by_column.detach()[:width].numpy().astype(np.float64)
    )
    return weights
