"""Queues, schedules, settings, numbers and the past over HTTP."""

from __future__ import annotations

import json

import httpx

from tests.support.dashboard import Server
from tests.support.home import Home
from tests.support.http import ok, problem


def test_queues(server: Server, home: Home, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": "true", "queue": "mail"}), 201)
    rules = ok(api.patch("/queues/mail", json={"concurrency": 2, "rate": "100/min", "timeout": "10m"}))
    assert (rules["concurrency"], rules["rate"], rules["timeout"]) == (2, "100/min", 600)
    assert ok(api.patch("/queues/mail", json={"rate": None}))["rate"] is None
    paused = ok(api.post("/queues/mail/pause", json={"reason": "moving", "until": "2h"}))
    assert (paused["paused"], paused["pause_reason"]) == (True, "moving")
    assert paused["paused_until"]
    assert ok(api.get("/stats"))["paused_queues"] == ["mail"]
    assert ok(api.post("/queues/mail/resume"))["paused"] is False
    assert ok(api.post("/queues/mail/drain"))["draining"] is True
    problem(api.post("/jobs", json={"command": "true", "queue": "mail"}), 409, "refused")
    ok(api.post("/queues/mail/resume"))
    lists = ok(api.get("/queues"))["queues"], json.loads(home.ok("queue", "list", "--json"))
    for view in (view for views in lists for view in views):
        assert view.pop("oldest_waiting_seconds") >= 0  # which differs from moment to moment
    assert lists[0] == lists[1]
    assert ok(api.get("/queues/mail"))["jobs"]["pending"] == 1


def test_schedules(server: Server, home: Home, api: httpx.Client) -> None:
    body = {"recurrence": "0 3 * * *", "job": {"command": "backup", "env": {"A": "secret"}}}
    made = ok(api.put("/schedules/nightly", json={**body, "time_zone": "Europe/Berlin"}), 201)
    assert (made["zone"], len(made["next_times"])) == ("Europe/Berlin", 3)
    assert made["in_words"]
    assert "secret" not in json.dumps(made)
    assert ok(api.put("/schedules/nightly", json={**body, "overlap": "skip"}))["overlap"] == "skip"
    assert ok(api.post("/schedules/nightly/pause"))["paused"] is True
    job = ok(api.post("/schedules/nightly/trigger"), 201)
    assert (job["command"], job["schedule"]) == ("backup", "nightly")
    assert ok(api.post("/schedules/nightly/resume"))["paused"] is False
    assert [one["name"] for one in ok(api.get("/schedules"))["schedules"]] == ["nightly"]
    assert ok(api.get("/schedules/nightly"))["last_job"] == job["id"]
    assert api.delete("/schedules/nightly").status_code == 204
    problem(api.delete("/schedules/nightly"), 404, "not_found")
    for verb in ("pause", "resume", "trigger"):
        problem(api.post(f"/schedules/nightly/{verb}"), 404, "not_found")


def test_settings(server: Server, home: Home, api: httpx.Client) -> None:
    assert ok(api.get("/config")) == json.loads(home.ok("config", "list", "--json"))
    assert ok(api.put("/config/max-retries", json={"value": 7}))["value"] == 7
    assert home.ok("config", "get", "max-retries").strip() == "7"
    assert ok(api.put("/config/job_timeout", json={"value": "10m"}))["value"] == 600
    back = ok(api.delete("/config/max-retries"))
    assert back["value"] == 3
    assert back["origin"] == "default"


def test_numbers_and_the_past(server: Server, home: Home, api: httpx.Client) -> None:
    ok(api.post("/jobs/batch", json={"jobs": ["true", "true", {"command": "false", "max_retries": 0}]}), 201)
    home.start()
    with home.queue() as queue:
        assert queue.wait([job.id for job in queue.list()], timeout=60)
    stats = ok(api.get("/stats"))
    assert (stats["completed_last_hour"], stats["failed_last_hour"], stats["total"]) == (2, 1, 3)
    assert ok(api.get("/stats", params={"queue": "mail"}))["total"] == 0
    for name, steps in (("1h", 60), ("24h", 144), ("7d", 168), ("30d", 180)):
        past = ok(api.get("/history", params={"range": name}))
        assert past["range"] == name
        lengths = {len(past[kind]) for kind in ("times", "completed", "dead", "failed", "cancelled")}
        lengths |= {len(values) for values in past["depth"].values()}
        lengths |= {len(past[what][share]) for what in ("wait", "run") for share in ("p50", "p95")}
        assert lengths == {steps}
        assert past["times"] == sorted(past["times"])
        assert (past["times"][1] - past["times"][0]) == past["step_seconds"]
