"""Two tabs change one project: both are shown, and nothing is lost unseen."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from page.conftest import NewDesk
from page.desk import Desk


@pytest.fixture
def other(desk: Desk, new_desk: NewDesk) -> Desk:
    """A second tab on the same saved project."""
    desk.mark_row(0, holds=True)
    desk.saved()
    return new_desk(desk.url, beside=desk).open(desk.page.url.removeprefix(desk.url))


def conflict(desk: Desk, other: Desk) -> tuple[str, str]:
    """What each has marked."""
    theirs = other.mark_row(0, holds=True)
    other.saved()
    mine = desk.name(3)
    assert mine != theirs
    desk.page.locator(".ranked-row").nth(3).locator("button.mark.negative").click()
    dialog = desk.page.get_by_role("dialog", name="Changed here and elsewhere")
    expect(dialog.locator(".side").first).to_contain_text(mine)
    expect(dialog.locator(".side").last).to_contain_text(theirs)
    return mine, theirs


def test_merging_keeps_both(desk: Desk, other: Desk) -> None:
    mine, theirs = conflict(desk, other)
    desk.button("Merge both").click()
    expect(desk.chip(False, mine)).to_have_count(1)
    expect(desk.chip(True, theirs)).to_have_count(1)
    desk.saved()
    other.page.reload()
    expect(other.chip(False, mine)).to_have_count(1)
    expect(other.chip(True, theirs)).to_have_count(1)


def test_taking_theirs_gives_up_mine(desk: Desk, other: Desk) -> None:
    mine, theirs = conflict(desk, other)
    desk.button("Take the other's").click()
    expect(desk.chip(True, theirs)).to_have_count(1)
    expect(desk.chip(False, mine)).to_have_count(0)
    desk.saved()


def test_keeping_mine_can_be_undone(desk: Desk, other: Desk) -> None:
    mine, theirs = conflict(desk, other)
    desk.button("Keep yours").click()
    expect(desk.chip(False, mine)).to_have_count(1)
    expect(desk.chip(True, theirs)).to_have_count(0)
    desk.saved()
    desk.button("Undo").first.click()
    expect(desk.chip(True, theirs)).to_have_count(1)
    expect(desk.chip(False, mine)).to_have_count(0)


def test_what_was_deleted_elsewhere_is_brought_back_or_left(desk: Desk, other: Desk) -> None:
    delete_open(other)
    desk.mark_row(0, holds=False)
    desk.button("Bring it back with your changes").click()
    desk.saved()
    held = desk.num_marked(True)
    other.page.goto(desk.page.url)
    other.settled()
    delete_open(other)
    desk.mark_row(0, holds=True)
    desk.button("Leave it deleted").click()
    expect(desk.page.locator(".saving")).to_have_text("Example")
    assert desk.num_marked(True) != held + 1


def delete_open(desk: Desk) -> None:
    desk.button("Projects").click()
    desk.page.locator(".project.open").get_by_role("button", name="Delete").click()
    expect(desk.page.locator(".project.open")).to_have_count(0)
    desk.page.keyboard.press("Escape")


def test_a_disagreement_is_decided_by_hand(desk: Desk, other: Desk) -> None:
    name = other.name(0)
    other.mark_row(0, holds=True)
    other.saved()
    row = desk.page.locator(".ranked-row", has_text=name).first
    row.locator("button.mark.negative").click()
    dialog = desk.page.get_by_role("dialog", name="Changed here and elsewhere")
    expect(dialog.get_by_role("group", name=name)).to_be_visible()
    dialog.get_by_label("the other's: holds it").check()
    desk.button("Merge both").click()
    expect(desk.chip(True, name)).to_have_count(1)
    expect(desk.chip(False, name)).to_have_count(0)
