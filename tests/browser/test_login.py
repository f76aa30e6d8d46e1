"""Coming in, staying in, going out, and what somebody sees who may only look."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.tab import NOT_LET_IN, Tab
from tests.support.dashboard import Server
from tests.support.home import Home

pytestmark = pytest.mark.long

Visit = Callable[..., Tab]


def is_out(tab: Tab, reason: str = "") -> None:
    expect(tab.heading).to_have_text("Log in")
    expect(tab.page.locator(".frame")).to_have_count(0)
    expect(tab.page.get_by_label("Token")).to_be_focused()
    if reason:
        expect(tab.page.get_by_role("alert")).to_have_text(reason)


def test_the_link_works_once(server: Server, visit: Visit) -> None:
    tab = visit(server, token=None)
    tab.watch.allow(NOT_LET_IN)
    tab.page.goto(server.link)
    tab.shows("Overview")
    assert server.code not in tab.page.url  # nor in the history
    tab.page.go_back()
    assert server.code not in tab.page.url
    tab.page.reload()
    tab.open("#/jobs")
    tab.shows("Jobs")
    tab.page.goto(server.link)  # who is in already may open it twice
    tab.shows("Overview")
    other = visit(server, token=None)
    other.watch.allow(NOT_LET_IN)
    other.page.goto(server.link)
    is_out(other, "This link was used already, or is too old.")


def test_by_token_and_out_again(server: Server, visit: Visit) -> None:
    tab = visit(server, token=None)
    tab.watch.allow(NOT_LET_IN)
    tab.open("#/queues")
    is_out(tab)
    for wrong in ("wrong", "'; DROP TABLE jobs", "ä€😀", server.token[:-1]):
        tab.page.get_by_label("Token").fill(wrong)
        tab.page.get_by_role("button", name="Log in").click()
        is_out(tab, "This token is not known here.")
    tab.page.get_by_label("Token").fill(f"  {server.token} ")
    tab.page.keyboard.press("Enter")
    tab.shows("Queues")  # where one wanted to go
    assert server.token not in tab.run(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    tab.page.get_by_role("button", name="Log out").click()
    is_out(tab)
    tab.page.reload()
    is_out(tab)
    tab.page.go_back()
    expect(tab.page.locator(".frame")).to_have_count(0)


def test_a_session_that_is_over_leads_to_the_login(server: Server, home: Home, visit: Visit) -> None:
    tab, other = visit(server), visit(server)
    for one in (tab, other):
        one.watch.allow(NOT_LET_IN)
    tab.open("#/settings")
    tab.shows("Settings")
    other.open("#/jobs")
    other.shows("Jobs")
    home.ok("dashboard", "token", "rotate")
    tab.page.get_by_role("link", name="Queues").click()
    is_out(tab, "Your session is over.")
    home.ok("enqueue", "--", "true")  # the others notice it at the next change
    is_out(other, "Your session is over.")


def may_only_look(tab: Tab, api: httpx.Client) -> None:
    api.post("/jobs", json={"command": "true", "id": "a", "queue": "mail"})
    api.post("/jobs", json={"command": "true", "id": "b", "run_at": "+1h"})
    api.put("/schedules/nightly", json={"recurrence": "0 3 * * *", "job": {"command": "true"}})
    verbs = (
        "Retry|Cancel|Hold|Release|Delete|Edit|Pause|Drain|Resume|Limits|Change|Unset|Run now|Stop|New job"
    )
    for page in ("overview", "jobs", "jobs/a", "queues", "workers", "schedules", "dead", "settings"):
        tab.open(f"#/{page}")
        expect(tab.heading).not_to_have_text("")
        expect(tab.main.locator(".loading")).to_have_count(0)
        found = tab.run(
            """(verbs) => [...document.querySelectorAll("button, a.button, input[type=checkbox]")]
            .filter((one) => one.checkVisibility() && one.textContent.match(verbs))
            .map((one) => one.textContent)""",
            f"^({verbs})",
        )
        assert found == [], (page, found)
    expect(tab.page.locator(".side")).to_contain_text("Read only")
    tab.open("#/jobs")
    expect(tab.row("true")).to_have_count(2)
    expect(tab.main.locator("tbody input[type=checkbox]")).to_have_count(0)
    tab.open("#/new")
    expect(tab.main).to_contain_text("You may only look")
    expect(tab.main.locator("form")).to_have_count(0)
    status = tab.run(
        """async () => (await fetch("/api/v1/jobs/a/cancel", {method: "POST", body: "{}",
        headers: {"Content-Type": "application/json", "X-Queuectl": "1"}})).status"""
    )
    assert status == 403
    assert api.get("/jobs/a").json()["state"] == "pending"
    tab.watch.allow("status of 403")


def test_a_token_that_may_only_look(server: Server, home: Home, api: httpx.Client, visit: Visit) -> None:
    token = home.ok("dashboard", "token", "add", "guest", "--read").strip()
    may_only_look(visit(server, token=token), api)


def test_a_dashboard_that_only_shows(start_server: Callable[..., Server], visit: Visit) -> None:
    server, writer = start_server("--read-only"), start_server()
    may_only_look(visit(server), writer.client(base_url=writer.api))


def test_what_a_link_may_carry(server: Server, visit: Visit) -> None:
    tab = visit(server, token=None)
    tab.watch.allow(NOT_LET_IN)
    tab.watch.allow("status of 4")
    for code in ("x", "%00", "<img src=x onerror=alert(1)>", "a" * 5000):
        tab.page.goto("about:blank")
        tab.page.goto(f"{server.url}/#code={code}")
        expect(tab.main).to_contain_text("too old")
