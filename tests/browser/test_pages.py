"""Every page opens by its address, by the menu and by the keyboard, and the way back works."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.tab import Tab
from tests.support.dashboard import Server

pytestmark = pytest.mark.long

PAGES = {
    "overview": ("Overview", "o"),
    "jobs": ("Jobs", "j"),
    "queues": ("Queues", "q"),
    "workers": ("Workers", "w"),
    "schedules": ("Schedules", "s"),
    "dead": ("Dead letters", "d"),
    "settings": ("Settings", "e"),
}


def test_by_address(tab: Tab) -> None:
    for name, (title, _) in {**PAGES, "new": ("New job", "")}.items():
        tab.page.goto("about:blank")  # a hash alone would not load the page anew
        tab.open(f"#/{name}")
        tab.shows(title)
        expect(tab.page).to_have_title(f"{title} · queuectl")
        expect(tab.main.locator(".loading")).to_have_count(0)
        expect(tab.main.locator(".failure")).to_have_count(0)


def test_by_menu_and_back(tab: Tab) -> None:
    tab.open()
    tab.shows("Overview")
    tab.mark()
    menu = tab.page.get_by_role("navigation", name="Main")
    for title, _ in reversed(PAGES.values()):
        menu.get_by_role("link", name=title).click()
        tab.shows(title)
        expect(menu.locator("[aria-current=page]")).to_contain_text(title)
        expect(tab.heading).to_be_focused()
    tab.page.go_back()
    tab.shows("Jobs")
    tab.page.get_by_role("link", name="New job").click()
    tab.shows("New job")
    expect(tab.page.get_by_label("Command", exact=True)).to_be_focused()
    assert tab.is_same()


def test_by_keyboard(tab: Tab) -> None:
    tab.open()
    tab.shows("Overview")
    for title, key in reversed(PAGES.values()):
        tab.page.keyboard.press("g")
        tab.page.keyboard.press(key)
        tab.shows(title)
        expect(tab.heading).to_be_focused()
    tab.page.keyboard.press("n")
    tab.shows("New job")
    expect(tab.page.get_by_label("Command", exact=True)).to_be_focused()
    tab.page.keyboard.type("gj?")  # in a field these are letters
    expect(tab.page.get_by_label("Command", exact=True)).to_have_value("gj?")


def test_shortcuts_are_listed_and_can_be_switched_off(tab: Tab) -> None:
    tab.open()
    tab.shows("Overview")
    tab.page.keyboard.press("?")
    expect(tab.dialog).to_contain_text("Dead letters")
    tab.dialog.get_by_role("checkbox").uncheck()
    tab.page.keyboard.press("Escape")
    expect(tab.dialog).to_have_count(0)
    tab.page.keyboard.press("n")
    tab.page.keyboard.press("?")
    tab.page.get_by_role("button", name="Shortcuts").click()
    expect(tab.dialog).to_be_visible()
    expect(tab.heading).to_have_text("Overview")
    tab.dialog.get_by_role("checkbox").check()
    tab.dialog.get_by_role("button", name="Close").click()
    tab.page.keyboard.press("n")
    tab.shows("New job")


def test_the_skip_link_leads_to_the_content(tab: Tab) -> None:
    tab.open("#/queues")
    tab.shows("Queues")
    tab.page.keyboard.press("Tab")
    expect(tab.page.get_by_text("Skip to the content")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.main).to_be_focused()
    tab.shows("Queues")


def test_an_address_of_nothing(tab: Tab) -> None:
    for hash in ("#/nowhere", "#/jobs/a/b", "#/__proto__", "#/constructor", "#/job", "#/%zz"):
        tab.open(hash)
        tab.shows("Not found")
        tab.main.get_by_role("link", name="To the overview").click()
        tab.shows("Overview")


def test_a_job_that_is_not_there(tab: Tab) -> None:
    tab.watch.allow("status of 404")
    tab.open("#/jobs/nobody")
    expect(tab.main).to_contain_text("There is no such job")
    tab.main.get_by_role("link", name="All jobs").click()
    tab.shows("Jobs")


def test_the_page_comes_from_here_alone(tab: Tab, server: Server) -> None:
    tab.open()
    tab.shows("Overview")
    assert tab.watch.requests
    assert {url.split("/", 3)[2] for url in tab.watch.requests if url.startswith("http")} == {
        f"127.0.0.1:{server.port}"
    }
