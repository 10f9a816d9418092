"""Ranking: weak negatives where none are given, order, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit

from metatne.config import make_config
from metatne.errors import SupportError
from metatne.graph.node_ids import NodeIds
from metatne.model import MetaTNENetwork
from metatne.prediction.ranking import Scores, decision_line, rank_table, score_candidates
from metatne.prediction.support import NUM_WEAK_SETS, Support, with_weak_negatives
from metatne.scoring import score_nodes

NUM_NODES = 40
NONE = np.empty(0, dtype=np.int64)


@pytest.fixture(scope="module")
def network() -> MetaTNENetwork:
    config: dict[str, Any] = {"dim": 8, "attention_dim": 8, "num_heads": 2, "feedforward_dim": 8}
    config |= {"identity_start": False}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = MetaTNENetwork(NUM_NODES, make_config(config))
        torch.nn.init.normal_(network.embeddings)
    return network.eval()


def others(*taken: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.setdiff1d(np.arange(NUM_NODES), taken)


def score(
    network: MetaTNENetwork, support: Support, *, weak: int = 5, seed: int = 0, top: int = NUM_NODES
) -> Scores:
    candidates = others(*support.positives.tolist(), *support.negatives.tolist())[:top]
    drawn = with_weak_negatives(support, num_nodes=NUM_NODES, size=weak, seed=seed)
    return score_candidates(network, drawn, candidates)


def test_with_negatives_no_weak_ones_are_drawn(network: MetaTNENetwork) -> None:
    support = Support(np.array([3, 5]), np.array([7]))
    scores = score(network, support)
    assert len(scores.weak_negatives) == 0
    expected = score_nodes(network, support.positives, support.negatives, others(3, 5, 7))
    assert np.array_equal(scores.logits, expected)


def test_weak_negatives_are_other_nodes(network: MetaTNENetwork) -> None:
    scores = score(network, Support(np.array([3, 5]), NONE))
    weak = scores.weak_negatives.tolist()
    assert len(set(weak)) == len(weak) == NUM_WEAK_SETS * 5
    assert not {3, 5} & set(weak)
    assert np.isfinite(scores.logits).all()
    assert scores.candidates.tolist() == others(3, 5).tolist()


def test_no_node_is_its_own_negative(
    network: MetaTNENetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores are means over the sets of weak negatives that a candidate is not in."""
    asked: list[set[int]] = []

    def score_by_negatives(
        network: MetaTNENetwork,
        positives: object,
        negatives: object,
        candidates: object,
        **progress: object,
    ) -> object:
        drawn = np.asarray(negatives)
        asked.append(set(drawn.tolist()))
        return np.full(len(np.asarray(candidates)), drawn.sum(), dtype=np.float32)

    monkeypatch.setattr("metatne.prediction.ranking.score_nodes", score_by_negatives)
    scores = score(network, Support(np.array([0]), NONE))
    assert len(asked) == NUM_WEAK_SETS
    for candidate, logit in zip(scores.candidates.tolist(), scores.logits, strict=True):
        sets = [sum(negatives) for negatives in asked if candidate not in negatives]
        assert len(sets) == NUM_WEAK_SETS - (candidate in scores.weak_negatives)
        assert logit == pytest.approx(np.mean(sets))


