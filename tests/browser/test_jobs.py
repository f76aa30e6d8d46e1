"""The list of jobs: filters, paging, choosing some or all of them, the keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.tab import Tab
from tests.support.home import Home

pytestmark = pytest.mark.long

Enqueue = Callable[..., str]


def states(home: Home) -> dict[str, str]:
    with home.queue() as queue:
        return {job.id: job.state for job in queue.list(limit=1000)}


def batch(api: httpx.Client, *jobs: dict[str, Any]) -> None:
    answer = api.post("/jobs/batch", json={"jobs": list(jobs)})
    assert answer.status_code == 201, answer.text


def test_filters_are_kept_in_the_address(tab: Tab, api: httpx.Client) -> None:
    batch(
        api,
        {"command": "send one", "id": "a", "queue": "mail", "tags": ["x"]},
        {"command": "send two", "id": "b", "queue": "mail", "run_at": "+1h"},
        {"command": "sort three", "id": "c", "queue": "data", "priority": 5},
    )
    tab.open("#/jobs")
    tab.shows("Jobs")
    rows = tab.main.locator("tbody tr")
    expect(rows).to_have_count(3)
    tabs = tab.page.get_by_role("navigation", name="By state")
    expect(tabs).to_contain_text("All3")
    expect(tabs).to_contain_text("Pending2")
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("send")
    expect(rows).to_have_count(2)
    expect(tab.page).to_have_url(re.compile("search=send"))
    expect(tab.main.get_by_role("searchbox")).to_be_focused()
    tabs.get_by_role("link", name="Scheduled").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("two")
    expect(tab.page).to_have_url(re.compile("state=scheduled"))
    tab.page.reload()
    expect(rows).to_have_count(1)
    expect(tab.main.get_by_role("searchbox")).to_have_value("send")
    tab.page.go_back()
    expect(rows).to_have_count(2)
    tab.button("Clear filters").click()
    expect(rows).to_have_count(3)
    tab.page.get_by_label("Queue", exact=True).fill("mail")
    tab.page.keyboard.press("Enter")
    expect(rows).to_have_count(2)
    tab.page.get_by_label("Tag").fill("x")
    tab.page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    tab.page.get_by_label("Tag").fill("nothing")
    tab.page.keyboard.press("Enter")
    expect(tab.main).to_contain_text("No job matches")
    tab.button("Clear filters").click()
    tab.page.get_by_label("Sort by").select_option("priority")
    expect(rows.first).to_contain_text("three")
    tab.page.get_by_label("Order").select_option("false")
    expect(rows.last).to_contain_text("three")
    tab.watch.allow("status of 422")
    tab.page.get_by_label("Since").fill("some day")
    tab.page.keyboard.press("Enter")
    expect(tab.main.locator(".failure")).to_contain_text("some day")
    tab.page.get_by_label("Since").fill("1h")
    tab.page.keyboard.press("Enter")
    expect(rows).to_have_count(3)


def test_chosen_jobs(tab: Tab, home: Home, api: httpx.Client) -> None:
    batch(api, *({"command": "true", "id": id} for id in "abcdef"))
    tab.open("#/jobs")
    tab.shows("Jobs")
    tools = tab.page.get_by_role("toolbar", name="With the chosen jobs")
    for id in "ab":
        tab.choose(id)
    expect(tools).to_contain_text("2 chosen")
    tools.get_by_role("button", name="Hold").click()
    tab.confirm("Hold 2 jobs")
    tab.says("2 jobs held.")
    assert states(home) == {**dict.fromkeys("ab", "blocked"), **dict.fromkeys("cdef", "pending")}
    for id in "abc":
        tab.choose(id)
    tools.get_by_role("button", name="Release").click()
    expect(tab.dialog).to_contain_text("1 other of the 3")
    tab.confirm("Release 2 jobs")
    tab.says("2 jobs released.")
    assert set(states(home).values()) == {"pending"}
    for id in "abc":
        tab.choose(id)
    tools.get_by_role("button", name="Cancel").click()
    tab.confirm("Cancel 3 jobs")
    tab.says("3 jobs cancelled.")
    assert [id for id, state in states(home).items() if state == "cancelled"] == ["a", "b", "c"]
    tab.choose("a")
    tools.get_by_role("button", name="Retry").click()
    tab.confirm("Retry 1 job")
    tab.says("1 job will run again.")
    assert states(home)["a"] == "pending"
    tab.choose("b")
    tools.get_by_role("button", name="Delete").click()
    tab.dialog.get_by_role("button", name="Back").click()
    assert "b" in states(home)
    tools.get_by_role("button", name="Delete").click()
    tab.confirm("Delete 1 job")
    tab.says("1 job deleted.")
    assert "b" not in states(home)
    expect(tab.main.locator("tbody tr")).to_have_count(5)
    tab.choose("c")
    home.ok("rm", "c", "--yes")  # gone meanwhile: it says so, and nothing else is touched
    expect(tab.main.locator("tbody tr")).to_have_count(4)
    tools.get_by_role("button", name="Delete").click()
    expect(tab.page.locator("#toasts")).to_contain_text(
        re.compile("nothing to delete|no job|not found", re.I)
    )
    assert sorted(states(home)) == ["a", "d", "e", "f"]


def test_pages_and_all_that_match(tab: Tab, home: Home, api: httpx.Client) -> None:
    batch(api, *({"command": f"true {n}", "id": f"j{n:03}", "queue": "ab"[n % 2]} for n in range(130)))
    tab.open("#/jobs")
    tab.shows("Jobs")
    pager = tab.main.locator(".pager")
    expect(pager).to_contain_text("1–50 of 130 · page 1 of 3")
    expect(tab.main.locator("tbody tr").first).to_contain_text("j129")
    tab.button("Next →").click()
    expect(pager).to_contain_text("51–100 of 130 · page 2 of 3")
    tab.button("Next →").click()
    expect(pager).to_contain_text("101–130 of 130 · page 3 of 3")
    expect(tab.main.locator("tbody tr").last).to_contain_text("j000")
    expect(tab.button("Next →")).to_have_attribute("aria-disabled", "true")
    tab.main.get_by_role("link", name="true 0", exact=True).click()
    tab.shows("j000")
    tab.page.go_back()
    expect(pager).to_contain_text("page 3 of 3")  # where one was
    tab.button("← Previous").click()
    expect(pager).to_contain_text("page 2 of 3")

    tab.page.get_by_label("Queue", exact=True).fill("a")
    tab.page.keyboard.press("Enter")
    expect(pager).to_contain_text("1–50 of 65")
    tab.main.get_by_role("checkbox", name="Choose all on this page").check()
    tab.button("Choose all 65 matching").click()
    expect(tab.main.get_by_role("toolbar")).to_contain_text("All 65 matching")
    tab.main.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    expect(tab.dialog).to_contain_text("All jobs with this queue a")
    tab.confirm("Cancel 65 jobs")
    tab.says("65 jobs cancelled.")
    found = states(home)
    assert {id for id, state in found.items() if state == "cancelled"} == {
        f"j{n:03}" for n in range(0, 130, 2)
    }


def test_by_keyboard_alone(tab: Tab, home: Home, api: httpx.Client) -> None:
    batch(api, *({"command": f"true {id}", "id": id} for id in "abc"))
    tab.open("#/overview")
    tab.shows("Overview")
    press = tab.page.keyboard.press
    press("g")
    press("j")
    tab.shows("Jobs")
    expect(tab.main.locator("tbody tr")).to_have_count(3)
    press("j")  # the newest is on top
    expect(tab.main.get_by_role("link", name="true c")).to_be_focused()
    press("x")
    press("j")
    press("x")
    expect(tab.main.get_by_role("toolbar")).to_contain_text("2 chosen")
    press("k")
    press("x")
    expect(tab.main.get_by_role("toolbar")).to_contain_text("1 chosen")
    press("j")
    # From the row back to the tools by Tab alone.
    for _ in range(20):
        press("Shift+Tab")
        if tab.run("document.activeElement.textContent") == "Hold":
            break
    press("Enter")
    expect(tab.dialog.get_by_role("button", name="Hold 1 job")).to_be_focused()
    press("Enter")
    tab.says("1 job held.")
    assert states(home) == {"a": "pending", "b": "blocked", "c": "pending"}
    press("j")
    press("Enter")
    expect(tab.heading).to_have_text(re.compile("^[abc]$"))
    expect(tab.heading).to_be_focused()


def test_the_choice_and_the_focus_stay_while_the_list_changes(
    tab: Tab, home: Home, api: httpx.Client
) -> None:
    batch(api, *({"command": "true", "id": id} for id in "abc"))
    tab.open("#/jobs")
    tab.shows("Jobs")
    tab.choose("b")
    tab.page.get_by_label("Tag").focus()
    tab.page.keyboard.type("half a w")
    for n in range(3):
        batch(api, {"command": "true", "id": f"new{n}"})
        expect(tab.row(f"new{n}")).to_have_count(1)
    expect(tab.main.get_by_role("toolbar")).to_contain_text("1 chosen")
    expect(tab.main.get_by_role("checkbox", name="Choose b")).to_be_checked()
    tab.page.keyboard.type("ord")
    expect(tab.page.get_by_label("Tag")).to_have_value("half a word")
