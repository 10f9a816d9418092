"""Reasons that add up, relations that were planted, suggestions that help, graphs that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logit

from graphs import hand_made
from metatne.errors import ConfigError, GraphMismatchError
from metatne.estimator import MetaTNE
from metatne.evidence.model import EvidenceModel
from metatne.evidence.reasons import suggest
from metatne.graph.labels import Labels
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.metrics import roc_auc
from planted import SETTINGS

NOVEL = 19


@pytest.fixture(scope="module")
def whole() -> Graph:
    return planted_graph(600, num_labels=20, num_communities=8, seed=4).graph


@pytest.fixture(scope="module")
def graph(whole: Graph) -> Graph:
    """Without the novel label."""
    return whole.with_labels(whole.labels.select(range(NOVEL)))


@pytest.fixture(scope="module")
def model(graph: Graph) -> MetaTNE:
    return MetaTNE(**SETTINGS).fit(graph)


@pytest.fixture(scope="module")
def examples(whole: Graph) -> dict[str, Any]:
    holders = whole.labels.holders(NOVEL).astype(np.int64)
    others = np.setdiff1d(np.arange(whole.num_nodes), holders)
    return {
        "positives": whole.node_ids.take(holders[:6]),
        "negatives": whole.node_ids.take(others[:12]),
    }


def test_contributions_add_up_to_the_log_odds(model: MetaTNE, examples: dict[str, Any]) -> None:
    ranking = model.rank(**examples, prior=0.2)
    for row in (0, 50, len(ranking) - 1):
        node, probability = ranking["node"][row], ranking["probability"][row]
        reasons = model.explain(node, **examples, prior=0.2)
        assert reasons["contribution"].sum() == pytest.approx(logit(probability), abs=1e-3)
        parts = reasons.drop(columns=["reason", "node", "contribution"]).iloc[2:]
        np.testing.assert_allclose(parts.sum(axis=1), reasons["contribution"][2:], rtol=1e-6)


def test_without_negatives_too(model: MetaTNE, examples: dict[str, Any]) -> None:
    """Drawn nodes stand in, as in the ranking, and can be explained themselves."""
    positives = examples["positives"]
    ranking = model.rank(positives=positives)
    drawn = ranking.attrs["weak_negatives"]
    chances = ranking.set_index("node")["probability"]
    for node in (ranking["node"][0], drawn[0]):
        reasons = model.explain(node, positives=positives)
        assert reasons["contribution"].sum() == pytest.approx(logit(chances[node]), abs=1e-3)
    assert len(model.relate(positives=positives)) == len(model.relate(**examples))
    assert len(model.suggest(4, positives=positives)) == 4


def test_behind_the_reasons_are_shared_neighbours_and_labels(
    graph: Graph, model: MetaTNE, examples: dict[str, Any]
) -> None:
    node = int(model.rank(**examples, top=1)["node"][0])  # ids are positions here
    behind = model.explain(node, **examples).attrs
    near = set(graph.neighbours(node).tolist())
    expected: dict[int, list[int]] = {}
    for example in [*examples["positives"], *examples["negatives"]]:
        for shared in near.intersection(graph.neighbours(example).tolist()):
            expected.setdefault(shared, []).append(example)
    assert expected
    found = behind["shared_neighbours"]
    assert behind["num_shared_neighbours"] == len(expected)
    assert {shared["node"]: shared["with"] for shared in found} == expected
    assert [len(shared["with"]) for shared in found] == sorted(
        (len(names) for names in expected.values()), reverse=True
    )
    held = [y for y in range(NOVEL) if node in graph.labels.holders(y)]
    assert held
    weights = model.relate(**examples).set_index("label")["weight"]
    assert {known["label"]: known["weight"] for known in behind["labels"]} == {
        graph.labels.names[y]: weights[graph.labels.names[y]] for y in held
    }
    sizes = [abs(known["weight"]) for known in behind["labels"]]
    assert sizes == sorted(sizes, reverse=True)


def test_drawn_nodes_share_no_neighbours(graph: Graph, model: MetaTNE) -> None:
    """What stands in for the others is no example that anybody gave."""
    positives = [3, 4]
    for node in model.rank(positives=positives, top=3)["node"]:
        behind = model.explain(node, positives=positives).attrs
        assert all(set(shared["with"]) <= set(positives) for shared in behind["shared_neighbours"])


def test_no_more_shared_neighbours_are_told_than_can_be_copied(
    model: MetaTNE, examples: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = model.rank(**examples, top=1)["node"][0]
    every = model.explain(node, **examples).attrs
    monkeypatch.setattr("metatne.prediction.explanation.MOST_SHARED", 1)
    first = model.explain(node, **examples).attrs
    assert first["shared_neighbours"] == every["shared_neighbours"][:1]
    assert first["num_shared_neighbours"] == len(every["shared_neighbours"]) > 1


def test_a_model_without_edges_and_a_node_without_labels(
    graph: Graph, examples: dict[str, Any]
) -> None:
    is_last = np.arange(graph.num_nodes) == 599
    forgotten = graph.with_labels(graph.labels.forget(np.arange(NOVEL), is_last))
    model = MetaTNE(**SETTINGS, head_without=("walks",)).fit(forgotten)
    nothing: dict[str, Any] = {
        "shared_neighbours": None,
        "num_shared_neighbours": None,
        "labels": [],
    }
    assert model.explain(599, **examples).attrs == nothing


def test_of_the_reasons_positives_pull_the_first(model: MetaTNE, examples: dict[str, Any]) -> None:
    first = model.explain(model.rank(**examples, top=1)["node"][0], **examples)
    by_sign = first.groupby("reason")["contribution"].sum()
    assert by_sign["holds it"] > max(by_sign["lacks it"], 0)


def test_a_planted_relation_is_found(graph: Graph) -> None:
    """A label whose holders all hold another one is related to that above all others."""
    model = MetaTNE(**SETTINGS).fit(graph)
    known = [graph.labels.position(name) for name in model.trained_.known_labels]
    related = max(known, key=lambda label: len(graph.labels.holders(label)))
    holders = graph.labels.holders(related).astype(np.int64)
    generator = np.random.default_rng(1)
    novel = generator.choice(holders, 10, replace=False)
    others = np.setdiff1d(np.arange(graph.num_nodes), holders)
    table = model.relate(
        positives=graph.node_ids.take(novel),
        negatives=graph.node_ids.take(generator.choice(others, 20, replace=False)),
    )
    assert table["label"][0] == graph.labels.names[related]
    assert table["weight"][0] > 0


def test_suggestions_are_uncertain_and_different(model: MetaTNE, examples: dict[str, Any]) -> None:
    chosen = model.suggest(8, **examples)
    assert len(set(chosen)) == 8
    assert not set(chosen) & {*examples["positives"], *examples["negatives"]}
    assert chosen[:3] == model.suggest(3, **examples)
    ranking = model.rank(**examples).set_index("node")
    by_rank = ranking.loc[chosen, "rank"].to_numpy()
    assert by_rank.mean() < ranking["rank"].mean()


def test_of_two_that_are_alike_one_is_asked_about(model: MetaTNE) -> None:
    """Three as uncertain as can be, of whom two are the same to the head: the same node."""
    scorer = model.trained_.scorer
    assert isinstance(scorer, EvidenceModel)
    chosen = suggest(scorer, np.array([7, 7, 3]), np.zeros(3), number=2)
    assert chosen.tolist() == [7, 3]


@pytest.mark.parametrize("prior", [None, 0.02, 0.5, 0.9])
def test_the_first_suggestion_is_the_least_certain(
    model: MetaTNE, examples: dict[str, Any], prior: float | None
) -> None:
    (first,) = model.suggest(1, **examples, prior=prior)
    ranking = model.rank(**examples, prior=prior)
    doubt = -((ranking["probability"].to_numpy() - 0.5) ** 2)
    assert first == ranking["node"].tolist()[int(np.argmax(doubt))]


def test_new_nodes_are_placed_by_their_edges(whole: Graph) -> None:
    """Of a model of 85 % of the nodes, updated: as good for the new ones as one of all."""
    generator = np.random.default_rng(2)
    kept = np.sort(generator.permutation(whole.num_nodes)[: int(0.85 * whole.num_nodes)])
    new = np.setdiff1d(np.arange(whole.num_nodes), kept)
    is_new = np.isin(np.arange(whole.num_nodes), new)
    known = whole.labels.select(range(16))
    smaller = part_of(whole.with_labels(known), kept)
    graph = whole.with_labels(known.forget(np.arange(16), is_new))
    before = MetaTNE(**SETTINGS).fit(smaller)
    updated = before.update(graph)
    trained = MetaTNE(**SETTINGS).fit(graph)
    assert len(updated.trained_.node_ids) == graph.num_nodes

    places = updated.embeddings_
    ids = smaller.node_ids.positions(whole.node_ids.take(kept))
    np.testing.assert_allclose(places[kept], before.embeddings_[ids], atol=1e-3)
    around = graph.adjacency()[new] @ places
    closeness = np.einsum("nd,nd->n", places[new], around) / np.linalg.norm(around, axis=1)
    assert closeness.mean() > 0.9

    aucs: dict[str, list[float]] = {"updated": [], "trained": []}
    for label in range(16, 20):  # which neither has seen
        holders = np.intersect1d(whole.labels.holders(label), kept)
        others = np.setdiff1d(kept, whole.labels.holders(label))
        question: dict[str, Any] = {
            "positives": whole.node_ids.take(holders[:6]),
            "negatives": whole.node_ids.take(generator.choice(others, 10, replace=False)),
            "candidates": whole.node_ids.take(new),
        }
        for name, model in (("updated", updated), ("trained", trained)):
            ranking = model.rank(**question)
            asked = whole.node_ids.positions(ranking["node"].tolist())
            truth = np.isin(asked, whole.labels.holders(label))
            scores = ranking["probability"].to_numpy()
            aucs[name].append(float(roc_auc(scores[None], truth[None])[0]))
    assert np.mean(aucs["updated"]) > 0.7
    assert np.mean(aucs["updated"]) > np.mean(aucs["trained"]) - 0.03


def part_of(graph: Graph, kept: np.ndarray) -> Graph:
    """The graph of these nodes and the edges among them."""
    names = graph.node_ids.take(np.arange(graph.num_nodes))
    place = {node: number for number, node in enumerate(kept.tolist())}
    adjacency = graph.adjacency().tocoo()
    rows, columns = adjacency.coords
    edges = [
        (names[a], names[b])
        for a, b in zip(rows.tolist(), columns.tolist(), strict=True)
        if a < b and a in place and b in place
    ]
    made = hand_made(edges, nodes=[names[node] for node in kept.tolist()])
    where = dict(
        zip(made.node_ids.take(np.arange(made.num_nodes)), range(made.num_nodes), strict=True)
    )
    pairs = [
        (where[names[node]], label)
        for label in range(graph.labels.num_labels)
        for node in graph.labels.holders(label).tolist()
        if node in place
    ]
    nodes, labels = np.array(pairs).T
    return made.with_labels(
        Labels.from_statements(graph.labels.names, made.num_nodes, nodes, labels)
    )


def test_an_update_with_another_graph_is_told(model: MetaTNE) -> None:
    other = hand_made([("ann", "bob"), ("bob", "cat")])
    with pytest.raises(GraphMismatchError, match=r"none of the model's 600 nodes: is it another"):
        model.update(other)


def test_an_update_may_not_lose_nodes_or_labels(model: MetaTNE, graph: Graph) -> None:
    smaller = part_of(graph, np.arange(500))
    with pytest.raises(GraphMismatchError, match="nodes may be added"):
        model.update(smaller)
    with pytest.raises(GraphMismatchError, match="which the new graph lacks"):
        model.update(graph.with_labels(graph.labels.select([0])))


def test_the_papers_head_has_no_reasons(fitted: MetaTNE) -> None:
    with pytest.raises(ConfigError, match="cannot explain, relate, suggest"):
        fitted.relate(positives=[1, 2])


def test_a_single_example_of_a_sign_has_no_interval(
    model: MetaTNE, examples: dict[str, Any]
) -> None:
    table = model.rank(positives=examples["positives"], negatives=examples["negatives"][:1])
    assert table["low"].isna().all()
    assert table["high"].isna().all()
    assert table["probability"].between(0, 1).all()
    whole = model.rank(**examples)
    assert (whole["low"] < whole["probability"]).all()
    assert (whole["probability"] < whole["high"]).all()
