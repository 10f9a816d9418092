"""Where nodes lie in two dimensions, before and after the examples were given."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import expit

from metatne.parallel import Progress
from metatne.service.answers import MapAnswer, Point
from metatne.service.desk import Desk
from metatne.service.scoring import Question, score_examples

Role = Literal["positive", "negative", "candidate"]


def draw_map(
    desk: Desk, question: Question, nodes: Int64[np.ndarray, " node"], progress: Progress
) -> MapAnswer:
    """The examples and these nodes.

    Before: principal components of their embeddings. After: their log-odds along x, and along y
    the first principal component of what the embeddings have beside it.
    """
    support = question.support
    examples = np.concatenate((support.positives, support.negatives))
    asked = np.setdiff1d(nodes, examples)
    places = np.concatenate((examples, asked))
    log_odds = np.concatenate(
        (score_examples(question), _log_odds(desk, question, asked, progress))
    )
    vectors = question.served.vectors(places).astype(np.float64)
    before = within_one(components(vectors, 2))
    beside = within_one(components(without(vectors, log_odds), 1))
    along = within_one(log_odds[:, None] - (log_odds.max() + log_odds.min()) / 2)
    roles: list[Role] = ["positive"] * len(support.positives)
    roles += ["negative"] * len(support.negatives)
    roles += ["candidate"] * len(asked)
    return MapAnswer(
        points=[
            Point(node=node, before=(x, y), after=(u, v), probability=chance, role=role)
            for node, (x, y), (u, v), chance, role in zip(
                question.served.node_ids.take(places),
                before.tolist(),
                np.concatenate((along, beside), axis=1).tolist(),
                expit(log_odds).tolist(),
                roles,
                strict=True,
            )
        ]
    )


def _log_odds(
    desk: Desk, question: Question, nodes: Int64[np.ndarray, " node"], progress: Progress
) -> Float64[np.ndarray, " node"]:
    ranking = desk.rank(question, progress)
    places = np.argsort(ranking.nodes)
    found = np.searchsorted(ranking.nodes, nodes, sorter=places)
    return ranking.log_odds[places[found]]


def components(
    vectors: Float64[np.ndarray, "node dim"], number: int
) -> Float64[np.ndarray, "node number"]:
    """The first principal components, each with its largest weight positive; 0 where none is."""
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:number]
    largest = np.abs(axes).argmax(axis=1)
    signs = np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)
    found = np.zeros((len(vectors), number))
    found[:, : len(axes)] = centred @ (axes * signs[:, None]).T
    return found


def without(
    vectors: Float64[np.ndarray, "node dim"], values: Float64[np.ndarray, " node"]
) -> Float64[np.ndarray, "node dim"]:
    """What is left of the vectors when all that goes along with the values is taken out."""
    left: Float64[np.ndarray, "node dim"] = vectors - vectors.mean(axis=0)
    along = values - values.mean()
    size = float(along @ along)
    if size > 0:
        left = left - np.outer(along, along @ left) / size
    return left


def within_one(values: Float64[np.ndarray, "node axis"]) -> Float64[np.ndarray, "node axis"]:
    """Each axis scaled into -1 … 1; one without any spread is 0."""
    size = np.abs(values).max(axis=0, keepdims=True)
    tiny = size < 1e-12  # rounding, which would be blown up to a picture
    scaled: Float64[np.ndarray, "node axis"] = np.where(
        tiny, 0.0, values / np.where(tiny, 1.0, size)
    )
    return scaled
