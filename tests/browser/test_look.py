"""For eyes, keyboards and screen readers: phone size, light and dark, contrast, names, empty pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.example_store import PAGES, fill_store
from tests.browser.tab import Tab
from tests.support.dashboard import Server
from tests.support.home import Home

pytestmark = pytest.mark.long

Visit = Callable[..., Tab]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}

# `pale()`: texts with too little contrast. `faults()`: what a screen reader would stumble over.
CHECKS = Path(__file__).with_name("checks.js").read_text()
PALE = f"() => {{ {CHECKS}; return pale(); }}"
FAULTS = f"() => {{ {CHECKS}; return faults(); }}"


def settle(tab: Tab, page: str) -> None:
    tab.open(f"#/{page}")
    expect(tab.heading).not_to_have_text("")
    expect(tab.main.locator(".loading")).to_have_count(0)
    if page.startswith("overview"):
        expect(tab.main.locator("figure.chart")).to_have_count(4)
    if page.startswith("jobs/"):
        expect(tab.main.locator(".job-side .panel").filter(has_text="Why")).to_be_visible()
        expect(tab.main.locator(".output > p, .output .line").filter(visible=True).first).to_be_visible()


@pytest.mark.timeout(300)
def test_a_full_store(server: Server, home: Home, api: httpx.Client, visit: Visit) -> None:
    fill_store(api, home)
    tab = visit(server, color_scheme="light")
    wrong: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=theme)
        for page in PAGES:
            settle(tab, page)
            wrong[f"{theme} {page}"] = tab.run(PALE) + (tab.run(FAULTS) if theme == "light" else [])
    tab.open("#/queues")
    tab.button("Pause mail").click()
    wrong["dialog"] = tab.run(PALE)
    tab.page.keyboard.press("Escape")
    assert {page: faults for page, faults in wrong.items() if faults} == {}

    phone = visit(server, **PHONE)
    for page in PAGES:
        settle(phone, page)
        wide = phone.run(
            """() => document.documentElement.scrollWidth <= innerWidth ? [] :
            [...document.querySelectorAll("body *")]
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => `${one.localName}.${one.className}`).slice(0, 5)"""
        )
        assert wide == [], (page, wide)
        small = phone.run(
            """() => [...document.querySelectorAll("main button, nav a, main a.button")]
            .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 24)
            .map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert small == [], (page, small)  # WCAG 2.5.8


def test_on_a_phone(server: Server, api: httpx.Client, visit: Visit) -> None:
    for id in "ab":
        api.post("/jobs", json={"command": "true " + "long " * 60, "id": id})
    tab = visit(server, **PHONE)
    tab.open()
    tab.shows("Overview")
    menu = tab.page.get_by_role("button", name="Menu")
    expect(tab.page.get_by_role("link", name="Jobs")).to_be_hidden()
    menu.tap()
    expect(menu).to_have_attribute("aria-expanded", "true")
    tab.page.get_by_role("link", name="Jobs").tap()
    tab.shows("Jobs")
    expect(menu).to_have_attribute("aria-expanded", "false")
    expect(tab.page.get_by_role("navigation", name="Main")).to_be_hidden()
    expect(tab.row("long")).to_have_count(2)
    tab.choose("a")
    tab.main.get_by_role("toolbar").get_by_role("button", name="Hold").tap()
    tab.confirm("Hold 1 job")
    expect(tab.row("held")).to_have_count(1)
    tab.row("held").get_by_role("link").tap()
    tab.shows("a")
    tab.button("Release").tap()
    expect(tab.main.locator(".job-state")).to_contain_text("pending")


def test_light_and_dark(server: Server, visit: Visit) -> None:
    tab = visit(server, color_scheme="dark")
    back = "getComputedStyle(document.body).backgroundColor"
    tab.open()
    tab.shows("Overview")
    dark = tab.run(back)
    colours = tab.page.get_by_label("Colours")
    expect(colours).to_have_value("system")
    colours.select_option("light")
    light = tab.run(back)
    assert light != dark
    tab.page.reload()
    tab.shows("Overview")
    assert tab.run(back) == light
    expect(colours).to_have_value("light")
    colours.select_option("system")
    assert tab.run(back) == dark
    tab.page.emulate_media(color_scheme="light")
    assert tab.run(back) == light


def test_a_fresh_store_says_what_to_do(tab: Tab) -> None:
    said = {
        "overview": "queuectl enqueue",
        "jobs": "queuectl enqueue",
        "queues": "queuectl enqueue --queue",
        "workers": "queuectl worker start",
        "schedules": "queuectl schedule add",
        "dead": "No dead letters",
    }
    for page, text in said.items():
        settle(tab, page)
        expect(tab.main.locator(".empty")).to_contain_text(text)
        assert tab.run(FAULTS) == [], page
        assert tab.run(PALE) == [], page


def test_a_dialog_keeps_the_focus_and_gives_it_back(tab: Tab, api: httpx.Client) -> None:
    api.post("/jobs", json={"command": "true", "queue": "mail"})
    tab.open("#/queues")
    tab.shows("Queues")
    tab.button("Pause mail").press("Enter")
    expect(tab.dialog.get_by_label("Reason")).to_be_focused()
    assert tab.run("document.querySelector('dialog').matches(':modal')")
    assert tab.run(FAULTS) == []
    tab.page.keyboard.press("Escape")
    expect(tab.button("Pause mail")).to_be_focused()


def test_less_motion_and_more_text(server: Server, visit: Visit) -> None:
    """Twice the size of text, as a narrow window has it: nothing is cut off at the side."""
    tab = visit(server, viewport={"width": 640, "height": 400}, reduced_motion="reduce")
    for page in ("overview", "jobs", "queues", "settings", "new"):
        settle(tab, page)
        assert tab.run("document.documentElement.scrollWidth <= innerWidth"), page
