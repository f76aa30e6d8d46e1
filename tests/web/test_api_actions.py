"""What is done with jobs over HTTP: one, many, all; and only said."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from queuectl.testing import wait_until
from tests.support.dashboard import Server
from tests.support.home import Home
from tests.support.http import ok, problem


def enqueue(api: httpx.Client, *jobs: dict[str, Any]) -> None:
    ok(api.post("/jobs/batch", json={"jobs": [{"command": "true", **job} for job in jobs]}), 201)


def states(api: httpx.Client) -> dict[str, str]:
    return {job["id"]: job["state"] for job in ok(api.get("/jobs"))["jobs"]}


def test_one_job(server: Server, api: httpx.Client) -> None:
    enqueue(api, {"id": "a", "timeout": 5, "tags": ["x"]})
    assert ok(api.post("/jobs/a/hold"))["state"] == "blocked"
    assert ok(api.post("/jobs/a/hold", json={}))["held"] is True
    assert ok(api.post("/jobs/a/release"))["state"] == "pending"
    problem(api.post("/jobs/a/release"), 409, "refused")
    changed = ok(api.patch("/jobs/a", json={"priority": 3, "timeout": None, "env": {"A": "1"}}))
    assert (changed["priority"], changed["timeout"], changed["tags"]) == (3, None, ["x"])
    problem(api.post("/jobs/a/retry"), 409, "refused")
    assert ok(api.post("/jobs/a/cancel"))["state"] == "cancelled"
    problem(api.post("/jobs/a/cancel"), 409, "refused")
    problem(api.patch("/jobs/a", json={"priority": 3}), 409, "refused")
    assert ok(api.post("/jobs/a/retry"))["state"] == "pending"
    shown = ok(api.get("/jobs/a"))
    assert shown["history"] == []
    assert shown["command_line"].startswith("queuectl enqueue --priority 3")
    assert shown["env"] == {"A": "***"}
    assert ok(api.get("/jobs/a/attempts")) == {"attempts": []}
    assert ok(api.get("/jobs/a/explain"))["reasons"][0]["code"]
    assert ok(api.delete("/jobs/a")) == {"deleted": 1}
    for method, path in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        *(("POST", verb) for verb in ("/cancel", "/retry", "/hold", "/release")),
        *(("GET", part) for part in ("/attempts", "/explain", "/output", "/output/pieces")),
    ):
        body = {"json": {"priority": 1}} if method == "PATCH" else {}
        problem(api.request(method, f"/jobs/a{path}", **body), 404, "not_found")


def test_many_by_id(server: Server, api: httpx.Client) -> None:
    enqueue(api, *({"id": id} for id in "abcd"))
    act = {"action": "cancel", "ids": ["a", "b", "nobody"]}
    said = ok(api.post("/jobs/actions", json={**act, "dry_run": True}))
    assert said == {"action": "cancel", "dry_run": True, "count": 2, "ids": ["a", "b"]}
    assert set(states(api).values()) == {"pending"}
    done = ok(api.post("/jobs/actions", json=act))
    assert done == {**said, "dry_run": False}
    assert states(api) == {"a": "cancelled", "b": "cancelled", "c": "pending", "d": "pending"}
    assert ok(api.post("/jobs/actions", json=act))["count"] == 0


def test_many_by_filter(server: Server, api: httpx.Client) -> None:
    enqueue(api, {"id": "a", "queue": "mail", "tags": ["x"]}, {"id": "b", "queue": "mail"}, {"id": "c"})

    def act(action: str, filter: dict[str, Any], **more: Any) -> int:
        done = ok(api.post("/jobs/actions", json={"action": action, "filter": filter, **more}))
        return int(done["count"])

    assert act("hold", {"queue": "mail"}) == 2
    assert act("edit", {"held": True, "tag": "x"}, changes={"priority": 4}) == 1
    assert ok(api.get("/jobs/a"))["priority"] == 4
    assert act("cancel", {"held": True}) == 2  # and not those that nobody holds
    assert states(api) == {"a": "cancelled", "b": "cancelled", "c": "pending"}
    assert act("retry", {"state": "cancelled", "search": "true"}) == 2
    assert act("release", {"held": True}) == 0
    assert act("delete", {"since": "1h", "queue": "mail"}) == 2
    assert states(api) == {"c": "pending"}
    assert act("cancel", {"before": "1h"}) == 0


def test_all_of_them(server: Server, api: httpx.Client) -> None:
    enqueue(api, *({"id": f"j{n}"} for n in range(30)))
    said = ok(api.post("/jobs/actions", json={"action": "hold", "all": True, "dry_run": True}))
    assert said["count"] == 30
    assert said["ids"] == [f"j{n}" for n in range(20)]
    assert ok(api.post("/jobs/actions", json={"action": "hold", "all": True}))["count"] == 30
    assert ok(api.post("/jobs/actions", json={"action": "release", "all": True}))["count"] == 30
    assert ok(api.post("/jobs/actions", json={"action": "delete", "all": True}))["count"] == 30


def test_what_could_mean_every_job_by_mistake_is_refused(server: Server, api: httpx.Client) -> None:
    enqueue(api, {"id": "a"})
    for body in (
        {},
        {"filter": {}},
        {"filter": {"state": []}},
        {"filter": {"state": "all"}},
        {"filter": {"search": ""}},
        {"filter": {"queue": None}},
        {"ids": []},
        {"ids": ["a"], "all": True},
        {"all": False},
        {"all": "true"},
        {"all": 1},
        {"ids": "a"},
        {"ids": [1]},
        {"ids": ["ä"]},
        {"filter": {"queu": "x"}},
        {"filter": {"state": ["asleep"]}},
        {"filter": {"state": [1]}},
        {"ids": ["a"], "changes": {"priority": 1}},
        {"ids": ["a"], "dry_run": "yes"},
    ):
        problem(api.post("/jobs/actions", json={"action": "cancel", **body}), 422, "invalid_input")
    problem(api.post("/jobs/actions", json={"action": "explode", "all": True}), 422, "invalid_input")
    problem(api.post("/jobs/actions", json={"all": True}), 422, "invalid_input")
    problem(api.post("/jobs/actions", json={"action": "edit", "all": True}), 422, "invalid_input")
    every = {"action": "edit", "all": True, "changes": {"command": "rm"}}
    problem(api.post("/jobs/actions", json=every), 422, "invalid_input")
    for action, filter in (
        ("cancel", {"state": ["completed"]}),
        ("hold", {"held": True}),
        ("release", {"held": False}),
    ):
        body = {"action": action, "filter": filter}
        problem(api.post("/jobs/actions", json=body), 409, "refused")
    assert states(api) == {"a": "pending"}


def test_dead_letters_by_their_cause(server: Server, home: Home, api: httpx.Client) -> None:
    for id, command, queue in (("a", "exit 3", "q"), ("b", "exit 3", "r"), ("c", "kill -9 $$", "q")):
        enqueue(api, {"id": id, "command": command, "queue": queue, "max_retries": 0})
    home.start(concurrency=3)
    for id in "abc":
        home.wait_for(id, "dead")
    found = ok(api.get("/dead-letters/groups"))
    assert found["total"] == 3
    first, second = found["groups"]
    assert (first["count"], first["exit_code"], first["title"]) == (2, 3, "exit code 3")
    assert sorted(first["queues"]) == ["q", "r"]
    assert first["example"] in ("a", "b")
    assert (second["count"], second["title"], second["example"]) == (1, "killed by SIGKILL", "c")
    assert ok(api.get("/dead-letters/groups", params={"queue": "r"}))["total"] == 1
    listed = ok(api.get("/jobs", params={"state": "dead", "cause": first["cause"]}))["jobs"]
    assert [job["id"] for job in listed] == ["a", "b"]
    ok(api.post("/queues/q/pause"))
    filter = {"state": ["dead"], "cause": first["cause"], "queue": "q"}
    assert ok(api.post("/jobs/actions", json={"action": "retry", "filter": filter}))["ids"] == ["a"]
    assert states(api) == {"a": "pending", "b": "dead", "c": "dead"}


@pytest.mark.parametrize("how", ["drain", "stop"])
def test_a_real_worker(server: Server, home: Home, api: httpx.Client, how: str) -> None:
    command = "while [ ! -e stop ]; do sleep 0.05; done" if how == "drain" else "sleep 60"
    enqueue(api, {"id": "long", "command": command})
    home.start(concurrency=2)
    home.wait_for("long", "processing")
    # It tells how it is with each beat of its heart.
    wait_until(lambda: ok(api.get("/workers"))["workers"][0]["running"] == 1, what="the worker to tell")
    [worker] = ok(api.get("/workers"))["workers"]
    assert (worker["state"], worker["concurrency"]) == ("busy", 2)
    assert ok(api.get("/stats"))["workers"] == 1
    problem(api.post("/workers/nobody/drain"), 404, "not_found")
    problem(api.delete("/jobs/long"), 409, "refused")
    history = ok(api.get("/jobs/long"))["history"]
    assert [attempt["outcome"] for attempt in history] == ["running"]
    assert ok(api.post(f"/workers/{worker['id']}/{how}"))["state"] == "stopping"
    (home.work / "stop").touch()
    home.wait_for("long", "completed" if how == "drain" else "pending")


def test_a_running_job_is_cancelled(server: Server, home: Home, api: httpx.Client) -> None:
    enqueue(api, {"id": "long", "command": "sleep 60"})
    home.start()
    home.wait_for("long", "processing")
    assert ok(api.post("/jobs/long/cancel"))["state"] in ("processing", "cancelled")
    home.wait_for("long", "cancelled")
    assert len(ok(api.get("/jobs/long/attempts"))["attempts"]) == 1
