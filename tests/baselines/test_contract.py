"""What every method must do, MetaTNE and its variants included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from conftest import SMALL
from metatne.errors import ConfigError, NotFittedError, SupportError, UnknownNodeError
from metatne.evaluation.methods import METHODS, VARIANTS, FittedMethod, Method, new_method
from metatne.graph.build import build_graph
from metatne.graph.planted import planted_graph
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.store import Graph
from metatne.metrics import roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator

WALKS = {"walks_per_node": 20, "walk_length": 20, "window": 5}
QUICK: dict[str, dict[str, Any]] = {
    "line": {"samples_per_edge": 100, "dim": 16},
    "node2vec": {
        **WALKS,
        "tuning_walks": 2,
        "p_choices": (0.5, 2.0),
        "q_choices": (1.0,),
        "dim": 16,
    },
    "planetoid": {
        "num_steps": 60,
        "batch_choices": (64,),
        "rate_choices": (0.01,),
        "dim": 16,
        "first_walks": 5,
    },
    "gcn": {"num_epochs": 20, "decay_choices": (0.0,), "hidden_dim": 16, "feature_walks": 5},
    "metagnn": {
        "num_steps": 10,
        "fast_choices": (0.5,),
        "meta_choices": (0.01,),
        "hidden_dim": 16,
        "feature_walks": 5,
    },
    "ridge": {"num_steps": 10},
    "metatne": {"head_steps": 20, "head_tasks": 40},
    **dict.fromkeys(("metatne-paper", *VARIANTS), SMALL),
}
SHOTS = {"positives": 4, "negatives": 6}
MAY_BE_AT_CHANCE = ("degree", "unlabelled", "v4")
"""Two that know nothing of a task, and one from a random start with few steps."""
EVERY = [*METHODS, *VARIANTS]


def make(name: str, **settings: Any) -> Method:
    quick = {"validation_tasks": 10} | QUICK.get(name, {})
    return new_method(name, quick | SHOTS | settings)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(400, num_labels=12, num_communities=6, seed=3).graph


@pytest.fixture(scope="module")
def split() -> LabelSplit:
    return LabelSplit(np.arange(7), np.arange(7, 9), np.arange(9, 12))


@pytest.fixture(scope="module")
def tasks(graph: Graph) -> Tasks:
    sampler = TaskSampler(graph.labels, range(9, 12), TaskShape(4, 6, 5, 7))
    return sampler.draw(40, numpy_generator(0, "contract"))


@pytest.fixture(scope="module", params=EVERY)
def fitted(
    request: pytest.FixtureRequest, graph: Graph, split: LabelSplit, tmp_path_factory: Any
) -> tuple[str, FittedMethod]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        folder = tmp_path_factory.mktemp("cache")
        monkeypatch.setattr("metatne.baselines.embedding.user_cache_path", lambda name: folder)
        return request.param, make(request.param).fit(graph, split=split)


def test_scores_of_queries(fitted: tuple[str, FittedMethod], tasks: Tasks) -> None:
    name, method = fitted
    scores = np.asarray(method.score_tasks(tasks))
    assert scores.shape == tasks.queries.shape
    assert np.isfinite(scores).all()
    assert method.num_steps_ >= 0
    if name not in MAY_BE_AT_CHANCE:
        assert roc_auc(scores, tasks.is_positive).mean() > 0.53


def test_queries_and_tasks_in_another_order(fitted: tuple[str, FittedMethod], tasks: Tasks) -> None:
    _, method = fitted
    turned = Tasks(
        tasks.labels[::-1].copy(),
        tasks.positives[::-1, ::-1].copy(),
        tasks.negatives[::-1, ::-1].copy(),
        tasks.queries[::-1, ::-1].copy(),
        tasks.is_positive[::-1, ::-1].copy(),
    )
    expected = np.asarray(method.score_tasks(tasks))[::-1, ::-1]
    np.testing.assert_allclose(method.score_tasks(turned), expected, atol=2e-4)


def test_the_ranking(fitted: tuple[str, FittedMethod], graph: Graph) -> None:
    _, method = fitted
    holders = graph.node_ids.take(graph.labels.holders(9)[:4])
    others = [i for i in graph.node_ids.take(np.arange(60)) if i not in holders][:6]
    table = method.rank(positives=holders, negatives=others)
    more = {"low", "high", "holds"}  # of a head that knows its errors
    assert [name for name in table.columns if name not in more] == ["node", "probability", "rank"]
    assert len(table) == graph.num_nodes - 10
    assert table["probability"].is_monotonic_decreasing
    assert table["probability"].between(0, 1).all()
    assert not set(table["node"]) & {*holders, *others}
    short = method.rank(positives=holders, negatives=others, top=3)
    assert short["node"].tolist() == table["node"].tolist()[:3]


def test_a_ranking_without_negatives(fitted: tuple[str, FittedMethod], graph: Graph) -> None:
    _, method = fitted
    holders = graph.node_ids.take(graph.labels.holders(9)[:4])
    table = method.rank(positives=holders)
    assert len(table) == graph.num_nodes - 4
    assert table.attrs["weak_negatives"]


def test_mistakes_are_named(fitted: tuple[str, FittedMethod], graph: Graph) -> None:
    _, method = fitted
    one, two = graph.node_ids.take(np.arange(2))
    with pytest.raises(UnknownNodeError):
        method.rank(positives=["nobody"], negatives=[two])
    with pytest.raises(SupportError):
        method.rank(positives=[one], negatives=[one])
    with pytest.raises(SupportError):
        method.rank(positives=[one], negatives=[two], top=0)


@pytest.mark.parametrize("name", EVERY)
def test_settings(name: str) -> None:
    method = make(name, seed=7)
    assert method.get_params()["seed"] == 7
    with pytest.raises(ConfigError, match="there is no setting 'positive'; did you mean"):
        new_method(name, {"positive": 3})
    with pytest.raises(ConfigError, match="positives"):
        new_method(name, {"positives": 0})
    with pytest.raises(NotFittedError):
        method.rank(positives=["a"])


@pytest.mark.parametrize("name", [name for name in EVERY if name not in VARIANTS])
def test_one_seed_gives_one_answer(
    name: str,
    graph: Graph,
    split: LabelSplit,
    tasks: Tasks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for number in range(2):
        folder = tmp_path / str(number)  # nothing is read that the other made
        monkeypatch.setattr(
            "metatne.baselines.embedding.user_cache_path", lambda name, folder=folder: folder
        )
        method = make(name, seed=1).fit(graph, split=split)
        found.append(np.asarray(method.score_tasks(tasks)))
    first, again = found
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("name", METHODS)
def test_nodes_that_are_asked_about_have_no_known_labels(
    name: str, graph: Graph, split: LabelSplit
) -> None:
    """With known labels hidden on some nodes, every method still fits, on any graph."""
    asked = np.zeros(graph.num_nodes, dtype=bool)
    asked[::3] = True
    hidden = graph.with_labels(graph.labels.forget(split.known, asked))
    asking = LabelSplit(split.known, split.validation, split.test, asked)
    tasks = TaskSampler(graph.labels, split.test, TaskShape(4, 6, 3, 5), asked=asked).draw(
        10, numpy_generator(0, "asked")
    )
    scores = make(name).fit(hidden, split=asking).score_tasks(tasks)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", METHODS)
def test_weighted_graphs_and_lonely_nodes(name: str) -> None:
    weighted = planted_graph(
        300, num_labels=8, num_communities=4, weighted=True, mean_degree=4.0, seed=5
    ).graph
    lonely = _with_a_lonely_node(weighted)
    assert lonely.degrees[-1] == 0
    method = make(name).fit(lonely)
    holders = lonely.node_ids.take(lonely.labels.holders(0)[:4])
    table = method.rank(positives=holders)
    assert np.isfinite(table["probability"]).all()
    assert lonely.node_ids.take(np.array([300]))[0] in set(table["node"])


def _with_a_lonely_node(graph: Graph) -> Graph:
    """The same graph and one node more, of which nothing is known and which has no edge."""
    ends = graph.adjacency().tocoo()
    is_first = ends.row < ends.col
    edges = RawEdges(
        sources=pa.array(ends.row[is_first].astype(np.int64)),
        targets=pa.array(ends.col[is_first].astype(np.int64)),
        weights=ends.data[is_first].astype(np.float32),
        nodes=pa.array(np.arange(graph.num_nodes + 1)),
    )
    holds = graph.labels.holds
    labels = RawLabels(
        nodes=pa.array(holds.nodes.astype(np.int64)),
        labels=pa.array(np.take(graph.labels.names, holds.pair_labels)),
    )
    return build_graph(edges, labels, name=graph.name)
