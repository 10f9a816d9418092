"""From the first visit to the export."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from page.conftest import NewDesk
from page.desk import Desk


def test_first_screen_has_a_ranking_a_picture_and_a_reason(desk: Desk) -> None:
    assert len(desk.names()) == 25
    assert desk.num_marked(True) > 0
    first = desk.name()
    expect(desk.page.locator(".why-head .name")).to_have_text(first)
    assert desk.page.locator(".reasons .pull-fill").count() > 3
    picture = desk.page.get_by_role("img")
    expect(picture).to_have_attribute("aria-label", re.compile(f"around {re.escape(first)}"))
    expect(picture.locator("canvas").first).to_be_visible()
    expect(desk.page).to_have_title(re.compile("MetaTNE"))


def test_reasons_add_up(desk: Desk) -> None:
    expect(desk.page.locator(".why-panel .sum")).to_be_visible()
    texts = (
        desk.page.locator(".why-panel .reasons").first.locator("tbody .number").all_inner_texts()
    )
    *parts, total = [float(text.replace("−", "-")) for text in texts]
    assert sum(parts) == pytest.approx(total, abs=0.01 * len(parts))


def test_marks_change_the_ranking_and_confirm_it(desk: Desk) -> None:
    before = desk.names()
    held = desk.num_marked(True)
    name = desk.mark_row(0, holds=True)
    assert name == before[0]
    assert desk.num_marked(True) == held + 1
    assert name not in desk.names()
    refuted = desk.mark_row(1, holds=False)
    expect(desk.chip(False, refuted)).to_have_count(1)
    assert desk.figure("Right in the top 20").startswith("50 %")
    assert "1 of 2 checked" in desk.figure("Right in the top 20")
    desk.saved()


@pytest.mark.parametrize("base_url", ["fake"], indirect=True)
def test_only_what_the_ranking_proposed_is_checked(desk: Desk) -> None:
    example = "lmms"  # the first of the ranking when it is taken back
    desk.button(f"Remove {example}").click()
    expect(desk.rows.first).to_have_text(example)
    desk.mark_row(0, holds=True)  # no news: it was an example before
    searched = desk.name(0)
    desk.page.get_by_label("Search nodes").fill(searched)
    found = desk.page.locator(".results")
    found.get_by_role("button", name=f"{searched} holds it", exact=True).click()  # the user's idea
    expect(desk.chip(True, searched)).to_have_count(1)
    assert desk.figure("Right in the top 20").startswith("–")
    desk.settled()
    desk.mark_row(0, holds=True)
    assert "1 of 1 checked" in desk.figure("Right in the top 20")
    hint = desk.page.locator(".figure", has_text="Right in the top 20").get_attribute("title")
    assert "in any other way do not count" in str(hint)


def test_search_marks_and_unmarks(desk: Desk) -> None:
    desk.page.get_by_label("Search nodes").fill("n")
    found = desk.page.locator(".results .row").first
    name = found.locator(".name").inner_text()
    found.get_by_role("button", name=f"{name} does not hold it").click()
    expect(desk.chip(False, name)).to_have_count(1)
    found.get_by_role("button", name=f"{name} does not hold it").click()
    expect(desk.chip(False, name)).to_have_count(0)
    desk.page.get_by_label("Search nodes").fill("no such node anywhere")
    expect(desk.page.get_by_text("No node has")).to_be_visible()


def test_row_shows_its_reasons_and_neighbourhood(desk: Desk) -> None:
    name = desk.name(4)
    desk.rows.nth(4).click()
    expect(desk.page.locator(".why-head .name")).to_have_text(name)
    expect(desk.page.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(f"around {re.escape(name)}")
    )
    desk.page.get_by_text("As a list").click()
    expect(desk.page.locator(".as-list").get_by_role("button", name=name)).to_be_visible()


def test_a_node_is_drawn_before_any_holds_the_label(desk: Desk) -> None:
    desk.button("Projects").click()
    desk.button("New project").click()
    expect(desk.page.get_by_text("Which nodes hold the label?")).to_be_visible()
    desk.page.get_by_label("How many of all nodes hold it?").fill("3")
    desk.page.get_by_label("Search nodes").fill("town 01")
    found = desk.page.locator(".results .row").first
    name = found.locator(".name").inner_text()
    found.get_by_role("button", name=f"{name} does not hold it").click()
    found.locator("[data-row]").click()
    expect(desk.page.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(f"around {re.escape(name)}")
    )
    expect(desk.page.get_by_role("alert")).to_have_count(0)


def test_map_moves_between_graph_and_label(desk: Desk) -> None:
    desk.choose("Map")
    picture = desk.page.get_by_role("img")
    expect(picture).to_have_attribute("aria-label", re.compile(r"Map of \d+ nodes, after"))
    after = _drawn(desk)
    desk.choose("In the graph")
    expect(picture).to_have_attribute("aria-label", re.compile("before"))
    desk.page.wait_for_timeout(1200)  # the move itself takes 700 ms
    assert _drawn(desk) != after
    desk.choose("Top 15")
    expect(picture).to_have_attribute("aria-label", re.compile("nodes and .* edges"))


def _drawn(desk: Desk) -> str:
    canvas = desk.page.locator(".drawing canvas").last
    return str(canvas.evaluate("(canvas) => canvas.toDataURL()"))


def test_line_is_moved_by_value_and_by_row(desk: Desk) -> None:
    above = desk.page.locator(".bar.above")
    handle = desk.page.get_by_role("slider", name="Decision line, row by row")
    own = handle.get_attribute("aria-valuenow") or ""
    held = desk.figure("Above the line")
    desk.page.get_by_role("slider", name="Decision line", exact=True).fill("0.95")
    expect(handle).to_have_attribute("aria-valuenow", "0.95")
    assert own != "0.95"
    few = above.count()
    handle.focus()
    for _ in range(3):
        handle.press("ArrowDown")
        expect(handle).to_be_focused()
    expect(above).to_have_count(few + 3)
    target = desk.page.locator(".ranked-row").nth(9).bounding_box()
    start = handle.bounding_box()
    assert target is not None
    assert start is not None
    desk.page.mouse.move(start["x"] + 20, start["y"] + 8)
    desk.page.mouse.down()
    desk.page.mouse.move(start["x"] + 20, target["y"] + target["height"] - 4, steps=6)
    desk.page.mouse.up()
    expect(above).to_have_count(10)
    assert desk.figure("Above the line") == "10"
    desk.saved()
    desk.page.reload()
    desk.settled()
    expect(above).to_have_count(10)  # the line is part of the project
    desk.page.get_by_role("button", name=re.compile("^back to")).click()
    expect(handle).to_have_attribute("aria-valuenow", own)
    assert desk.figure("Above the line") == held


@pytest.mark.parametrize("base_url", ["fake"], indirect=True)
def test_rows_are_decided_as_the_service_decides(desk: Desk) -> None:
    """Nodes that nobody annotated have a line of their own: the page does not judge by one."""
    handle = desk.page.get_by_role("slider", name="Decision line, row by row")
    line = float(handle.get_attribute("aria-valuenow") or "nan")
    shown = desk.page.evaluate(
        """() => [...document.querySelectorAll(".ranked-row")].map((row) => [
          Number(row.querySelectorAll("td.number")[1].firstChild.textContent),
          row.querySelector(".bar.above") !== null])"""
    )
    assert any(probability > line and not is_above for probability, is_above in shown)
    assert not any(probability < line and is_above for probability, is_above in shown)
    expect(desk.page.locator(".line-band")).to_contain_text("a line of their own")


@pytest.mark.parametrize("base_url", ["fake"], indirect=True)
def test_a_model_that_is_not_to_be_relied_on_says_so(desk: Desk) -> None:
    expect(desk.page.locator(".verdict")).to_have_count(0)
    desk.page.get_by_label("Model").select_option("people")
    expect(desk.page.locator(".verdict")).to_have_text(
        "people: the model is no better than its controls"
    )


def test_prior_and_filter_and_pages(desk: Desk) -> None:
    first = desk.page.locator(".ranked-row .number").nth(1).inner_text()
    desk.page.get_by_label("How many of all nodes hold it?").fill("40")
    expect(desk.page.locator(".ranked-row .number").nth(1)).not_to_have_text(first)
    desk.page.get_by_label("How many of all nodes hold it?").fill("150")
    expect(desk.page.get_by_text("Between 0 and 100")).to_be_visible()
    desk.page.get_by_label("How many of all nodes hold it?").fill("")
    total = desk.figure("Ranked")
    desk.page.locator("summary", has_text="Filter").click()
    desk.page.get_by_label("Name contains").fill("1")
    expect(desk.page.locator(".figure", has_text="Ranked")).not_to_contain_text(total)
    desk.settled()
    assert all("1" in name for name in desk.names())
    desk.page.get_by_role("button", name="Clear").click()
    expect(desk.page.locator(".figure", has_text="Ranked")).to_contain_text(total)
    desk.settled()
    before = desk.names()
    desk.page.get_by_role("button", name="Next ›").click()
    expect(desk.page.locator(".pages")).to_contain_text("26–50")
    assert set(desk.names()).isdisjoint(before)


def test_a_filter_that_nothing_passes_can_be_cleared(desk: Desk) -> None:
    desk.page.locator("summary", has_text="Filter").click()
    desk.page.get_by_label("Name contains").fill("no such node")
    expect(desk.page.locator(".middle-panel .empty-title")).to_be_visible()
    desk.button("Clear").click()
    desk.settled()
    assert len(desk.names()) == 25


def test_a_label_to_filter_by_is_chosen_among_those_there_are(desk: Desk) -> None:
    total = desk.figure("Ranked")
    desk.page.locator("summary", has_text="Filter").click()
    field = desk.page.get_by_label("Has known label")
    options = desk.page.locator("#filter-holds-labels option")
    expect(options).to_have_count(11)  # the town's clubs but for the novel one
    field.fill("CLUB 1")
    expect(options).to_have_count(3)  # 1, 10 and 11
    expect(desk.page.locator("#filter-holds-hint")).to_have_text("3 match: choose one")
    assert desk.figure("Ranked") == total, "a part of a name filters nothing"
    field.fill("club 1")
    expect(desk.page.locator("#filter-holds-hint")).to_be_empty()
    expect(desk.page.locator(".figure", has_text="Ranked")).not_to_contain_text(total)
    desk.settled()
    shown = desk.page.locator(".ranked-row .labels").all_inner_texts()
    assert all("club 1" in labels.split(" · ") for labels in shown)
    field.fill("no such label")
    expect(desk.page.locator("#filter-holds-hint")).to_have_text("no such label")
    expect(desk.page.locator(".figure", has_text="Ranked")).to_contain_text(total)
    desk.button("Clear").click()
    expect(field).to_have_value("")


def test_what_to_label_next_and_related_labels(desk: Desk) -> None:
    desk.choose("What to label next")
    rows = desk.page.locator(".suggestions .row")
    expect(rows).to_have_count(10)
    name = rows.first.locator(".name").inner_text()
    rows.first.get_by_role("button", name=f"{name} holds it").click()
    expect(desk.chip(True, name)).to_have_count(1)
    expect(rows.first.locator(".name")).not_to_have_text(name)
    desk.choose("Related labels")
    expect(desk.page.locator(".related tr").nth(2)).to_be_visible()
    weights = desk.page.locator(".related .number").all_inner_texts()
    numbers = [float(text.replace("−", "-")) for text in weights if text != "Weight"]
    assert numbers == sorted(numbers, reverse=True)


def test_export_in_each_format(desk: Desk) -> None:
    first = desk.name()

    def download(title: str, top: str) -> tuple[str, bytes]:
        desk.button("Export").click()
        desk.choose(title)
        desk.page.get_by_label("How many rows").fill(top)
        return desk.download(lambda: desk.button("Download").click())

    desk.button("Export").click()
    for text in ("0", "-3", "2.5", "1e2", "some"):
        desk.page.get_by_label("How many rows").fill(text)
        expect(desk.button("Download")).to_be_disabled()
    desk.page.keyboard.press("Escape")
    name, content = download("CSV", "")
    assert len(content.decode().splitlines()) - 1 == int(desk.figure("Ranked"))
    name, content = download("CSV", "7")
    assert name.endswith(".csv")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert len(rows) == 7
    assert rows[0]["node"] == first
    name, content = download("JSON", "3")
    assert name.endswith(".json")
    assert json.loads(content)
    name, content = download("Parquet", "3")
    assert name.endswith(".parquet")


def test_project_survives_a_reload_and_another_tab(desk: Desk, new_desk: NewDesk) -> None:
    name = desk.mark_row(0, holds=True)
    desk.page.get_by_label("Label", exact=True).fill("My own label")
    desk.page.get_by_label("Notes").fill("seen on Monday")
    desk.page.get_by_label("Notes").blur()
    desk.saved()
    other = new_desk(desk.url, beside=desk)
    other.open(desk.page.url.removeprefix(desk.url))
    expect(other.page.get_by_label("Label", exact=True)).to_have_value("My own label")
    expect(other.page.get_by_label("Notes")).to_have_value("seen on Monday")
    expect(other.chip(True, name)).to_have_count(1)
