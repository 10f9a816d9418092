"""Slow rankings, busy servers, tokens."""

from __future__ import annotations

import urllib.request

import pytest
from playwright.sync_api import Route, expect

from page.conftest import NewDesk
from page.desk import Desk
from page.services import Service, fake_command, running


def ask_people(desk: Desk) -> None:
    """A ranking that takes seconds."""
    desk.page.goto(desk.url)
    desk.settled()
    desk.page.get_by_label("Model").select_option("people")
    desk.page.get_by_label("Search nodes").fill("9")
    desk.page.locator(".results .row").first.locator("button.mark.positive").click()


def test_a_long_ranking_tells_how_far_it_is(new_desk: NewDesk, fake: Service) -> None:
    desk = new_desk(fake.url)
    ask_people(desk)
    bar = desk.page.get_by_role("progressbar", name="Ranking")
    expect(bar).to_be_visible()
    first = float(bar.get_attribute("value") or 0)
    expect(bar).not_to_have_attribute("value", str(int(first)))
    desk.settled()
    expect(bar).to_have_count(0)


def test_a_ranking_can_be_cancelled_and_asked_again(new_desk: NewDesk, fake: Service) -> None:
    desk = new_desk(fake.url)
    ask_people(desk)
    desk.button("Cancel").click()
    expect(desk.page.get_by_text("Cancelled")).to_be_visible()
    desk.page.wait_for_timeout(3500)  # longer than the ranking would have taken
    expect(desk.page.locator(".ranked-row")).to_have_count(0)
    desk.button("Rank again").click()
    desk.settled()


def test_a_cancelled_ranking_leaves_the_old_one(desk: Desk) -> None:
    held: list[Route] = []
    desk.page.route("**/rank", lambda route: held.append(route))
    before = desk.names()
    desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
    desk.button("Cancel").click()
    expect(desk.page.get_by_text("this is the ranking of before")).to_be_visible()
    assert desk.names() == before
    desk.page.unroute("**/rank")
    desk.button("Rank again").click()
    desk.settled()
    assert desk.names() != before


def test_a_busy_server_is_asked_again(new_desk: NewDesk, fake: Service) -> None:
    desk = new_desk(fake.url).open()
    urllib.request.urlopen(f"{fake.url}dev/busy?on=rank&times=2").close()
    before = desk.name()
    desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
    expect(desk.page.get_by_text("The server is busy")).to_be_visible()
    desk.settled()
    assert desk.name() != before


def test_a_server_that_loads_its_models_is_waited_for(new_desk: NewDesk, fake: Service) -> None:
    urllib.request.urlopen(f"{fake.url}dev/busy?on=models&times=3").close()
    desk = new_desk(fake.url)
    desk.page.goto(desk.url)
    expect(desk.page.get_by_text("The server is getting ready")).to_be_visible()
    desk.settled()
    expect(desk.page.get_by_text("The server is getting ready")).to_have_count(0)


def test_an_error_is_told_and_can_be_tried_again(desk: Desk) -> None:
    message = "positives[1]: expected a node, found 'x'"
    body = (
        f'{{"error": {{"code": "unknown_node", "message": "{message}", "field": null,'
        ' "request_id": "r7"}}'
    )
    desk.page.route(
        "**/rank",
        lambda route: route.fulfill(status=404, body=body, content_type="application/json"),
    )
    desk.page.locator(".ranked-row").first.locator("button.mark.positive").click()
    alert = desk.page.get_by_role("alert")
    expect(alert).to_contain_text(message)
    expect(alert).to_contain_text("r7")
    desk.page.unroute("**/rank")
    alert.get_by_role("button", name="Try again").click()
    desk.settled()


def test_a_token_is_asked_for_once(new_desk: NewDesk) -> None:
    with running(fake_command("--token", "open-sesame")) as service:
        desk = new_desk(service.url)
        desk.page.goto(desk.url)
        dialog = desk.page.get_by_role("dialog", name="This service asks for a token")
        desk.page.get_by_label("Token", exact=True).fill("wrong")
        dialog.get_by_role("button", name="Continue").click()
        expect(dialog).to_contain_text("That token was not accepted.")
        desk.page.get_by_label("Token", exact=True).fill("open-sesame")
        dialog.get_by_role("button", name="Continue").click()
        desk.settled()
        desk.page.reload()
        desk.settled()
        expect(dialog).to_have_count(0)
        assert "sesame" not in desk.page.url


@pytest.mark.parametrize("base_url", ["fake"], indirect=True)
def test_an_empty_project_says_what_to_do(desk: Desk) -> None:
    desk.button("Projects").click()
    desk.button("New project").click()
    expect(desk.page.get_by_text("Which nodes hold the label?")).to_be_visible()
    # Already: a focus that comes later takes what is being typed into another field.
    assert desk.page.evaluate("document.activeElement.id") == "label-name"
    desk.page.keyboard.type("Fresh")
    desk.page.get_by_role("button", name="Search nodes").click()
    expect(desk.page.get_by_label("Search nodes")).to_be_focused()
    expect(desk.page).to_have_title("Fresh – MetaTNE")
