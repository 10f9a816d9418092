"""Projects: listed, made, renamed, deleted and brought back, taken in and out."""

from __future__ import annotations

import json

from playwright.sync_api import Locator, Route, expect

from page.desk import Desk


def named(desk: Desk, name: str) -> Locator:
    """Makes the example a project of this name, and opens the list."""
    desk.page.get_by_label("Label", exact=True).fill(name)
    desk.page.get_by_label("Label", exact=True).blur()
    desk.saved()
    desk.button("Projects").click()
    return desk.page.locator(".project", has=desk.page.get_by_text(name, exact=True))


def test_rename(desk: Desk) -> None:
    project = named(desk, "first name")
    project.get_by_role("button", name="Rename first name").click()
    desk.page.get_by_label("New name of first name").fill("second name")
    desk.page.keyboard.press("Enter")
    expect(desk.page.locator(".project.open .name")).to_have_text("second name")
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_label("Label", exact=True)).to_have_value("second name")


def deleted(desk: Desk, name: str) -> Locator:
    """A project that was made and deleted, in the list of those."""
    project = named(desk, name)
    project.get_by_role("button", name=f"Delete {name}").click()
    expect(project).to_have_count(0)
    desk.button("Deleted ones").click()
    expect(project).to_have_count(1)
    return project


def test_delete_can_be_undone(desk: Desk) -> None:
    project = deleted(desk, "short-lived")
    desk.button("Back").click()
    desk.page.keyboard.press("Escape")
    desk.notice().get_by_role("button", name="Undo").click()
    expect(desk.page.get_by_label("Label", exact=True)).to_have_value("short-lived")
    desk.button("Projects").click()
    expect(project).to_have_count(1)


def test_what_is_deleted_can_go_for_good(desk: Desk) -> None:
    deleted(desk, "best forgotten")
    desk.button("Remove all of them for good…").click()
    desk.page.get_by_role("button", name="Yes, remove").click()
    expect(desk.page.get_by_text("Nothing has been deleted")).to_be_visible()


def test_history_names_every_version(desk: Desk) -> None:
    desk.mark_row(0, holds=True)
    project = named(desk, "with a past")
    project.get_by_role("button", name="History of with a past").click()
    rows = desk.page.locator(".history tbody tr")
    expect(rows).to_have_count(3)  # the example, its mark, its name
    expect(rows.last).to_contain_text("created")


def test_marks_go_out_and_come_back_as_csv(desk: Desk) -> None:
    held, lacking = desk.num_marked(True), desk.num_marked(False)
    project = named(desk, "on paper")
    _, content = desk.download(
        lambda: project.get_by_role("button", name="Marks of on paper as CSV").click()
    )
    lines = content.decode().split()
    assert content.decode().count("holds") == held
    assert content.decode().count("lacks") == lacking
    assert lines[0].startswith("node,mark")
    desk.page.get_by_label("CSV with the columns node and mark").set_input_files(
        {"name": "back again.csv", "mimeType": "text/csv", "buffer": content}
    )
    expect(desk.page.get_by_label("Label", exact=True)).to_have_value("back again")
    desk.settled()
    assert desk.num_marked(True) == held


def test_a_csv_that_is_none_is_refused_with_words(desk: Desk) -> None:
    desk.button("Projects").click()
    desk.page.get_by_label("CSV with the columns node and mark").set_input_files(
        {"name": "no.csv", "mimeType": "text/csv", "buffer": b"node,mark\nnobody at all,holds\n"}
    )
    expect(desk.page.locator(".notice.error")).to_contain_text("nobody at all")
    desk.page.get_by_label("CSV with the columns node and mark").set_input_files(
        {"name": "old.csv", "mimeType": "text/csv", "buffer": b"node,mark\nZo\xeb,holds\n"}
    )
    expect(desk.page.locator(".notice.error")).to_contain_text("UTF-8")


def changed_models(desk: Desk, **changes: str) -> None:
    """The service is another from the next visit on: its first model has changed so."""

    def answer(route: Route) -> None:
        body = route.fetch().json()
        body["models"][0] |= changes
        route.fulfill(json=body)

    desk.page.route("**/api/v1/models", answer)


def test_nodes_of_another_graph_are_not_ranked_unasked(desk: Desk) -> None:
    named(desk, "of before")
    changed_models(desk, graph="village", fingerprint="of another graph")
    desk.page.reload()
    alert = desk.page.get_by_role("alert")
    expect(alert).to_contain_text("village (of another g)")
    expect(desk.page.locator(".ranked-row")).to_have_count(0)
    desk.button("Projects").click()
    expect(desk.page.locator(".project.open")).to_contain_text("marked on another graph (town)")
    desk.page.keyboard.press("Escape")
    with desk.page.expect_request(lambda request: request.method == "PUT") as sent:
        desk.button("It is the same graph").click()
    assert json.loads(sent.value.post_data or "")["accepts_graph"] is True


def test_a_project_of_a_model_that_is_not_served(desk: Desk) -> None:
    project = named(desk, "of elsewhere")
    changed_models(desk, name="village")
    desk.page.reload()
    expect(desk.page.get_by_text("The model town is not served here")).to_be_visible()
    expect(desk.page.locator(".bone")).to_have_count(0)
    desk.button("Projects").click()
    project.get_by_role("button", name="Delete of elsewhere").click()
    expect(project).to_have_count(0)
    expect(desk.page.get_by_text("is not served here")).to_have_count(0)


def test_a_new_project_that_fails_leaves_the_open_one_alone(desk: Desk) -> None:
    named(desk, "the open one")
    error = {"code": "too_large", "message": "no more", "field": None, "request_id": "x"}
    desk.page.route(
        "**/api/v1/projects", lambda route: route.fulfill(status=413, json={"error": error})
    )
    desk.button("New project").click()
    expect(desk.page.locator(".notice.error")).to_contain_text("no more")
    expect(desk.page.get_by_role("dialog", name="Projects")).to_be_visible()
    expect(desk.page.get_by_label("Label", exact=True)).not_to_be_focused()
