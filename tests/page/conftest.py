"""A browser, services, and a desk for each test; whatever went wrong unseen fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="the browser tests need the extra dev")
pytest.importorskip("fastapi", reason="the browser tests need the extra service")

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from page.desk import PATIENCE, Desk
from page.services import ROOT, Service, fake_command, real_command, running, train_town

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox",  # tests run as root in CI
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
AXE = ROOT / "page" / "node_modules" / "axe-core" / "axe.min.js"

NewDesk = Callable[..., Desk]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium.

    While Playwright is there, an event loop counts as running in this thread, and no other test
    could run one: hence for a module, and not for the session.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def fake() -> Iterator[Service]:
    """The contract without a model, and without projects of other tests."""
    with running(fake_command()) as service:
        yield service


@pytest.fixture(scope="session")
def town_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small trained model."""
    return train_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def real(town_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """`metatne serve`."""
    with running(real_command(town_model, tmp_path_factory.mktemp("data"))) as service:
        yield service


@pytest.fixture
def base_url(request: pytest.FixtureRequest) -> str:
    """Where the page is: `metatne serve`, or what METATNE_PAGE_SERVICE says (real or fake)."""
    name = getattr(request, "param", os.environ.get("METATNE_PAGE_SERVICE", "real"))
    service: Service = request.getfixturevalue(name)
    return service.url


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Browsers that have never been here."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        contexts.append(browser.new_context(**(WIDE | options)))
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def new_desk(new_context: Callable[..., BrowserContext]) -> Iterator[NewDesk]:
    """Tabs; with `beside` another tab of the same browser."""
    desks: list[Desk] = []

    def make(url: str, *, beside: Desk | None = None, **options: Any) -> Desk:
        context = new_context(**options) if beside is None else beside.page.context
        desks.append(Desk(context, url))
        return desks[-1]

    yield make
    for desk in desks:
        desk.check()


@pytest.fixture
def desk(new_desk: NewDesk, base_url: str) -> Desk:
    """The first visit, with the example's ranking."""
    return new_desk(base_url).open()


@pytest.fixture(scope="session")
def axe_source() -> str:
    """axe-core, from the npm registry."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make page/node_modules")
    return AXE.read_text()
