"""Models, search and node cards over HTTP."""

from __future__ import annotations

import httpx
import numpy as np
import pytest

from metatne.graph.store import Graph
from metatne.service.served_model import ServedModel
from service.towns import HOLDS, LACKS, NUM_PEOPLE, error_of

TOWN, NUMBERS = "/api/v1/models/town", "/api/v1/models/numbers"


def test_models_say_what_they_can(http: httpx.Client) -> None:
    town, numbers = http.get("/api/v1/models").json()["models"]
    assert town["name"] == "town"
    assert town["graph"] == "town"
    assert town["num_nodes"] == NUM_PEOPLE
    assert town["head"] == "evidence"
    assert set(town["can"]) == {"rank", "explain", "relate", "suggest", "map", "ego"}
    assert 0 < town["typical_share"] < 1
    assert town["example"] == {"name": "chess", "positives": HOLDS, "negatives": LACKS}
    assert numbers["head"] == "prototypes"
    assert set(numbers["can"]) == {"rank", "map"}
    assert numbers["typical_share"] is None
    assert numbers["example"] is None


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("PERSON 100", "person 100"),
        ("strasse", "Ärger Straße"),
        ("ωMEGA", "Zoë Ωmega"),
        ("main street", "O'Neill, Main Street"),
        ("<script>", "<script>alert(1)</script>"),
        ("=HYPER", "=HYPERLINK(0)"),
        ('"hello"', 'say "hello"'),
    ],
)
def test_nodes_are_found_by_any_name(http: httpx.Client, text: str, first: str) -> None:
    found = http.get(f"{TOWN}/nodes", params={"q": text}).json()
    assert found["nodes"][0]["id"] == first
    assert not found["more"]


def test_prefixes_come_first_and_more_is_said(http: httpx.Client, graph: Graph) -> None:
    found = http.get(f"{TOWN}/nodes", params={"q": "person 1", "limit": 3}).json()
    assert [node["id"] for node in found["nodes"]] == ["person 1", "person 10", "person 100"]
    assert found["more"]
    node = found["nodes"][0]
    position = int(graph.node_ids.positions(["person 1"])[0])
    assert node["degree"] == graph.degrees[position]
    assert len(node["labels"]) <= 5
    assert set(node["labels"]) <= set(graph.labels.held_by(position))
    alone = http.get(f"{TOWN}/nodes", params={"q": "caf"}).json()
    assert [node["id"] for node in alone["nodes"]] == ["naïve café"]


def test_labels_are_found_with_their_holders(http: httpx.Client, graph: Graph) -> None:
    holders = dict(zip(graph.labels.names, graph.labels.num_holders.tolist(), strict=True))
    found = http.get(f"{TOWN}/labels", params={"limit": 100}).json()
    assert {each["label"]: each["num_holders"] for each in found["labels"]} == holders
    assert not found["more"]
    few = http.get(f"{TOWN}/labels", params={"q": "CLUB", "limit": 2}).json()
    assert [each["label"] for each in few["labels"]] == sorted(holders)[:2]
    assert few["more"]
    within = http.get(f"{TOWN}/labels", params={"q": "ub 3"}).json()
    assert [each["label"] for each in within["labels"]] == ["club 3"]
    assert http.get(f"{TOWN}/labels", params={"q": "bulc"}).json() == {"labels": [], "more": False}
    assert error_of(http.get(f"{TOWN}/labels", params={"limit": "101"}))[2] == "limit"
    forgotten = http.get(
        f"{NUMBERS}/labels"
    ).json()  # the paper's head keeps none, and has no graph
    assert forgotten["labels"] == []


def test_a_card_says_what_is_known(http: httpx.Client, graph: Graph) -> None:
    position = int(graph.node_ids.positions(["person 20"])[0])
    card = http.get(f"{TOWN}/node", params={"id": "person 20"}).json()
    assert card["degree"] == card["num_neighbours"] == graph.degrees[position]
    weights = [near["weight"] for near in card["neighbours"]]
    assert weights == sorted(weights, reverse=True)
    named = graph.node_ids.positions([near["id"] for near in card["neighbours"]])
    assert set(named.tolist()) == set(graph.neighbours(position).tolist())
    assert set(card["labels"]) == set(graph.labels.held_by(position))
    assert card["is_annotated"]
    stranger = http.get(f"{TOWN}/node", params={"id": "person 239"}).json()
    assert not stranger["is_annotated"]
    assert stranger["labels"] == []


def test_without_a_graph_there_are_no_neighbours(http: httpx.Client) -> None:
    card = http.get(f"{NUMBERS}/node", params={"id": "12"}).json()
    assert card["id"] == 12
    assert card["degree"] is None
    assert card["neighbours"] == []
    found = http.get(f"{NUMBERS}/nodes", params={"q": "12", "limit": 2}).json()
    assert [node["id"] for node in found["nodes"]] == [12, 120]


def test_a_model_without_its_graph_remembers_labels(town: ServedModel) -> None:
    alone = ServedModel("alone", town.model, None, None, town.search)
    number = int(town.node_ids.positions(["person 20"])[0])
    columns = set(town.evidence.label_names)
    assert set(alone.labels(number)) == set(town.labels(number)) & columns
    assert np.array_equal(alone.is_annotated, town.evidence.description.is_annotated)
    assert town.is_annotated[alone.is_annotated].all()
    assert "ego" not in alone.facts().can


def test_what_is_not_there_is_said_in_one_shape(http: httpx.Client) -> None:
    assert error_of(http.get("/api/v1/models/twon/nodes")) == (404, "unknown_model", None)
    assert "'town'" in http.get("/api/v1/models/twon/nodes").json()["error"]["message"]
    missing = http.get(f"{TOWN}/node", params={"id": "persn 20"})
    assert error_of(missing) == (404, "unknown_node", "id")
    assert "did you mean 'person 20'" in missing.json()["error"]["message"]
    assert error_of(http.get(f"{TOWN}/node")) == (422, "bad_request", "id")
    too_long = http.get(f"{TOWN}/nodes", params={"q": "x" * 201})
    assert error_of(too_long) == (422, "bad_request", "q")
    assert error_of(http.get(f"{TOWN}/nodes", params={"limit": "0"}))[2] == "limit"
