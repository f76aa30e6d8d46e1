"""What happens elsewhere arrives without a reload, in every tab that is looked at, also after a restart."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Request, expect

from queuectl.queues import pause
from queuectl.testing import wait_until
from tests.browser.tab import CUT_OFF, NOT_LET_IN, Tab
from tests.support.dashboard import Server
from tests.support.fake_worker import FakeWorker, learned
from tests.support.home import Home

pytestmark = pytest.mark.long

Visit = Callable[..., Tab]
Enqueue = Callable[..., str]

HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_jobs_of_the_command_line_appear_and_change(tab: Tab, home: Home) -> None:
    file = home.work / "go"
    tab.open("#/jobs")
    tab.shows("Jobs")
    expect(tab.main).to_contain_text("There are no jobs yet")
    tab.mark()
    home.ok("enqueue", "--id", "a", "--", f"while [ ! -e {file} ]; do sleep 0.05; done")
    row = tab.row("sleep")
    expect(row).to_contain_text("pending")
    home.start()
    expect(row).to_contain_text("processing")
    expect(row).to_contain_text("running")
    tabs = tab.page.get_by_role("navigation", name="By state")
    expect(tabs).to_contain_text("Processing1")
    file.touch()
    expect(row).to_contain_text("completed")
    expect(tabs).to_contain_text("Completed1")
    assert tab.is_same()


def test_when_all_will_be_done(tab: Tab, home: Home) -> None:
    tab.open()
    oldest = tab.main.locator(".tile").filter(has_text="Oldest waiting")
    expect(oldest).to_contain_text("nothing waits")
    with home.queue() as queue:
        queue.enqueue("make", cwd="/srv")
        expect(oldest).to_contain_text("no end in sight")
        FakeWorker(queue)
        learned(queue, "make", 600)
        queue.enqueue("idle", queue="resting")
        pause(queue, "resting")
        expect(oldest).to_contain_text(re.compile(r"done in about \d+m, without 1 job\b"))


def test_the_tiles_and_graphs(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    file = home.work / "go"
    tab.open()
    tab.shows("Overview")
    expect(tab.main).to_contain_text("There are no jobs yet")
    tab.mark()
    enqueue(f"while [ ! -e {file} ]; do sleep 0.05; done", id="a")
    enqueue("exit 1", max_retries=0)
    expect(tab.tile("Waiting")).to_have_text("2")
    expect(tab.main).to_contain_text("2 jobs wait, and no worker is running")
    home.start(concurrency=2)
    expect(tab.tile("Workers")).to_have_text("1")
    expect(tab.tile("Running")).to_have_text("1 / 2 slots")
    expect(tab.tile("Dead")).to_have_text("1")
    expect(tab.tile("Failed, last hour")).to_have_text("1")
    menu = tab.page.get_by_role("navigation", name="Main")
    expect(menu.get_by_role("link", name="Dead letters")).to_contain_text("1")
    file.touch()
    expect(tab.main.locator(".tile").filter(has_text="Failed, last hour")).to_contain_text("1 completed")
    expect(tab.main.locator("figure.chart")).to_have_count(4)
    graph = tab.main.get_by_role("group", name="Ended per minute")
    graph.focus()
    tab.page.keyboard.press("End")
    expect(graph.locator(".reading")).to_be_visible()
    for name in ("24 h", "7 d", "30 d", "1 h"):
        with tab.page.expect_response(lambda answer: "/history" in answer.url) as answer:
            tab.button(name).click()
        assert answer.value.ok
        expect(tab.button(name)).to_have_attribute("aria-pressed", "true")
    assert tab.is_same()


def test_two_tabs(tab: Tab, server: Server, home: Home, visit: Visit, enqueue: Enqueue) -> None:
    enqueue("true", id="a")
    other = Tab(tab.context, server, tab.watch)  # the same cookies
    tab.open("#/jobs/a")
    other.open("#/jobs")
    tab.shows("a")
    other.shows("Jobs")
    tab.button("Hold").click()
    expect(other.row("true")).to_contain_text("held")
    other.choose("a")
    other.main.get_by_role("toolbar").get_by_role("button", name="Release").click()
    other.confirm("Release 1 job")
    expect(tab.main.locator(".job-state")).to_contain_text("pending")
    assert home.state("a") == "pending"
    tab.watch.allow(NOT_LET_IN)
    tab.page.get_by_role("button", name="Log out").click()
    expect(tab.heading).to_have_text("Log in")
    enqueue("true", id="b")  # out in one is out in all
    expect(other.heading).to_have_text("Log in")


def test_a_hidden_tab_has_no_stream(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    streams: set[Request] = set()
    tab.page.on("request", lambda one: streams.add(one) if "/stream" in one.url else None)
    # Not the method itself: Playwright wants to hang something on it.
    tab.page.on("requestfailed", lambda one: streams.discard(one))  # noqa: PLW0108
    tab.page.on("requestfinished", lambda one: streams.discard(one))  # noqa: PLW0108
    tab.open("#/jobs")
    tab.shows("Jobs")
    assert len(streams) == 1
    tab.run(HIDE, True)
    expect(tab.lamp).to_have_text("Paused")
    tab.page.wait_for_function("true")
    assert not streams
    enqueue("true", id="a")
    expect(tab.banner).to_be_hidden()
    expect(tab.main.locator("tbody tr")).to_have_count(0)
    tab.run(HIDE, False)
    expect(tab.lamp).to_have_text("Live")
    expect(tab.row("true")).to_have_count(1)
    assert len(streams) == 1


def test_a_restart_of_the_server(start_server: Callable[..., Server], home: Home, visit: Visit) -> None:
    server = start_server()
    tab, log = visit(server), visit(server)
    file = home.work / "go"
    home.ok(
        "enqueue", "--id", "a", "--", f"echo before; while [ ! -e {file} ]; do sleep 0.05; done; echo after"
    )
    for one, hash, title in ((tab, "#/jobs", "Jobs"), (log, "#/jobs/a", "a")):
        one.watch.allow(CUT_OFF)
        one.open(hash)
        one.shows(title)
        one.mark()
    home.start()
    expect(log.main.get_by_role("region", name="Output")).to_contain_text("before")
    for end in (Server.stop, Server.kill):
        end(server)
        for one in (tab, log):
            expect(one.banner).to_contain_text("The server does not answer.")
            expect(one.lamp).to_have_text("Offline")
        expect(tab.main.locator("tbody tr").first).to_be_visible()  # what is known stays
        tab.page.get_by_role("link", name="Queues").click()  # a page that was not opened yet
        expect(tab.heading).to_have_text("Queues")
        expect(tab.main.locator(".failure")).to_contain_text("The server does not answer")
        home.ok("enqueue", "--", "false")
        server = start_server("--port", str(server.port))
        tab.banner.get_by_role("button", name="Try now").click()
        for one in (tab, log):
            expect(one.banner).to_be_hidden()
            expect(one.lamp).to_have_text("Live")
        expect(tab.row("default")).to_have_count(1)
        expect(tab.main.locator(".failure")).to_have_count(0)
        tab.page.get_by_role("link", name="Jobs").click()
        expect(tab.main.locator("tbody tr").first).to_be_visible()
    expect(tab.row("false")).to_have_count(2)
    file.touch()
    expect(log.main.locator(".job-state")).to_contain_text("completed")
    expect(log.main.get_by_role("region", name="Output")).to_have_text("beforeafter")
    assert tab.is_same()  # and nobody had to log in
    assert log.is_same()


def test_the_store_cannot_be_reached(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    """Actions that fail say so; nothing pretends to have worked."""
    enqueue("true", id="a")
    tab.watch.allow(CUT_OFF)
    tab.open("#/jobs/a")
    tab.shows("a")
    tab.page.route("**/api/v1/jobs/a/hold", lambda route: route.abort())
    tab.button("Hold").click()
    tab.says("The server does not answer.")
    expect(tab.main.locator(".job-state")).to_contain_text("pending")
    tab.page.unroute("**/api/v1/jobs/a/hold")
    problem = '{"status": 503, "code": "store_busy", "detail": "the store is busy", "hint": "try again"}'
    tab.page.route(
        "**/api/v1/queues",
        lambda route: route.fulfill(status=503, content_type="application/problem+json", body=problem),
    )
    tab.open("#/queues")
    expect(tab.main.locator(".failure")).to_contain_text("The store is busy. Try again")
    tab.page.unroute("**/api/v1/queues")
    tab.button("Try again").click()
    expect(tab.main.locator("tbody tr")).to_have_count(1)
    wait_until(lambda: home.state("a") == "pending", what="the job to be as it was")
