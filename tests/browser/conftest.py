"""Real Chromium on a real dashboard: one browser for the folder, a fresh context for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser import chromium
from tests.browser.tab import Tab, Watch
from tests.support.dashboard import OWN, Server
from tests.support.home import Home
from tests.support.quiet_network import links_stay
from tests.web.conftest import api, kind, own_home, own_server, start_server

__all__ = ["api", "kind", "own_home", "own_server", "start_server"]

PATIENCE_MS = 20_000  # machines that test are busy


# Not for the whole session: while Playwright runs, no other test of this process could run a loop of asyncio.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    program = chromium.find()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=list(chromium.ARGUMENTS))
        yield found
        found.close()


@pytest.fixture
def home(own_home: Home) -> Home:
    return own_home


@pytest.fixture
def server(own_server: Server) -> Server:
    """Of the test's own: pages hold streams and sessions for as long as they are open."""
    return own_server


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Tab]]:
    """`visit(server)`: a tab in a context of its own, logged in; token=None: not logged in.

    Everything else is an option of the context. What must never happen is looked at when the test is over.
    """
    tabs: list[Tab] = []

    def go(server: Server, *, token: str | None = OWN, **options: Any) -> Tab:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE_MS)
        if token is not None:
            own = server.token if token is OWN else token
            answer = context.request.post(f"{server.api}/session", data={"token": own})
            assert answer.ok, answer.text()
        tabs.append(Tab(context, server, Watch(context, server)))
        return tabs[-1]

    with links_stay():
        yield go
        for tab in tabs:
            tab.context.close()
    for tab in tabs:
        tab.watch.check()


@pytest.fixture
def tab(server: Server, visit: Callable[..., Tab]) -> Tab:
    """Logged in as an admin, nothing opened yet."""
    return visit(server)


@pytest.fixture
def enqueue(api: httpx.Client) -> Callable[..., str]:
    """A job, by the API: `enqueue("true", id="a", queue="mail")`; gives its id."""

    def go(command: str = "true", **fields: Any) -> str:
        answer = api.post("/jobs", json={"command": command, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    return go
