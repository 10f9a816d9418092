"""The Python client against the running service."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from metatne.client import Client
from metatne.client.connection import _events, _lines
from metatne.errors import (
    ConflictError,
    GraphError,
    InputError,
    ModelFormatError,
    ProjectError,
    ServiceError,
    SupportError,
    UnknownNodeError,
)
from metatne.service.http.server import Server
from metatne.service.jobs import Jobs
from metatne.service.questions import RowFilter
from metatne.service.served_model import ServedModel
from service.towns import FORMULA, HOLDS, LACKS, NUM_PEOPLE, running


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


def test_questions_are_the_librarys(client: Client, town: ServedModel) -> None:
    assert client.is_ready()
    assert [model.name for model in client.models()] == ["town", "numbers"]
    assert client.find_nodes("town", "strasse").nodes[0].id == "Ärger Straße"
    labels = client.find_labels("town", "CLUB 1").labels
    assert [found.label for found in labels] == ["club 1"]
    assert (
        labels[0].num_holders
        == client.rank("town", positives=["person 239"], filter={"holds": "club 1"}).num_ranked
    )
    assert client.node("numbers", 12).id == 12
    table = town.model.rank(positives=HOLDS, negatives=LACKS, prior=0.2)
    answer = client.rank("town", positives=HOLDS, negatives=LACKS, prior=0.2, top=5)
    assert [row.node for row in answer.rows] == table["node"].tolist()[:5]
    told: list[tuple[int, int]] = []
    streamed = client.rank(
        "town",
        positives=HOLDS,
        negatives=LACKS,
        prior=0.21,  # which nobody has asked: of a ranking that is kept there is no progress
        top=5,
        filter=RowFilter(annotated=False),
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (NUM_PEOPLE - 5, NUM_PEOPLE - 5)
    assert not any(row.labels for row in streamed.rows)
    chosen = client.rank("town", positives=HOLDS, candidates=["person 1", FORMULA])
    assert chosen.num_ranked == 2
    reasons = client.explain("town", "person 100", positives=HOLDS, negatives=LACKS)
    assert sum(part.contribution for part in reasons.parts) == pytest.approx(reasons.log_odds)
    for shared in reasons.shared_neighbours:
        assert set(shared.with_) <= {*HOLDS, *LACKS}
    weights = client.relate("town", positives=HOLDS, negatives=LACKS, top=1)
    assert weights[0].weight > weights[1].weight
    named = [node.id for node in client.suggest("town", 3, positives=HOLDS, negatives=LACKS)]
    assert named == town.model.suggest(3, positives=HOLDS, negatives=LACKS)
    points = client.map("town", ["person 1"], positives=HOLDS, negatives=LACKS).points
    assert [point.role for point in points][-1] == "candidate"
    ego = client.ego("town", ["person 1"], positives=HOLDS, max_nodes=4)
    assert ego.nodes[0].role == "asked"


def test_a_file_has_the_rows_of_the_ranking(client: Client) -> None:
    asked: dict[str, Any] = {
        "positives": HOLDS,
        "negatives": LACKS,
        "prior": 0.2,
        "threshold": 0.4,
        "candidates": [f"person {n}" for n in range(100, 200)],
        "filter": {"annotated": True},
        "offset": 3,
        "top": 5,
    }
    rows = client.rank("town", **asked).rows
    lines = list(csv.DictReader(io.StringIO(client.export("town", **asked).decode())))
    assert [line["node"] for line in lines] == [row.node for row in rows]
    assert [int(line["rank"]) for line in lines] == [row.rank for row in rows]
    assert [line["holds"] == "true" for line in lines] == [row.probability >= 0.4 for row in rows]
    assert len(client.export("town", positives=HOLDS).splitlines()) == 1 + NUM_PEOPLE - len(HOLDS)


def test_only_the_services_line_ends_end_lines() -> None:
    data = '{"node": "a\u2028b\x85c\x0bd"}'
    sent = f": still at it\n\nevent: result\ndata: {data}\n\n"
    for size in (1, 7, len(sent)):
        parts = (sent[start : start + size] for start in range(0, len(sent), size))
        assert list(_events(_lines(parts))) == [("result", data)]


def test_projects_go_all_the_way(client: Client) -> None:
    made = client.create_project("with Python", "town", positives=HOLDS, notes="n")
    read_before = client.project(made.id)
    made.positives.append(FORMULA)
    saved = client.save_project(made)
    assert saved.version == 2
    with pytest.raises(ConflictError, match="somebody changed it") as conflict:
        client.save_project(read_before)
    assert conflict.value.theirs == saved
    assert conflict.value.yours.positives == HOLDS
    undone = client.undo(saved)
    assert undone.positives == HOLDS
    redone = client.redo(undone)
    assert redone.positives == [*HOLDS, FORMULA]
    copy = client.import_project("copy", "town", client.project_csv(made.id))
    assert copy.positives == redone.positives
    gone = client.delete_project(redone)
    assert gone.id not in {project.id for project in client.projects()}
    assert gone.id in {project.id for project in client.projects(deleted=True)}
    assert not client.restore_project(made.id).deleted
    assert client.history(made.id).versions[-1].what == "created"
    client.delete_project(copy)
    assert client.purge_projects() >= 1
    assert client.projects(deleted=True) == []
    with pytest.raises(ProjectError, match="no project"):
        client.restore_project(copy.id)


def test_errors_are_the_librarys(client: Client) -> None:
    with pytest.raises(UnknownNodeError, match="did you mean 'person 20'"):
        client.rank("town", positives=["persn 20"])
    with pytest.raises(UnknownNodeError):
        client.rank("town", positives=["nobody"], progress=lambda done, total: None)
    with pytest.raises(UnknownNodeError):
        client.node("town", "nobody")
    with pytest.raises(SupportError, match="both hold and lack"):
        client.rank("town", positives=HOLDS, negatives=HOLDS)
    with pytest.raises(ModelFormatError, match="no model 'village ☃'"):
        client.rank("village ☃", positives=HOLDS)
    with pytest.raises(ProjectError, match="no project"):
        client.project("x")
    with pytest.raises(GraphError, match="--graph"):
        client.ego("numbers", [1])
    with pytest.raises(InputError, match="top"):
        client.rank("town", positives=HOLDS, top=0)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<p>log in first</p>"),
        httpx.Response(200, json={"status": "ok"}),
        httpx.Response(302, headers={"Location": "https://login.example"}),
        httpx.Response(502, text="bad gateway"),
    ],
)
def test_what_a_proxy_says_is_no_answer(answer: httpx.Response) -> None:
    with Client("http://metatne.example") as client:
        client._service.http = httpx.Client(
            base_url="http://metatne.example",
            transport=httpx.MockTransport(
                lambda request: httpx.Response(
                    answer.status_code, headers=answer.headers, content=answer.content
                )
            ),
        )
        with pytest.raises(ServiceError, match="proxy"):
            client.models()
        with pytest.raises(ServiceError):
            client.rank("town", positives=HOLDS, progress=lambda done, total: None)


def test_a_service_that_cannot_answer(town: ServedModel, tmp_path: Path) -> None:
    token = "a-long-enough-token"
    jobs = Jobs(max_running=1, max_waiting=-1)  # room for nobody
    with running([town], tmp_path, token=token, jobs=jobs) as server:
        with Client(server.url) as stranger, pytest.raises(InputError, match="Bearer"):
            stranger.models()
        with Client(server.url, token=token) as client:
            assert client.models()
            for progress in (None, lambda done, total: None):
                with pytest.raises(ServiceError, match="ask again") as refused:
                    client.rank("town", positives=HOLDS, progress=progress)
                assert refused.value.retry_after is not None
    with Client(server.url) as client:
        assert not client.is_ready()
        with pytest.raises(ServiceError, match="is `metatne serve` running there"):
            client.models()
        with pytest.raises(ServiceError, match="is `metatne serve` running there"):
            client.rank("town", positives=HOLDS, progress=lambda done, total: None)
