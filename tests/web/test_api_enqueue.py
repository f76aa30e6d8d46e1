"""Jobs come in over HTTP: one, many, once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.dashboard import NewProcessServer, Server
from tests.support.home import Home
from tests.support.http import ok, problem


def test_a_job_is_stored_with_its_fields(server: Server, api: httpx.Client) -> None:
    fields = {"command": "echo hi", "queue": "mail", "priority": 7, "tags": ["a", "b"], "timeout": "10m"}
    answer = api.post("/jobs", json={**fields, "env": {"NAME": "grün"}, "max_retries": 2})
    job = ok(answer, 201)
    assert answer.headers["location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["state"], job["queue"], job["priority"], job["timeout"]) == ("pending", "mail", 7, 600)
    with server.queue() as queue:
        stored = queue.get(job["id"])
        assert stored.environment() == {"NAME": "grün"}
        assert stored.to_dict() == job


def test_words_without_a_shell(server: Server, api: httpx.Client) -> None:
    job = ok(api.post("/jobs", json={"argv": ["echo", "a b", "ü"]}), 201)
    assert job["argv"] == ["echo", "a b", "ü"]


def test_who_is_told_is_stored_and_shown(server: Server, api: httpx.Client) -> None:
    wish = {"notify": "tell", "notify_on": ["cancelled"]}
    job = ok(api.post("/jobs", json={"command": "cat", "input": "text", "id": "a", **wish}), 201)
    assert {name: job[name] for name in wish} == wish
    assert ok(api.patch("/jobs/a", json={"notify_on": "any"}))["notify"] == "tell"
    api.post("/jobs/a/cancel")
    shown = ok(api.get("/jobs/a"))
    assert (shown["input"], shown["notify_on"]) == ("text", ["completed", "dead", "cancelled"])
    (told,) = shown["notifications"]
    assert ok(api.get(f"/jobs/{told['id']}"))["about"] == "a"
    problem(api.post("/jobs", json={"command": "x", "notify_on": "failed"}), 422, "invalid_input")


def test_a_unique_key_gives_the_job_that_lives(api: httpx.Client) -> None:
    first = ok(api.post("/jobs", json={"command": "true", "unique_key": "k"}), 201)
    again = ok(api.post("/jobs", json={"command": "true", "unique_key": "k", "if_live": "skip"}), 201)
    assert again["id"] == first["id"]
    api.post("/jobs", json={"command": "true", "unique_key": "k"})
    assert ok(api.get("/jobs", params={"count": True}))["total"] == 1


def test_a_changed_default_holds_for_the_next_job(server: Server, api: httpx.Client) -> None:
    """Each connection of the server's has read the settings when it was opened."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: api.get("/stats"), range(32)))
    server.home.ok("config", "set", "max-retries", "9")
    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda _: api.post("/jobs", json={"command": "true"}).json(), range(16)))
    assert {job["max_retries"] for job in jobs} == {9}


# --- many -------------------------------------------------------------------------------------------


def test_many_come_in_at_once_or_not_at_all(server: Server, api: httpx.Client) -> None:
    done = ok(api.post("/jobs/batch", json={"jobs": ["echo 1", {"command": "echo 2", "id": "two"}]}), 201)
    assert done["count"] == 2
    assert done["ids"][1] == "two"
    bad = {"jobs": ["echo 3", {"command": "echo 4", "id": "two"}]}
    problem(api.post("/jobs/batch", json=bad), 409, "duplicate_id")
    bad = {"jobs": ["echo 3", {"command": ""}]}
    problem(api.post("/jobs/batch", json=bad), 422, "invalid_input")
    assert ok(api.get("/jobs", params={"count": True}))["total"] == 2


def test_those_that_exist_are_skipped_if_wanted(api: httpx.Client) -> None:
    api.post("/jobs", json={"command": "true", "id": "a"})
    jobs = [{"command": "true", "id": "a"}, {"command": "true", "id": "b"}]
    done = ok(api.post("/jobs/batch", json={"jobs": jobs, "if_exists": "skip"}), 201)
    assert done["ids"] == ["a", "b"]
    assert done["count"] == 1  # that are new


