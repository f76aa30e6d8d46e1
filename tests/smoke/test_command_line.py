"""What the commands do to a store on a server, without a worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from queuectl.queue import Queue
from tests.smoke.conftest import Cli
from tests.support.fake_worker import FakeWorker, out


def states(cli: Cli, *words: str) -> dict[str, str]:
    return {job["id"]: job["state"] for job in cli("list", "--json", *words).json()}


def reasons(cli: Cli, id: str) -> list[str]:
    return [reason["code"] for reason in cli("explain", "--json", id).json()["reasons"]]


def test_an_enqueued_job_is_shown_with_all_its_fields(cli: Cli) -> None:
    options = ("--id", "e1", "--queue", "fields", "--priority", "-3", "--timeout", "10s", "--tag", "night")
    stored = cli("enqueue", "--json", *options, "--env", "A=secret", "--", "echo", "ä€😀").json()
    shown = cli("show", "--json", "e1").json()
    assert {name: shown[name] for name in stored} == stored
    assert (shown["state"], shown["queue"], shown["priority"], shown["timeout"]) == (
        "pending",
        "fields",
        -3,
        10,
    )
    assert (shown["argv"], shown["tags"], shown["env"]) == (["echo", "ä€😀"], ["night"], {"A": "***"})
    assert cli("enqueue", "--id", "e1", "true").code == 2
    assert cli("enqueue", "--id", "e1", "--if-exists", "skip", "true").code == 0
    assert cli("show", "--json", "e1").json() == shown


def test_a_file_of_jobs_is_stored_whole_or_not_at_all(cli: Cli) -> None:
    lines = [json.dumps({"id": f"f{number}", "command": "true", "queue": "file"}) for number in range(300)]
    Path("bad").write_text("\n".join([*lines, '{"id": "f300"}']))
    Path("good").write_text("\n".join(lines))
    assert cli("enqueue", "--file", "bad").code == 2
    assert states(cli, "--queue", "file") == {}
    assert cli("enqueue", "--file", "good").code == 0
    assert len(states(cli, "--queue", "file", "--limit", "1000")) == 300


def test_jobs_are_listed_by_state_queue_and_tag_and_counted(cli: Cli, queue: Queue) -> None:
    worker = FakeWorker(queue)
    before = cli("status", "--json").json()["jobs"]
    worker.add_jobs_in_every_state()
    for id, state in {
        "done": "completed",
        "broken": "dead",
        "flaky": "failed",
        "running": "processing",
        "stopped": "cancelled",
        "later": "scheduled",
        "waiting": "pending",
    }.items():
        assert states(cli, "--state", state, "--limit", "1000")[id] == state
        assert cli("status", "--json").json()["jobs"][state] == before[state] + 1
    assert (
        states(cli, "--queue", "mail")
        == states(cli, "--tag", "night", "--queue", "mail")
        == {"waiting": "pending"}
    )
    worker.complete("flaky")
    worker.end(worker.queue.get("running"), "succeeded", exit_code=0)
    worker.leave()


def test_what_is_not_there_and_what_is_not_allowed_have_codes(cli: Cli) -> None:
    missing = cli("show", "--json", "nobody")
    assert (missing.code, missing.error()) == (1, "not_found")
    assert cli("enqueue", "--json", "--priority", "high", "true").code == 2
    assert cli("enqueue", "--id", "r1", "true").code == 0
    refused = cli("retry", "--json", "r1")
    assert refused.code == 4


def test_a_cancelled_job_can_be_retried_and_deleted(cli: Cli) -> None:
    assert cli("enqueue", "--id", "c1", "--queue", "cancel", "true").code == 0
    assert cli("cancel", "c1").code == 0
    assert states(cli, "--queue", "cancel") == {"c1": "cancelled"}
    assert cli("retry", "c1").code == 0
    assert states(cli, "--queue", "cancel") == {"c1": "pending"}
    assert cli("rm", "c1").code == 0
    assert states(cli, "--queue", "cancel") == {}


def test_a_running_job_is_not_deleted(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="busy")
    job = fake_worker.claim("busy")
    assert cli("rm", "busy").code == 4
    assert cli("cancel", "busy", "--no-wait").code == 0
    fake_worker.cancel(job)
    assert queue.get("busy").state == "cancelled"


def test_waiting_jobs_are_held_changed_and_moved(cli: Cli) -> None:
    assert cli("enqueue", "--id", "h1", "--queue", "hold", "true").code == 0
    assert cli("hold", "h1").code == 0
    assert "held" in reasons(cli, "h1")
    assert cli("edit", "h1", "--priority", "9", "--command", "false").code == 0
    assert cli("move", "h1", "--to", "held").code == 0
    assert cli("release", "h1").code == 0
    shown = cli("show", "--json", "h1").json()
    assert (shown["priority"], shown["command"], shown["queue"]) == (9, "false", "held")
    assert "held" not in reasons(cli, "h1")


def test_dead_jobs_are_listed_grouped_retried_and_purged(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    for id in ("d1", "d2"):
        queue.enqueue("false", id=id, queue="dead", max_retries=0)
        fake_worker.fail(id, error="exit code 1: no disk")
    found = cli("dlq", "list", "--json", "--queue", "dead").json()
    assert [(job["id"], job["last_error"]) for job in found] == [
        ("d1", "exit code 1: no disk"),
        ("d2", "exit code 1: no disk"),
    ]
    groups = cli("dlq", "groups", "--json", "--queue", "dead").json()
    assert cli("dlq", "show", "--json", "d1").json()["history"][0]["outcome"] == "failed"
    assert cli("dlq", "retry", "d1").code == 0
    assert cli("dlq", "purge", "--queue", "dead", "--yes").code == 0
    assert states(cli, "--queue", "dead") == {"d1": "pending"}
    assert len(groups if isinstance(groups, list) else groups["groups"]) == 1


def test_a_paused_queue_says_so_until_it_is_resumed(cli: Cli) -> None:
    assert cli("enqueue", "--id", "p1", "--queue", "paused", "true").code == 0
    paused = cli("queue", "pause", "paused", "--for", "2h", "--reason", "moving", "--json").json()
    assert (paused["paused"], paused["pause_reason"]) == (True, "moving")
    assert "paused" in reasons(cli, "p1")
    assert cli("status", "--json").json()["paused_queues"] == ["paused"]
    assert cli("queue", "resume", "paused", "--json").json()["paused"] is False
    assert "paused" not in reasons(cli, "p1")


def test_limits_of_a_queue_hold_for_every_worker(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    rules = cli("queue", "set", "few", "--concurrency", "1", "--rate", "1/h", "--json").json()
    assert (rules["concurrency"], rules["rate"]) == (1, "1/h")
    for id in ("l1", "l2"):
        queue.enqueue("true", id=id, queue="few")
    job = fake_worker.claim("l1")
    with pytest.raises(IndexError):
        fake_worker.claim("l2")  # another one runs
    fake_worker.end(job, "succeeded", exit_code=0)
    with pytest.raises(IndexError):
        fake_worker.claim("l2")  # none for an hour
    assert "rate" in " ".join(reasons(cli, "l2"))
    assert cli("queue", "set", "few", "--rate", "none").code == 0
    fake_worker.complete("l2")


def test_a_job_waits_for_those_before_it(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    assert cli("enqueue", "--id", "first", "--queue", "chain", "--max-retries", "0", "true").code == 0
    assert cli("enqueue", "--id", "then", "--queue", "chain", "--after", "first", "true").code == 0
    assert cli("enqueue", "--id", "else", "--queue", "chain", "--after-fail", "first", "true").code == 0
    assert states(cli, "--queue", "chain") == {"first": "pending", "then": "blocked", "else": "blocked"}
    assert "first" in cli("graph", "first").out
    fake_worker.fail("first")
    queue.store.settle(queue.clock.now())
    assert states(cli, "--queue", "chain") == {"first": "dead", "then": "cancelled", "else": "pending"}


def test_a_unique_key_admits_one_living_job(cli: Cli) -> None:
    unique = ("enqueue", "--queue", "unique", "--unique-key", "report")
    assert cli(*unique, "--id", "u1", "true").code == 0
    assert cli(*unique, "--id", "u2", "true").code == 4
    assert cli(*unique, "--id", "u3", "--if-live", "skip", "true").code == 0
    assert states(cli, "--queue", "unique") == {"u1": "pending"}
    assert cli(*unique, "--id", "u4", "--if-live", "replace", "true").code == 0
    assert states(cli, "--queue", "unique") == {"u1": "cancelled", "u4": "pending"}


def test_a_schedule_is_added_paused_triggered_and_removed(cli: Cli) -> None:
    assert cli("schedule", "add", "nightly", "0 3 * * *", "--queue", "nightly", "--", "true").code == 0
    assert cli("schedule", "pause", "nightly").code == 0
    assert cli("schedule", "show", "nightly", "--json").json()["paused"] is True
    assert cli("schedule", "resume", "nightly").code == 0
    made = cli("schedule", "trigger", "nightly", "--json").json()
    assert (made["schedule"], made["queue"]) == ("nightly", "nightly")
    (known,) = [one for one in cli("schedule", "list", "--json").json() if one["name"] == "nightly"]
    assert (known["paused"], known["last_job"]) == (False, made["id"])
    assert cli("schedule", "rm", "nightly").code == 0
    assert cli("schedule", "show", "nightly").code == 1
    assert states(cli, "--queue", "nightly") == {made["id"]: "pending"}


def test_a_setting_is_kept_in_the_store(cli: Cli) -> None:
    assert cli("config", "set", "backoff-max", "7m").code == 0
    assert cli("config", "list", "--json").json()["backoff-max"] == {"value": 420, "origin": "database"}
    assert cli("config", "set", "backoff-max", "soon").code == 2
    assert cli("config", "unset", "backoff-max").code == 0
    assert cli("config", "list", "--json").json()["backoff-max"]["origin"] == "default"


def test_output_is_printed_as_it_was_written(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="o1")
    fake_worker.complete("o1", output=out("äö€😀\nno newline".encode()))
    assert cli("logs", "o1").out == "äö€😀\nno newline"
    assert cli("logs", "--json", "o1").json()["stdout"] == "äö€😀\nno newline"


def test_the_past_is_summed_up(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    for id in ("s1", "s2"):
        queue.enqueue("true", id=id, queue="sums", max_retries=0)
    fake_worker.complete("s1")
    fake_worker.fail("s2")
    summed = cli("stats", "--json", "--queue", "sums").json()
    assert (summed["enqueued"], summed["completed"], summed["dead"], summed["success_rate"]) == (2, 1, 1, 0.5)
    printed = cli("metrics", "--queue", "sums").out.splitlines()
    assert 'queuectl_jobs{queue="sums",state="completed"} 1.0' in printed


def test_old_jobs_are_deleted(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    for id in ("old1", "old2"):
        queue.enqueue("true", id=id, queue="old")
        fake_worker.complete(id)
    queue.enqueue("true", id="old3", queue="old")
    assert cli("cleanup", "--json", "--older-than", "1h").json()["deleted"] == 0
    assert cli("cleanup", "--json").json()["deleted"] >= 2
    assert states(cli, "--queue", "old") == {"old3": "pending"}
    assert cli("vacuum").code == 0


def test_a_wait_that_takes_too_long_ends(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="slow", queue="slow")
    assert cli("wait", "slow", "--timeout", "10ms").code == 124
    fake_worker.complete("slow")
    assert cli("wait", "slow").code == 0
    queue.enqueue("true", id="cut", queue="slow")
    queue.cancel("cut")
    assert cli("wait", "--queue", "slow").code == 1


def test_a_backup_is_restored_elsewhere(cli: Cli, another: str) -> None:
    assert cli("enqueue", "--id", "b1", "--queue", "backup", "echo ä€😀").code == 0
    Path("saved").unlink(missing_ok=True)
    assert cli("backup", "saved", "--json").json()["tables"]["jobs"] >= 1
    assert cli("restore", "--db", another, "saved", "--yes").code == 0
    assert states(cli, "--db", another, "--queue", "backup") == {"b1": "pending"}
    assert cli("doctor", "--db", another, "--json").json()["engine"] in ("postgres", "mysql")


def test_an_export_moves_between_engines(cli: Cli, another: str) -> None:
    assert cli("enqueue", "--id", "x1", "--queue", "export", "echo ä€😀").code == 0
    assert cli("export", "all.jsonl", "--force").code == 0
    assert cli("import", "--db", "file.db", "all.jsonl").code == 0
    assert cli("copy", "--db", "file.db", "--to", another).code == 0
    there = cli("show", "--db", another, "--json", "x1").json()
    assert there == cli("show", "--json", "x1").json()
    assert cli("import", "--db", another, "all.jsonl").code == 4  # it is not empty


def test_the_doctor_finds_a_sound_store(cli: Cli, engine: str) -> None:
    found = cli("doctor", "--json", "--full").json()
    assert found["engine"] == engine
    assert {finding["level"] for finding in found["findings"]} <= {"ok", "info", "warning"}
