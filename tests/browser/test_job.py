"""The page of one job: what can be done with it, its output while it runs, why it is as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from queuectl.testing import wait_until
from tests.browser.tab import Tab
from tests.support.home import Home

pytestmark = pytest.mark.long

Enqueue = Callable[..., str]


def gate(home: Home, name: str) -> tuple[Path, str]:
    """A file, and a shell line that waits until it is there."""
    file = home.work / name
    return file, f"while [ ! -e {file} ]; do sleep 0.05; done"


def test_what_can_be_done_with_a_waiting_job(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    enqueue("echo one", id="a")
    tab.open("#/jobs/a")
    tab.shows("a")
    state = tab.main.locator(".job-state")
    expect(state).to_contain_text("pending")
    expect(tab.button("Retry")).to_have_count(0)
    tab.button("Hold").click()
    tab.says("Job held.")
    expect(state).to_contain_text("held")
    with home.queue() as queue:
        assert queue.get("a").held
    tab.button("Release").click()
    expect(state).to_contain_text("pending")
    assert home.state("a") == "pending"

    tab.button("Edit").click()
    tab.fill(priority="7", timeout="90s")
    tab.confirm("Save")
    expect(tab.main.locator("dl.kv")).to_contain_text("1m 30s")
    with home.queue() as queue:
        assert (queue.get("a").priority, queue.get("a").timeout) == (7, 90_000)
    tab.watch.allow("status of 422")
    tab.button("Edit").click()
    tab.fill(priority="many")
    tab.dialog.get_by_role("button", name="Save").click()
    expect(tab.dialog.get_by_role("alert")).to_contain_text(re.compile("priority", re.I))
    tab.fill(priority="7", timeout="", run_at="+1h")
    tab.confirm()
    expect(state).to_contain_text("scheduled")
    with home.queue() as queue:
        assert queue.get("a").timeout is None

    tab.button("Cancel").click()
    expect(tab.dialog).to_contain_text("Cancel this job?")
    tab.dialog.get_by_role("button", name="Back").click()  # think again
    expect(tab.dialog).to_have_count(0)
    assert home.state("a") == "scheduled"
    tab.button("Cancel").click()
    tab.confirm("Cancel this job")
    expect(state).to_contain_text("cancelled")
    assert home.state("a") == "cancelled"
    tab.button("Retry").click()
    expect(state).to_contain_text("pending")
    assert home.state("a") == "pending"

    tab.button("Delete").click()
    tab.confirm("Delete this job")
    tab.shows("Jobs")
    with home.queue() as queue:
        assert list(queue.list()) == []


def test_the_output_grows_while_the_job_runs(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    file, wait = gate(home, "go")
    enqueue(
        f"echo first; echo oops >&2; {wait}; printf '\\033[31mred\\033[0m last\\n'; exit 3",
        id="a",
        max_retries=0,
    )
    tab.open("#/jobs/a")
    tab.shows("a")
    expect(tab.main).to_contain_text("There is no output")
    tab.mark()
    home.start()
    log = tab.main.get_by_role("region", name="Output")
    expect(log).to_contain_text("first")
    expect(log.locator("[data-stream=stderr]")).to_have_text("oops")
    expect(tab.main.locator(".job-state")).to_contain_text("processing")
    expect(log).not_to_contain_text("last")
    file.touch()
    expect(log.locator(".sgr-f1")).to_have_text("red")
    expect(tab.main.locator(".job-state")).to_contain_text("dead")
    expect(tab.main.locator(".timeline")).to_contain_text("Attempt 1")
    expect(tab.row("exit code 3")).to_have_count(1)  # of the attempts
    expect(tab.main.locator(".job-side .panel").filter(has_text="Why")).to_contain_text("exit")
    died = tab.main.locator(".job-side .panel").filter(has_text="How attempt 1 died")
    expect(died).to_contain_text("exit code 3 (the command's own")
    expect(died.get_by_label("Last lines of stderr")).to_have_text("oops")
    expect(tab.main.locator("dl.kv")).to_contain_text("CPU time")
    expect(tab.main.locator(".job-side")).to_contain_text("queuectl enqueue")
    assert tab.is_same()

    tab.page.get_by_role("searchbox", name="Search output").fill("oo")
    expect(log.locator("mark")).to_have_count(1)
    tab.page.get_by_role("searchbox", name="Search output").fill("S")
    expect(log.locator("mark")).to_have_count(3)
    tab.page.keyboard.press("Enter")
    expect(log.locator("mark.now")).to_have_count(1)
    tab.main.get_by_role("checkbox", name="Wrap").uncheck()
    expect(log).to_have_class(re.compile("nowrap"))
    tab.main.get_by_role("checkbox", name="Times").check()
    expect(log).to_have_class(re.compile("times"))
    with tab.page.expect_download() as download:
        tab.main.get_by_role("link", name="Download").click()
    text = Path(download.value.path()).read_text()
    assert "first\n" in text
    assert "last\n" in text


def test_a_running_job_is_stopped_and_run_again(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    _, wait = gate(home, "never")
    enqueue(f"echo here; {wait}", id="a")
    home.start()
    home.wait_for("a", "processing")
    tab.open("#/jobs/a")
    tab.shows("a")
    expect(tab.button("Delete")).to_have_count(0)
    tab.button("Cancel").click()
    tab.confirm("Cancel this job")
    home.wait_for("a", "cancelled")
    expect(tab.main.locator(".job-state")).to_contain_text("cancelled")
    tab.button("Retry").click()
    expect(tab.main.locator(".job-state")).to_contain_text("processing")
    expect(tab.main.get_by_label("Attempt", exact=True)).to_be_visible()
    tab.main.get_by_label("Attempt", exact=True).select_option("1")
    expect(tab.page).to_have_url(re.compile("attempt=1"))
    expect(tab.main.get_by_role("region", name="Output")).to_have_text("here")
    tab.page.reload()
    expect(tab.main.get_by_label("Attempt", exact=True)).to_have_value("1")


def test_the_job_is_deleted_by_somebody_else(tab: Tab, home: Home, enqueue: Enqueue) -> None:
    enqueue("true", id="a", run_at="+1h", tags=["x"], queue="mail")
    enqueue("true", id="b", after=["a"])
    tab.open("#/jobs/b")
    tab.shows("b")
    expect(tab.main.locator(".job-state")).to_contain_text("blocked")
    tab.main.locator("dl.kv").get_by_role("link", name="a", exact=True).click()
    tab.shows("a")
    tab.watch.allow("status of 404")  # it may be asked for once more
    home.ok("rm", "b", "--yes")
    home.ok("rm", "a", "--yes")
    expect(tab.main).to_contain_text("This job was deleted")
    wait_until(lambda: "#/jobs/a" in tab.page.url, what="the address to stay")
