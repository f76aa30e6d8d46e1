"""Queues, workers, schedules, dead letters, settings, a new job: every action, and the store afterwards."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import expect

from queuectl.testing import wait_until
from tests.browser.tab import Tab
from tests.support.home import Home
from tests.support.http import ok

pytestmark = pytest.mark.long

Enqueue = Callable[..., str]


def test_queues(tab: Tab, api: httpx.Client, enqueue: Enqueue) -> None:
    enqueue("true", queue="mail")
    enqueue("true", queue="data")
    tab.open("#/queues")
    tab.shows("Queues")
    mail = tab.main.locator("tbody tr").filter(has=tab.page.get_by_role("link", name="mail", exact=True))

    def stored() -> dict[str, object]:
        return dict(ok(api.get("/queues/mail")))

    tab.button("Pause mail").click()
    tab.fill(reason="<b>moving</b>", until="2h")
    tab.confirm("Pause")
    expect(mail).to_contain_text("paused")
    expect(mail).to_contain_text("<b>moving</b>")
    assert (stored()["paused"], stored()["pause_reason"]) == (True, "<b>moving</b>")
    assert stored()["paused_until"]
    tab.button("Resume mail").click()
    expect(mail).to_contain_text("active")
    assert stored()["paused"] is False
    tab.button(re.compile("^Drain mail"), exact=False).click()
    expect(mail).to_contain_text("draining")
    assert stored()["draining"] is True
    tab.button("Resume mail").click()
    expect(mail).to_contain_text("active")
    tab.button("Limits of mail").click()
    tab.fill(concurrency="3", rate="100/min")
    tab.confirm("Save")
    expect(mail).to_contain_text("3 at once")
    expect(mail).to_contain_text("100/min")
    assert (stored()["concurrency"], stored()["rate"]) == (3, "100/min")
    tab.watch.allow("status of 422")
    tab.button("Limits of mail").click()
    tab.fill(concurrency="-3")
    tab.dialog.get_by_role("button", name="Save").click()
    expect(tab.dialog.get_by_role("alert")).to_contain_text(re.compile("concurrency", re.I))
    tab.fill(concurrency="", rate="")
    tab.confirm("Save")
    expect(mail).to_contain_text("none")
    assert (stored()["concurrency"], stored()["rate"]) == (None, None)
    assert ok(api.get("/queues/data"))["paused"] is False
    mail.get_by_role("link", name="mail", exact=True).click()
    tab.shows("Overview")
    expect(tab.main.get_by_label("Queue", exact=True)).to_have_value("mail")
    expect(tab.tile("Waiting")).to_have_text("1")


def test_workers(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    tab.open("#/workers")
    tab.shows("Workers")
    expect(tab.main).to_contain_text("No worker is running")
    file = home.work / "go"
    for id in "ab":
        enqueue(f"while [ ! -e {file} ]; do sleep 0.05; done", id=id)
    home.start(count=2, concurrency=3)
    rows = tab.main.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(tab.main.locator(".beside")).to_contain_text("2 of 6 slots busy")
    expect(rows.first).to_contain_text(re.compile(r"\d MB"))
    running = rows.filter(has_text=re.compile("[12] / 3"))
    expect(running.first).to_be_visible()
    running.first.get_by_role("button", name="Drain").click()
    tab.confirm("Drain it")
    tab.says("It was told to end after its jobs.")
    expect(rows.filter(has_text="stopping")).to_have_count(1)
    file.touch()
    for id in "ab":
        home.wait_for(id, "completed")
    expect(rows).to_have_count(1)
    wait_until(lambda: len(home.workers()) == 1, what="the drained worker to end")
    rows.get_by_role("button", name="Stop").click()
    tab.confirm("Stop it now")
    expect(tab.main).to_contain_text("No worker is running")
    wait_until(lambda: not home.workers(), what="the stopped worker to end")


def test_schedules(tab: Tab, home: Home, api: httpx.Client) -> None:
    tab.open("#/schedules")
    tab.shows("Schedules")
    expect(tab.main).to_contain_text("There are no schedules")
    home.ok("schedule", "add", "nightly", "0 3 * * *", "--", "echo backup")
    row = tab.row("nightly")
    expect(row).to_contain_text("0 3 * * *")
    expect(row).to_contain_text(re.compile(r"in \d+[hm]"))
    expect(row).to_contain_text("echo backup")
    tab.button("Pause nightly").click()
    expect(row).to_contain_text("paused")
    assert ok(api.get("/schedules/nightly"))["paused"] is True
    tab.button("Resume nightly").click()
    expect(row).to_contain_text("active")
    assert ok(api.get("/schedules/nightly"))["paused"] is False
    tab.button("Run nightly now").click()
    expect(tab.main.locator(".job-command")).to_have_text("echo backup")
    (job,) = ok(api.get("/jobs"))["jobs"]
    assert job["schedule"] == "nightly"
    tab.page.go_back()
    tab.button("Delete nightly").click()
    tab.confirm("Delete")
    expect(tab.main).to_contain_text("There are no schedules")
    assert ok(api.get("/schedules"))["schedules"] == []
    assert len(ok(api.get("/jobs"))["jobs"]) == 1


def test_dead_letters_by_cause(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    tab.open("#/dead")
    tab.shows("Dead letters")
    expect(tab.main).to_contain_text("No dead letters")
    for n in range(3):
        enqueue("exit 1", id=f"one{n}", max_retries=0)
    for n in range(2):
        enqueue("exit 7", id=f"seven{n}", queue="mail", max_retries=0)
    home.start(concurrency=3)
    expect(tab.main).to_contain_text("5 dead jobs, 2 causes")
    ones, sevens = (tab.main.locator(".cause").filter(has_text=f"exit code {n}") for n in (1, 7))
    expect(ones.locator("h2")).to_contain_text("3")
    expect(sevens).to_contain_text("mail")
    home.ok("worker", "stop")
    sevens.get_by_role("button", name="Retry").click()
    expect(tab.dialog).to_contain_text("exit code 7")
    tab.confirm("Retry 2 jobs")
    tab.says("2 jobs will run again.")
    expect(tab.main).to_contain_text("3 dead jobs, 1 cause")
    with home.queue() as queue:
        now = {job.id: job.state for job in queue.list()}
    assert {state for id, state in now.items() if id.startswith("seven")} == {"pending"}
    ones.get_by_role("link", name="Show jobs").click()
    tab.shows("Jobs")
    expect(tab.main.locator("tbody tr")).to_have_count(3)
    tab.page.go_back()
    tab.main.get_by_label("Queue", exact=True).fill("mail")
    tab.page.keyboard.press("Enter")
    expect(tab.main).to_contain_text("No dead letters")
    tab.main.get_by_label("Queue", exact=True).fill("")
    tab.page.keyboard.press("Enter")
    ones.get_by_role("button", name="Delete").click()
    tab.confirm("Delete 3 jobs")
    expect(tab.main).to_contain_text("No dead letters")
    with home.queue() as queue:
        assert sorted(job.id for job in queue.list()) == ["seven0", "seven1"]


def test_a_new_job(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    enqueue("true", id="first", run_at="+1h")
    tab.watch.allow("status of 4")
    tab.open("#/new")
    tab.shows("New job")
    tab.button("Enqueue").click()
    trouble = tab.main.get_by_role("alert").filter(has_text=re.compile("."))
    expect(trouble).to_contain_text(re.compile("command", re.I))
    values = {
        "command": "echo 'it is' \"$WHO\"",
        "queue": "mail",
        "priority": "5",
        "max_retries": "2",
        "timeout": "90s",
        "tags": "x, y",
        "after": "first",
        "env": "WHO=me\nA=b=c",
    }
    for name, value in values.items():
        tab.main.locator(f"[name={name}]").fill(value)
    line = tab.main.locator(".command code")
    expect(line).to_contain_text("--queue mail --priority 5 --max-retries 2 --timeout 90s")
    said = line.inner_text()
    tab.main.locator("[name=timeout]").fill("soon")
    tab.button("Enqueue").click()
    expect(trouble).to_contain_text(re.compile("timeout", re.I))
    expect(tab.main.locator("[name=timeout]")).to_be_focused()
    tab.main.locator("[name=timeout]").fill("90s")
    tab.button("Enqueue").click()
    expect(tab.main.locator(".job-command")).to_have_text(values["command"])
    expect(tab.main.locator(".job-state")).to_contain_text("blocked")
    # What it says to type makes the same job.
    home.ok(*shlex.split(said)[1:])
    with home.queue() as queue:
        made = [job.to_dict() for job in queue.list() if job.id != "first"]
    assert len(made) == 2
    for name in ("command", "queue", "priority", "max_retries", "timeout", "tags", "env", "state"):
        assert made[0][name] == made[1][name], name
    assert (made[0]["queue"], made[0]["priority"], made[0]["timeout"]) == ("mail", 5, 90)
    assert (made[0]["tags"], made[0]["command"]) == (["x", "y"], values["command"])


def test_settings(tab: Tab, home: Home) -> None:
    tab.open("#/settings")
    tab.shows("Settings")
    row = tab.row("max-retries")
    expect(row).to_contain_text("default")
    tab.button("Change max-retries").click()
    tab.fill(value="7")
    tab.confirm("Save")
    expect(row).to_contain_text("database")
    assert home.ok("config", "get", "max-retries").strip() == "7"
    tab.watch.allow("status of 422")
    tab.button("Change max-retries").click()
    tab.fill(value="<script>alert(1)</script>")
    tab.dialog.get_by_role("button", name="Save").click()
    expect(tab.dialog.get_by_role("alert")).to_contain_text(re.compile("max-retries", re.I))
    tab.page.keyboard.press("Escape")
    expect(tab.dialog).to_have_count(0)
    tab.button("Unset max-retries").click()
    expect(row).to_contain_text("default")
    assert home.ok("config", "get", "max-retries").strip() == "3"
    home.ok("config", "set", "max-retries", "9")
    expect(row).to_contain_text("9")
