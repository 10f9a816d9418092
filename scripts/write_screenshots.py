"""Pictures of the page in docs/screenshots: each view, from a service that runs.

python scripts/write_screenshots.py [MODEL | --url ADDRESS] [--out DIR]

Without an address `metatne serve MODEL` is started, by default on the model of `metatne demo`, with
an empty data directory, and ended afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "demo" / "works-with-audio"
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
PATIENCE = 120_000  # milliseconds: the first ranking waits for loops to be compiled


def choose(page: Page, what: str) -> None:
    page.locator(".choice label", has_text=re.compile(f"^{what}$")).click()


def on_phone(view: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("navigation", name="Views").get_by_text(view).click()


def nothing(_: Page) -> None:
    """The first screen, as it comes."""


def show_map(page: Page) -> None:
    choose(page, "Map")


def show_graph_map(page: Page) -> None:
    choose(page, "Map")
    choose(page, "In the graph")


def show_next(page: Page) -> None:
    choose(page, "What to label next")
    choose(page, "Top 15")


def show_labels(page: Page) -> None:
    choose(page, "Related labels")


def show_search(page: Page) -> None:
    page.get_by_label("Search nodes").fill("audio")
    page.locator(".results [data-row]").first.focus()


def mark_some(page: Page) -> None:
    """Some rows confirmed, one refuted, the line moved: what a user has after a minute."""
    for sign in ("positive", "positive", "negative"):
        name = page.locator(".ranked-row .name").first.inner_text()
        page.locator(".ranked-row").first.locator(f"button.mark.{sign}").click()
        expect(page.locator(".ranked-row .name").first).not_to_have_text(name)
    expect(page.locator(".why-panel .sum")).to_have_count(1)
    handle = page.get_by_role("slider", name="Decision line, row by row")
    page.get_by_role("slider", name="Decision line", exact=True).fill("0.5")
    handle.focus()
    for _ in range(4):
        handle.press("ArrowDown")


def show_projects(page: Page) -> None:
    mark_some(page)
    page.get_by_role("button", name="Projects").click()


def show_empty(page: Page) -> None:
    page.get_by_role("button", name="Projects").click()
    page.get_by_role("button", name="New project").click()


def show_conflict(page: Page) -> None:
    page.locator(".ranked-row").first.locator("button.mark.positive").click()
    expect(page.locator(".saving")).to_have_text("Saved")
    other = page.context.new_page()
    other.goto(page.url)
    other.locator(".ranked-row").nth(1).locator("button.mark.positive").click()
    expect(other.locator(".saving")).to_have_text("Saved")
    page.bring_to_front()
    page.locator(".ranked-row").nth(1).locator("button.mark.negative").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def show_lost(page: Page) -> None:
    page.context.set_offline(True)
    page.locator(".ranked-row").first.locator("button.mark.positive").click()
    expect(page.get_by_role("alert")).to_be_visible()


def show_help(page: Page) -> None:
    page.get_by_role("button", name="Help").click()


SHOTS: dict[str, tuple[dict[str, Any], Callable[[Page], None]]] = {
    "first-visit": (WIDE, nothing),
    "first-visit-dark": (WIDE | {"color_scheme": "dark"}, nothing),
    "map": (WIDE, show_map),
    "map-before": (WIDE | {"color_scheme": "dark"}, show_graph_map),
    "label-next": (WIDE, show_next),
    "related-labels": (WIDE, show_labels),
    "search": (WIDE, show_search),
    "marked": (WIDE, mark_some),
    "projects": (WIDE, show_projects),
    "conflict": (WIDE, show_conflict),
    "lost-server": (WIDE, show_lost),
    "empty": (WIDE, show_empty),
    "help": (WIDE, show_help),
    "phone-ranking": (PHONE, on_phone("Ranking")),
    "phone-marks": (PHONE, on_phone("Marks")),
    "phone-picture": (PHONE | {"color_scheme": "dark"}, on_phone("Picture")),
    "phone-why": (PHONE, on_phone("Why")),
}


def take(browser: Browser, url: str, out: Path, names: list[str]) -> None:
    for name in names:
        options, act = SHOTS[name]
        context = browser.new_context(reduced_motion="reduce", **options)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.locator(".ranked-row").first.wait_for()
        expect(page.locator(".why-panel .sum")).to_have_count(1)
        act(page)
        page.wait_for_timeout(1500)  # pictures have no other sign that they are drawn
        page.screenshot(path=out / f"{name}.png")
        print(out / f"{name}.png")
        context.close()


@contextlib.contextmanager
def serving(model: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "metatne", "serve", str(model)]
        process = subprocess.Popen(
            [*command, "--port", "0", "--data", data], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("model", nargs="?", type=Path, default=DEMO)
    options.add_argument("--url", help="of a service that runs already")
    options.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    options.add_argument("--only", nargs="*", choices=SHOTS, default=list(SHOTS))
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    chromium = shutil.which("chromium") or sys.exit("no Chromium: apt-get install chromium")
    where = contextlib.nullcontext(given.url) if given.url else serving(given.model)
    with where as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        take(browser, url, given.out, given.only)
        browser.close()


if __name__ == "__main__":
    main()
