"""A tab of the browser on the dashboard, and a watch on all that must never happen in one."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Locator, Page, Request, expect

from tests.support.dashboard import Server

# What Chromium writes about answers that a test has provoked.
NOT_LET_IN = r"status of 401"
CUT_OFF = r"net::ERR_|status of 503"

_TELL = """
window.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP VIOLATION ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Watch:
    """Collects errors, dialogs of the browser, violations of the CSP and requests to anybody else."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self.seen: list[str] = []
        self.requests: list[str] = []
        # A job can be deleted between the news of it and the question why it waits.
        self._allowed = [r"404 \(Not Found\) \(.*/explain\)"]
        self._origin = server.url
        context.add_init_script(_TELL)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.seen.append(f"uncaught: {error.error}"))
        context.on("dialog", self._asked)
        context.on("request", self._requested)

    def allow(self, pattern: str) -> None:
        self._allowed.append(pattern)

    def check(self) -> None:
        bad = [text for text in self.seen if not any(re.search(one, text) for one in self._allowed)]
        assert not bad, bad

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.seen.append(f"{message.text} ({message.location.get('url', '')})")

    def _asked(self, dialog: Dialog) -> None:
        self.seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _requested(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((f"{self._origin}/", "data:", "blob:")):
            self.seen.append(f"left the origin: {request.url}")


class Tab:
    """One page of the dashboard. `open("#/jobs")` goes there by its address."""

    def __init__(self, context: BrowserContext, server: Server, watch: Watch) -> None:
        self.context = context
        self.server = server
        self.watch = watch
        self.page: Page = context.new_page()

    def open(self, hash: str = "#/overview") -> Tab:
        self.page.goto(f"{self.server.url}/{hash}")
        return self

    def shows(self, title: str) -> None:
        """The page of this heading is there, and live."""
        expect(self.heading).to_have_text(title)
        expect(self.lamp).to_have_text("Live")

    @property
    def heading(self) -> Locator:
        return self.page.locator("main h1")

    @property
    def main(self) -> Locator:
        return self.page.locator("main")

    @property
    def lamp(self) -> Locator:
        return self.page.locator(".side .lamp")

    @property
    def banner(self) -> Locator:
        return self.page.locator(".banner")

    @property
    def dialog(self) -> Locator:
        return self.page.locator("dialog[open]")

    def button(self, name: str | re.Pattern[str], *, exact: bool = True) -> Locator:
        return self.main.get_by_role("button", name=name, exact=exact)

    def row(self, text: str | re.Pattern[str]) -> Locator:
        return self.main.locator("tbody tr").filter(has_text=text)

    def tile(self, name: str) -> Locator:
        label = self.page.locator(".name", has_text=re.compile(f"^{re.escape(name)}$"))
        return self.main.locator(".tile").filter(has=label).locator(".figure")

    def choose(self, id: str) -> None:
        self.main.get_by_role("checkbox", name=f"Choose {id}", exact=True).check()

    def fill(self, **values: str) -> None:
        """The fields of the open dialog, by their names."""
        for name, value in values.items():
            self.dialog.locator(f"[name={name}]").fill(value)

    def confirm(self, action: str | None = None) -> None:
        """The dialog's own button; `action` is what must stand on it."""
        go = self.dialog.locator("button[type=submit]")
        if action is not None:
            expect(go).to_have_text(action)
        go.click()
        expect(self.dialog).to_have_count(0)

    def says(self, text: str) -> None:
        expect(self.page.locator("#toasts")).to_contain_text(text)

    def mark(self) -> None:
        """So that `is_same` can tell whether the page was loaded anew."""
        self.page.evaluate("window.marked = true")

    def is_same(self) -> bool:
        return bool(self.page.evaluate("window.marked === true"))

    def run(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)
