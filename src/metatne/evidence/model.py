"""A trained evidence model: descriptions of all nodes, two heads, and how to read their scores.

One head looks at a node's own labels; the other, for nodes that nobody has annotated, does not,
and has learned on nodes whose labels were hidden from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int64
from torch import Tensor

from metatne.device import one_thread
from metatne.evidence.calibration import Calibration
from metatne.evidence.description import NO_LABEL, Description
from metatne.evidence.head import Adapted, Encoding, EvidenceHead
from metatne.evidence.learning import make_episodes, tasks_at_a_time
from metatne.parallel import in_threads
from metatne.sampling.tasks import Tasks

NODES_PER_PIECE = 4_096
MAX_GROUPS = 20
"""Groups of supports that are left out in turn, to see how much the answer hangs on them."""

Supports = Int64[np.ndarray, " support"]


@dataclass(frozen=True)
class Expert:
    """A head with its encoding and its calibration."""

    encoding: Encoding
    head: EvidenceHead
    calibration: Calibration


class Linear(NamedTuple):
    """Scores of any node as a sum over its vector: all that an adapted head comes to."""

    constant: Float64[np.ndarray, " way"]
    by_trait: Float32[np.ndarray, " trait"]
    by_block: list[Float32[np.ndarray, "_ way"]]
    """A column for each way to adapt: with all supports, then without each group of them."""


class NodeScores(NamedTuple):
    """Of candidates for one novel label."""

    evidence: Float64[np.ndarray, " node"]
    """The logarithm of how much likelier the node is among holders than among the others."""

    error: Float64[np.ndarray, " node"]
    """Its standard error: how much it would move with other supports (jackknife)."""

    threshold: Float64[np.ndarray, " node"]
    """The evidence from which on the node is taken to hold the label."""


@dataclass(frozen=True)
class EvidenceModel:
    """What `MetaTNE` with the head `evidence` has learned."""

    description: Description
    annotated: Expert
    unannotated: Expert
    label_names: tuple[str, ...]
    """Of the description's columns."""

    typical_share: float
    """Share of nodes that hold a known label, the median: the prior where nobody gives one."""

    @one_thread()
    def score_tasks(self, tasks: Tasks) -> Float32[np.ndarray, "task query"]:
        """Log evidence of every query less what a decision needs; the prior is the supports'."""
        positives, negatives = tasks.positives.shape[1], tasks.negatives.shape[1]
        prior = positives / (positives + negatives)
        is_annotated = self.description.is_annotated[tasks.queries]
        scores = np.empty(tasks.queries.shape, dtype=np.float32)
        for expert, places in (
            (self.annotated, is_annotated),
            (self.unannotated, ~is_annotated),
        ):
            if not places.any():
                continue
            evidence = expert.calibration.evidence(
                raw_scores(expert, self.description, tasks), positives, negatives
            )
            needed = expert.calibration.threshold(positives, negatives, prior)
            scores[places] = (evidence - needed)[places]
        return scores

    @one_thread()
    def score_nodes(
        self,
        positives: Int64[np.ndarray, " positive"],
        negatives: Int64[np.ndarray, " negative"],
        candidates: Int64[np.ndarray, " node"],
        *,
        prior: float | None = None,
        with_error: bool = True,
    ) -> NodeScores:
        """Evidence for every candidate, in time that grows with their number alone."""
        supports = np.concatenate((positives, negatives))
        shape = len(positives), len(negatives)
        is_annotated = self.description.is_annotated[candidates]
        evidence, error, threshold = (np.zeros(len(candidates)) for _ in range(3))
        for expert, places in (
            (self.annotated, is_annotated),
            (self.unannotated, ~is_annotated),
        ):
            if not places.any():
                continue
            linear = self.adapt(expert, supports, len(positives), with_error=with_error)
            scores = self._apply(expert, linear, candidates[places])
            evidence[places] = expert.calibration.evidence(scores[:, 0], *shape)
            error[places] = expert.calibration.slope(*shape) * _jackknife(scores)
            threshold[places] = expert.calibration.threshold(
                *shape, self.typical_share if prior is None else prior
            )
        return NodeScores(evidence, error, threshold)

    def adapt(
        self, expert: Expert, supports: Supports, num_positives: int, *, with_error: bool
    ) -> Linear:
        """The head, adapted to all supports and, for the error, to all but a group of them."""
        ways = [np.arange(len(supports))]
        if with_error:
            ways += _left_out(len(supports), num_positives)
        encoded = expert.encoding(self.description, supports[None], _nobody(1))
        rows = [row[0] for row in encoded.rows]
        head = expert.head
        with torch.no_grad():
            kernel = head.kernel(encoded.products(len(supports)))[0]
            prior = head.prior(encoded.traits, encoded.for_prior(expert.encoding.of_prior))[0]
            alphas = torch.zeros(len(supports), len(ways))
            constants = np.zeros(len(ways))
            for number, way in enumerate(ways):
                kept = torch.from_numpy(way)
                adapted = head.adapt(
                    kernel[kept][:, kept][None], prior[kept][None], int((way < num_positives).sum())
                )
                alphas[kept, number] = adapted.alpha[0]
                constants[number] = _constant(head, adapted)
            weights = head.log_weights.exp()
            by_block = [
                weight * (row.T @ alphas) for weight, row in zip(weights, rows, strict=True)
            ]
            for block, columns in _prior_columns(expert):
                by_block[block] += columns.unsqueeze(1)
            by_trait = head.by_trait.numpy()
        return Linear(constants, by_trait, [part.numpy() for part in by_block])

    def _apply(
        self, expert: Expert, linear: Linear, candidates: Int64[np.ndarray, " node"]
    ) -> Float64[np.ndarray, "node way"]:
        def score(rows: slice) -> Float64[np.ndarray, "some way"]:
            encoded = expert.encoding(self.description, candidates[rows][None], _nobody(1))
            scores = linear.constant + (encoded.traits[0].numpy() @ linear.by_trait)[:, None]
            for part, weights in zip(encoded.rows, linear.by_block, strict=True):
                scores = scores + part[0].numpy() @ weights
            return np.asarray(scores)

        starts = range(0, len(candidates), NODES_PER_PIECE)
        pieces = [slice(start, start + NODES_PER_PIECE) for start in starts]
        return np.concatenate(list(in_threads(score, pieces)))


