"""MetaTNE learns what it is for: labels it has never seen, from a few examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression

from metatne.estimator import MetaTNE
from metatne.graph.planted import Planted, planted_graph
from metatne.metrics import roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape

SETTINGS: dict[str, Any] = {
    "head": "prototypes",
    "dim": 32,
    "attention_dim": 32,
    "num_heads": 2,
    "feedforward_dim": 32,
    "positives": 5,
    "negatives": 5,
    "query_positives": 5,
    "query_negatives": 5,
    "pairs_per_step": 512,
    "tasks_per_step": 8,
    "structural_rate": 0.01,
    "meta_rate": 0.01,
    "decay_rate": 0.1,
    "decay_period": 10,
    "validate_every": 100,
    "validation_tasks": 50,
    "device": "cpu",
}
NUM_LABELS, NUM_NOVEL = 80, 6

Score = Callable[[Any, Any, Any], Any]
"""Scores of query nodes from positive and negative ones."""


def novel_split(planted: Planted, seed: int) -> LabelSplit:
    """Test labels are made of communities in combinations that no other label is made of."""
    made_of = [tuple(planted.label_communities[[label]].indices) for label in range(NUM_LABELS)]
    combinations = sorted(set(made_of))
    order = np.random.default_rng(seed).permutation(len(combinations))
    novel = {combinations[place] for place in order[:NUM_NOVEL]}
    test = [label for label in range(NUM_LABELS) if made_of[label] in novel]
    others = [label for label in range(NUM_LABELS) if made_of[label] not in novel]
    return LabelSplit(
        known=np.array(others[8:]), validation=np.array(others[:8]), test=np.array(test)
    )


def auc_of(score: Score, tasks: Tasks) -> float:
    scores = [
        np.asarray(score(*nodes), dtype=np.float64)
        for nodes in zip(tasks.positives, tasks.negatives, tasks.queries, strict=True)
    ]
    return float(roc_auc(np.stack(scores), tasks.is_positive).mean())


def regression_on(embeddings: Any) -> Score:
    """Logistic regression, fitted to the supports of each task."""
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)

    def score(positives: Any, negatives: Any, queries: Any) -> Any:
        truth = np.repeat([1, 0], [len(positives), len(negatives)])
        supports = unit[np.concatenate((positives, negatives))]
        return LogisticRegression(C=10).fit(supports, truth).decision_function(unit[queries])

    return score


def spectral(adjacency: Any, dim: int) -> Any:
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    scaling = sp.diags_array(1 / np.sqrt(degrees))
    return TruncatedSVD(dim, random_state=0).fit_transform(scaling @ adjacency @ scaling)


# A random start is learned from more slowly, so it gets more steps. The graph and the settings
# of the paper's network were chosen on seeds 0 to 9; on 10 to 17, which had no say, the margins
# over the best of the others were 0.16 to 0.27 (spectral start) and 0.09 to 0.22 (random start).
LEARNERS: dict[str, dict[str, Any]] = {
    "evidence": {"head": "evidence"},
    "spectral start": {"num_steps": 250, "validate_every": 50},
    "random start": {
        "num_steps": 700,
        "decay_period": 4,
        "spectral_scale": 0.0,
        "identity_start": False,
        "anneal": False,
    },
}


@pytest.mark.parametrize(
    "learner",
    [
        pytest.param("evidence", marks=pytest.mark.slow),  # tests/evidence has a quick one
        "spectral start",
        pytest.param("random start", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_novel_labels_are_learned_from_known_ones(seed: int, learner: str) -> None:
    """A noisy graph says little of its communities; the known labels say the rest.

    So whoever learns from structure alone (embeddings of it, degrees) or not at all must be
    clearly behind.
    """
    planted = planted_graph(
        200,
        num_labels=NUM_LABELS,
        num_communities=8,
        communities_per_label=3,
        mean_degree=5,
        mixing=0.4,
        overlap=0.2,
        label_noise=0.05,
        seed=seed,
    )
    graph, split = planted.graph, novel_split(planted, seed)
    tasks = TaskSampler(graph.labels, split.test, TaskShape(5, 5, 10, 20)).draw(
        100, np.random.default_rng(seed)
    )
    model = MetaTNE(**(SETTINGS | LEARNERS[learner]), seed=seed).fit(graph, split=split)
    ours = float(roc_auc(model.score_tasks(tasks), tasks.is_positive).mean())

    rng = np.random.default_rng(seed)
    labels_unseen = {"decay_rate": 0.0, "spectral_scale": 0.0, "num_steps": 200}
    structural = MetaTNE(**(SETTINGS | labels_unseen), seed=seed).fit(graph, split=split)
    adjacency = graph.adjacency().astype(np.float64)
    others = {
        "random": auc_of(lambda positives, negatives, queries: rng.random(len(queries)), tasks),
        "degree": auc_of(lambda positives, negatives, queries: graph.degrees[queries], tasks),
        "svd 8": auc_of(regression_on(spectral(adjacency, 8)), tasks),
        "svd 16": auc_of(regression_on(spectral(adjacency, 16)), tasks),
        "structural module": auc_of(regression_on(structural.embeddings_), tasks),
    }
    assert max(others.values()) > 0.55  # structure does say something
    assert ours > max(others.values()) + 0.04, others
