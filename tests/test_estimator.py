"""The estimator's contract, and the ranking that users see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.base import clone

from graphs import hand_made, held_by
from metatne.errors import (
    ConfigError,
    LabelError,
    NotFittedError,
    SupportError,
    UnknownNodeError,
)
from metatne.estimator import MetaTNE
from metatne.graph.labels import Labels
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator


@pytest.fixture(scope="module")
def sociable(friends: Graph) -> MetaTNE:
    """A model of a graph whose ids are names."""
    tiny: dict[str, Any] = {"dim": 4, "attention_dim": 4, "num_heads": 1, "feedforward_dim": 4}
    tiny |= {"positives": 1, "negatives": 1, "query_positives": 1, "query_negatives": 1}
    tiny |= {"num_steps": 10, "validation_tasks": 5, "head": "prototypes"}
    return MetaTNE(**tiny, device="cpu").fit(friends)


# The contract of an estimator.


def test_the_constructor_stores_and_does_nothing_else() -> None:
    model = MetaTNE(dim=8, meta_rate=0.5)
    params = model.get_params()
    assert (params["dim"], params["meta_rate"]) == (8, 0.5)
    assert model.get_params(deep=False) == params
    assert not hasattr(model, "trained_")


def test_bad_settings_are_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="MetaTNE: dim: expected greater than or equal to 1"):
        MetaTNE(dim=0)
    with pytest.raises(ConfigError, match="MetaTNE: there is no setting 'dims'; did you mean"):
        MetaTNE(dims=3)


def test_settings_can_be_changed() -> None:
    model = MetaTNE(dim=8)
    assert model.set_params(num_blocks=3) is model
    assert (model.get_params()["dim"], model.get_params()["num_blocks"]) == (8, 3)
    with pytest.raises(ConfigError, match="dropout"):
        model.set_params(dropout=2)
    assert model.get_params()["dropout"] == 0.1


def test_settings_changed_after_a_fit_do_not_change_what_was_learned(fitted: MetaTNE) -> None:
    model = clone(fitted)
    model.trained_ = fitted.trained_
    before = model.rank(positives=[1])
    model.set_params(dim=8, negatives=1, seed=9)
    assert model.rank(positives=[1]).equals(before)


def test_scikit_learns_clone(fitted: MetaTNE) -> None:
    copy = clone(fitted)
    assert copy is not fitted
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "trained_")


def test_scikit_learn_can_ask_whether_it_is_fitted(fitted: MetaTNE) -> None:
    assert fitted.__sklearn_is_fitted__()
    assert not clone(fitted).__sklearn_is_fitted__()


def test_repr_shows_what_is_not_default() -> None:
    assert repr(MetaTNE()) == "MetaTNE()"
    assert repr(MetaTNE(dim=8, device="cpu")) == "MetaTNE(dim=8, device='cpu')"


def test_an_unfitted_model_says_what_to_do(planted: Graph, tmp_path: Any) -> None:
    model = MetaTNE()
    shape = TaskShape(2, 2, 1, 1)
    tasks = TaskSampler(planted.labels, [0], shape).draw(1, np.random.default_rng(0))
    for ask in (
        lambda: model.rank(positives=[1]),
        lambda: model.score_tasks(tasks),
        lambda: model.save(tmp_path / "model"),
        lambda: model.embeddings_,
        lambda: model.history_,
        lambda: model.best_step_,
        lambda: model.num_steps_,
    ):
        with pytest.raises(NotFittedError, match=r"call fit\(graph\) first, or MetaTNE\.load"):
            ask()
    assert not (tmp_path / "model").exists()


def test_fit_returns_the_model_and_what_it_learned(fitted: MetaTNE, planted: Graph) -> None:
    assert fitted.embeddings_.shape == (planted.num_nodes, 16)
    assert list(fitted.history_.columns) == [
        *("step", "tau", "structural_loss", "meta_loss", "auc", "f1", "seconds")
    ]
    assert fitted.history_["step"].tolist() == [0, 10, 20, 30]
    assert fitted.num_steps_ == 30
    assert fitted.best_step_ in (0, 10, 20, 30)


def test_what_was_learned_cannot_be_changed_by_accident(fitted: MetaTNE) -> None:
    before = fitted.rank(positives=[1])
    fitted.embeddings_[:] = 0
    history = fitted.history_
    history["auc"] = 0.0
    assert fitted.rank(positives=[1]).equals(before)
    assert fitted.history_["auc"].max() > 0


def test_fitting_again_starts_anew(planted: Graph, small_settings: dict[str, Any]) -> None:
    model = MetaTNE(**(small_settings | {"num_steps": 5}))
    first = model.fit(planted).embeddings_
    assert np.array_equal(model.fit(planted).embeddings_, first)


def test_training_takes_one_thread(planted: Graph, small_settings: dict[str, Any]) -> None:
    seen: list[int] = []

    def look() -> bool:
        seen.append(torch.get_num_threads())
        return False

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        MetaTNE(**(small_settings | {"num_steps": 2})).fit(planted, should_stop=look)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1]


# Which labels are trained on.


def test_labels_are_split_into_known_and_validation(fitted: MetaTNE, planted: Graph) -> None:
    trained = fitted.trained_
    assert len(trained.validation_labels) == 2
    assert sorted(trained.known_labels + trained.validation_labels) == sorted(planted.labels.names)


def test_a_given_split_is_used(planted: Graph, small_settings: dict[str, Any]) -> None:
    split = LabelSplit(known=np.array([4, 2]), validation=np.array([7]), test=np.array([1]))
    model = MetaTNE(**(small_settings | {"num_steps": 2})).fit(planted, split=split)
    assert model.trained_.known_labels == ["label-4", "label-2"]
    assert model.trained_.validation_labels == ["label-7"]


def test_labels_with_too_few_holders_are_left_out(friends: Graph, sociable: MetaTNE) -> None:
    trained = sociable.trained_
    assert sorted(trained.known_labels + trained.validation_labels) == ["left", "right"]


@pytest.mark.parametrize(
    "changed", [{"query_positives": 3}, {"positives": 3, "query_positives": 1}]
)
def test_labels_must_have_enough_for_training_and_for_validation(
    friends: Graph, changed: dict[str, int]
) -> None:
    settings: dict[str, Any] = {"positives": 1, "negatives": 1, "query_negatives": 1} | changed
    settings["head"] = "prototypes"  # the default has as many queries as supports
    with pytest.raises(LabelError, match="no label can be used"):
        MetaTNE(**settings).fit(friends)


def test_queries_of_the_paper_s_training_do_not_limit_the_default(planted: Graph) -> None:
    """A label of seven holders has enough for tasks of 3 and 3."""
    labels = planted.labels
    few = np.arange(7)
    nodes = np.concatenate((labels.holds.nodes, few))
    numbers = np.concatenate((labels.holds.pair_labels, np.full(7, labels.num_labels)))
    more = Labels.from_statements([*labels.names, "seven"], labels.num_nodes, nodes, numbers)
    model = MetaTNE(positives=3, negatives=4, head_steps=2, head_tasks=20, validation_tasks=10)
    trained = model.fit(planted.with_labels(more)).trained_
    assert "seven" in {*trained.known_labels, *trained.validation_labels}


def test_one_usable_label_is_not_enough() -> None:
    ring = [(f"n{i}", f"n{(i + 1) % 9}") for i in range(9)]
    graph = hand_made(ring, {"common": held_by("n0", "n1", "n2", "n3"), "rare": held_by("n5")})
    with pytest.raises(LabelError, match="only the label 'common' has enough holders"):
        MetaTNE(positives=1, negatives=1, query_positives=1, query_negatives=1).fit(graph)


def test_a_graph_without_labels() -> None:
    with pytest.raises(LabelError, match="the graph 'hand-made' has no labels to learn from"):
        MetaTNE().fit(hand_made([("a", "b")]))


# Ranking.


def test_every_other_node_is_ranked_once(fitted: MetaTNE, planted: Graph) -> None:
    table = fitted.rank(positives=[1, 2, 3], negatives=[10, 20])
    assert list(table.columns) == ["node", "probability", "rank"]
    assert sorted(table["node"]) == sorted(set(range(300)) - {1, 2, 3, 10, 20})
    assert table["rank"].tolist() == list(range(1, 296))
    assert table["probability"].is_monotonic_decreasing
    assert table["probability"].between(0, 1).all()
    assert table.attrs["weak_negatives"] == []


def test_the_ranking_is_of_the_network(fitted: MetaTNE) -> None:
    """Probabilities are those of `score_tasks` for the same task."""
    positives, negatives = [1, 2, 3], [10, 20]
    table = fitted.rank(positives=positives, negatives=negatives)
    tasks = Tasks(
        labels=np.zeros(1, dtype=np.int64),
        positives=np.array([positives]),
        negatives=np.array([negatives]),
        queries=np.array([table["node"]]),
        is_positive=np.zeros((1, len(table)), dtype=bool),
    )
    expected = expit(fitted.score_tasks(tasks)[0].astype(np.float64))
    np.testing.assert_allclose(table["probability"], expected, rtol=1e-4)
    assert expected.std() > 0.01


def test_one_positive_alone(fitted: MetaTNE) -> None:
    table = fitted.rank(positives=[5])
    weak = table.attrs["weak_negatives"]
    assert len(table) == 299
    assert len(weak) == 4 * 6
    assert set(weak) <= set(table["node"])
    assert table["probability"].notna().all()
    assert fitted.rank(positives=[5]).equals(table)


def test_many_more_of_one_sign(fitted: MetaTNE) -> None:
    assert len(fitted.rank(positives=[1], negatives=list(range(10, 60)))) == 249
    assert len(fitted.rank(positives=list(range(10, 60)), negatives=[1])) == 249


def test_the_order_of_examples_does_not_matter(fitted: MetaTNE) -> None:
    one = fitted.rank(positives=[1, 2, 3], negatives=[10, 20]).set_index("node")["probability"]
    other = fitted.rank(positives=[3, 1, 2], negatives=[20, 10]).set_index("node")["probability"]
    np.testing.assert_allclose(other.loc[one.index], one, rtol=1e-4)


def test_candidates_and_top(fitted: MetaTNE) -> None:
    whole = fitted.rank(positives=[1, 2], negatives=[3])
    some = fitted.rank(positives=[1, 2], negatives=[3], candidates=[50, 4, 9, 50])
    assert sorted(some["node"]) == [4, 9, 50]
    expected = whole[whole["node"].isin([4, 9, 50])]
    assert some["node"].tolist() == expected["node"].tolist()
    np.testing.assert_allclose(some["probability"], expected["probability"], rtol=1e-4)
    assert fitted.rank(positives=[1, 2], negatives=[3], top=5).equals(whole.head(5))
    with pytest.raises(SupportError, match="top: expected at least 1, found 0"):
        fitted.rank(positives=[1], top=0)


def test_candidates_that_cannot_be_ranked(fitted: MetaTNE) -> None:
    with pytest.raises(SupportError, match=r"candidates: 2 is an example already \(1 in all\)"):
        fitted.rank(positives=[1, 2], candidates=[2, 3])
    with pytest.raises(SupportError, match="candidates: expected at least 1 node to rank"):
        fitted.rank(positives=[1], candidates=[])
    with pytest.raises(SupportError, match="candidates: expected a list of node ids"):
        fitted.rank(positives=[1], candidates="23")
    with pytest.raises(UnknownNodeError, match="no node '1000'"):
        fitted.rank(positives=[1], candidates=[1000])


def test_examples_that_make_no_task(sociable: MetaTNE) -> None:
    with pytest.raises(SupportError, match="found twice: 'anna'"):
        sociable.rank(positives=["anna", "anna"])
    with pytest.raises(SupportError, match="found in both: 'anna'"):
        sociable.rank(positives=["anna"], negatives=["anna"])
    with pytest.raises(SupportError, match="found none"):
        sociable.rank(positives=[])
    with pytest.raises(UnknownNodeError, match="no node 'ann'; did you mean 'anna'"):
        sociable.rank(positives=["ann"])


def test_ids_may_be_names(sociable: MetaTNE) -> None:
    table = sociable.rank(positives=["anna", "bela"], negatives=["hans"])
    assert sorted(table["node"]) == ["carl", "dora", "emil", "fred", "gina"]


def test_integer_ids_may_be_numbers_or_text(fitted: MetaTNE) -> None:
    plain = fitted.rank(positives=[1, 2], negatives=[3])
    assert plain.equals(fitted.rank(positives=["1", "2"], negatives=["3"]))


def test_no_node_left_to_rank(sociable: MetaTNE) -> None:
    names = ["anna", "bela", "carl", "dora", "emil", "fred", "gina", "hans"]
    table = sociable.rank(positives=names[:4], negatives=names[4:])
    assert len(table) == 0
    assert list(table.columns) == ["node", "probability", "rank"]


def test_the_default_head_does_not_resume(planted: Graph, tmp_path: Path) -> None:
    """A checkpoint of the paper's head is not passed over, and stays."""
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_text("of another training")
    with pytest.raises(ConfigError, match="keeps no checkpoint"):
        MetaTNE().fit(planted, checkpoint=checkpoint, resume=True)
    assert checkpoint.exists()


