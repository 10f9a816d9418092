"""Whatever was done can be undone, also after a reload."""

from __future__ import annotations

from playwright.sync_api import expect

from page.desk import Desk


def test_undo_and_redo_by_key_and_button(desk: Desk) -> None:
    before = desk.names()
    held = desk.num_marked(True)
    name = desk.mark_row(0, holds=True)
    desk.page.locator("body").click(position={"x": 5, "y": 500})
    desk.page.keyboard.press("u")
    expect(desk.chip(True, name)).to_have_count(0)
    desk.settled()
    assert desk.num_marked(True) == held
    assert desk.names() == before
    desk.page.keyboard.press("Shift+U")
    expect(desk.page.locator(".marked .count").first).to_have_text(str(held + 1))
    desk.button("Undo").first.click()
    expect(desk.page.locator(".marked .count").first).to_have_text(str(held))
    desk.saved()


def test_undo_goes_on_after_a_reload(desk: Desk) -> None:
    held = desk.num_marked(True)
    first = desk.mark_row(0, holds=True)
    second = desk.mark_row(0, holds=True)
    desk.saved()
    desk.page.reload()
    desk.settled()
    assert desk.num_marked(True) == held + 2
    desk.page.keyboard.press("u")
    expect(desk.chip(True, second)).to_have_count(0)
    desk.page.keyboard.press("u")
    expect(desk.chip(True, first)).to_have_count(0)
    expect(desk.button("Undo").first).to_be_disabled()
    desk.page.keyboard.press("Shift+U")
    expect(desk.chip(True, first)).to_have_count(1)


def test_undo_in_the_notice(desk: Desk) -> None:
    chip = desk.page.locator(".chip").first
    name = chip.locator(".chip-name").inner_text()
    chip.get_by_role("button", name=f"Remove {name}").click()
    expect(desk.chip(True, name)).to_have_count(0)
    desk.notice().get_by_role("button", name="Undo").click()
    expect(desk.chip(True, name)).to_have_count(1)


def test_the_notice_undoes_its_own_mark_and_nothing_else(desk: Desk) -> None:
    first = desk.mark_row(0, holds=True)
    second = desk.mark_row(0, holds=True)
    desk.page.locator("body").click(position={"x": 5, "y": 500})
    desk.page.keyboard.press("u")
    expect(desk.chip(True, second)).to_have_count(0)
    desk.notice().get_by_role("button", name="Undo").click()
    expect(desk.notice()).to_contain_text("Something else has changed")
    expect(desk.chip(True, first)).to_have_count(1)
    desk.settled()  # the ranking of before the undo has other rows
    desk.mark_row(0, holds=True)
    expect(desk.notice().get_by_role("button", name="Undo")).to_be_visible()
    desk.page.get_by_role("slider", name="Decision line", exact=True).fill("0.9")
    expect(desk.notice()).to_have_count(0)
