"""Every question over HTTP, held against the library's own answers."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.special import expit

from metatne.graph.store import Graph
from metatne.service.served_model import ServedModel
from service.towns import EXAMPLES, FORMULA, HOLDS, LACKS, NUM_PEOPLE, error_of

TOWN, NUMBERS = "/api/v1/models/town", "/api/v1/models/numbers"
EVERYONE = 10_000


def ask(http: httpx.Client, place: str, **body: Any) -> dict[str, Any]:
    response = http.post(place, json=EXAMPLES | body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_a_single_negative_leaves_no_interval(http: httpx.Client) -> None:
    body = EXAMPLES | {"negatives": LACKS[:1], "top": 3}
    rows = ask(http, f"{TOWN}/rank", **body)["rows"]
    assert [(row["low"], row["high"]) for row in rows] == [(None, None)] * 3
    for kind in ("csv", "json"):
        found = http.post(f"{TOWN}/export?format={kind}", json=body)
        assert found.status_code == 200
        assert "nan" not in found.text.lower().replace("name", "")


def test_rows_are_those_of_the_library(http: httpx.Client, town: ServedModel) -> None:
    table = town.model.rank(**EXAMPLES, prior=0.1)
    answer = ask(http, f"{TOWN}/rank", prior=0.1, top=EVERYONE)
    rows = pd.DataFrame(answer["rows"])
    assert rows["node"].tolist() == table["node"].tolist()
    assert rows["rank"].tolist() == table["rank"].tolist()
    assert rows["holds"].tolist() == table["holds"].tolist()
    for column in ("probability", "low", "high"):
        np.testing.assert_allclose(rows[column], table[column], rtol=1e-12)
    assert answer["num_ranked"] == answer["num_all"] == len(table) == NUM_PEOPLE - 5
    assert answer["num_holding"] == int(table["holds"].sum())
    assert answer["prior"] == 0.1
    assert answer["weak_negatives"] == []
    assert answer["seconds"] >= 0
    seen = town.evidence.description.is_annotated
    known = rows[rows["node"].map(lambda node: bool(seen[_place(town, node)]))]
    assert len(known) > len(rows) / 2
    line = answer["threshold"]
    assert line == table.attrs["decision_line"]
    assert ((known["probability"] >= line) == known["holds"]).all()


def test_a_line_that_was_moved_decides(http: httpx.Client) -> None:
    own = ask(http, f"{TOWN}/rank", top=EVERYONE)
    line = own["rows"][40]["probability"]  # a row on the line is above it
    expected = [row["probability"] >= line for row in own["rows"]]
    assert [row["holds"] for row in own["rows"]] != expected
    moved = ask(http, f"{TOWN}/rank", top=EVERYONE, threshold=line)
    assert [row["holds"] for row in moved["rows"]] == expected
    assert moved["num_holding"] == 41
    assert moved["threshold"] == own["threshold"]
    assert ask(http, f"{TOWN}/rank", top=1, threshold=line)["num_holding"] == 41
    file = http.post(f"{TOWN}/export?format=json", json=EXAMPLES | {"threshold": line})
    assert [row["holds"] for row in file.json()] == expected
    assert error_of(http.post(f"{TOWN}/rank", json=EXAMPLES | {"threshold": 1.5}))[1:] == (
        "bad_request",
        "threshold",
    )


def test_pages_put_together_are_the_table(http: httpx.Client) -> None:
    whole = ask(http, f"{TOWN}/rank", top=EVERYONE)["rows"]
    pages = [ask(http, f"{TOWN}/rank", top=100, offset=start)["rows"] for start in (0, 100, 200)]
    assert [row for page in pages for row in page] == whole
    assert ask(http, f"{TOWN}/rank", offset=10**9)["rows"] == []


def test_without_negatives_others_stand_in(http: httpx.Client, town: ServedModel) -> None:
    answer = ask(http, f"{TOWN}/rank", negatives=[])
    assert answer["weak_negatives"] == town.model.rank(positives=HOLDS).attrs["weak_negatives"]
    assert answer["prior"] == pytest.approx(town.evidence.typical_share)


def test_candidates_alone_are_ranked(http: httpx.Client, town: ServedModel) -> None:
    some = ["person 100", "person 30", FORMULA]
    answer = ask(http, f"{TOWN}/rank", candidates=some)
    table = town.model.rank(**EXAMPLES, candidates=some)
    assert [row["node"] for row in answer["rows"]] == table["node"].tolist()
    assert answer["num_ranked"] == 3


def test_filters_keep_ranks_and_count_what_passes(http: httpx.Client, town: ServedModel) -> None:
    whole = {row["node"]: row for row in ask(http, f"{TOWN}/rank", top=EVERYONE)["rows"]}
    graph = town.needed_graph
    label = graph.labels.position("club 2")
    states = {node: int(graph.labels.states(_place(town, node), label)) for node in whole}
    degrees = {node: int(graph.degrees[_place(town, node)]) for node in whole}
    annotated = {node: bool(town.is_annotated[_place(town, node)]) for node in whole}
    for row_filter, passes in (
        ({"holds": "club 2"}, lambda node: states[node] == 1),
        ({"lacks": "club 2"}, lambda node: states[node] == 0),
        ({"annotated": False}, lambda node: not annotated[node]),
        ({"min_degree": 9}, lambda node: degrees[node] >= 9),
        ({"contains": "STRASSE"}, lambda node: node == "Ärger Straße"),
        (
            {"holds": "club 2", "min_degree": 9, "contains": "person 1"},
            lambda node: states[node] == 1 and degrees[node] >= 9 and "person 1" in node,
        ),
    ):
        answer = ask(http, f"{TOWN}/rank", top=EVERYONE, filter=row_filter)
        expected = [row for node, row in whole.items() if passes(node)]
        assert expected, "a filter that lets nobody pass shows nothing"
        assert answer["rows"] == expected
        assert answer["num_ranked"] == len(expected)
        assert answer["num_holding"] == sum(row["holds"] for row in expected)


def test_the_papers_head_ranks_without_intervals(http: httpx.Client, numbers: ServedModel) -> None:
    answer = http.post(
        f"{NUMBERS}/rank", json={"positives": [1, "2"], "negatives": [30], "top": EVERYONE}
    ).json()
    table = numbers.model.rank(positives=[1, 2], negatives=[30])
    assert [row["node"] for row in answer["rows"]] == table["node"].tolist()
    assert {(row["low"], row["high"]) for row in answer["rows"]} == {(None, None)}
    assert answer["threshold"] == 0.5
    assert all(row["holds"] == (row["probability"] >= 0.5) for row in answer["rows"])


@pytest.mark.parametrize("negatives", [LACKS, []])
@pytest.mark.parametrize("node", ["person 100", "person 239"])
def test_reasons_add_up(
    http: httpx.Client, town: ServedModel, graph: Graph, node: str, negatives: list[str]
) -> None:
    answer = ask(http, f"{TOWN}/explain", node=node, negatives=negatives, prior=0.2)
    parts = answer["parts"]
    total = sum(part["contribution"] for part in parts)
    assert total == pytest.approx(answer["log_odds"], abs=1e-9)
    assert answer["probability"] == pytest.approx(expit(answer["log_odds"]))
    rows = ask(http, f"{TOWN}/rank", negatives=negatives, prior=0.2, top=EVERYONE)["rows"]
    (row,) = (row for row in rows if row["node"] == node)
    assert row["probability"] == pytest.approx(answer["probability"], rel=1e-3)
    assert [part["reason"] for part in parts[:2]] == ["prior", "any label"]
    against = "lacks it" if negatives else "stands for the others"
    assert {part["reason"] for part in parts[2:]} == {"holds it", against}
    for part in parts[2:]:
        assert sum(part["blocks"].values()) == pytest.approx(part["contribution"], abs=1e-6)
    own = set(graph.node_ids.take(graph.neighbours(_number(graph, node))))
    for shared in answer["shared_neighbours"]:
        assert shared["id"] in own
        for support in shared["with"]:
            near = graph.neighbours(_number(graph, support))
            assert _number(graph, shared["id"]) in near
    assert len(answer["shared_neighbours"]) <= 20
    assert set(answer["labels"]) == set(graph.labels.held_by(_number(graph, node)))
    table = town.model.relate(positives=HOLDS, negatives=negatives)
    weights = dict(zip(table["label"], table["weight"], strict=True))
    assert {pair["label"]: pair["weight"] for pair in answer["label_weights"]} == pytest.approx(
        {label: weights[label] for label in answer["labels"] if label in weights}
    )


def test_weights_and_suggestions_are_the_librarys(http: httpx.Client, town: ServedModel) -> None:
    table = town.model.relate(**EXAMPLES)
    labels = ask(http, f"{TOWN}/relate", top=2)["labels"]
    ends = pd.concat((table.head(2), table.tail(2)))
    assert [pair["label"] for pair in labels] == ends["label"].tolist()
    assert [pair["weight"] for pair in labels] == pytest.approx(ends["weight"].tolist())
    every = ask(http, f"{TOWN}/relate", top=100)["labels"]
    assert [pair["label"] for pair in every] == table["label"].tolist()
    nodes = ask(http, f"{TOWN}/suggest", number=7)["nodes"]
    assert [node["id"] for node in nodes] == town.model.suggest(7, **EXAMPLES)
    assert all(0 < node["probability"] < 1 for node in nodes)


@pytest.mark.parametrize("negatives", [LACKS, []])
def test_a_map_shows_the_question(http: httpx.Client, negatives: list[str]) -> None:
    some = ["person 100", "person 30", "person 239", HOLDS[0]]
    points = ask(http, f"{TOWN}/map", nodes=some, negatives=negatives)["points"]
    roles = {point["node"]: point["role"] for point in points}
    assert roles == (
        dict.fromkeys(HOLDS, "positive")
        | dict.fromkeys(negatives, "negative")
        | dict.fromkeys(some[:3], "candidate")
    )
    for place in ("before", "after"):
        values = np.array([point[place] for point in points])
        assert np.abs(values).max(axis=0) == pytest.approx([1, 1])
    by_chance = sorted(points, key=lambda point: point["probability"])
    along = [point["after"][0] for point in by_chance]
    assert along == sorted(along), "the likelier, the further to the right"
    rows = ask(http, f"{TOWN}/rank", top=EVERYONE, negatives=negatives)["rows"]
    chances = {row["node"]: row["probability"] for row in rows}
    for point in points:
        if point["role"] == "candidate":
            assert point["probability"] == chances[point["node"]]
    again = ask(http, f"{TOWN}/map", nodes=some, negatives=negatives)["points"]
    assert again == points


def test_a_map_of_the_papers_head_and_of_a_single_node(http: httpx.Client) -> None:
    body = {"positives": [1, 2], "negatives": [30, 31], "nodes": [5, 6], "prior": 0.3}
    points = http.post(f"{NUMBERS}/map", json=body).json()["points"]
    assert len(points) == 6
    alone = http.post(f"{NUMBERS}/map", json={"positives": [1]}).json()["points"]
    assert alone[0]["before"] == alone[0]["after"] == [0, 0]


def test_an_ego_is_part_of_the_graph(http: httpx.Client, graph: Graph) -> None:
    answer = ask(http, f"{TOWN}/ego", nodes=["person 100", "person 101"], max_nodes=12)
    nodes = {node["id"]: node for node in answer["nodes"]}
    assert list(nodes)[:2] == ["person 100", "person 101"]
    assert answer["cut"]
    assert len(nodes) == 12
    places = {name: _number(graph, name) for name in nodes}
    asked = {_number(graph, "person 100"), _number(graph, "person 101")}
    matrix = graph.adjacency()
    for name, node in nodes.items():
        assert node["degree"] == graph.degrees[places[name]]
        if places[name] not in asked:
            assert asked & set(graph.neighbours(places[name]).tolist())
        is_example = name in HOLDS + LACKS
        assert (node["probability"] is None) == is_example
    told = {frozenset((e["source"], e["target"])): e["weight"] for e in answer["edges"]}
    for first in nodes:
        for second in nodes:
            weight = float(matrix[places[first], places[second]])
            if first != second:
                assert told.get(frozenset((first, second)), 0.0) == weight
    plain = http.post(f"{TOWN}/ego", json={"nodes": ["person 100"], "max_nodes": 500}).json()
    assert not plain["cut"]
    assert {node["role"] for node in plain["nodes"]} == {"asked", "neighbour"}
    assert len(plain["nodes"]) == 1 + graph.degrees[places["person 100"]]


def test_exports_hold_the_ranking(http: httpx.Client) -> None:
    rows = ask(http, f"{TOWN}/rank", top=EVERYONE)["rows"]
    responses = {
        kind: http.post(f"{TOWN}/export", params={"format": kind}, json=EXAMPLES)
        for kind in ("csv", "parquet", "json")
    }
    for kind, response in responses.items():
        expected = f'attachment; filename="ranking.{kind}"'
        assert response.headers["content-disposition"] == expected
    table = pq.read_table(io.BytesIO(responses["parquet"].content)).to_pandas()
    assert table["node"].tolist() == [row["node"] for row in rows]
    assert table["probability"].tolist() == [row["probability"] for row in rows]
    parsed = json.loads(responses["json"].content)
    assert [line["node"] for line in parsed] == table["node"].tolist()
    lines = list(csv.DictReader(io.StringIO(responses["csv"].text)))
    assert [float(line["probability"]) for line in lines] == table["probability"].tolist()
    by_rank = {int(line["rank"]): line["node"] for line in lines}
    for row in rows:
        assert by_rank[row["rank"]] == (f"'{FORMULA}" if row["node"] == FORMULA else row["node"])
    assert not any(line["node"].startswith(("=", "+", "-", "@")) for line in lines)
    short = http.post(f"{TOWN}/export", json=EXAMPLES | {"top": 3, "offset": 2}).text
    assert [int(line["rank"]) for line in csv.DictReader(io.StringIO(short))] == [3, 4, 5]


def test_what_a_model_cannot_do_is_said(http: httpx.Client) -> None:
    body = {"positives": [1], "negatives": [2]}
    for place, more in (("explain", {"node": 3}), ("relate", {}), ("suggest", {})):
        response = http.post(f"{NUMBERS}/{place}", json=body | more)
        assert error_of(response) == (409, "not_supported", None)
    ego = http.post(f"{NUMBERS}/ego", json={"nodes": [1]})
    assert error_of(ego) == (409, "no_graph", None)
    assert "--graph" in ego.json()["error"]["message"]
    by_degree = http.post(f"{NUMBERS}/rank", json=body | {"filter": {"min_degree": 3}})
    assert error_of(by_degree) == (409, "no_graph", None)


def _place(town: ServedModel, node: str) -> int:
    return int(town.node_ids.positions([node])[0])


def _number(graph: Graph, node: str) -> int:
    return int(graph.node_ids.positions([node])[0])
