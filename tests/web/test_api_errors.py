"""Mistakes over HTTP: the code, the words and the hint of the command line, always as problem+json."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from queuectl.cli.main import main
from tests.support.dashboard import Server
from tests.support.http import ok, problem

# A request, and the command that makes the same mistake.
SAME: tuple[tuple[str, str, Any, tuple[str, ...]], ...] = (
    ("POST", "/jobs", {"command": ""}, ("enqueue", '{"command": ""}')),
    ("POST", "/jobs", {"command": 5}, ("enqueue", '{"command": 5}')),
    ("POST", "/jobs", {}, ("enqueue", "{}")),
    ("POST", "/jobs", {"command": "true", "colour": 1}, ("enqueue", '{"command": "true", "colour": 1}')),
    ("POST", "/jobs", {"command": "true", "queue": "a b"}, ("enqueue", '{"command":"true","queue":"a b"}')),
    ("POST", "/jobs", {"command": "true", "id": "-x"}, ("enqueue", '{"command": "true", "id": "-x"}')),
    ("POST", "/jobs", {"command": "true", "id": "known"}, ("enqueue", "--id", "known", "--", "true")),
    ("POST", "/jobs", {"command": "true", "timeout": "soon"}, ("enqueue", "--timeout", "soon", "--", "true")),
    ("POST", "/jobs", {"command": "true", "priority": 1.5}, ("enqueue", '{"command":"true","priority":1.5}')),
    ("POST", "/jobs", {"command": "true", "env": {"A": 1}}, ("enqueue", '{"command":"true","env":{"A":1}}')),
    ("GET", "/jobs/nobody", None, ("show", "nobody")),
    ("POST", "/jobs/nobody/retry", None, ("retry", "nobody")),
    ("POST", "/jobs/known/retry", None, ("retry", "known")),
    ("POST", "/jobs/known/release", None, ("release", "known")),
    ("POST", "/jobs/over/cancel", None, ("cancel", "over")),
    ("PATCH", "/jobs/over", {"priority": 1}, ("edit", "over", "--priority", "1")),
    ("PATCH", "/jobs/known", {"timeout": "x"}, ("edit", "known", "--timeout", "x")),
    ("GET", "/jobs/nobody/explain", None, ("explain", "nobody")),
    ("GET", "/queues/nothing", None, ("queue", "show", "nothing")),
    ("POST", "/queues/nothing/resume", None, ("queue", "resume", "nothing")),
    ("PATCH", "/queues/mail", {"rate": "fast"}, ("queue", "set", "mail", "--rate", "fast")),
    (
        "POST",
        "/queues/mail/pause",
        {"until": "yesterday"},
        ("queue", "pause", "mail", "--until", "yesterday"),
    ),
    ("GET", "/schedules/nothing", None, ("schedule", "show", "nothing")),
    ("PUT", "/config/max-retries", {"value": "many"}, ("config", "set", "max-retries", "many")),
)


def test_the_words_of_the_command_line(
    server: Server, api: httpx.Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUEUECTL_HOME", str(server.path))
    ok(api.post("/jobs", json={"command": "true", "id": "known"}), 201)
    ok(api.post("/jobs", json={"command": "true", "id": "over"}), 201)
    ok(api.post("/jobs/over/cancel"))
    different = []
    for method, path, body, command in SAME:
        answer = api.request(method, path, **({} if body is None else {"json": body}))
        given = answer.json()
        assert answer.headers["content-type"] == "application/problem+json", (path, answer.text)
        assert 400 <= answer.status_code < 500, (path, given)
        at = command.index("--") if "--" in command else len(command)
        assert main([*command[:at], "--json", *command[at:]]) != 0, command
        error = json.loads(capsys.readouterr().err)["error"]
        # What is wrong is the field here, the option there.
        expected = error["code"], error["message"].removeprefix("--"), error.get("hint")
        if (given["code"], given["detail"], given["hint"]) != expected:
            different.append((method, path, body, given, expected))
    assert different == []


def test_what_cannot_be_read(server: Server, api: httpx.Client) -> None:
    kind = {"Content-Type": "application/json"}
    for raw in (b"{", b"nope", b"{'a': 1}", b"\xff\xfe", b'{"command": "x"} y'):
        answer = api.post("/jobs", content=raw, headers=kind)
        problem(answer, 400, "malformed")
    for raw in (
        b"[]",
        b"5",
        b"null",
        b'"text"',
        b'{"command": "a", "command": "b"}',
        b'{"priority": NaN, "command": "a"}',
        b'{"command": "a", "env": ' + b'{"a":' * 50 + b"1" + b"}" * 50 + b"}",
        b"[" * 100_000,
        b'{"command": "a", "priority": ' + b"9" * 5000 + b"}",
        b'{"command": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"command": "a\\u0000b"}',
        b"",
    ):
        answer = api.post("/jobs", content=raw, headers=kind)
        problem(answer, 422, "invalid_input")
    assert ok(api.get("/jobs"))["jobs"] == []


def test_addresses_and_methods_that_are_not(server: Server, api: httpx.Client) -> None:
    for path in ("/nothing", "/jobs/a/b/c", "/jobs/", "/", ""):
        problem(api.get(path), 404, "not_found")
    for method, path in (("PUT", "/jobs"), ("DELETE", "/jobs"), ("POST", "/stats"), ("PATCH", "/workers")):
        answer = api.request(method, path, json={})
        problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"]


def test_head_is_get_without_a_body(server: Server, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": "true", "id": "a"}), 201)
    for path in ("/jobs", "/jobs/a", "/stats", "/queues", "/workers", "/openapi.json", "/jobs/a/output"):
        answer = api.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path
        assert answer.headers["content-type"] == api.get(path).headers["content-type"]
    assert api.head("/jobs/nobody").status_code == 404


def test_wrong_types(server: Server, api: httpx.Client) -> None:
    ok(api.post("/jobs", json={"command": "true", "id": "a"}), 201)
    for method, path, body in (
        ("PATCH", "/jobs/a", {}),
        ("PATCH", "/jobs/a", {"id": "b"}),
        ("PATCH", "/jobs/a", {"command": None}),
        ("PATCH", "/queues/q", {}),
        ("PATCH", "/queues/q", {"name": "x"}),
        ("PATCH", "/queues/q", {"queue": "x"}),
        ("PATCH", "/queues/q", {"concurrency": "x"}),
        ("PATCH", "/queues/a%20b", {"concurrency": 1}),
        ("POST", "/queues/q/pause", {"reason": 5}),
        ("POST", "/queues/q/pause", {"why": "x"}),
        ("PUT", "/schedules/s", {}),
        ("PUT", "/schedules/s", {"recurrence": "sometimes", "job": {"command": "true"}}),
        ("PUT", "/schedules/s", {"recurrence": "@daily", "job": {"command": ""}}),
        ("PUT", "/schedules/s", {"recurrence": "@daily", "job": {"command": "true"}, "time_zone": "Mars"}),
        ("PUT", "/schedules/s", {"recurrence": "@daily", "job": []}),
        ("PUT", "/config/max-retries", {}),
        ("PUT", "/config/max-retries", {"value": [1]}),
        ("PUT", "/config/max-retries", {"value": -1}),
        ("POST", "/session", {}),
        ("POST", "/session", {"token": 5}),
        ("POST", "/session", {"token": "a", "code": "b"}),
    ):
        problem(api.request(method, path, json=body), 422, "invalid_input")
    problem(api.put("/config/colour", json={"value": 1}), 404, "not_found")
    problem(api.delete("/config/colour"), 404, "not_found")
