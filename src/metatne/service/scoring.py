"""Questions by position, and the scores of nodes for them: the door to the library's scoring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import logit

from metatne.errors import SupportError, UnknownNodeError
from metatne.evidence.model import EvidenceModel
from metatne.parallel import Progress
from metatne.prediction.ranking import Scores, score_candidates, shift_to_prior
from metatne.prediction.support import (
    Support,
    check_prior,
    resolve_candidates,
    resolve_support,
    with_weak_negatives,
)
from metatne.scoring import score_nodes as score_by_network
from metatne.service.questions import Examples, NodeId
from metatne.service.refusals import Refusal, refusal_of
from metatne.service.served_model import ServedModel


def nobody_asks(done: int, total: int) -> None:
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
        support = with_weak_negatives(
            resolve_support(served.node_ids, examples.positives, examples.negatives),
            num_nodes=len(served.node_ids),
            size=served.trained.config.negatives,
            seed=served.trained.config.seed,
        )
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
    question: Question, nodes: Int64[np.ndarray, " node"], progress: Progress = nobody_asks
) -> Scores:
    """Scores of these nodes for the question, as `MetaTNE.rank` has them."""
    progress(0, len(nodes))
    return score_candidates(
        question.served.trained.scorer,
        question.support,
        nodes,
        prior=question.prior,
        progress=progress,
    )


def score_examples(question: Question) -> Float64[np.ndarray, " example"]:
    """Log-odds of the examples themselves, positives first, for a picture of them.

    They are what the head was adapted to, so it is surer of them than of other nodes; a ranking
    has no place for them.
    """
    scorer, support, prior = question.served.trained.scorer, question.support, question.prior
    examples = np.concatenate((support.positives, support.negatives))
    sets = support.negative_sets
    if isinstance(scorer, EvidenceModel):
        share = scorer.typical_share if prior is None else prior
        scored = scorer.score_nodes(
            support.positives, sets, examples, prior=share, with_error=False
        )
        evidence: Float64[np.ndarray, " example"] = scored.evidence.mean(axis=0)
        return evidence + float(logit(share))
    scores = [score_by_network(scorer, support.positives, some, examples) for some in sets]
    logits: Float64[np.ndarray, " example"] = np.stack(scores).astype(np.float64).mean(axis=0)
    return logits + shift_to_prior(support, prior)


def check_not_empty(question: Question) -> None:
    """Refuse examples that leave nothing to rank."""
    asked = len(question.support.positives) + len(question.support.negatives)
    if question.candidates is None and asked >= len(question.served.node_ids):
        raise Refusal("bad_support", "every node is an example, so there is none left to rank")
