"""Light, dark, phone, and what axe-core says of them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from page.conftest import NewDesk
from page.desk import Desk
from page.services import Service

PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
}
BROKEN_WORDS = """() => {
  const broken = [];
  for (const name of document.querySelectorAll(".name, .chip-name"))
    for (const text of [...name.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE))
      for (const word of text.data.matchAll(/\\w+/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) broken.push(`${word[0]} of ${text.data}`);
      }
  return broken;
}"""


def paper(desk: Desk) -> int:
    """How light the page's ground is, 0 to 255."""
    script = "getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)"
    return int(max(desk.page.evaluate(script)[:3]))


def test_dark_where_the_system_is_dark(new_desk: NewDesk, fake: Service) -> None:
    assert paper(new_desk(fake.url, color_scheme="dark").open()) < 40
    assert paper(new_desk(fake.url, color_scheme="light").open()) > 220


def test_chosen_colours_stay(new_desk: NewDesk, fake: Service) -> None:
    desk = new_desk(fake.url, color_scheme="light").open()
    desk.button("Colours: as the system").click()
    desk.button("Colours: light").click()
    expect(desk.button("Colours: dark")).to_be_visible()
    assert paper(desk) < 40
    desk.page.reload()
    desk.settled()
    assert paper(desk) < 40


@pytest.mark.parametrize(("size", "colours"), [("wide", "light"), ("phone", "dark")])
def test_axe_finds_nothing_serious(
    new_desk: NewDesk, fake: Service, axe_source: str, colours: str, size: str
) -> None:
    options = PHONE if size == "phone" else {}
    desk = new_desk(fake.url, color_scheme=colours, **options).open()
    found = desk.axe(axe_source)
    if size == "phone":
        for view in ("Marks", "Picture", "Why"):
            desk.page.get_by_role("navigation", name="Views").get_by_text(view).click()
            found += desk.axe(axe_source)
        desk.page.get_by_role("navigation", name="Views").get_by_text("Ranking").click()
    desk.mark_row(0, holds=True)
    for tab in ("What to label next", "Related labels"):
        desk.choose(tab)
        desk.page.wait_for_timeout(400)
        found += desk.axe(axe_source)
    desk.button("Projects").click()
    expect(desk.page.locator(".project").first).to_be_visible()
    found += desk.axe(axe_source)
    desk.page.keyboard.press("Escape")
    desk.button("Help").click()
    found += desk.axe(axe_source)
    assert found == []


def test_phone_shows_one_view_at_a_time_and_nothing_sticks_out(
    new_desk: NewDesk, base_url: str
) -> None:
    desk = new_desk(base_url, **PHONE).open()
    views = desk.page.get_by_role("navigation", name="Views")
    for view, panel in {
        "Marks": ".marks-panel",
        "Picture": ".picture-panel",
        "Why": ".why-panel",
        "Ranking": ".middle-panel",
    }.items():
        views.get_by_text(view).tap()
        expect(desk.page.locator(".panel:visible")).to_have_count(1)
        expect(desk.page.locator(panel)).to_be_visible()
        wide = desk.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{view} is {wide} wide"
    name = desk.name(2)
    desk.rows.nth(2).tap()
    expect(desk.page.locator(".why-head .name")).to_have_text(name)
    expect(desk.page.locator(".why-panel")).to_be_visible()


@pytest.mark.parametrize("width", [360, 600, 900, 1100, 1250, 1280, 1920])
def test_nothing_sticks_out_and_no_word_breaks(
    new_desk: NewDesk, fake: Service, width: int
) -> None:
    desk = new_desk(fake.url, viewport={"width": width, "height": 800}).open()
    expect(desk.page.locator(".why-panel .sum")).to_have_count(1)
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= width
    broken = desk.page.evaluate(BROKEN_WORDS)
    for tab in ("What to label next", "Related labels"):
        desk.choose(tab)
        expect(desk.page.locator(".middle-panel .row, .related .reason").first).to_be_visible()
        broken += desk.page.evaluate(BROKEN_WORDS)
    assert broken == []


def test_nothing_jumps_when_a_node_is_marked(new_desk: NewDesk, fake: Service) -> None:
    desk = new_desk(fake.url).open()
    expect(desk.page.locator(".why-panel .sum")).to_be_visible()

    def places() -> list[float]:
        script = "(all) => all.map((one) => one.getBoundingClientRect().top)"
        return list(
            desk.page.locator(".figures, .tools, .ranked, .picture-panel").evaluate_all(script)
        )

    before = places()
    desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
    while_asking = places()
    desk.settled()
    assert while_asking == before
    assert places() == before
