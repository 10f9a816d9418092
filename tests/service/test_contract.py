"""The page and its stand-in for the service keep to what the service says of itself."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from metatne.service import answers, limits

PAGE = Path(__file__).parents[2] / "page"
NAMES = {
    "Model": "ModelFacts",
    "Filter": "RowFilter",
    "Question": "SuggestQuestion",
    "Ranking": "RankAnswer",
    "Weight": "LabelWeight",
    "Explanation": "ExplainAnswer",
    "Suggestion": "SuggestedNode",
    "Ego": "EgoAnswer",
    "Version": "ProjectVersion",
    "Failure": "ErrorFacts",
}
"""What the page calls otherwise than the OpenAPI document."""


def test_the_page_reads_what_the_service_writes(http: httpx.Client) -> None:
    schemas = http.get("/api/v1/openapi.json").json()["components"]["schemas"]
    found = interfaces((PAGE / "src" / "contract.ts").read_text())
    assert len(found) > 20
    for name, fields in found.items():
        properties = schemas[NAMES.get(name, name)]["properties"]
        expected = {
            field: {"type": "null"} in schema.get("anyOf", ())
            for field, schema in properties.items()
        }
        if name == "Question":  # what every question about the label starts from
            expected.pop("number")
        assert fields == expected, f"{name} in contract.ts, and whether fields may be null"


def test_the_page_has_the_limits_of_the_service() -> None:
    text = (PAGE / "src" / "contract.ts").read_text()
    found = dict(re.findall(r"^export const (MAX_\w+) = ([\d_]+);", text, re.M))
    assert found
    assert {name: int(value) for name, value in found.items()} == {
        name: getattr(limits, name) for name in found
    }


def interfaces(text: str) -> dict[str, dict[str, bool]]:
    """By name the fields of each interface, and whether they may be null."""
    found = {}
    for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.M | re.S):
        fields = re.findall(r"^  (\w+): (.*);$", body, re.M)
        lines = [line for line in body.splitlines() if not line.strip().startswith("/**")]
        assert len(fields) == len(lines), f"{name}: a line that is no field, or an optional one"
        found[name] = {field: "| null" in kind for field, kind in fields}
    return found


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PAGE / "dev"))
    for name in ("fake_graph", "fake_projects", "fake_server"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("fake_server")


def check(kind: type[BaseModel], answer: dict[str, Any]) -> None:
    """Exactly what the service would have said: no field more, and none less."""
    made = kind.model_validate(answer)
    assert made.model_dump(mode="json", by_alias=True) == answer


def test_the_stand_in_answers_as_the_service_does(fake: ModuleType) -> None:
    graphs = fake.graphs
    graph = graphs.named_graph()
    marked = {"positives": graph.ids[:3], "negatives": graph.ids[3:5]}
    ask = marked | {"node": graph.ids[9], "nodes": graph.ids[9:12]}
    check(answers.ModelFacts, fake._model(graph))
    check(answers.FoundNodes, fake._search(graph, "so", 5))
    check(answers.FoundLabels, fake._labels(graph, "use", 5))
    check(answers.NodeCard, fake._card(graph, graph.ids[0]))
    check(answers.RankAnswer, dict(graphs.rank(graph, ask))["result"])
    for name, kind in (
        ("explain", answers.ExplainAnswer),
        ("relate", answers.RelateAnswer),
        ("suggest", answers.SuggestAnswer),
        ("map", answers.MapAnswer),
        ("ego", answers.EgoAnswer),
    ):
        check(kind, fake.ANSWERS[name](graph, ask))
    projects = fake.FakeProjects()
    content = {"name": "x", "model": "packages", "graph": {"name": "g", "fingerprint": "f"}}
    made = projects.create(content | marked)
    check(answers.Project, made)
    check(answers.Projects, projects.all(False))
    check(answers.ProjectHistory, {"versions": projects.history(made["id"])})
    check(answers.ErrorAnswer, fake.RefusedError(404, "bad_request", "no").body)
