"""`docs/service.md` and the OpenAPI document, tried out on a running service."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from metatne.estimator import MetaTNE
from metatne.graph.node_ids import NodeIds
from metatne.graph.store import Graph
from metatne.service.http.server import Server
from metatne.service.name_search import NameSearch
from metatne.service.served_model import ServedModel
from service.towns import running

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
PACKAGES = {20: "lmms", 21: "audacity", 25: "ardour", 50: "gimp", 51: "apache2", 60: "sox"}


@pytest.fixture(scope="module")
def packages(town: ServedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The town, whose people are packages now: names of the page instead of their own."""
    names = NodeIds([PACKAGES.get(n, str(town.node_ids[n])) for n in range(len(town.node_ids))])
    old = town.needed_graph
    graph = Graph(old.indptr, old.indices, names, old.labels, weights=old.weights)
    model = MetaTNE(**town.model.get_params())
    model.trained_ = replace(town.trained, node_ids=names)
    served = ServedModel("works-with-audio", model, graph, None, NameSearch(names.array))
    with running([served], tmp_path_factory.mktemp("packages")) as server:
        yield server


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("block", blocks("sh"))
def test_the_commands_of_the_page_work(packages: Server, tmp_path: Path, block: str) -> None:
    script = block.replace(ADDRESS, packages.url)
    script = script.replace("curl ", "curl --silent --show-error --fail-with-body ")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert '"error"' not in done.stdout
    assert done.stdout or any(tmp_path.iterdir())


def test_the_python_of_the_page_works(packages: Server) -> None:
    (block,) = blocks("python")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        code = compile(block.replace(ADDRESS, packages.url), "docs/service.md", "exec")
        exec(code, {})  # noqa: S102 - our own page
    assert len(shown.getvalue().splitlines()) == 5


def test_the_page_shows_every_route(http: httpx.Client) -> None:
    document = http.get("/api/v1/openapi.json").json()
    for path in document["paths"]:
        shown = path.replace("{model}", "works-with-audio").replace("{project}", "$project")
        assert f"{ADDRESS}{shown}" in PAGE, f"docs/service.md has no example of {path}"


def test_every_error_is_documented_in_our_shape(http: httpx.Client) -> None:
    document = http.get("/api/v1/openapi.json").json()
    text = json.dumps(document)
    assert "HTTPValidationError" not in text
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    schema = response["content"]["application/json"]["schema"]["$ref"]
                    assert schema.rpartition("/")[2] in ("ErrorAnswer", "ConflictAnswer")


def test_made_up_requests_find_no_mistake_of_ours(server: Server) -> None:
    """Schemathesis over the whole document: no 5xx, no answer that is not documented."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    schema: Any = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json")
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    seen = []
    for result in schema.get_all_operations():
        operation = result.ok()
        seen.append(operation.label)

        @given(case=operation.as_strategy())
        @settings(
            max_examples=6,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def try_out(case: Any) -> None:
            case.call_and_validate(checks=checks)

        try_out()
    assert len(seen) == 23
