"""The ranking of one question, kept as arrays: pages, filters and single nodes are read off it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64
from scipy.special import expit, logit

from metatne.errors import SupportError, UnknownNodeError
from metatne.evidence.model import EvidenceModel
from metatne.prediction.ranking import (
    Scores,
    ranked_columns,
    score_candidates,
    weak_negatives,
)
from metatne.prediction.support import Support, check_prior, resolve_candidates, resolve_support
from metatne.scoring import score_nodes as score_by_network
from metatne.service.answers import RankAnswer, Row
from metatne.service.questions import Examples, NodeId, RowFilter
from metatne.service.refusals import Refusal, refusal_of
from metatne.service.served_model import ServedModel, label_filter

NODES_AT_A_TIME = 65_536
"""Candidates that are scored between two looks at whether anybody still waits for the answer."""

Progress = Callable[[int, int], None]
"""Told how many nodes are done, and of how many; what it raises ends the work."""


def _nobody_asks(done: int, total: int) -> None:
    """Work that is not watched."""


@dataclass(frozen=True)
class Question:
    """Examples of a novel label by position, and what they are asked of."""

    served: ServedModel
    support: Support
    prior: float | None
    candidates: Int64[np.ndarray, " candidate"] | None = None
    """None for all nodes that are no examples."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for questions that have the same ranking."""
        nodes = (self.support.positives, self.support.negatives, self.candidates)
        return (
            self.served.name,
            self.prior,
            *(None if some is None else some.tobytes() for some in nodes),
        )


def resolve_question(
    served: ServedModel,
    examples: Examples,
    *,
    prior: float | None = None,
    candidates: list[NodeId] | None = None,
) -> Question:
    """The question by position; examples that make none are refused with their field."""
    try:
        check_prior(prior)
        support = resolve_support(served.node_ids, examples.positives, examples.negatives)
        chosen = None
        if candidates is not None:
            chosen = resolve_candidates(served.node_ids, candidates, support)
    except UnknownNodeError:
        for field in ("positives", "negatives"):
            served.positions(getattr(examples, field), field)
        served.positions(candidates or [], "candidates")
        raise
    except SupportError as error:
        raise refusal_of(error) from error
    return Question(served, support, prior, chosen)


def score_nodes(
    question: Question, nodes: Int64[np.ndarray, " node"], progress: Progress = _nobody_asks
) -> Scores:
    """Scores of these nodes for the question, told of after every some thousand of them.

    The only door to the library's scoring: a node's score does not depend on the others, so parts
    put together are what `MetaTNE.rank` would say.
    """
    trained = question.served.trained
    parts = []
    progress(0, len(nodes))
    for start in range(0, max(len(nodes), 1), NODES_AT_A_TIME):
        parts.append(
            score_candidates(
                trained.scorer,
                question.support,
                nodes[start : start + NODES_AT_A_TIME],
                num_nodes=len(trained.node_ids),
                num_weak_negatives=trained.config.negatives,
                seed=trained.config.seed,
                prior=question.prior,
            )
        )
        progress(min(start + NODES_AT_A_TIME, len(nodes)), len(nodes))
    if len(parts) == 1:
        return parts[0]

    def whole(name: str) -> np.ndarray | None:
        some = [getattr(part, name) for part in parts]
        return None if some[0] is None else np.concatenate(some)

    logits = whole("logits")
    assert logits is not None
    return Scores(nodes, logits, parts[0].weak_negatives, whole("errors"), whole("thresholds"))


def score_examples(question: Question) -> Float64[np.ndarray, " example"]:
    """Log-odds of the examples themselves, positives first, for a picture of them.

    They are what the head was adapted to, so it is surer of them than of other nodes; a ranking
    has no place for them.
    """
    trained, support = question.served.trained, question.support
    examples = np.concatenate((support.positives, support.negatives))
    sets = weak_negatives(
        support,
        num_nodes=len(trained.node_ids),
        size=trained.config.negatives,
        seed=trained.config.seed,
    ) or [support.negatives]
    scores = [_score_against(question, negatives, examples) for negatives in sets]
    found: Float64[np.ndarray, " example"] = np.mean(scores, axis=0, dtype=np.float64)
    return found


def _score_against(
    question: Question,
    negatives: Int64[np.ndarray, " negative"],
    nodes: Int64[np.ndarray, " node"],
) -> Float[np.ndarray, " node"]:
    """Log-odds by one set of negatives, of whom the nodes may be members."""
    scorer, positives, prior = (
        question.served.trained.scorer,
        question.support.positives,
        question.prior,
    )
    if isinstance(scorer, EvidenceModel):
        share = scorer.typical_share if prior is None else prior
        scored = scorer.score_nodes(positives, negatives, nodes, prior=share, with_error=False)
        return scored.evidence + float(logit(share))
    logits = score_by_network(scorer, positives, negatives, nodes)
    if prior is None:
        return logits
    given = len(positives) / (len(positives) + len(negatives))
    return logits + float(logit(prior) - logit(given))


