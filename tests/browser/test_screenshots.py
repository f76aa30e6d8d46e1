"""Pictures of all pages, for people to look at: QUEUECTL_SCREENSHOTS=FOLDER. They are not committed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.example_store import PAGES, fill_history, fill_store
from tests.browser.tab import CUT_OFF, NOT_LET_IN, Tab
from tests.browser.test_look import PHONE, settle
from tests.support.dashboard import Server
from tests.support.home import Home

Visit = Callable[..., Tab]
FOLDER = os.environ.get("QUEUECTL_SCREENSHOTS", "")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", **PHONE},
}

# Readers need not know where a test was.
NO_TEST = """(names) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    for (const [old, name] of Object.entries(names))
      walker.currentNode.data = walker.currentNode.data.replaceAll(old, name);
}"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not FOLDER, reason="pictures are taken only for who wants to look at them"),
    pytest.mark.timeout(600),
]


def shoot(tab: Tab, name: str, *, full: bool = True) -> None:
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    tab.page.screenshot(path=Path(FOLDER, f"{re.sub(r'[^a-z0-9]+', '-', name)}.png"), full_page=full)


def test_full_pages(server: Server, home: Home, api: httpx.Client, visit: Visit) -> None:
    fill_store(api, home)
    for look, options in LOOKS.items():
        tab = visit(server, **options)
        for page in PAGES:
            settle(tab, page)
            shoot(tab, f"{look}-{page}")
    tab = visit(server, color_scheme="light")
    settle(tab, "jobs")
    for id in ("newsletter-57", "newsletter-58"):
        tab.choose(id)
    shoot(tab, "light-jobs-chosen", full=False)
    tab.main.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    expect(tab.dialog).to_be_visible()
    shoot(tab, "light-dialog", full=False)
    tab.page.keyboard.press("Escape")
    settle(tab, "queues")
    tab.button("Pause mail").click()
    shoot(tab, "light-dialog-fields", full=False)
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("?")
    shoot(tab, "light-shortcuts", full=False)
    phone = visit(server, **LOOKS["phone"])
    settle(phone, "jobs")
    phone.page.get_by_role("button", name="Menu").tap()
    shoot(phone, "phone-menu", full=False)


def test_empty_pages_and_errors(server: Server, visit: Visit) -> None:
    for look, options in LOOKS.items():
        tab = visit(server, **options)
        for page in ("overview", "jobs", "queues", "workers", "schedules", "dead"):
            settle(tab, page)
            shoot(tab, f"{look}-empty-{page}")
        tab.page.close()  # the server will be killed
    out = visit(server, token=None)
    out.watch.allow(NOT_LET_IN)
    out.open()
    out.page.get_by_label("Token").fill("wrong")
    out.page.keyboard.press("Enter")
    expect(out.page.get_by_role("alert")).to_contain_text("not known")
    shoot(out, "light-login")
    tab = visit(server)
    tab.watch.allow(CUT_OFF)
    settle(tab, "jobs")
    server.kill()
    expect(tab.banner).to_be_visible()
    shoot(tab, "light-offline", full=False)
    tab.page.get_by_role("link", name="Queues").click()
    expect(tab.main.locator(".failure")).to_be_visible()
    shoot(tab, "light-failure", full=False)


def test_pictures_of_the_documents(server: Server, home: Home, api: httpx.Client, visit: Visit) -> None:
    """docs/images/dashboard-*.png: small, as a reader of docs/dashboard.md sees them."""
    fill_store(api, home)
    fill_history(home)
    for name, page, look in (
        ("overview", "overview", "light"),
        ("jobs", "jobs?state=processing,scheduled,blocked,failed,dead,completed,cancelled", "dark"),
        ("job", "jobs/nightly-import", "light"),
    ):
        tab = visit(server, color_scheme=look, viewport={"width": 1240, "height": 740})
        settle(tab, page)
        tab.run(NO_TEST, {str(home.work): "/srv/shop", str(home.path): "~/.queuectl"})
        shoot(tab, f"dashboard-{name}", full=False)
