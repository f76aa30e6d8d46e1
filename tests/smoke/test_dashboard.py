"""The dashboard and its API on a store on a server."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from queuectl.queue import Queue
from tests.support.dashboard import Server
from tests.support.fake_worker import FakeWorker, out
from tests.support.home import Home
from tests.support.http import ok, problem
from tests.web.events import Events


@pytest.fixture(scope="module")
def server(home: Home) -> Iterator[Server]:
    with home.queue():
        pass  # the store is there before the dashboard
    server = Server(home)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def api(server: Server) -> httpx.Client:
    return server.client(base_url=server.api)


def test_a_job_is_enqueued_listed_changed_cancelled_retried_and_deleted(api: httpx.Client) -> None:
    made = ok(api.post("/jobs", json={"id": "w1", "command": "echo ä€😀", "queue": "web"}), 201)
    assert (made["id"], made["state"], made["command"]) == ("w1", "pending", "echo ä€😀")
    assert [job["id"] for job in ok(api.get("/jobs", params={"queue": "web"}))["jobs"]] == ["w1"]
    assert ok(api.patch("/jobs/w1", json={"priority": 4}))["priority"] == 4
    assert ok(api.post("/jobs/w1/cancel"))["state"] == "cancelled"
    assert ok(api.post("/jobs/w1/retry"))["state"] == "pending"
    ok(api.delete("/jobs/w1"))
    problem(api.get("/jobs/w1"), 404, "not_found")


def test_many_jobs_are_stored_at_once_and_come_in_pages(api: httpx.Client) -> None:
    jobs = [{"id": f"m{number}", "command": "true", "queue": "pages"} for number in range(25)]
    assert len(ok(api.post("/jobs/batch", json={"jobs": jobs}), 201)["ids"]) == 25
    seen: list[str] = []
    cursor: str | None = None
    while cursor is not None or not seen:
        page = ok(
            api.get("/jobs", params={"queue": "pages", "limit": 10, **({"cursor": cursor} if cursor else {})})
        )
        seen += [job["id"] for job in page["jobs"]]
        cursor = page["next"]
    assert sorted(seen) == sorted(job["id"] for job in jobs)


def test_output_and_history_of_a_job_are_served(
    api: httpx.Client, queue: Queue, fake_worker: FakeWorker
) -> None:
    queue.enqueue("true", id="w2")
    fake_worker.complete("w2", output=out("ä€😀".encode()))
    assert api.get("/jobs/w2/output").text == "ä€😀"
    assert ok(api.get("/jobs/w2/attempts"))["attempts"][0]["outcome"] == "succeeded"


def test_rules_of_queues_schedules_and_settings_are_changed(api: httpx.Client, queue: Queue) -> None:
    assert ok(api.patch("/queues/ruled", json={"concurrency": 2}))["concurrency"] == 2
    assert ok(api.post("/queues/ruled/pause", json={}))["paused"] is True
    assert ok(api.post("/queues/ruled/resume"))["paused"] is False
    ok(api.put("/config/backoff-max", json={"value": "7m"}))
    assert ok(api.get("/config"))["backoff-max"] == {"value": 420, "origin": "database"}


def test_changes_of_others_arrive_in_the_stream(
    server: Server, queue: Queue, fake_worker: FakeWorker
) -> None:
    with Events(server, queue="live") as events:
        events.wait("stats", lambda data: data["total"] == 0)
        queue.enqueue("true", id="w3", queue="live")
        events.wait("stats", lambda data: data["jobs"]["pending"] == 1)
        fake_worker.complete("w3")
        events.wait("stats", lambda data: data["jobs"]["completed"] == 1)


def test_nobody_reads_or_writes_without_a_token(server: Server) -> None:
    anonymous = server.client(token=None, base_url=server.api)
    assert anonymous.get("/jobs").status_code == 401
    assert anonymous.post("/jobs", json={"command": "true"}).status_code == 401
    page = server.client(token=None).get("/")
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (200, "text/html")


def test_the_numbers_are_those_of_the_store(server: Server, queue: Queue) -> None:
    queue.enqueue("true", queue="numbers")
    lines = server.client().get("/metrics").text.splitlines()
    assert 'queuectl_jobs{queue="numbers",state="pending"} 1.0' in lines
