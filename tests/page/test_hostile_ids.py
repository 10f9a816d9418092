"""Names are text, whatever they look like; numbers are exact, however large."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from page.conftest import NewDesk
from page.desk import Desk
from page.services import HOSTILE, Service


def test_a_name_that_is_html_is_shown_as_text(desk: Desk) -> None:
    page = desk.page
    page.get_by_label("Search nodes").fill("<img")
    row = page.locator(".results .row").first
    expect(row.locator(".name")).to_have_text(HOSTILE)
    row.locator(".row-name").click()
    expect(page.locator(".why-head .name")).to_have_text(HOSTILE)
    row.locator("button.mark.positive").click()
    expect(desk.chip(True, HOSTILE)).to_have_count(1)
    desk.page.get_by_label("Label", exact=True).fill(HOSTILE)
    desk.page.get_by_label("Label", exact=True).blur()
    desk.saved()
    desk.button("Projects").click()
    expect(page.locator(".project.open .name")).to_have_text(HOSTILE)
    assert page.locator("img[src=x]").count() == 0


def test_integers_beyond_javascript_stay_themselves(new_desk: NewDesk, fake: Service) -> None:
    desk = new_desk(fake.url)
    desk.page.goto(desk.url)
    desk.settled()
    desk.page.get_by_label("Model").select_option("people")
    expect(desk.page.get_by_text("Which nodes hold the label?")).to_be_visible()
    desk.page.get_by_label("Search nodes").fill("9007199254740995")
    name = desk.page.locator(".results .row .name").first
    expect(name).to_have_text("9007199254740995")  # odd, so that no double is equal to it
    with desk.page.expect_request(re.compile("/rank$")) as asked:
        desk.page.locator(".results .row").first.locator("button.mark.positive").click()
    assert '"positives":[9007199254740995]' in (asked.value.post_data or "")
    expect(desk.chip(True, "9007199254740995")).to_have_count(1)
    desk.settled()
    assert len(set(desk.names())) == 25
