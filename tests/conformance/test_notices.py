"""Who is told of the end of a job: stored with the end itself, once, whatever way the job ended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.jobs import (
    EVERYTHING,
    HOST,
    NOW,
    add,
    claim_one,
    described,
    finish,
    finish_with,
    fresh_claim,
    get,
    put,
    register,
    report,
    snapshot,
)

from queuectl.config.settings import Settings
from queuectl.core import notices as rules
from queuectl.core import outcome as kinds
from queuectl.core.job import Job
from queuectl.failpoints import Armed
from queuectl.store.messages import Ask, JobFilter
from queuectl.store.notices import Notices

ALL = {"notify": "tell", "notify_on": "any"}


@pytest.fixture(autouse=True)
def _worker(store: Any) -> None:
    register(store)


def told(store: Any) -> list[Job]:
    return [job for job in store.page(EVERYTHING, limit=1_000) if job.about is not None]


def told_of(store: Any) -> list[tuple[str, str]]:
    """Which jobs were told of, and as what."""
    return [(str(job.about), json.loads(job.input)["state"]) for job in told(store)]


def run(store: Any, id: str, kind: str = kinds.SUCCEEDED, *, now: int = NOW) -> Job:
    return finish_with(store, claim_one(store, now=now, only=get(store, id).seq), kind, now=now)


def test_a_job_tells_how_it_went(store: Any) -> None:
    put(store, "a", notify="tell it", cwd="/srv", env={"TOKEN": "secret"}, tags=["x", "y"])
    run(store, "a", now=NOW + 5)
    (job,) = told(store)
    assert (job.id, job.queue, job.command, job.state) == (
        "a:notify-1",
        "notifications",
        "tell it",
        "pending",
    )
    assert (job.cwd, job.priority, job.max_retries, job.notify) == ("/srv", 0, 3, None)
    assert "secret" not in f"{job.input}{job.env}"
    assert json.loads(str(job.input)) == get(store, "a").to_dict()
    assert job.environment() == {
        "QUEUECTL_NOTIFY_ID": "a",
        "QUEUECTL_NOTIFY_STATE": "completed",
        "QUEUECTL_NOTIFY_QUEUE": "default",
        "QUEUECTL_NOTIFY_COMMAND": "echo a",
        "QUEUECTL_NOTIFY_EXIT_CODE": "0",
        "QUEUECTL_NOTIFY_SIGNAL": "",
        "QUEUECTL_NOTIFY_ERROR": "",
        "QUEUECTL_NOTIFY_ATTEMPTS": "1",
        "QUEUECTL_NOTIFY_TAGS": "x,y",
    }


def test_a_failure_that_is_tried_again_is_no_end(store: Any) -> None:
    put(store, "a", notify="tell", max_retries=1)
    assert run(store, "a", kinds.FAILED).state == "failed"
    assert told(store) == []
    assert run(store, "a", kinds.FAILED, now=NOW + 60_000).state == "dead"
    assert told_of(store) == [("a", "dead")]


def test_the_worker_that_ends_a_job_can_take_its_notification_at_once(store: Any) -> None:
    put(store, "a", notify="tell")
    job = claim_one(store)
    answer = store.exchange("w1", HOST, [report(job)], Ask("w1", fresh_claim(), 1), NOW)
    assert [job.id for job in answer.jobs] == ["a:notify-1"]
    assert answer.jobs[0].input is not None


def test_a_worker_of_other_queues_rings_for_it(store: Any) -> None:
    put(store, "a", notify="tell")
    job = claim_one(store)
    answer = store.exchange("w1", HOST, [report(job)], Ask("w1", fresh_claim(), 1, queues=("default",)), NOW)
    assert answer.ring
    assert answer.jobs == []


# --- exactly once -------------------------------------------------------------------------------------


def test_an_end_that_is_undone_is_told_to_nobody(store: Any) -> None:
    put(store, "a", notify="tell")
    job = claim_one(store)
    before = snapshot(store)
    with Armed("finish.before_commit=raise:EIO"), pytest.raises(OSError, match=r"."):
        finish(store, report(job))
    assert snapshot(store) == before
    assert finish(store, report(job)) == []
    assert told_of(store) == [("a", "completed")]


def test_a_verdict_that_comes_too_late_is_told_to_nobody(store: Any) -> None:
    put(store, "a", notify="tell")
    job = claim_one(store)
    finish(store, report(job))
    assert len(finish(store, report(job, kinds.FAILED))) == 1
    assert told_of(store) == [("a", "completed")]


def test_an_exchange_of_unknown_outcome_that_is_repeated_tells_once(store: Any) -> None:
    put(store, "a", notify="tell")
    put(store, "b", notify="tell")
    first, second = claim_one(store), claim_one(store)
    finish(store, report(first))
    ask = Ask("w1", fresh_claim(), 0)
    ask.again = True
    assert store.exchange("w1", HOST, [report(first), report(second)], ask, NOW + 7).stale == []
    assert told_of(store) == [("a", "completed"), ("b", "completed")]


def test_each_end_of_a_job_is_told_of(store: Any) -> None:
    put(store, "a", max_retries=0, **ALL)
    mine = JobFilter(ids=("a",))
    run(store, "a", kinds.FAILED)
    store.retry(mine, NOW + 1, sources=("dead",))
    store.cancel(mine, NOW + 2)
    store.retry(mine, NOW + 3, sources=("cancelled",))
    store.cancel(mine, NOW + 4)
    store.retry(mine, NOW + 5, sources=("cancelled",))
    run(store, "a", now=NOW + 6)
    assert told_of(store) == [("a", "dead"), ("a", "cancelled"), ("a", "cancelled"), ("a", "completed")]
    assert [job.id for job in store.notices().about("a")] == [job.id for job in reversed(told(store))]


def test_one_that_was_cancelled_before_it_started_does_not_hide_its_next_run(store: Any) -> None:
    put(store, "a", **ALL)
    job = claim_one(store)
    store.cancel(JobFilter(ids=("a",)), NOW)
    job.cancel_requested = 1
    finish(store, report(job, kinds.UNSTARTED), now=NOW + 1)
    store.retry(JobFilter(ids=("a",)), NOW + 2, sources=("cancelled",))
    run(store, "a", now=NOW + 3)
    assert told_of(store) == [("a", "cancelled"), ("a", "completed")]


def test_an_id_that_another_job_has_costs_no_notification(store: Any) -> None:
    add(store, "a:notify-1")
    put(store, "a", notify="tell")
    run(store, "a")
    assert told_of(store) == [("a", "completed")]
    assert get(store, "a:notify-1").about is None


def test_jobs_with_long_ids_are_told_apart(store: Any) -> None:
    ids = ["x" * 127 + end for end in "ab"]
    for id in ids:
        put(store, id, notify="tell")
        run(store, id)
    assert sorted(told_of(store)) == [(id, "completed") for id in ids]
    assert [job.about for job in store.notices().about(ids[0])] == ids[:1]


# --- ends without a run -------------------------------------------------------------------------------


def test_whoever_is_cancelled_while_he_waits_is_told_of(store: Any) -> None:
    """However many: in small portions, those that wish it."""
    wished = [f"w{n:02}" for n in range(11)]
    store.enqueue([[described(id, **ALL) for id in wished]], NOW)
    store.enqueue([[described(f"s{n}", notify="tell") for n in range(5)]], NOW)
    add(store, "quiet")
    runs = claim_one(store)
    notices = Notices(store.connection, chunk=3, many=4)
    assert store.cancel(EVERYTHING, NOW + 1, chunk=5, notices=notices) == (16, 1)
    assert sorted(told_of(store)) == [(id, "cancelled") for id in wished if id != runs.id]
    assert {job.state for job in told(store)} == {"pending"}


def test_whoever_can_not_run_any_more_is_told_of(store: Any) -> None:
    put(store, "p", max_retries=0)
    put(store, "c", after=["p"], **ALL)
    put(store, "d", after=["c"], **ALL)
    run(store, "p", kinds.FAILED)
    store.settle(NOW)
    assert sorted(told_of(store)) == [("c", "cancelled"), ("d", "cancelled")]


def test_whoever_is_replaced_is_told_of(store: Any) -> None:
    put(store, "old", unique_key="k", **ALL)
    put(store, "new", unique_key="k", if_live="replace", **ALL)
    assert told_of(store) == [("old", "cancelled")]


def test_a_cancel_that_is_undone_is_told_to_nobody(store: Any) -> None:
    put(store, "a", **ALL)
    with Armed("change.before_commit=raise:EIO"), pytest.raises(OSError, match=r"."):
        store.cancel(EVERYTHING, NOW)
    assert (get(store, "a").state, told(store)) == ("pending", [])


# --- who ----------------------------------------------------------------------------------------------


def test_the_most_specific_wish_counts(store: Any) -> None:
    store.follow(Settings({"notify": "to the store", "max-retries": "7"}))
    store.queues().set("mail", {"notify": "to the queue", "notify_on": "any"}, NOW)
    store.queues().set("hush", {"notify": "none"}, NOW)
    for id, fields in {
        "own": {"queue": "mail", "notify": "to me"},
        "silent": {"queue": "mail", "notify": "none"},
        "queue": {"queue": "mail"},
        "hushed": {"queue": "hush"},
        "store": {},
        "when": {"notify_on": "dead,completed"},
    }.items():
        put(store, id, max_retries=0, **fields)
        run(store, id)
    assert {job.about: job.command for job in told(store)} == {
        "own": "to me",
        "queue": "to the queue",
        "when": "to the store",
    }
    put(store, "broken", max_retries=0)
    run(store, "broken", kinds.FAILED)
    (last,) = store.notices().about("broken")
    assert (last.command, last.max_retries, last.cwd) == ("to the store", 7, None)


def test_what_is_wished_after_the_job_came_in_counts(store: Any) -> None:
    add(store, "a", "b")
    job = claim_one(store)
    store.queues().set("default", {"notify": "tell", "notify_on": "completed,cancelled"}, NOW)
    finish(store, report(job))
    store.cancel(EVERYTHING, NOW)
    assert told_of(store) == [("a", "completed"), ("b", "cancelled")]


def test_a_notification_is_never_told_of(store: Any) -> None:
    store.follow(Settings({"notify": "tell", "notify-on": "any"}))
    add(store, "a", max_retries=0)
    run(store, "a")
    run(store, "a:notify-1")
    add(store, "b", max_retries=0)
    run(store, "b")
    store.cancel(JobFilter(ids=("b:notify-1",)), NOW)
    assert told_of(store) == [("a", "completed"), ("b", "completed")]


def test_notifications_follow_the_rules_of_their_queue(store: Any) -> None:
    put(store, "a", notify="tell")
    run(store, "a")
    store.queues().set("notifications", {"timeout": 7_000, "max_retries": 9}, NOW)
    store.queues().drain("notifications", NOW)
    put(store, "b", notify="tell")
    run(store, "b")
    assert [(job.timeout, job.max_retries) for job in told(store)] == [(rules.TIMEOUT_MS, 3), (7_000, 9)]


def test_a_damaged_wish_is_none(store: Any) -> None:
    put(store, "a", notify="tell")
    db = store.connection
    db.write("change", lambda _: db.run("UPDATE jobs SET notify = '[{' WHERE id = 'a'"))
    assert run(store, "a").state == "completed"
    assert told(store) == []


def test_no_end_costs_more_while_nobody_wishes_to_be_told(store: Any) -> None:
    add(store, "a")
    job = claim_one(store)
    asked: list[str] = []
    fetch = store.connection.all
    store.connection.all = lambda sql, values=(): asked.append(sql) or fetch(sql, values)
    finish(store, report(job))
    assert not [sql for sql in asked if "notify" in sql or "about" in sql]


def test_text_of_any_kind_arrives(store: Any) -> None:
    command, error = "echo '\"$x\"' \\\n\t\x1b[31m\x7f ß 😀", 'it\'s "bad"\r\n\x07'
    store.enqueue([[described("a", notify="tell", command=command, max_retries=0)]], NOW)
    finish_with(store, claim_one(store), kinds.FAILED, error=error)
    (job,) = told(store)
    shown = json.loads(str(job.input))
    assert (shown["command"], shown["last_error"]) == (command, error)
    given = job.environment()
    assert (given["QUEUECTL_NOTIFY_COMMAND"], given["QUEUECTL_NOTIFY_ERROR"]) == (command, error)


def test_what_is_too_long_for_a_variable_is_whole_in_the_input(store: Any) -> None:
    command = "true " + "x" * 130_000
    store.enqueue([[described("a", notify="tell", command=command)]], NOW)
    finish(store, report(claim_one(store)))
    (job,) = told(store)
    assert json.loads(str(job.input))["command"] == command
    assert len(job.environment()["QUEUECTL_NOTIFY_COMMAND"]) == 8_000


@pytest.mark.parametrize(
    ("column", "damage"), [("argv", '["echo", "\\ud800"]'), ("rules", '{"cpu_time": 1' + "0" * 400 + "}")]
)
def test_a_damaged_job_ends_and_is_told_of(store: Any, column: str, damage: str) -> None:
    """Its end must be stored, or nobody could go on: whoever rescues it would meet the same."""
    put(store, "a", notify="tell")
    store.connection.write(
        "change", lambda _: store.connection.run(f"UPDATE jobs SET {column} = ?", (damage,))
    )
    run(store, "a")
    assert get(store, "a").state == "completed"
    assert [str(job.about) for job in told(store)] == ["a"]
    assert json.loads(str(told(store)[0].input))["id"] == "a"


def test_a_job_whose_id_is_used_again_is_told_of_again(store: Any) -> None:
    put(store, "nightly", notify="tell")
    run(store, "nightly")
    store.remove(JobFilter(ids=("nightly",)), sources=("completed",), limit=10)
    put(store, "nightly", notify="tell")
    run(store, "nightly", now=NOW + 60_000)
    assert told_of(store) == [("nightly", "completed")] * 2