def test_a_validated_line_decides_and_leaves_probabilities_alone(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """Whatever the prior, and in tasks as in rankings."""
    plain, lined = (
        MetaTNE(**small_settings | {"validated_line": chosen, "num_steps": 1}).fit(planted)
        for chosen in (False, True)
    )
    assert plain.best_step_ == lined.best_step_
    network = lined.trained_.network
    examples: dict[str, Any] = {"positives": [0, 1, 2, 3], "negatives": [10, 11, 12, 13, 14, 15]}
    rankings = [model.rank(**examples) for model in (plain, lined)]
    assert "holds" not in rankings[0]
    assert rankings[0]["probability"].equals(rankings[1]["probability"])
    line = rankings[1].attrs["decision_line"]
    assert line == pytest.approx(expit(network.line.item()))
    assert (rankings[1]["holds"] == (rankings[1]["probability"] >= line)).all()
    assert rankings[1]["holds"].nunique() == 2
    rarer = lined.rank(**examples, prior=0.01)
    assert (rarer["probability"] < rankings[1]["probability"]).all()
    assert (rarer["holds"] == rankings[1]["holds"]).all()
    tasks = TaskSampler(planted.labels, range(8, 10), TaskShape(4, 6, 4, 6)).draw(
        5, numpy_generator(0, "line")
    )
    np.testing.assert_allclose(
        lined.score_tasks(tasks), plain.score_tasks(tasks) - network.line.item(), atol=1e-6
    )
