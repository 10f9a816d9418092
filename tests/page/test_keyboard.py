"""Everything without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from page.desk import Desk


def test_search_mark_look_undo_by_keyboard_alone(desk: Desk) -> None:
    page = desk.page
    held, lacking = desk.num_marked(True), desk.num_marked(False)
    page.keyboard.press("/")
    expect(page.get_by_label("Search nodes")).to_be_focused()
    page.keyboard.type("1")
    expect(page.locator(".results .row").nth(2)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    name = page.locator(".results .row .name").nth(1).inner_text()
    page.keyboard.press("+")
    expect(desk.chip(True, name)).to_have_count(1)
    page.keyboard.press("-")
    expect(desk.chip(False, name)).to_have_count(1)
    expect(page.locator(".marked .count").first).to_have_text(str(held))
    page.keyboard.press("0")
    expect(page.locator(".marked .count").last).to_have_text(str(lacking))
    page.keyboard.press("Enter")
    expect(page.locator(".why-head .name")).to_have_text(name)
    page.keyboard.press("u")
    expect(desk.chip(False, name)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search nodes")).to_be_focused()
    expect(page.get_by_label("Search nodes")).to_have_value("")


def test_ranking_by_keyboard_keeps_the_place(desk: Desk) -> None:
    page = desk.page
    page.locator(".ranked [data-row]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".ranked [data-row]").nth(2)).to_be_focused()
    name = desk.name(2)
    page.keyboard.press("Enter")
    expect(page.locator(".why-head .name")).to_have_text(name)
    page.keyboard.press("-")
    expect(desk.chip(False, name)).to_have_count(1)
    desk.settled()
    expect(page.locator(".ranked [data-row]").nth(2)).to_be_focused()
    assert desk.name(2) != name


def test_text_fields_keep_their_letters(desk: Desk) -> None:
    held = desk.num_marked(True)
    notes = desk.page.get_by_label("Notes")
    notes.focus()
    desk.page.keyboard.type("undo? +/- u")
    expect(notes).to_have_value("undo? +/- u")
    assert desk.num_marked(True) == held
    expect(desk.page.get_by_role("dialog")).to_have_count(0)


def test_help_opens_closes_and_gives_the_focus_back(desk: Desk) -> None:
    row = desk.page.locator(".ranked [data-row]").first
    row.focus()
    desk.page.keyboard.press("?")
    expect(desk.page.get_by_role("dialog", name="How it works")).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("dialog")).to_have_count(0)
    expect(row).to_be_focused()


def test_single_keys_can_be_turned_off(desk: Desk) -> None:
    desk.button("Help").click()
    desk.page.get_by_label("Single keys").uncheck()
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("?")
    desk.page.wait_for_timeout(200)
    expect(desk.page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("base_url", ["fake"], indirect=True)
def test_every_stop_of_the_tab_key_can_be_seen(desk: Desk) -> None:
    seen: list[str] = []
    for _ in range(45):
        desk.page.keyboard.press("Tab")
        place = desk.page.evaluate(
            """() => {
              const now = document.activeElement;
              if (now === document.body) return null;
              const hidden = now.matches("input.hidden");  // its label has the outline
              const box = (hidden ? now.parentElement : now).getBoundingClientRect();
              return [now.outerHTML.slice(0, 90), box.width * box.height];
            }"""
        )
        if place is None:
            break
        assert place[1] > 0, place
        seen.append(place[0])
    assert any("search" in html for html in seen)
    assert any("range" in html for html in seen)
    assert any("line-handle" in html for html in seen)
    assert len(set(seen)) > 20
