"""Label projects over HTTP: versions, undo and redo, conflicts, CSV."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metatne.errors import MetaTNEError
from metatne.service import project_nodes
from metatne.service.answers import MarkedGraph
from metatne.service.catalogue import Catalogue
from metatne.service.plain_cells import read_cell, safe_cell
from metatne.service.project_csv import read_examples
from metatne.service.served_model import ServedModel
from service.towns import FORMULA, HOLDS, LACKS, error_of

PROJECTS = "/api/v1/projects"
CSV = {"Content-Type": "text/csv"}
Project = dict[str, Any]


def create(http: httpx.Client, **changes: Any) -> Project:
    content = {"name": "chess", "model": "town", "positives": HOLDS, "negatives": LACKS}
    response = http.post(PROJECTS, json=content | changes)
    assert response.status_code == 201, response.text
    found: Project = response.json()
    return found


def save(http: httpx.Client, project: Project, **changes: Any) -> Project:
    response = http.put(f"{PROJECTS}/{project['id']}", json=project | changes)
    assert response.status_code == 200, response.text
    found: Project = response.json()
    return found


def step(http: httpx.Client, project: Project, what: str) -> httpx.Response:
    place = f"{PROJECTS}/{project['id']}/{what}"
    return http.post(place, json={"version": project["version"]})


def content(project: Project) -> tuple[Any, ...]:
    return project["name"], project["positives"], project["negatives"], project["notes"]


def summary(project: Project) -> Project:
    """What a list says of it."""
    told = ("id", "name", "model", "graph", "version", "created", "changed", "deleted")
    return {key: project[key] for key in told} | {
        "num_positives": len(project["positives"]),
        "num_negatives": len(project["negatives"]),
    }


def test_a_project_is_kept(http: httpx.Client) -> None:
    made = create(http, notes="from the café", threshold=0.4, prior=0.05)
    assert made["version"] == 1
    assert (made["can_undo"], made["can_redo"], made["deleted"]) == (False, False, False)
    assert (made["threshold"], made["prior"]) == (0.4, 0.05)
    assert http.get(f"{PROJECTS}/{made['id']}").json() == made
    assert summary(made) in http.get(PROJECTS).json()["projects"]
    changed = save(http, made, name="go", positives=[*HOLDS, "person 30"], threshold=None)
    assert changed["version"] == 2
    assert changed["created"] == made["created"] <= changed["changed"]
    assert changed["threshold"] is None
    assert http.get(PROJECTS).json()["projects"][0] == summary(changed), (
        "the last changed comes first"
    )


def test_undo_and_redo_walk_through_what_was(http: httpx.Client) -> None:
    versions = [create(http)]
    for name in ("second", "third"):
        versions.append(save(http, versions[-1], name=name))
    now = versions[-1]
    for expected in (versions[1], versions[0]):
        now = step(http, now, "undo").json()
        assert content(now) == content(expected)
        assert now["can_redo"]
    assert not now["can_undo"]
    assert error_of(step(http, now, "undo"))[:2] == (409, "nothing_to_undo")
    for expected in versions[1:]:
        now = step(http, now, "redo").json()
        assert content(now) == content(expected)
    assert not now["can_redo"]
    assert error_of(step(http, now, "redo"))[:2] == (409, "nothing_to_undo")
    now = step(http, now, "undo").json()
    now = save(http, now, name="another way")
    assert now["can_undo"]
    assert not now["can_redo"], "a change after an undo leaves the undone behind"
    assert content(step(http, now, "undo").json()) == content(versions[1])
    history = http.get(f"{PROJECTS}/{now['id']}/history").json()["versions"]
    assert [line["version"] for line in history] == list(range(10, 0, -1))
    assert [line["what"] for line in reversed(history)] == [
        *("created", "changed", "changed", "undone", "undone", "redone", "redone"),
        *("undone", "changed", "undone"),
    ]
    assert history[-1]["num_positives"] == len(HOLDS)
    assert history[-1]["num_negatives"] == len(LACKS)


def test_of_two_changes_the_second_is_told(http: httpx.Client) -> None:
    read = create(http)
    theirs = save(http, read, name="theirs")
    late = http.put(f"{PROJECTS}/{read['id']}", json=read | {"name": "mine", "notes": "late"})
    assert error_of(late)[:2] == (409, "conflict")
    body = late.json()
    assert body["theirs"] == theirs
    assert (body["yours"]["name"], body["yours"]["notes"]) == ("mine", "late")
    assert body["yours"]["version"] == 1
    assert http.get(f"{PROJECTS}/{read['id']}").json() == theirs
    for what in ("undo", "redo"):
        assert error_of(step(http, read, what))[:2] == (409, "conflict")
    gone = http.delete(f"{PROJECTS}/{read['id']}", params={"version": 1})
    assert error_of(gone)[:2] == (409, "conflict")


def test_what_is_deleted_can_be_restored(http: httpx.Client) -> None:
    made = create(http)
    place = f"{PROJECTS}/{made['id']}"
    gone = http.delete(place, params={"version": 1}).json()
    assert gone["deleted"]
    assert made["id"] not in {p["id"] for p in http.get(PROJECTS).json()["projects"]}
    bin_ = http.get(PROJECTS, params={"deleted": True}).json()["projects"]
    assert summary(gone) in bin_
    late = http.put(place, json=gone)
    assert error_of(late)[:2] == (409, "conflict")
    assert "restore" in late.json()["error"]["message"]
    back = http.post(f"{place}/restore").json()
    assert not back["deleted"]
    assert content(back) == content(made)
    assert http.post(f"{place}/restore").json() == back, "there is nothing more to restore"


def test_projects_that_cannot_be(http: httpx.Client) -> None:
    base = {"name": "x", "model": "town"}
    for change, expected in (
        ({"name": ""}, (422, "bad_request", "name")),
        ({"name": "x" * 201}, (422, "bad_request", "name")),
        ({"model": "village"}, (404, "unknown_model", None)),
        ({"positives": ["nobody"]}, (422, "unknown_node", "positives[0]")),
        ({"positives": HOLDS, "negatives": HOLDS}, (422, "bad_support", "negatives[0]")),
        ({"positives": [HOLDS[0]] * 2}, (422, "bad_support", "positives[1]")),
        ({"positives": ["x"] * 10_001}, (413, "too_large", "positives")),
        ({"threshold": 2}, (422, "bad_request", "threshold")),
        ({"notes": "x" * 100_001}, (422, "bad_request", "notes")),
    ):
        assert error_of(http.post(PROJECTS, json=base | change)) == expected
    nothing = f"{PROJECTS}/0123"
    for response in (
        http.get(nothing),
        http.put(nothing, json=base | {"positives": [], "negatives": [], "version": 1}),
        http.post(f"{nothing}/undo", json={"version": 1}),
        http.post(f"{nothing}/restore"),
        http.get(f"{nothing}/history"),
        http.get(f"{nothing}/csv"),
        http.delete(nothing, params={"version": 1}),
    ):
        assert error_of(response)[:2] == (404, "unknown_project")


def test_lists_come_in_pages(http: httpx.Client) -> None:
    made = [create(http, name=str(n), model="numbers", positives=[n], negatives=[]) for n in (1, 2)]
    whole = http.get(PROJECTS, params={"limit": 2000}).json()
    pages = [
        http.get(PROJECTS, params={"limit": 1, "offset": n}).json()
        for n in range(whole["num_projects"])
    ]
    assert [page["projects"][0] for page in pages] == whole["projects"]
    assert {page["num_projects"] for page in pages} == {len(whole["projects"])}
    of_one = http.get(PROJECTS, params={"model": "numbers", "limit": 2}).json()["projects"]
    assert of_one == [summary(project) for project in reversed(made)]
    assert http.get(PROJECTS, params={"model": "nothing"}).json()["num_projects"] == 0


def test_what_can_be_kept_can_be_sent_back(http: httpx.Client) -> None:
    for name in ("\u20ac", "x"):  # the first is six bytes where JSON is plain ASCII
        notes = name * 100_000
        made = create(http, notes=notes)
        body = json.dumps(made | {"prior": 0.5}, ensure_ascii=True).encode()
        place = f"{PROJECTS}/{made['id']}"
        sent = http.put(place, content=body, headers={"Content-Type": "application/json"})
        assert sent.status_code == 200, sent.text


def test_a_project_has_one_size_limit_however_it_comes(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"name": "x", "model": "town", "positives": [f"{n}{'x' * 9_900}" for n in range(120)]}
    assert error_of(http.post(PROJECTS, json=long))[:2] == (413, "too_large")
    monkeypatch.setattr(project_nodes, "MAX_PROJECT_BYTES", 100)
    query = {"name": "x" * 100, "model": "town"}
    late = http.post(f"{PROJECTS}/import", params=query, content="person 1,holds", headers=CSV)
    assert error_of(late)[:2] == (413, "too_large")


def test_a_misspelt_field_empties_nothing(http: httpx.Client) -> None:
    made = create(http)
    place = f"{PROJECTS}/{made['id']}"
    misspelt = {key: value for key, value in made.items() if key != "positives"}
    for body, field in (
        (misspelt | {"postives": HOLDS}, "positives"),
        (made | {"note": "x"}, "note"),
        ({key: value for key, value in made.items() if key != "negatives"}, "negatives"),
    ):
        assert error_of(http.put(place, json=body)) == (422, "bad_request", field)
    assert error_of(http.post(PROJECTS, json=made | {"positive": []}))[2] == "positive"
    assert http.post(PROJECTS, json=made).status_code == 201, "as it was read"
    assert http.get(place).json() == made


def test_numbers_stay_numbers(http: httpx.Client) -> None:
    made = create(http, model="numbers", positives=["12", 13], negatives=[14])
    assert made["positives"] == [12, 13]
    text = http.get(f"{PROJECTS}/{made['id']}/csv").text
    assert text == "node,mark\n12,holds\n13,holds\n14,lacks\n"
    again = error_of(http.put(f"{PROJECTS}/{made['id']}", json=made | {"negatives": ["12"]}))
    assert again == (422, "bad_support", "negatives[0]")


def test_csv_goes_round(http: httpx.Client) -> None:
    names = [FORMULA, "O'Neill, Main Street", 'say "hello"', "Zoë Ωmega"]
    made = create(http, name="ch=ess ♞", positives=names)
    response = http.get(f"{PROJECTS}/{made['id']}/csv")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="ch-ess.csv"'
    assert f"'{FORMULA},holds" in response.text.splitlines()
    place = f"{PROJECTS}/import"
    query = {"name": "again", "model": "town"}
    again = http.post(place, params=query, content=response.content, headers=CSV)
    assert again.status_code == 201
    assert again.json()["positives"] == names
    assert again.json()["negatives"] == LACKS
    spread = b"\xef\xbb\xbfperson 1 , 1\r\n\r\nperson 2,LACKS\r\n"
    loose = http.post(place, params=query, content=spread, headers=CSV).json()
    assert (loose["positives"], loose["negatives"]) == (["person 1"], ["person 2"])
    history = http.get(f"{PROJECTS}/{loose['id']}/history").json()["versions"]
    assert history[0]["what"] == "imported"


def test_bad_lines_of_an_import_are_named(http: httpx.Client) -> None:
    lines = [
        "node,mark",
        "person 1,holds",
        "nobody,lacks",
        "person 2,perhaps",
        "person 3",
        "person 1,lacks",
    ]
    place = f"{PROJECTS}/import"
    query = {"name": "bad", "model": "town"}
    response = http.post(place, params=query, content="\n".join(lines), headers=CSV)
    assert error_of(response)[:2] == (422, "bad_request")
    told = response.json()["error"]["message"].splitlines()
    assert [line.split(": ")[0] for line in told] == [f"import.csv:{n}" for n in (3, 4, 5, 6)]
    assert "a node of the model 'town', found 'nobody'" in told[0]
    assert "as on line 2" in told[3]
    assert not any(p["name"] == "bad" for p in http.get(PROJECTS).json()["projects"])
    for content_, expected in (
        (b"person 1,holds\n\xff,lacks", "import.csv:2"),
        (b'"person 1,holds', "import.csv:1"),
        (b"person\x001,holds", "NUL"),
    ):
        response = http.post(place, params=query, content=content_, headers=CSV)
        assert error_of(response)[:2] == (422, "bad_request")
        assert expected in response.json()["error"]["message"]
    as_json = http.post(place, params=query, json=[1])
    assert error_of(as_json)[0] == 415
    unknown = http.post(place, params=query | {"model": "x"}, content="", headers=CSV)
    assert error_of(unknown)[1] == "unknown_model"


def test_a_project_outlives_a_node_and_its_model(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(http)
    monkeypatch.setattr(Catalogue, "find", lambda self, name: None)
    renamed = save(http, made, name="still here", positives=[*HOLDS, "someone new"])
    assert renamed["positives"][-1] == "someone new"
    monkeypatch.undo()
    assert save(http, renamed, notes="x")["positives"][-1] == "someone new"
    changed = renamed | {"version": 3, "negatives": ["nobody"]}
    late = http.put(f"{PROJECTS}/{made['id']}", json=changed)
    assert error_of(late) == (422, "unknown_node", "negatives[0]")


def test_a_project_says_which_graph_its_nodes_were_marked_on(
    http: httpx.Client, town: ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model is called like its directory, and another graph's may come to be called so."""
    made = create(http)
    assert made["graph"] == {"name": "town", "fingerprint": town.trained.fingerprint}
    models = {model["name"]: model for model in http.get("/api/v1/models").json()["models"]}
    assert models["town"]["fingerprint"] == town.trained.fingerprint
    other = MarkedGraph(name="village", fingerprint="of another graph")
    monkeypatch.setattr(ServedModel, "marked_graph", property(lambda self: other))
    changed = save(http, made, notes="a note is no consent")
    assert changed["graph"] == made["graph"]
    accepted = save(http, changed, accepts_graph=True)
    assert accepted["graph"] == other.model_dump()
    assert save(http, accepted, notes="later")["graph"] == accepted["graph"]
    moved = save(http, made | {"version": 4}, model="numbers", positives=[1], negatives=[])
    assert moved["graph"] == other.model_dump(), "whoever names another model means its graph"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "＝1", "'=1"])
def test_no_cell_is_run(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    assert safe_cell(f"x;{text};") == f"x;'{text};", "where a semicolon parts cells"


@given(st.text(alphabet="'=+-@\t\rab＝;", max_size=6) | st.text(max_size=10))
def test_cells_go_round(text: str) -> None:
    assert read_cell(safe_cell(text)) == text


@settings(derandomize=True, database=None)
@given(
    st.binary()
    | st.lists(
        st.sampled_from(
            ["person 1", "person 2", ",", "holds", "lacks", '"', "\n", "\r", "\0", "'="]
        )
    ).map(lambda parts: "".join(parts).encode())
)
def test_no_bytes_break_an_import(town: ServedModel, data: bytes) -> None:
    with suppress(MetaTNEError):
        positives, negatives = read_examples(town, data)
        assert not set(positives) & set(negatives)