@dataclass(frozen=True)
class Ranking:
    """Every candidate of a question, the likeliest first."""

    served: ServedModel
    nodes: Int64[np.ndarray, " node"]
    log_odds: Float64[np.ndarray, " node"]
    errors: Float64[np.ndarray, " node"] | None
    thresholds: Float64[np.ndarray, " node"]
    weak_negatives: Int64[np.ndarray, " weak"]
    prior: float | None

    @classmethod
    def of(cls, question: Question, progress: Progress = _nobody_asks) -> Ranking:
        """Score and sort; equal scores in the order of their ids."""
        served = question.served
        nodes = question.candidates
        if nodes is None:
            nodes = resolve_candidates(served.node_ids, None, question.support)
        scores = score_nodes(question, nodes, progress)
        by_id = np.empty(len(served.node_ids), dtype=np.int64)
        by_id[served.node_ids.order] = np.arange(len(served.node_ids))
        order = np.lexsort((by_id[nodes], -scores.logits))
        thresholds = np.zeros(len(nodes)) if scores.thresholds is None else scores.thresholds
        prior = question.prior
        if prior is None and served.is_evidence:
            prior = served.evidence.typical_share
        return cls(
            served=served,
            nodes=nodes[order],
            log_odds=scores.logits[order].astype(np.float64),
            errors=None if scores.errors is None else scores.errors[order].astype(np.float64),
            thresholds=thresholds[order].astype(np.float64),
            weak_negatives=scores.weak_negatives,
            prior=prior,
        )

    def __len__(self) -> int:
        """How many nodes were ranked."""
        return len(self.nodes)

    @property
    def num_bytes(self) -> int:
        """Memory of its arrays."""
        arrays = (self.nodes, self.log_odds, self.errors, self.thresholds)
        return sum(array.nbytes for array in arrays if array is not None)

    @property
    def holds(self) -> Bool[np.ndarray, " node"]:
        """Which nodes are taken to hold the label."""
        return self.log_odds >= self.thresholds

    def columns(self, rows: Int64[np.ndarray, " row"]) -> dict[str, np.ndarray]:
        """Probability, the interval where there is one, and the decision."""
        errors = None if self.errors is None else self.errors[rows]
        return ranked_columns(self.log_odds[rows], errors, self.thresholds[rows])

    def probabilities(self, nodes: Int64[np.ndarray, " some"]) -> list[float | None]:
        """Of these nodes; None for those that were not ranked."""
        places = np.full(len(self.served.node_ids), -1, dtype=np.int64)
        places[self.nodes] = np.arange(len(self.nodes))
        found = places[nodes]
        values = expit(self.log_odds[found]).tolist() if len(self) else [0.0] * len(found)
        return [
            value if place >= 0 else None
            for value, place in zip(values, found.tolist(), strict=True)
        ]

    def rows(self, row_filter: RowFilter | None) -> Int64[np.ndarray, " row"]:
        """The rows that pass the filter."""
        if row_filter is None:
            return np.arange(len(self))
        served = self.served
        masks = label_filter(served, row_filter.holds, row_filter.lacks)
        if row_filter.annotated is not None:
            masks.append(served.is_annotated == row_filter.annotated)
        if row_filter.min_degree is not None:
            masks.append(served.needed_graph.degrees >= row_filter.min_degree)
        if row_filter.contains is not None:
            masks.append(served.search.contains(row_filter.contains))
        passing = np.ones(len(self), dtype=bool)
        for mask in masks:
            passing &= mask[self.nodes]
        return np.flatnonzero(passing)

    def page(self, row_filter: RowFilter | None, offset: int, top: int) -> RankAnswer:
        """Some rows of the table, and how many there are."""
        passing = self.rows(row_filter)
        rows = passing[offset : offset + top]
        columns = {name: values.tolist() for name, values in self.columns(rows).items()}
        nothing = [None] * len(rows)
        nodes = self.nodes[rows]
        table = [
            Row(
                node=node,
                rank=rank + 1,
                probability=probability,
                low=low,
                high=high,
                holds=holds,
                labels=self.served.some_labels(position),
            )
            for node, rank, probability, low, high, holds, position in zip(
                self.served.node_ids.take(nodes),
                rows.tolist(),
                columns["probability"],
                columns.get("low", nothing),
                columns.get("high", nothing),
                columns["holds"],
                nodes.tolist(),
                strict=True,
            )
        ]
        return RankAnswer(
            rows=table,
            num_ranked=len(passing),
            num_all=len(self),
            num_holding=int(self.holds[passing].sum()),
            prior=self.prior,
            threshold=self.decision_line,
            weak_negatives=self.served.node_ids.take(self.weak_negatives),
            seconds=0.0,
        )

    @property
    def decision_line(self) -> float:
        """The probability from which on most nodes are taken to hold the label.

        Nodes that nobody has annotated have a line of their own; the larger group's is told.
        """
        if not len(self):
            return 0.5
        lines, counts = np.unique(self.thresholds, return_counts=True)
        return float(expit(lines[np.argmax(counts)]))


def check_not_empty(question: Question) -> None:
    """Refuse examples that leave nothing to rank."""
    asked = len(question.support.positives) + len(question.support.negatives)
    if question.candidates is None and asked >= len(question.served.node_ids):
        raise Refusal("bad_support", "every node is an example, so there is none left to rank")
