"""Trainings are shared by cells that differ in their shots, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metatne.baselines import looks
from metatne.baselines.base import Baseline
from metatne.baselines.embedding import Vectors
from metatne.baselines.gcn import GCN
from metatne.baselines.planetoid import Planetoid
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit

SPLIT = LabelSplit(np.arange(6), np.arange(6, 8), np.arange(8, 10))
SMALL: dict[str, Any] = {"positives": 4, "negatives": 6, "validation_tasks": 10, "seed": 5}
Kind = type[Planetoid] | type[GCN]
METHODS: list[tuple[Kind, dict[str, Any]]] = [
    (Planetoid, {"dim": 8, "first_walks": 1, "num_steps": 10, "batch_choices": (16,)}),
    (GCN, {"hidden_dim": 8, "feature_walks": 1, "num_epochs": 6, "look_every": 2}),
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(300, num_labels=10, num_communities=6, seed=1).graph


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The method of every training that was begun, with nothing kept from before."""
    monkeypatch.setattr(looks, "last_looks", looks.LastLooks())
    begun: list[str] = []
    for kind, _ in METHODS:
        train = kind._train

        def counted(self: Baseline, *args: Any, train: Any = train) -> Iterator[Vectors]:
            begun.append(type(self).__name__)
            yield from train(self, *args)

        monkeypatch.setattr(kind, "_train", counted)
    return begun


@pytest.mark.parametrize(("kind", "settings"), METHODS)
def test_other_shots_need_no_training(
    kind: Kind,
    settings: dict[str, Any],
    graph: Graph,
    trainings: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind(**SMALL, **settings).fit(graph, split=SPLIT)
    num_choices = len(trainings)
    others = SMALL | {"positives": 2, "negatives": 9}
    shared = kind(**others, **settings).fit(graph, split=SPLIT)
    assert len(trainings) == num_choices
    monkeypatch.setattr(looks, "last_looks", looks.LastLooks())
    alone = kind(**others, **settings).fit(graph, split=SPLIT)
    assert len(trainings) == 2 * num_choices
    np.testing.assert_array_equal(shared.vectors_, alone.vectors_)


@pytest.mark.parametrize("what", ["seed", "labels", "steps", "known", "asked"])
def test_whatever_else_differs_is_trained_again(
    what: str, graph: Graph, trainings: list[str]
) -> None:
    kind, settings = METHODS[0]
    kind(**SMALL, **settings).fit(graph, split=SPLIT)
    once = len(trainings)
    split = SPLIT
    if what == "labels":
        graph = graph.with_labels(graph.labels.select([1, 0, *range(2, 10)]))
    elif what == "known":
        split = replace(SPLIT, known=SPLIT.known[1:])
    elif what == "asked":
        split = replace(SPLIT, asked=np.arange(graph.num_nodes) % 2 == 0)
    kind(
        **SMALL | ({"seed": 6} if what == "seed" else {}),
        **settings | ({"num_steps": 11} if what == "steps" else {}),
    ).fit(graph, split=split)
    assert len(trainings) == 2 * once


def test_what_takes_too_much_memory_is_not_kept(
    graph: Graph, trainings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, settings = METHODS[0]
    expected = kind(**SMALL, **settings).fit(graph, split=SPLIT)
    once = len(trainings)
    monkeypatch.setattr(looks, "last_looks", looks.LastLooks())
    monkeypatch.setattr(looks, "MAX_KEPT_BYTES", 3 * 300 * 8 * 4)
    for times in (2, 3):
        found = kind(**SMALL, **settings).fit(graph, split=SPLIT)
        assert len(trainings) == times * once
        np.testing.assert_array_equal(found.vectors_, expected.vectors_)
