"""Why a node is likely, which known labels say so, and what to label next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Int64
from scipy.special import expit

from metatne.errors import SupportError
from metatne.evidence.reasons import suggest
from metatne.graph.shared import shared_neighbours
from metatne.graph.walk import Adjacency
from metatne.parallel import Progress
from metatne.prediction.explanation import DRAWN, explanation, relation
from metatne.prediction.support import resolve_asked
from metatne.service.answers import (
    ExplainAnswer,
    LabelWeight,
    Part,
    Reason,
    RelateAnswer,
    SharedNeighbour,
    SuggestAnswer,
    SuggestedNode,
)
from metatne.service.desk import Desk
from metatne.service.limits import MAX_SHARED_SHOWN
from metatne.service.questions import NodeId
from metatne.service.refusals import refusal_of
from metatne.service.scoring import Question
from metatne.service.served_model import ServedModel


def explain_node(desk: Desk, question: Question, node: NodeId, progress: Progress) -> ExplainAnswer:
    """The parts of the node's log-odds, and what it shares with the examples."""
    served = question.served
    model = served.evidence  # which refuses a head without reasons
    place = served.position(node, "node")
    try:
        resolve_asked(served.node_ids, node, question.support)
    except SupportError as error:
        refusal = refusal_of(error)
        refusal.field = "node"  # all else has been checked
        raise refusal from error
    table = explanation(model, served.node_ids, question.support, place, prior=question.prior)
    log_odds = float(table["contribution"].sum())
    labels = served.labels(place)
    weights = dict(label_weights(desk, question, progress)) if labels else {}
    return ExplainAnswer(
        node=served.node_ids[place],
        probability=float(expit(log_odds)),
        log_odds=log_odds,
        parts=_parts(table),
        shared_neighbours=_shared_neighbours(served, place, question),
        labels=labels,
        label_weights=[
            LabelWeight(label=label, weight=weights[label]) for label in labels if label in weights
        ],
    )


def label_weights(desk: Desk, question: Question, progress: Progress) -> list[tuple[str, float]]:
    """Every known label that the model has a column for, and its weight, the largest first."""
    model, support = question.served.evidence, question.support

    def work() -> list[tuple[str, float]]:
        progress(0, 1)
        table = relation(model, support)
        return list(zip(table["label"].tolist(), table["weight"].tolist(), strict=True))

    key = (question.served.name, support.positives.tobytes(), support.negatives.tobytes())
    return desk.once(("weights", *key), work, lambda found: 100 * len(found))


def relate_labels(desk: Desk, question: Question, top: int, progress: Progress) -> RelateAnswer:
    """The labels that speak most for the novel one, then those most against it."""
    weights = label_weights(desk, question, progress)
    strongest = weights[:top]
    against = weights[max(len(strongest), len(weights) - top) :]
    return RelateAnswer(
        labels=[LabelWeight(label=label, weight=weight) for label, weight in strongest + against]
    )


def suggest_nodes(desk: Desk, question: Question, number: int, progress: Progress) -> SuggestAnswer:
    """What to label next, by the ranking that there is already."""
    served = question.served
    model = served.evidence
    ranking = desk.rank(question, progress)
    order = np.argsort(ranking.nodes)  # as `MetaTNE.suggest` has them, so that ties fall alike
    chosen = suggest(model, ranking.nodes[order], ranking.log_odds[order], number=number)
    return SuggestAnswer(
        nodes=[
            SuggestedNode(id=node, probability=float(probability), labels=served.some_labels(place))
            for node, probability, place in zip(
                served.node_ids.take(chosen),
                cast(list[float], ranking.probabilities(chosen)),
                chosen.tolist(),
                strict=True,
            )
        ]
    )


def _parts(table: pd.DataFrame) -> list[Part]:
    """The rows of `MetaTNE.explain`, those of examples with their blocks."""
    blocks = [name for name in table.columns if name not in ("reason", "node", "contribution")]
    parts = []
    for row in cast(list[dict[str, Any]], table.to_dict("records")):
        is_general = row["reason"] in ("prior", "any label")
        reason = "stands for the others" if row["reason"] == DRAWN else row["reason"]
        parts.append(
            Part(
                reason=cast(Reason, reason),
                node=None if is_general else row["node"],
                contribution=row["contribution"],
                blocks={} if is_general else {name: row[name] for name in blocks},
            )
        )
    return parts


def _shared_neighbours(served: ServedModel, node: int, question: Question) -> list[SharedNeighbour]:
    """Neighbours that the node has in common with examples."""
    if served.graph is None:
        return []
    supports = np.concatenate((question.support.positives, question.support.negatives))
    found = shared_neighbours(Adjacency.of(served.graph), node, supports.tolist())
    return [
        SharedNeighbour.model_validate(
            {"id": served.node_ids[near], "with": _names(served, examples)}
        )
        for near, examples in islice(found.items(), MAX_SHARED_SHOWN)
    ]


def _names(served: ServedModel, nodes: Sequence[int]) -> list[NodeId]:
    places: Int64[np.ndarray, " some"] = np.asarray(nodes, dtype=np.int64)
    return served.node_ids.take(places)
