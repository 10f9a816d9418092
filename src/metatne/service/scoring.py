"""Questions by position, and the scores of nodes for them: the door to the library's scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64
from scipy.special import logit

from metatne.errors import SupportError, UnknownNodeError
from metatne.evidence.model import EvidenceModel
from metatne.prediction.ranking import Scores, score_candidates, weak_negatives
from metatne.prediction.support import Support, check_prior, resolve_candidates, resolve_support
from metatne.scoring import score_nodes as score_by_network
from metatne.service.questions import Examples, NodeId
from metatne.service.refusals import Refusal, refusal_of
from metatne.service.served_model import ServedModel

NODES_AT_A_TIME = 65_536
"""Candidates that are scored between two looks at whether anybody still waits for the answer."""

Progress = Callable[[int, int], None]
"""Told how many nodes are done, and of how many; what it raises ends the work."""


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
    question: Question, nodes: Int64[np.ndarray, " node"], progress: Progress = nobody_asks
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
    found: Float64[np.ndarray, " example"] = np.mean(np.stack(scores).astype(np.float64), axis=0)
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


def check_not_empty(question: Question) -> None:
    """Refuse examples that leave nothing to rank."""
    asked = len(question.support.positives) + len(question.support.negatives)
    if question.candidates is None and asked >= len(question.served.node_ids):
        raise Refusal("bad_support", "every node is an example, so there is none left to rank")
