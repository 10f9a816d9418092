"""The ranking of one question, kept as arrays: pages, filters and single nodes are read off it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.special import expit

from metatne.parallel import Progress
from metatne.prediction.ranking import decision_line, ranked_columns, ranked_order
from metatne.prediction.support import resolve_candidates
from metatne.service.answers import RankAnswer, Row
from metatne.service.questions import RowFilter
from metatne.service.scoring import Question, nobody_asks, score_nodes
from metatne.service.served_model import ServedModel, label_filter


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
    moved_line: float | None = None
    """The probability that decides instead of the thresholds, where somebody has put it."""

    @classmethod
    def of(cls, question: Question, progress: Progress = nobody_asks) -> Ranking:
        """Score and sort; equal scores in the order of their ids."""
        served = question.served
        nodes = question.candidates
        if nodes is None:
            nodes = resolve_candidates(served.node_ids, None, question.support)
        scores = score_nodes(question, nodes, progress)
        order = ranked_order(served.node_ids, scores)
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
        arrays = (self.nodes, self.log_odds, self.errors, self.thresholds, self.weak_negatives)
        return sum(array.nbytes for array in arrays if array is not None)

    def decided_at(self, line: float | None) -> Ranking:
        """The same ranking, with a probability that decides for all nodes; None for the model's."""
        return replace(self, moved_line=line)

    def holds(self, rows: Int64[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Which rows are taken to hold the label."""
        log_odds = self.log_odds[rows]
        if self.moved_line is None:
            is_above: Bool[np.ndarray, " row"] = log_odds >= self.thresholds[rows]
        else:  # as probabilities, which the line was read off: no row on it may fall below it
            is_above = expit(log_odds) >= self.moved_line
        return is_above

    def columns(self, rows: Int64[np.ndarray, " row"]) -> dict[str, np.ndarray]:
        """Probability, the interval where there is one, and the decision."""
        errors = None if self.errors is None else self.errors[rows]
        columns = ranked_columns(self.log_odds[rows], errors, None)
        return columns | {"holds": self.holds(rows)}

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
        columns = {name: _plain(values) for name, values in self.columns(rows).items()}
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
            num_holding=int(self.holds(passing).sum()),
            prior=self.prior,
            threshold=decision_line(self.thresholds),
            weak_negatives=self.served.node_ids.take(self.weak_negatives),
            seconds=0.0,
        )


def _plain(values: np.ndarray) -> list[Any]:
    """The values for JSON, which has no NaN."""
    return [None if value != value else value for value in values.tolist()]