def raw_scores(
    expert: Expert,
    description: Description,
    tasks: Tasks,
    masked: Int64[np.ndarray, " task"] | None = None,
) -> Float32[np.ndarray, "task query"]:
    """What the head says of every query, before it is read as evidence."""
    hidden = _nobody(len(tasks)) if masked is None else masked
    scores = []
    size = tasks_at_a_time(tasks)
    for start in range(0, len(tasks), size):
        some = slice(start, start + size)
        episodes = make_episodes(expert.encoding, description, tasks[some], hidden[some])
        with torch.no_grad():
            scores.append(episodes.scores(expert.head).numpy())
    return np.concatenate(scores)


def _nobody(num_tasks: int) -> Int64[np.ndarray, " task"]:
    return np.full(num_tasks, NO_LABEL, dtype=np.int64)


def _constant(head: EvidenceHead, adapted: Adapted) -> float:
    """What every node's score has in common."""
    bias = head.log_bias.exp() * adapted.alpha.sum()
    return float(bias - adapted.shift[0] + adapted.level)


def _prior_columns(expert: Expert) -> list[tuple[int, Float[Tensor, " _"]]]:
    """The prior's weights by column, for each block that it looks at."""
    blocks = expert.encoding.of_prior
    sizes = [len(expert.encoding.means[block]) for block in blocks]
    return list(zip(blocks, torch.split(expert.head.by_column, sizes), strict=True))


def _left_out(num_supports: int, num_positives: int) -> list[Int64[np.ndarray, " kept"]]:
    """The supports without each of some groups of equal size, or one more; none if a sign has
    a single support, since nothing then says how much hangs on that.
    """
    num_negatives = num_supports - num_positives
    if num_positives == 1 or num_negatives == 1:
        return []
    num_groups = min(MAX_GROUPS, num_supports)
    group = np.arange(num_supports) % num_groups
    ways = [np.flatnonzero(group != number) for number in range(num_groups)]
    return [
        way
        for way in ways
        if (way < num_positives).any() and (not num_negatives or (way >= num_positives).any())
    ]


def _jackknife(scores: Float64[np.ndarray, "node way"]) -> Float64[np.ndarray, " node"]:
    left_out = scores[:, 1:]
    num_ways = left_out.shape[1]
    if num_ways < 2:
        return np.full(len(scores), np.inf)  # nothing to tell it from
    gaps = left_out - left_out.mean(axis=1, keepdims=True)
    error: Float64[np.ndarray, " node"] = np.sqrt(
        (num_ways - 1) / num_ways * np.square(gaps).sum(axis=1)
    )
    return error