BAD_BATCHES: tuple[object, ...] = (
    {},
    {"jobs": []},
    {"jobs": "echo"},
    {"jobs": [1]},
    {"jobs": [None]},
    {"jobs": [["echo"]]},
    {"jobs": ["true"], "if_exists": "maybe"},
    {"jobs": ["true"], "more": 1},
    {"jobs": [""]},
    {"jobs": ["true\u0000"]},
    {"jobs": [{}]},
    {"jobs": [True, "true"]},
)


def test_batches_that_are_none(api: httpx.Client) -> None:
    for body in BAD_BATCHES:
        problem(api.post("/jobs/batch", json=body), 422, "invalid_input")
    assert ok(api.get("/jobs"))["jobs"] == []


def test_many_thousands(server: Server, api: httpx.Client) -> None:
    done = ok(api.post("/jobs/batch", json={"jobs": [f"echo {n}" for n in range(20_000)]}), 201)
    assert done["count"] == 20_000
    assert len(set(done["ids"])) == 20_000


# --- once -------------------------------------------------------------------------------------------

KEY = {"Idempotency-Key": "order 42 / grün".encode()}


def test_the_same_request_again_gives_the_same_job(server: Server, api: httpx.Client) -> None:
    body = {"command": "charge", "env": {"A": "1", "B": "2"}}
    first = api.post("/jobs", json=body, headers=KEY)
    again = api.post("/jobs", json={"env": {"B": "2", "A": "1"}, "command": "charge"}, headers=KEY)
    assert ok(first, 201)["id"] == ok(again, 200)["id"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    problem(api.post("/jobs", json={**body, "command": "other"}, headers=KEY), 422, "idempotency_key_reused")
    other = ok(api.post("/jobs", json=body, headers={"Idempotency-Key": "order 43"}), 201)
    assert other["id"] != first.json()["id"]
    assert ok(api.get("/jobs", params={"count": True}))["total"] == 2


def test_a_replay_gives_the_job_as_it_is_now(server: Server, api: httpx.Client) -> None:
    first = ok(api.post("/jobs", json={"command": "true"}, headers=KEY), 201)
    ok(api.post(f"/jobs/{first['id']}/cancel"))
    assert ok(api.post("/jobs", json={"command": "true"}, headers=KEY), 200)["state"] == "cancelled"


def test_a_refused_request_leaves_its_key_free(api: httpx.Client) -> None:
    problem(api.post("/jobs", json={"command": ""}, headers=KEY), 422, "invalid_input")
    ok(api.post("/jobs", json={"command": "true"}, headers=KEY), 201)
    problem(api.post("/jobs", json={"command": "true", "id": "x"}, headers=KEY), 422, "invalid_input")


def test_one_job_of_many_requests_at_the_same_time(server: Server, api: httpx.Client) -> None:
    ready = threading.Barrier(12)

    def send(number: int) -> httpx.Response:
        ready.wait()
        return api.post("/jobs", json={"command": "once"}, headers={"Idempotency-Key": f"k{number // 4}"})

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(send, range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201] * 3
    for start in (0, 4, 8):
        assert len({answer.json()["id"] for answer in answers[start : start + 4]}) == 1
    assert ok(api.get("/jobs", params={"count": True}))["total"] == 3


def test_different_requests_with_one_key_at_the_same_time(server: Server, api: httpx.Client) -> None:
    ready = threading.Barrier(8)

    def send(number: int) -> httpx.Response:
        ready.wait()
        return api.post("/jobs", json={"command": f"once {number}"}, headers=KEY)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 7
    assert ok(api.get("/jobs", params={"count": True}))["total"] == 1


def test_a_crash_before_the_answer_makes_no_second_job(
    own_home: Home, start_server: Callable[..., Server]
) -> None:
    """The server dies when the job is stored and the answer is not yet sent."""
    doomed = NewProcessServer(
        own_home, env={"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "enqueue.acked=kill9"}
    )
    with pytest.raises(httpx.TransportError):
        doomed.client(base_url=doomed.api).post("/jobs", json={"command": "true"}, headers=KEY)
    doomed.kill()
    server = start_server()
    with server.queue() as queue:
        [stored] = queue.list()
    answer = server.client(base_url=server.api).post("/jobs", json={"command": "true"}, headers=KEY)
    assert ok(answer, 200)["id"] == stored.id
