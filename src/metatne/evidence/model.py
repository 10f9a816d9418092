"""A trained evidence model: descriptions of all nodes, two experts, and how to read their scores.

One expert looks at a node's own labels; the other, for nodes that nobody has annotated, has learned
on nodes whose labels were hidden from it, and looks at those of the supports alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int64

from metatne.device import one_thread
from metatne.errors import TrainingError
from metatne.evidence.adaptation import AdaptedExpert, Expert, SupportReach
from metatne.evidence.description import Description, nobody
from metatne.evidence.head import Encoding, EvidenceHead
from metatne.evidence.learning import make_episodes, tasks_at_a_time
from metatne.evidence.vectors import NodeVectors
from metatne.graph.raw import HOLDS, LACKS
from metatne.parallel import Progress, Progressing, in_threads
from metatne.sampling.tasks import Tasks

NODES_PER_PIECE = 4_096


class NodeScores(NamedTuple):
    """Of candidates for one novel label, against each set of negatives."""

    evidence: Float64[np.ndarray, "set node"]
    """The logarithm of how much likelier the node is among holders than among the others."""

    error: Float64[np.ndarray, "set node"]
    """How much it would move with other supports: 1.96 of it either way are an interval of 95 %
    (the jackknife's, wider by Student's t where positives are few)."""

    threshold: Float64[np.ndarray, "set node"]
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
            raw = raw_scores(expert.encoding, expert.head, self.description, tasks)
            evidence = expert.calibration.evidence(raw, positives, negatives)
            needed = expert.calibration.threshold(positives, negatives, prior)
            scores[places] = (evidence - needed)[places]
        return scores

    @one_thread()
    def score_nodes(
        self,
        positives: Int64[np.ndarray, " positive"],
        negative_sets: Sequence[Int64[np.ndarray, " negative"]],
        candidates: Int64[np.ndarray, " node"],
        *,
        prior: float | None = None,
        with_error: bool = True,
        progress: Progress | None = None,
    ) -> NodeScores:
        """Evidence for every candidate, in time that grows with their number, and with the graph's
        edges, over which the supports' walks go.

        The sets of negatives are of one size. A piece of candidates depends on no other piece, so
        some of them, cut where pieces are cut, have the scores of the whole to the bit.
        """
        progressing = Progressing(progress, len(candidates))
        is_annotated = self.description.is_annotated[candidates]
        reach = self._reach_from(
            positives, negative_sets, with_error, on_step=lambda: progressing.add(0)
        )
        adapted = [
            (
                AdaptedExpert(
                    expert,
                    vectors,
                    reach,
                    positives,
                    negative_sets,
                    prior=self.typical_share if prior is None else prior,
                    with_error=with_error,
                ),
                places,
            )
            for expert, vectors, places in (
                (self.annotated, self.vectors_of_annotated, is_annotated),
                (self.unannotated, self.vectors_of_unannotated, ~is_annotated),
            )
            if places.any()
        ]

        def score(piece: slice) -> Float64[np.ndarray, "3 set some"]:
            scores = np.empty((3, len(negative_sets), len(candidates[piece])))
            for score_by, places in adapted:
                if places[piece].any():
                    scores[..., places[piece]] = score_by(candidates[piece][places[piece]])
            progressing.add(scores.shape[2])
            return scores

        starts = range(0, len(candidates), NODES_PER_PIECE)
        pieces = [slice(start, start + NODES_PER_PIECE) for start in starts]
        nothing = np.empty((3, len(negative_sets), 0))
        return NodeScores(*np.concatenate([nothing, *in_threads(score, pieces)], axis=2))

    def _reach_from(
        self,
        positives: Int64[np.ndarray, " positive"],
        negative_sets: Sequence[Int64[np.ndarray, " negative"]],
        with_error: bool,
        on_step: Callable[[], None],
    ) -> SupportReach:
        """Walks from these supports; those of the last question are kept, for its next shard."""
        key = (*(some.tobytes() for some in (positives, *negative_sets)), with_error)
        last = self._last_reach.get(key)
        if last is None:
            last = SupportReach(
                self.description.reach,
                positives,
                negative_sets,
                with_error=with_error,
                on_step=on_step,
            )
            self._last_reach.clear()  # threads may ask at once: what two make twice is the same
            self._last_reach[key] = last
        return last

    @cached_property
    def _last_reach(self) -> dict[tuple[object, ...], SupportReach]:
        return {}

    @cached_property
    def vectors_of_annotated(self) -> NodeVectors:
        """What the expert for annotated nodes sees of a node."""
        return NodeVectors(self.annotated.encoding, self.description)

    @cached_property
    def label_gaps(self) -> dict[int, Float64[np.ndarray, " column"]]:
        """How much larger each column of a block is at holders of its label than at others.

        By the number of the block, for those of the expert for annotated nodes that are of labels.
        """
        states, encoding = self.description.states, self.annotated.encoding
        holds, lacks = states == HOLDS, states == LACKS
        num_holding = np.maximum(holds.sum(axis=0), 1)
        num_lacking = np.maximum(lacks.sum(axis=0), 1)
        everyone = np.arange(self.description.num_nodes)[None]
        gaps = {}
        for number, block in enumerate(encoding.blocks):
            if block.is_of_labels:
                rows = self.description.block(block, everyone, nobody(1))[0]
                held = np.einsum("nc,nc->c", rows, holds) / num_holding
                lacked = np.einsum("nc,nc->c", rows, lacks) / num_lacking
                gaps[number] = encoding.scales[number] * (held - lacked).astype(np.float64)
        return gaps

    @cached_property
    def vectors_of_unannotated(self) -> NodeVectors:
        """What the other one sees."""
        return NodeVectors(self.unannotated.encoding, self.description)


def raw_scores(
    encoding: Encoding,
    head: EvidenceHead,
    description: Description,
    tasks: Tasks,
    masked: Int64[np.ndarray, " task"] | None = None,
) -> Float32[np.ndarray, "task query"]:
    """What the head says of every query, before it is read as evidence."""
    hidden = nobody(len(tasks)) if masked is None else masked
    scores = []
    size = tasks_at_a_time(tasks)
    for start in range(0, len(tasks), size):
        some = slice(start, start + size)
        episodes = make_episodes(encoding, description, tasks[some], hidden[some])
        with torch.no_grad():
            scores.append(episodes.scores(head).numpy())
    found = np.concatenate(scores)
    if not np.isfinite(found).all():  # the last step has no loss to tell by
        raise TrainingError(
            "the scores of the head are not finite: training diverged. "
            "Try a smaller head_rate (--set head_rate=…)"
        )
    return found
