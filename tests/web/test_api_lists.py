"""Lists over HTTP: every filter of the command line, pages without a job missed or doubled."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx

from tests.support.dashboard import Server
from tests.support.http import ok, problem


def fill(server: Server, api: httpx.Client) -> None:
    """Jobs of all kinds: ids tell what they are."""
    ok(
        api.post(
            "/jobs/batch",
            json={
                "jobs": [
                    {"id": "plain", "command": "echo Hello"},
                    {"id": "mail", "command": "send 100%_done", "queue": "mail", "tags": ["a", "ab"]},
                    {"id": "later", "command": "true", "delay": "1h", "tags": ["ab"]},
                    {"id": "held", "command": "true", "hold": True},
                    {"id": "gone", "command": "true", "priority": 9},
                ]
            },
        ),
        201,
    )
    ok(api.post("/jobs/gone/cancel"))


def ids(api: httpx.Client, **params: Any) -> list[str]:
    return [job["id"] for job in ok(api.get("/jobs", params=params))["jobs"]]


def test_filters(server: Server, api: httpx.Client) -> None:
    fill(server, api)
    every = ["plain", "mail", "later", "held", "gone"]
    assert ids(api) == every
    assert ids(api, reverse=True) == every[::-1]
    assert ids(api, state="pending") == ["plain", "mail"]
    assert ids(api, state=["scheduled", "blocked,CANCELLED"]) == ["later", "held", "gone"]
    assert ids(api, state="all") == every
    assert ids(api, queue="mail") == ["mail"]
    assert ids(api, queue="nothing") == []
    assert ids(api, tag="a") == ["mail"]
    assert ids(api, tag="ab") == ["mail", "later"]
    assert ids(api, search="hello") == ["plain"]
    assert ids(api, search="100%_") == ["mail"]
    assert ids(api, held=True) == ["held"]
    assert ids(api, held=False) == ["plain", "mail", "later", "gone"]
    assert ids(api, since="10m") == every
    assert ids(api, before="10m") == []
    assert ids(api, since="2020-01-01", before="2020-01-02") == []
    assert ids(api, sort="priority", reverse=True)[0] == "gone"
    assert ids(api, sort="id") == sorted(every)
    assert ids(api, state="cancelled", sort="finished") == ["gone"]
    assert ok(api.get("/jobs", params={"state": "pending", "count": True, "limit": 1}))["total"] == 2
    assert ok(api.get("/jobs"))["total"] is None


def test_as_the_command_line_lists_them(server: Server, api: httpx.Client) -> None:
    fill(server, api)
    assert ok(api.get("/jobs"))["jobs"] == json.loads(server.home.ok("list", "--json"))


def test_strange_words_find_nothing_and_break_nothing(server: Server, api: httpx.Client) -> None:
    for name, word in itertools.product(("queue", "tag", "search"), ("\0", "'", "%", "\\", "😀", "", "a\nb")):
        answer = api.get("/jobs", params={name: word, "count": True})
        assert answer.status_code in (200, 422), (name, word, answer.text)
    for path, word in itertools.product(("/stats", "/history", "/dead-letters/groups"), ("\0", "'", "😀")):
        answer = api.get(path, params={"queue": word})
        assert answer.status_code in (200, 422), (path, word, answer.text)
    for word in ("%00", "%F0%9F%98%80", "..", "a%2Fb", "x" * 300, "%FF"):
        for path in ("/jobs/", "/queues/", "/schedules/", "/jobs/x/../"):
            answer = api.get(path + word)
            assert answer.status_code in (404, 422), (path, word, answer.text)


def test_pages_miss_nothing_while_others_arrive(server: Server, api: httpx.Client) -> None:
    ok(
        api.post("/jobs/batch", json={"jobs": [{"id": f"j{n:03}", "command": "true"} for n in range(25)]}),
        201,
    )
    for reverse, filtered in itertools.product((False, True), ({}, {"state": "pending"})):
        seen: list[str] = []
        cursor = None
        new = itertools.count()
        while True:
            params = {"limit": 4, "reverse": reverse, **filtered, **({"cursor": cursor} if cursor else {})}
            page = ok(api.get("/jobs", params=params))
            seen += [job["id"] for job in page["jobs"]]
            cursor = page["next"]
            if cursor is None:
                break
            if next(new) < 5:
                ok(api.post("/jobs", json={"command": "new", "queue": "new"}), 201)
        old = [id for id in seen if id.startswith("j")]
        assert old == [f"j{n:03}" for n in range(25)][:: -1 if reverse else 1]
        assert len(set(seen)) == len(seen)
        ok(api.post("/jobs/actions", json={"action": "delete", "filter": {"queue": "new"}}))


def test_pages_of_another_order(server: Server, api: httpx.Client) -> None:
    ok(api.post("/jobs/batch", json={"jobs": [{"priority": n, "command": "true"} for n in range(7)]}), 201)
    seen: list[int] = []
    cursor = None
    while cursor is not None or not seen:
        params = {"sort": "priority", "reverse": True, "limit": 3, **({"cursor": cursor} if cursor else {})}
        page = ok(api.get("/jobs", params=params))
        seen += [job["priority"] for job in page["jobs"]]
        cursor = page["next"]
    assert seen == [6, 5, 4, 3, 2, 1, 0]
    first = ok(api.get("/jobs", params={"sort": "priority", "limit": 3}))["next"]
    for wrong in ({}, {"sort": "updated"}, {"sort": "priority", "reverse": True}):
        problem(api.get("/jobs", params={**wrong, "cursor": first}), 422, "invalid_input")
    for bad in ("", "x", "e30", "WzEsMl0", "W10", first + "A", "%ff"):
        problem(api.get("/jobs", params={"sort": "priority", "cursor": bad}), 422, "invalid_input")


def test_parameters_that_cannot_be(server: Server, api: httpx.Client) -> None:
    for params in (
        {"limit": 0},
        {"limit": 501},
        {"limit": "many"},
        {"sort": "age"},
        {"reverse": "maybe"},
        {"held": "perhaps"},
        {"since": "whenever"},
        {"state": "asleep"},
        {"cause": "x"},
        {"stat": "dead"},  # a misspelled filter would mean every job
    ):
        problem(api.get("/jobs", params=params), 422, "invalid_input")
    problem(api.get("/queues", params={"x": 1}), 422, "invalid_input")
    problem(api.get("/history", params={"range": "2h"}), 422, "invalid_input")
    problem(api.post("/jobs", params={"queue": "mail"}, json={"command": "true"}), 422, "invalid_input")
