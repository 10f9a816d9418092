"""Studies are the paper's tables and figures."""

from __future__ import annotations

import pytest

from metatne.errors import ConfigError
from metatne.evaluation.methods import METHODS, VARIANTS
from metatne.experiments.studies import STUDIES, cells_of, chosen


def shots(name: str) -> set[tuple[int, ...]]:
    return {
        (cell.positives, cell.negatives, cell.shape.query_positives, cell.shape.query_negatives)
        for cell in STUDIES[name].cells()
    }


def test_cells() -> None:
    assert shots("overall") == shots("ablation") == {(10, 20, 10, 20), (10, 40, 10, 40)}
    assert shots("fewer") == {(5, 10, 5, 10), (5, 20, 5, 20)}
    assert shots("negatives") == {(k, n, k, n) for k in (10, 20) for n in (10, 20, 30, 40, 50)}
    assert shots("queries") == {(10, 30, k, n) for k in (10, 20) for n in (10, 20, 30, 40, 50)}


def test_every_method_of_the_paper_is_in_the_tables() -> None:
    entries = [METHODS[name] for name in STUDIES["overall"].methods]
    assert [entry.title for entry in entries if entry.is_in_paper] == [
        *(
            "LP",
            "LINE",
            "Node2vec",
            "Planetoid",
            "GCN",
            "Meta-GNN",
            "MetaTNE",
            "MetaTNE of the paper",
        )
    ]
    assert STUDIES["ablation"].methods == ("metatne", "v1", "v2", "v3", "v4", "v5")
    assert len(VARIANTS) == 5


def test_settings_of_cells() -> None:
    cells = cells_of(
        STUDIES["fewer"], ["lp", "metatne"], preset="paper", num_tasks=7, protocol="paper"
    )
    assert [(cell.method, cell.preset, cell.negatives) for cell in cells] == [
        ("lp", "default", 10),
        ("lp", "default", 20),
        ("metatne", "paper", 10),
        ("metatne", "paper", 20),
    ]
    assert {cell.num_tasks for cell in cells} == {7}
    assert not any(cell.draws_label_zero for cell in cells)


def test_names_in_a_list() -> None:
    assert chosen("--methods", None, ["a", "b"]) == ["a", "b"]
    assert chosen("--methods", "b, a,b", ["a", "b"]) == ["b", "a"]
    with pytest.raises(ConfigError, match="--methods: expected some of a, b, found 'c'"):
        chosen("--methods", "a,c", ["a", "b"])
    with pytest.raises(ConfigError, match="--methods: expected some of a, b, found ','"):
        chosen("--methods", ",", ["a", "b"])
