"""The watch itself: what must never happen would be noticed, and light text would be found pale."""

from __future__ import annotations

from functools import partial

import pytest

from queuectl.testing import wait_until
from tests.browser.tab import Tab
from tests.browser.test_look import FAULTS, PALE

pytestmark = pytest.mark.long

CRIMES = {
    "dialog: 1": "alert(1)",
    "CSP VIOLATION script-src": """const made = document.createElement("script");
        made.text = "window.was = true"; document.body.append(made)""",
    "CSP VIOLATION connect-src": "fetch('http://127.0.0.1:9/').catch(() => 0)",
    "CSP VIOLATION style-src": "document.body.insertAdjacentHTML('beforeend', '<p style=color:red>x</p>')",
    "uncaught": "setTimeout(() => { throw new Error('oops') })",
}


def is_seen(tab: Tab, name: str) -> bool:
    tab.run("1")  # events come while something is asked
    return any(name in one for one in tab.watch.seen)


def test_what_must_never_happen_is_noticed(tab: Tab) -> None:
    tab.open()
    tab.shows("Overview")
    tab.watch.check()
    for name, crime in CRIMES.items():
        tab.watch.seen.clear()
        tab.run(f"() => {{ {crime} }}")
        wait_until(partial(is_seen, tab, name), what=name)
        with pytest.raises(AssertionError):
            tab.watch.check()
    tab.watch.seen.clear()


def test_pale_text_and_nameless_controls_are_found(tab: Tab) -> None:
    tab.open("#/queues")
    tab.shows("Queues")
    assert tab.run(PALE) == tab.run(FAULTS) == []
    tab.run(
        """() => {
        const text = document.querySelector("main").appendChild(document.createElement("p"));
        text.textContent = "hardly to be seen";
        text.style.color = "#aaa";
        document.querySelector("main").append(document.createElement("button"));
        }"""
    )
    assert "hardly" in str(tab.run(PALE))
    assert "no name" in str(tab.run(FAULTS))
