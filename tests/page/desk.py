"""The page as a user has it in front of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from playwright.sync_api import BrowserContext, Locator, Page, expect

PATIENCE = 20_000  # milliseconds: two cores, and other tests on them
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


class Desk:
    """One tab."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(WATCH)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(f"threw {error}"))
        self.page.on("dialog", self._refuse_dialog)

    def _refuse_dialog(self, dialog: Any) -> None:
        # Leaving with unsaved work asks; anything else means that a name became a script.
        if dialog.type != "beforeunload":
            self.problems.append(f"{dialog.type}: {dialog.message}")
        dialog.accept()

    def open(self, more: str = "") -> Desk:
        """Loads the page, and waits for a ranking."""
        self.page.goto(self.url + more)
        self.settled()
        return self

    def settled(self) -> None:
        """Waits until the ranking is the newest."""
        expect(self.page.locator(".table-box[aria-busy=false] .ranked-row").first).to_be_visible(
            timeout=PATIENCE
        )

    def check(self) -> None:
        """Nothing went wrong unseen."""
        assert self.problems == []
        assert self.page.evaluate("window.violations") == []

    # --- what is there -----------------------------------------------------------------------

    @property
    def rows(self) -> Locator:
        """The names of the ranked nodes."""
        return self.page.locator(".ranked-row [data-row] .name")

    def name(self, place: int = 0) -> str:
        """The name of a ranked node."""
        return self.rows.nth(place).inner_text()

    def names(self) -> list[str]:
        """The names on this page of the ranking."""
        return self.rows.all_inner_texts()

    def marked(self, holds: bool) -> Locator:
        """The examples of one side."""
        title = "Holds it" if holds else "Does not hold it"
        return self.page.get_by_role("list", name=title, exact=True, include_hidden=True)

    def chip(self, holds: bool, name: str) -> Locator:
        """An example, if it is one; of many the newest are shown."""
        chips = self.marked(holds)
        return chips.get_by_role("button", name=name, exact=True, include_hidden=True)

    def num_marked(self, holds: bool) -> int:
        """How many examples of one side there are."""
        place = 0 if holds else 1
        return int(self.page.locator(".marked .count").nth(place).inner_text().replace(",", ""))

    def figure(self, title: str) -> str:
        """One of the figures above the ranking."""
        found = self.page.locator(".figure", has_text=title).locator(".figure-value")
        return found.inner_text()

    def button(self, name: str) -> Locator:
        """A button by its whole name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def notice(self) -> Locator:
        """The message at the foot."""
        return self.page.locator(".notice")

    # --- what is done ------------------------------------------------------------------------

    def mark_row(self, place: int, holds: bool) -> str:
        """Marks a ranked node by its button; returns its name."""
        name = self.name(place)
        sign = "positive" if holds else "negative"
        self.page.locator(".ranked-row").nth(place).locator(f"button.mark.{sign}").click()
        expect(self.chip(holds, name)).to_have_count(1)
        self.settled()
        return name

    def choose(self, what: str) -> None:
        """Turns one of the switches."""
        self.page.locator(".choice label", has_text=re.compile(f"^{what}$")).click()

    def saved(self) -> None:
        """Waits until the server has everything."""
        expect(self.page.locator(".saving")).to_have_text("Saved", timeout=PATIENCE)

    def download(self, act: Callable[[], None]) -> tuple[str, bytes]:
        """Name and content of the file that this brings."""
        with self.page.expect_download() as waiting:
            act()
        file = waiting.value
        path = file.path()
        return file.suggested_filename, path.read_bytes()

    def axe(self, source: str) -> list[str]:
        """What axe-core finds serious or worse."""
        self.page.evaluate(source)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{rule['id']}: {node['html'][:160]} {node['any'][:1]}"
            for rule in cast(dict[str, Any], found)["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]
