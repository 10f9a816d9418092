"""Odd graphs and rates give numbers or a cause; what should not matter does not."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SMALL
from metatne import parallel
from metatne.errors import ConfigError, TrainingError
from metatne.estimator import MetaTNE
from metatne.evidence.description import Description
from metatne.evidence.learning import make_episodes, masked_columns
from metatne.evidence.model import EvidenceModel, raw_scores
from metatne.evidence.reach import Reach
from metatne.evidence.storage import to_tensors
from metatne.graph.labels import Labels
from metatne.graph.node_ids import NodeIds
from metatne.graph.planted import planted_graph
from metatne.graph.raw import HOLDS
from metatne.graph.store import Graph
from metatne.graph.walk import Adjacency
from metatne.model import MetaTNENetwork
from metatne.sampling.tasks import TaskSampler, TaskShape
from training.trainers import trainer_of

EVIDENCE: dict[str, Any] = {
    "positives": 4,
    "negatives": 6,
    "head_steps": 10,
    "head_tasks": 40,
    "validation_tasks": 20,
}
NETWORK: dict[str, Any] = SMALL | {"num_steps": 6, "validate_every": 3}
NUM_NODES = 90


def people() -> tuple[list[tuple[int, int]], dict[int, list[str]]]:
    graph = planted_graph(NUM_NODES, num_labels=6, num_communities=4, seed=2).graph
    ends = np.repeat(np.arange(NUM_NODES), graph.degrees)
    edges = [(int(a), int(b)) for a, b in zip(ends, graph.indices, strict=True) if a < b]
    labels = {
        node: [name for k, name in enumerate(graph.labels.names) if node in graph.labels.holders(k)]
        for node in range(NUM_NODES)
    }
    return edges, labels


def odd_graph(kind: str) -> Graph:
    edges, labels = people()
    draw = np.random.default_rng(0)
    links: list[Any] = edges
    if kind == "a single edge, and labels that are all the same":
        links = [(0, 1)]
        labels = {node: ["a", "b", "c"] if node < NUM_NODES // 2 else [] for node in labels}
    elif kind == "weights from 1e-30 to 1e30, lonely nodes, a label that all hold":
        links = [(a, b, 10 ** draw.uniform(-30, 30)) for a, b in edges]
        labels = {node: [*held, "everyone"] for node, held in labels.items()}
        labels |= {NUM_NODES + node: labels[node] for node in range(40)}
    elif kind == "the largest weights there are":
        links = [(a, b, 3e38) for a, b in edges]
    graph = Graph.from_edges(links, labels=labels, keep_unlinked=True)
    held = graph.labels.holds
    states = np.full(len(held), HOLDS, dtype=np.int8)
    names = (*graph.labels.names, "nobody")
    return graph.with_labels(
        Labels.from_statements(names, graph.num_nodes, held.nodes, held.pair_labels, states)
    )


@pytest.mark.parametrize("head", [EVIDENCE, NETWORK], ids=["evidence", "network"])
@pytest.mark.parametrize(
    "kind",
    [
        "a single edge, and labels that are all the same",
        "weights from 1e-30 to 1e30, lonely nodes, a label that all hold",
        "the largest weights there are",
    ],
)
def test_odd_graphs_give_numbers(kind: str, head: dict[str, Any]) -> None:
    graph = odd_graph(kind)
    model = MetaTNE(**head).fit(graph)
    table = model.rank(positives=[0, 1, 2], negatives=[3, 4, 5])
    assert len(table) == graph.num_nodes - 6
    assert np.isfinite(table.drop(columns="node").to_numpy(dtype=np.float64)).all()
    assert_finite(model)
    assert np.isfinite(model.history_[["auc", "f1"]].to_numpy()).all()


def assert_finite(model: MetaTNE) -> None:
    scorer = model.trained_.scorer
    tensors = to_tensors(scorer) if isinstance(scorer, EvidenceModel) else scorer.state_dict()
    for name, tensor in tensors.items():
        assert tensor.isfinite().all(), name


@pytest.mark.parametrize(("rate", "steps"), [(1e3, 1), (1e30, 3)])
def test_a_rate_far_too_high_is_named(rate: float, steps: int) -> None:
    """Also where it is the last step that spoils the head, of which no loss tells."""
    edges, labels = people()
    graph = Graph.from_edges(edges, labels=labels)
    with pytest.raises(TrainingError, match=r"training diverged\. Try a smaller head_rate"):
        MetaTNE(**EVIDENCE | {"head_rate": rate, "head_steps": steps}).fit(graph)


@pytest.mark.parametrize("name", ["head_rate", "structural_rate", "meta_rate"])
def test_a_rate_beyond_single_precision_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected less than or equal to 1"):
        MetaTNE(**{name: 1e38})


def test_rows_that_no_validation_sees_must_be_numbers(planted: Graph) -> None:
    trainer = trainer_of(planted, dict(SMALL))
    tasks = trainer.validation_tasks
    seen = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
    (unseen, *_) = np.setdiff1d(np.arange(planted.num_nodes), seen).tolist()
    trainer.network.embeddings.data[unseen] = float("nan")
    with pytest.raises(TrainingError, match=r"weights, or scores .*, are not finite at step 0"):
        trainer.run()


@cache
def fitted(head: str) -> MetaTNE:
    edges, labels = people()
    settings = EVIDENCE if head == "evidence" else NETWORK
    return MetaTNE(**settings).fit(Graph.from_edges(edges, labels=labels))


OF_NO_NODE = ("columns", "share", "rarity", "place", "around", "is_known_by_holding", "reach")


def in_order(adjacency: Adjacency, order: np.ndarray[Any, Any]) -> Adjacency:
    size = adjacency.num_nodes
    ones = np.ones(len(adjacency.indices), dtype=np.float32)
    matrix = sp.csr_array((ones, adjacency.indices, adjacency.indptr), shape=(size, size))
    other = matrix[order][:, order].tocsr()
    other.sort_indices()
    return Adjacency(
        other.indptr.astype(np.int64), other.indices.astype(np.int32), adjacency.weights
    )


def renumbered(model: MetaTNE, order: np.ndarray[Any, Any]) -> MetaTNE:
    """The same model of the same nodes; what was node order[i] is now the i-th."""
    trained = model.trained_
    ids = NodeIds([trained.node_ids[int(node)] for node in order])
    scorer = trained.scorer
    other: MetaTNENetwork | EvidenceModel
    if isinstance(scorer, EvidenceModel):
        description = scorer.description
        by_node = {
            field.name: getattr(description, field.name)[order]
            for field in fields(Description)
            if field.name not in OF_NO_NODE
        }
        moved = replace(
            description,
            **by_node,
            place=description.place._replace(rows=description.place.rows[order]),
            around=description.around[:, order],
            reach=Reach(in_order(description.reach.adjacency, order)),
        )
        other = replace(scorer, description=moved)
    else:
        other = MetaTNENetwork(len(order), trained.config)
        other.load_state_dict(scorer.state_dict())
        other.embeddings.data = scorer.embeddings.data[torch.from_numpy(order)]
        other.eval()
    made = MetaTNE(**model.get_params())
    made.trained_ = replace(trained, scorer=other, node_ids=ids)
    return made


@pytest.mark.parametrize("head", ["evidence", "network"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), num_positives=st.integers(1, 6), num_negatives=st.integers(2, 6))
def test_the_order_of_nodes_examples_and_candidates_does_not_matter(
    head: str, seed: int, num_positives: int, num_negatives: int
) -> None:
    model = fitted(head)
    draw = np.random.default_rng(seed)
    nodes = draw.permutation(NUM_NODES).tolist()
    positives, rest = nodes[:num_positives], nodes[num_positives:]
    negatives, candidates = rest[:num_negatives], rest[num_negatives:]
    plain = model.rank(positives=positives, negatives=negatives, candidates=candidates)
    other = renumbered(model, draw.permutation(NUM_NODES)).rank(
        positives=draw.permutation(positives).tolist(),
        negatives=draw.permutation(negatives).tolist(),
        candidates=draw.permutation(candidates).tolist(),
    )
    both = plain.merge(other, on="node", suffixes=("", "_other"), validate="1:1")
    assert len(both) == len(candidates)
    np.testing.assert_allclose(both["probability"], both["probability_other"], atol=1e-5)


def test_single_precision_is_as_good_as_double() -> None:
    """Of the default head; tests/model/test_equations.py has the network's."""
    scorer = fitted("evidence").trained_.scorer
    assert isinstance(scorer, EvidenceModel)
    edges, labels = people()
    graph = Graph.from_edges(edges, labels=labels)
    sampler = TaskSampler(graph.labels, np.arange(6), TaskShape(4, 6, 4, 6))
    tasks = sampler.draw(30, np.random.default_rng(0))
    masked = masked_columns(scorer.description, tasks.labels)
    for expert in (scorer.annotated, scorer.unannotated):
        single = raw_scores(expert.encoding, expert.head, scorer.description, tasks, masked)
        episodes = make_episodes(expert.encoding, scorer.description, tasks, masked)
        in_double = replace(
            episodes,
            products=episodes.products.double(),
            traits=episodes.traits.double(),
            prior_rows=episodes.prior_rows.double(),
            reach=episodes.reach.double(),
        )
        head = deepcopy(expert.head).double()
        with torch.no_grad():
            double = in_double.scores(head).numpy()
        np.testing.assert_allclose(single, double, atol=1e-4)


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the default head; tests/training/test_trainer.py has the network's."""
    edges, labels = people()
    # So small that there is more than one for a thread each.
    monkeypatch.setattr("metatne.spectral.ROWS_PER_PIECE", 20)
    monkeypatch.setattr("metatne.graph.walk.LINKS_PER_PIECE", 50)
    monkeypatch.setattr("metatne.evidence.model.NODES_PER_PIECE", 20)
    pool_of, at_work = parallel._pool, set[int]()

    def watched(threads: int) -> Any:
        at_work.add(threads)
        return pool_of(threads)

    monkeypatch.setattr(parallel, "_pool", watched)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        model = MetaTNE(**EVIDENCE).fit(Graph.from_edges(edges, labels=labels))
        scorer = model.trained_.scorer
        assert isinstance(scorer, EvidenceModel)
        ranking = model.rank(positives=[1, 2, 3], negatives=[4, 5]).to_csv()
        found.append((to_tensors(scorer), ranking))
        assert at_work == (set() if threads == "1" else {3})
    (one, of_one), (three, of_three) = found
    assert [name for name in one if not one[name].equal(three[name])] == []
    assert of_one == of_three
