"""Who is told of ends, as it is said on the command line; and what commands read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.queue import Queue


def told(queue: Queue) -> list[tuple[str | None, str]]:
    return [(job.about, job.command) for job in queue.list() if job.about is not None]


def test_a_job_its_queue_and_the_store_can_name_a_command(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    for id in ("own", "mute"):
        assert cli("enqueue", "--id", id, "--notify", "none" if id == "mute" else "to me", "x").code == 0
    cli("enqueue", "--id", "mailed", "--queue", "mail", "x")
    assert cli("enqueue", "--id", "all", "x").code == 0
    assert "notify to mail" in cli("queue", "set", "mail", "--notify", "to mail", "--notify-on", "any").out
    assert cli("config", "set", "notify", "to all").code == 0
    assert cli("config", "set", "notify-on", "completed").code == 0
    with Queue.open() as other:
        crew = FakeWorker(other)
        for id in ("own", "mute", "mailed", "all"):
            crew.complete(id)
    assert told(queue) == [("own", "to me"), ("mailed", "to mail"), ("all", "to all")]


def test_the_wish_of_a_job_is_changed_in_parts(cli: Cli, queue: Queue) -> None:
    cli("enqueue", "--id", "a", "x")
    for words, wish in (
        (("--notify", "tell"), {"notify": "tell"}),
        (("--notify-on", "any"), {"notify": "tell", "notify_on": ["completed", "dead", "cancelled"]}),
        (("--notify", "other", "--notify-on", "dead"), {"notify": "other", "notify_on": ["dead"]}),
        (("--clear", "notify_on"), {"notify": "other"}),
        (("--notify", "none"), {"notify": "none"}),
        (("--notify", "default"), {}),
    ):
        assert cli("edit", "a", *words).code == 0
        assert queue.get("a").wishes() == wish
    assert queue.get("a").notify is None


def test_a_job_shows_who_was_told_and_how_that_went(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    cli("enqueue", "--id", "a", "--notify", "tell", "--notify-on", "any", "x")
    fake_worker.complete("a")
    fake_worker.kill("a:notify-1", error="exit code 7")
    facts = [" ".join(line.split()) for line in cli("show", "a").out.splitlines()]
    assert {"Notify: tell on any end", "Notified: a:notify-1 dead (exit code 7)"} <= set(facts)
    (shown,) = cli("show", "a", "--json").json()["notifications"]
    assert (shown["id"], shown["state"], shown["last_error"]) == ("a:notify-1", "dead", "exit code 7")
    assert "Tells of:" in cli("show", "a:notify-1").out
    assert cli("show", "a:notify-1", "--json").json()["about"] == "a"
    assert "a:notify-1" in cli("dlq", "list").out
    assert queue.get("a").state == "completed"


def test_a_job_as_it_was_shown_can_be_enqueued_again(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    cli("enqueue", '{"id":"a","command":"x","notify":"tell","notify_on":"dead","input":"some text"}')
    fake_worker.kill("a")
    shown = {**cli("show", "a", "--json").json(), "id": "b"}
    result = cli("enqueue", json.dumps(shown))
    assert result.code == 0, result.err
    assert queue.get("b").wishes() == {"notify": "tell", "notify_on": ["dead"]}
    assert queue.get("b").input == "some text"


def test_nobody_waits_for_notifications_without_asking_for_them(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    cli("enqueue", "--id", "a", "--notify", "tell", "x")
    fake_worker.complete("a")
    for words in (("--all",), ("--search", "a"), ("a",)):
        result = cli("wait", *words, "--timeout", "0")
        assert (result.code, result.out) == (0, "✓ 1 job completed\n"), words
    assert cli("wait", "--queue", "notifications", "--timeout", "0").code == 124


def test_a_worker_for_some_queues_is_told_that_it_runs_no_notifications(cli: Cli, queue: Queue) -> None:
    from queuectl.notices import others_are_told

    assert not others_are_told(queue, ("mail",))
    queue.set_config("notify", "tell")
    assert others_are_told(queue, ("mail",))
    assert not others_are_told(queue, ("mail", "notifications"))
    assert not others_are_told(queue, None)
    queue.set_config("notify", None)
    cli("queue", "set", "mail", "--notify", "none")
    assert not others_are_told(queue, ("mail",))
    cli("queue", "set", "mail", "--notify", "tell")
    assert others_are_told(queue, ("mail",))


def test_doctor_finds_notifications_that_nobody_runs(cli: Cli, queue: Queue) -> None:
    crew = FakeWorker(queue)
    cli("enqueue", "--id", "a", "--notify", "tell", "x")
    crew.complete("a")
    crew.leave()
    crew.worker.queues = "default"
    queue.store.register(crew.worker, 600_000)
    out = cli("doctor").out
    assert "queue notifications: 1 job waiting" in out
    assert "queuectl worker start --queue notifications" in out


def test_a_command_reads_a_file_as_it_was_at_the_enqueue(cli: Cli, queue: Queue, work_dir: Path) -> None:
    Path("data").write_text("one\ntwo ß\n")
    assert cli("enqueue", "--id", "a", "--stdin", "data", "cat").code == 0
    Path("data").write_text("other")
    assert queue.get("a").input == "one\ntwo ß\n"
    assert "Reads:     11 bytes on its stdin\n" in cli("show", "a").out
    assert "two" not in cli("list", "--json").out
    assert cli("list", "--json").json()[0]["input_bytes"] == 11


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xfe", "not text in UTF-8"),
        (b"a\0b", "NUL"),
        (b"x" * 1_000_001, "1,000,001 bytes"),
        ("ß".encode() * 600_000, "at most 1,000,000"),
        (b"x" + "ß".encode() * 600_000, "at most 1,000,000"),
    ],
    ids=["bytes", "nul", "long", "many", "cut"],
)
def test_what_no_store_could_hold_is_refused(
    cli: Cli, queue: Queue, work_dir: Path, data: bytes, says: str
) -> None:
    Path("data").write_bytes(data)
    result = cli("enqueue", "--stdin", "data", "cat")
    assert (result.code, says in result.err, "hint: " in result.err) == (2, True, True), result.err
    assert list(queue.list()) == []


def test_explain_says_who_was_not_told(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    cli("enqueue", "--id", "a", "--notify", "tell", "x")
    fake_worker.complete("a")
    waiting = cli("explain", "a").out
    assert "The notification a:notify-1 about it is pending: nobody has been told yet." in waiting
    assert "try: queuectl explain a:notify-1" in waiting
    fake_worker.kill("a:notify-1")
    failed = cli("explain", "a", "--json").json()["reasons"][1]
    assert failed["text"].startswith("The notification a:notify-1 about it is dead: ")
    assert failed["remedy"] == "queuectl retry a:notify-1"
    cli("rm", "a:notify-1")
    assert "notification" not in cli("explain", "a").out
