"""Examples of a novel label: what is taken, and what is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metatne.errors import SupportError, UnknownNodeError
from metatne.graph.node_ids import NodeId, NodeIds
from metatne.prediction.support import check_prior, resolve_support

NAMES = NodeIds(["anna", "bela", "carl", "dora"])
NUMBERS = NodeIds(np.array([30, 10, 20]))


def test_examples_become_positions_in_the_order_given() -> None:
    support = resolve_support(NAMES, ["dora", "anna"], ["carl"])
    assert support.positives.tolist() == [3, 0]
    assert support.negatives.tolist() == [2]


def test_negatives_may_be_missing() -> None:
    support = resolve_support(NAMES, ["bela"], [])
    assert support.positives.tolist() == [1]
    assert support.negatives.tolist() == []


def test_integer_ids_as_numbers_or_text() -> None:
    assert resolve_support(NUMBERS, [20, "30"], [10]).positives.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("positives", "negatives", "message"),
    [
        ([], ["anna"], "positives: expected at least 1 node that holds the label, found none"),
        (["anna", "bela", "anna"], [], "positives: each node once, but found twice: 'anna'"),
        (["anna"], ["carl", "carl"], "negatives: each node once, but found twice: 'carl'"),
        (
            ["anna", "bela"],
            ["carl", "bela", "anna"],
            "a node cannot both hold and lack the label, but found in both: 'anna', 'bela'",
        ),
    ],
)
def test_examples_that_make_no_task(
    positives: list[NodeId], negatives: list[NodeId], message: str
) -> None:
    with pytest.raises(SupportError) as raised:
        resolve_support(NAMES, positives, negatives)
    assert str(raised.value) == message


def test_a_name_is_not_a_list_of_letters() -> None:
    with pytest.raises(SupportError, match=r"positives: expected a list of node ids.*'anna'"):
        resolve_support(NAMES, "anna", [])
    with pytest.raises(SupportError, match=r"negatives: expected a list of node ids.*'anna'"):
        resolve_support(NAMES, ["bela"], "anna")


def test_the_same_node_under_two_names_is_found() -> None:
    with pytest.raises(SupportError, match="found twice: 20"):
        resolve_support(NUMBERS, [20, "20"], [])


def test_unknown_nodes_are_all_named_with_what_is_near() -> None:
    with pytest.raises(UnknownNodeError) as raised:
        resolve_support(NAMES, ["ana", "carl"], ["zzz"])
    assert raised.value.suggestions["ana"] == ["anna"]
    assert "no node 'ana'; did you mean 'anna'?" in str(raised.value)
    assert "no node 'zzz'" in str(raised.value)


def test_many_repeated_nodes_are_cut_short() -> None:
    ids = NodeIds([f"node{number:02}" for number in range(20)])
    names: list[NodeId] = [f"node{number:02}" for number in range(15)]
    with pytest.raises(SupportError, match=r"'node09' and 5 more$"):
        resolve_support(ids, names + names, [])


@pytest.mark.parametrize("prior", [0, 1, -0.1, float("nan"), "5%", True])
def test_a_prior_is_a_share(prior: Any) -> None:
    with pytest.raises(SupportError, match="prior: expected a share above 0 and below 1, found"):
        check_prior(prior)
