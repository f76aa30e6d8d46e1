"""Names and output made by an enemy: they are shown as text, and nothing of them is ever run."""

from __future__ import annotations

import base64
import re
import sqlite3
from contextlib import closing
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from queuectl.testing import wait_until
from tests.browser.tab import Tab
from tests.support.home import Home
from tests.support.http import ok

pytestmark = pytest.mark.long

PAYLOADS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script href=data:,alert(1) />",
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "javascript:alert(1)",
    "java\tscript:alert(1)",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<style>*{display:none!important}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>x",
    "</pre></bdi></table><h1 id=injected>x</h1>",
    "${alert(1)} {{constructor.constructor('alert(1)')()}}",
    "<math><mtext><style><img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62;",
    "__proto__",
    "constructor",
    "\u202egnp.exe\u2066 \u200b\ufeff bidi",
    "\x1b]0;title\x07\x1b[2J\x1b[8mhidden\x1b[0m",
    "../../etc/passwd%00#?&=;",
    "\N{PILE OF POO}" * 20 + "a\u0300\u0301\u0302" * 30,
    "x" * 500,
)
# What no text may ever make: these are never drawn by the page itself.
FOREIGN = (
    "script:not([src^='/static/']), iframe, object, embed, base, #injected, [onerror], [onload], [onclick], \
[onmouseover], [onfocus], [ontoggle], img, math, main style, main link, a[href^='javascript' i], form[action]"
)


def is_clean(tab: Tab) -> None:
    assert tab.run("(bad) => [...document.querySelectorAll(bad)].map((one) => one.outerHTML)", FOREIGN) == []
    assert tab.page.url.startswith(tab.server.url)
    assert tab.run("document.title").endswith("queuectl")
    wide = tab.run(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth)
        .map((one) => one.outerHTML.slice(0, 200))"""
    )
    assert wide == [], (tab.page.url, wide)


def store(api: httpx.Client) -> list[str]:
    """Jobs that print payloads, fail with them and carry them in what may hold any text."""
    jobs: list[dict[str, Any]] = []
    for n, text in enumerate(PAYLOADS):
        data = base64.b64encode(f"{text}\n".encode()).decode()
        command = f"echo {data} | base64 -d; echo {data} | base64 -d >&2; exit 1 # {text}"
        jobs.append({"id": f"h{n:02}", "command": command, "max_retries": 0, "unique_key": text[:190]})
        ok(api.patch(f"/queues/q{n}", json={"concurrency": 1}))
        schedule = {"recurrence": "0 3 * * *", "job": {"command": text}}
        ok(api.put(f"/schedules/s{n}", json=schedule), 201)
    for name in ("__proto__", "constructor"):
        ok(
            api.post(
                "/jobs", json={"id": name, "queue": name, "tags": [name], "command": "true", "run_at": "+1h"}
            ),
            201,
        )
    ok(api.post("/jobs/batch", json={"jobs": jobs}), 201)
    return [job["id"] for job in jobs]


def poison(home: Home) -> None:
    """What no command would take as a name: by the hand of somebody who can write to the store."""
    with closing(sqlite3.connect(home.address)) as store, store:
        for n, text in enumerate(PAYLOADS):
            store.execute(
                "UPDATE jobs SET tags = ?, job_group = ?, schedule = ?, progress = 50, progress_text = ? "
                "WHERE id = ?",
                (f",{text.replace(',', ';')},", text, text, text, f"h{n:02}"),
            )
            store.execute(
                "UPDATE queues SET name = ?, pause_reason = ? WHERE name = ?", (text, text, f"q{n}")
            )
            store.execute("UPDATE schedules SET name = ? WHERE name = ?", (text, f"s{n}"))
        store.execute("UPDATE attempts SET worker_id = ?", (PAYLOADS[2],))


@pytest.mark.timeout(300)
def test_nothing_is_run(tab: Tab, api: httpx.Client, home: Home) -> None:
    ids = store(api)
    home.start(concurrency=4)
    with home.queue() as queue:
        wait_until(
            lambda: all(queue.get(id).state == "dead" for id in ids), timeout=90, what="all to be dead"
        )
    home.ok("worker", "stop")
    poison(home)
    tab.watch.allow("status of 422")  # the past of a queue whose name is too long
    for page in ("overview", "queues", "schedules", "dead", "settings"):
        tab.open(f"#/{page}")
        expect(tab.main.locator(".loading")).to_have_count(0)
        expect(tab.lamp).to_have_text("Live")
        if page in ("queues", "schedules"):
            expect(tab.row(PAYLOADS[2])).to_have_count(2)  # <math…<img too
        is_clean(tab)
    tab.open("#/jobs")
    for text in ("<script>alert(1)</script>", "\\u202egnp.exe", "\\x1b]0;title\\x07"):
        expect(tab.row(text).first).to_be_visible()
    is_clean(tab)
    for id, text in zip(ids, PAYLOADS, strict=True):
        tab.open(f"#/jobs/{id}")
        tab.shows(id)
        printed = tab.main.get_by_role("region", name="Output").locator("[data-stream=stdout]").first
        expect(printed).to_have_text(re.compile(re.escape(text.strip()) if text.isprintable() else "."))
        is_clean(tab)
    for name in ("__proto__", "constructor"):
        tab.open(f"#/jobs/{name}")
        tab.shows(name)


def test_words_in_the_address_and_in_fields(tab: Tab, api: httpx.Client) -> None:
    tab.watch.allow("status of 4")
    ok(api.post("/jobs", json={"command": "true", "id": "a"}), 201)
    for text in PAYLOADS[:24]:
        said = httpx.QueryParams({"search": text, "queue": text, "tag": text, "cause": text, "range": text})
        for page in ("jobs", "dead", "overview"):
            tab.page.goto(f"{tab.server.url}/#/{page}?{said}")
            expect(tab.heading).not_to_have_text("")
            expect(tab.main.locator(".loading")).to_have_count(0)
            is_clean(tab)
    tab.page.goto(f"{tab.server.url}/#/jobs/%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(tab.main).to_contain_text("There is no such job")
    is_clean(tab)
    tab.open("#/new")
    for text in PAYLOADS[:12]:
        tab.main.locator("[name=command]").fill(text)
        tab.main.locator("[name=queue]").fill(text)
        is_clean(tab)
    tab.button("Enqueue").click()  # the last: told, or stored; never run here
    expect(tab.main.locator(".trouble, .job-command").filter(has_text=re.compile(".")).first).to_be_visible()
    is_clean(tab)


def test_a_worker_whose_host_lies(tab: Tab, home: Home) -> None:
    home.start()
    host = PAYLOADS[2]
    with closing(sqlite3.connect(home.address)) as store, store:
        store.execute("UPDATE workers SET host = ?, id = id || ?", (host, host))
    tab.open("#/workers")
    expect(tab.row(host)).to_have_count(1)
    is_clean(tab)
    # Of this row: the worker itself, whom the store does not know by its name any more, registers anew.
    tab.row(host).get_by_role("button", name="Stop").click()
    expect(tab.dialog).to_contain_text(host)
    is_clean(tab)
