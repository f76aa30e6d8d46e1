"""100,000 jobs: the list, its pages and filters, and an action on all that match stay usable."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.tab import Tab
from tests.support.dashboard import Server
from tests.support.home import Home

pytestmark = pytest.mark.long

MANY = 100_000
SOON = 10.0  # seconds until a page is there; far less on a calm machine, but tests share theirs


@pytest.mark.timeout(300)
def test_a_hundred_thousand_jobs(
    home: Home, start_server: Callable[..., Server], visit: Callable[..., Tab]
) -> None:
    with home.queue() as queue:
        queue.enqueue_many(
            {"command": f"convert picture-{n}.png", "id": f"j{n:06}", "queue": f"q{n % 10}"}
            for n in range(MANY)
        )
    server = start_server()
    tab = visit(server)
    begun = time.monotonic()
    tab.open("#/jobs")
    pager = tab.main.locator(".pager")
    expect(pager).to_contain_text("1–50 of 100,000 · page 1 of 2,000")
    expect(tab.main.locator("tbody tr")).to_have_count(50)
    assert time.monotonic() - begun < SOON
    for page in range(2, 12):
        tab.button("Next →").click()
        expect(pager).to_contain_text(f"page {page} of 2,000")
    expect(tab.main.locator("tbody tr").first).to_contain_text("j099499")
    assert tab.run("document.querySelectorAll('*').length") < 2000

    begun = time.monotonic()
    tab.main.get_by_role("searchbox").fill("picture-7777")
    expect(pager).to_contain_text("of 11 ")
    expect(tab.row("picture-77770.png")).to_have_count(1)
    tab.main.get_by_role("searchbox").fill("no such picture")
    expect(tab.main).to_contain_text("No job matches")
    assert time.monotonic() - begun < 2 * SOON
    tab.button("Clear filters").click()
    tab.page.get_by_label("Queue", exact=True).fill("q3")
    tab.page.keyboard.press("Enter")
    expect(pager).to_contain_text("of 10,000 · page 1 of 200")

    tab.main.get_by_role("checkbox", name="Choose all on this page").check()
    tab.button("Choose all 10,000 matching").click()
    tab.main.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    tab.confirm("Cancel 10,000 jobs")
    tab.says("10,000 jobs cancelled.")
    with home.queue() as queue:
        counts = queue.stats().counts
    assert (counts["cancelled"], counts["pending"]) == (10_000, 90_000)
    expect(tab.page.get_by_role("navigation", name="By state")).to_contain_text("Cancelled10k")

    begun = time.monotonic()
    tab.open("#/overview")
    expect(tab.tile("Waiting")).to_have_text("90,000")
    expect(tab.main.locator("figure.chart")).to_have_count(4)
    assert time.monotonic() - begun < SOON