@pytest.mark.parametrize("negatives", [[], [7, 8]])
def test_shards_of_the_candidates_have_the_scores_of_the_whole(
    network: MetaTNENetwork, negatives: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, where they are cut at multiples of a piece."""
    monkeypatch.setattr("metatne.scoring.TOKENS_PER_PIECE", 1)
    monkeypatch.setattr("metatne.scoring.QUERIES_PER_PIECE", 6)
    support = Support(np.array([3, 5]), np.array(negatives, dtype=np.int64))
    whole = score(network, support)
    drawn = with_weak_negatives(support, num_nodes=NUM_NODES, size=5, seed=0)
    shards = np.split(whole.candidates, [12, 18])
    parts = [score_candidates(network, drawn, shard).logits for shard in shards]
    assert np.array_equal(np.concatenate(parts), whole.logits)


def test_progress_counts_nodes_and_can_end_the_ranking(
    network: MetaTNENetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metatne.scoring.TOKENS_PER_PIECE", 1)
    monkeypatch.setattr("metatne.scoring.QUERIES_PER_PIECE", 6)
    support = Support(np.array([3, 5]), np.array([7]))
    seen: list[tuple[int, int]] = []
    score_candidates(network, support, others(3, 5, 7), progress=lambda *at: seen.append(at))
    assert seen[-1] == (37, 37)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) > 5

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_candidates(network, support, others(3, 5, 7), progress=stop)


def test_the_seed_decides_the_weak_negatives(network: MetaTNENetwork) -> None:
    support = Support(np.array([3, 5]), NONE)
    first, same, other = (score(network, support, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.weak_negatives, same.weak_negatives)
    assert np.array_equal(first.logits, same.logits)
    assert not np.array_equal(first.weak_negatives, other.weak_negatives)


@pytest.mark.parametrize("num_left", [2, 3, 5, 9])
def test_small_graphs_have_small_sets(network: MetaTNENetwork, num_left: int) -> None:
    support = Support(np.arange(NUM_NODES - num_left), NONE)
    scores = score(network, support, weak=20)
    assert len(scores.logits) == num_left
    assert np.isfinite(scores.logits).all()
    assert 2 <= len(scores.weak_negatives) <= num_left


def test_too_few_nodes_for_weak_negatives(network: MetaTNENetwork) -> None:
    with pytest.raises(SupportError, match=r"too few other nodes .*; name at least 1 negative"):
        score(network, Support(np.arange(NUM_NODES - 1), NONE))


def test_the_likeliest_come_first_and_ties_by_id() -> None:
    ids = NodeIds(["d", "c", "b", "a", "e"])
    logits = np.array([0.5, 0.5, 2.0, 0.5, -1.0])
    table = rank_table(ids, Scores(np.arange(5), logits, NONE), None)
    assert list(table.columns) == ["node", "probability", "rank"]
    assert table["node"].tolist() == ["b", "a", "c", "d", "e"]
    assert table["rank"].tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(table["probability"], expit([2.0, 0.5, 0.5, 0.5, -1.0]))


def test_integer_ids_tie_by_value() -> None:
    ids = NodeIds(np.array([10, 9, 100]))
    table = rank_table(ids, Scores(np.arange(3), np.zeros(3), NONE), None)
    assert table["node"].tolist() == [9, 10, 100]
    assert table["node"].dtype == np.int64


def test_candidates_need_not_be_all_nodes_nor_in_order() -> None:
    ids = NodeIds(["a", "b", "c", "d"])
    scores = Scores(np.array([3, 1]), np.array([0.0, 1.0]), np.array([0, 2]))
    table = rank_table(ids, scores, None)
    assert table["node"].tolist() == ["b", "d"]
    assert table.attrs["weak_negatives"] == ["a", "c"]


def test_top_cuts_the_table() -> None:
    ids = NodeIds(["a", "b", "c"])
    scores = Scores(np.arange(3), np.array([1.0, 3.0, 2.0]), NONE)
    assert rank_table(ids, scores, 2)["node"].tolist() == ["b", "c"]
    assert len(rank_table(ids, scores, 10)) == 3


def test_likely_nodes_are_told_apart_where_probabilities_are_not() -> None:
    ids = NodeIds(["a", "b"])
    table = rank_table(ids, Scores(np.arange(2), np.array([90.0, 100.0]), NONE), None)
    assert table["probability"].tolist() == [1.0, 1.0]
    assert table["node"].tolist() == ["b", "a"]


def test_the_decision_line_is_that_of_most_nodes() -> None:
    ids = NodeIds(["a", "b", "c"])
    thresholds = np.array([2.0, -1.0, 2.0])
    scores = Scores(np.arange(3), np.zeros(3), NONE, np.ones(3), thresholds)
    # Of all that were ranked, not of those that are returned.
    table = rank_table(ids, scores, 1)
    assert table.attrs["decision_line"] == pytest.approx(expit(2.0))
    assert table.attrs["num_holding"] == 1
    assert rank_table(ids, Scores(np.arange(3), np.zeros(3), NONE), 1).attrs["decision_line"] == 0.5
    assert decision_line(thresholds[:0]) == 0.5
