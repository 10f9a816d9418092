"""The server goes away and comes back: it is said, and nothing that was done is lost."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from page.conftest import NewDesk
from page.desk import Desk
from page.services import real_command, running

LOST = "The server does not answer"


def test_a_lost_connection_is_waited_for(desk: Desk) -> None:
    context = desk.page.context
    context.set_offline(True)
    name = desk.name(0)
    desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
    expect(desk.page.get_by_role("alert")).to_contain_text(LOST)
    expect(desk.page.locator(".saving")).to_have_text("Kept in this tab")
    desk.page.get_by_label("Notes").fill("typed without a server")
    desk.page.get_by_label("Notes").blur()
    expect(desk.chip(True, name)).to_have_count(1)
    desk.button("Try now").click()
    expect(desk.page.get_by_role("alert")).to_contain_text(LOST)  # still
    context.set_offline(False)
    expect(desk.page.get_by_role("alert")).to_have_count(0)
    desk.saved()
    desk.settled()
    assert name not in desk.names()
    desk.page.reload()
    desk.settled()
    expect(desk.chip(True, name)).to_have_count(1)
    expect(desk.page.get_by_label("Notes")).to_have_value("typed without a server")


def test_undo_works_without_a_server(desk: Desk) -> None:
    held = desk.num_marked(True)
    desk.mark_row(0, holds=True)
    desk.saved()
    desk.page.context.set_offline(True)
    desk.page.locator(".ranked-row").first.locator("button.mark.negative").click()
    expect(desk.page.get_by_role("alert")).to_contain_text(LOST)
    desk.button("Undo").first.click()
    desk.button("Undo").first.click()
    expect(desk.page.locator(".marked .count").first).to_have_text(str(held))
    desk.page.context.set_offline(False)
    desk.saved()
    desk.page.reload()
    desk.settled()
    assert desk.num_marked(True) == held


def test_a_server_that_dies_and_comes_back(
    town_model: Path, tmp_path: Path, new_desk: NewDesk
) -> None:
    with running(real_command(town_model, tmp_path / "data")) as service:
        desk = new_desk(service.url).open()
        kept = desk.mark_row(0, holds=True)
        desk.saved()
        service.stop()
        name = desk.name(0)
        desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
        expect(desk.page.get_by_role("alert")).to_contain_text(LOST)
        service.start()
        desk.saved()
        expect(desk.page.get_by_role("alert")).to_have_count(0)
        desk.page.reload()
        expect(desk.chip(True, kept)).to_have_count(1)
        expect(desk.chip(True, name)).to_have_count(1)


def test_what_was_not_saved_outlives_a_reload(desk: Desk) -> None:
    desk.mark_row(0, holds=True)
    desk.saved()
    # The page still loads, but nothing can be written.
    desk.page.route("**/api/v1/projects/**", lambda route: route.abort())
    name = desk.name(0)
    desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
    expect(desk.chip(True, name)).to_have_count(1)
    expect(desk.page.locator(".saving")).not_to_have_text("Saved")
    desk.page.reload()
    expect(desk.chip(True, name)).to_have_count(1)
    desk.page.unroute("**/api/v1/projects/**")
    desk.saved()
