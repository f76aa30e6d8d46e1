"""explain: the whole way from a store to sentences, on every engine."""

from __future__ import annotations

from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl import queues
from queuectl.core import outcome as kinds
from queuectl.queue import Queue


def codes(cli: Cli, id: str) -> list[str]:
    return [reason["code"] for reason in cli("explain", id, "--json").json()["reasons"]]


def first_sentence(cli: Cli, id: str) -> str:
    return str(cli("explain", id, "--json").json()["reasons"][0]["text"])


def hire(queue: Queue, *, serves: str | None = None, provides: str | None = None) -> FakeWorker:
    """A worker that serves only these queues, with these resources."""
    fake_worker = FakeWorker(queue)
    fake_worker.leave()
    fake_worker.worker.queues, fake_worker.worker.provides = serves, provides
    queue.store.register(fake_worker.worker, 600_000)
    return fake_worker


def test_without_a_worker(cli: Cli, queue: Queue) -> None:
    queue.enqueue("true", id="a")
    result = cli("explain", "a")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "Job a is pending: no worker is running.",
        "  • No worker is running, on any machine.",
        "    try: queuectl worker start",
    ]


def test_of_several_jobs_and_of_one_that_does_not_exist(cli: Cli, queue: Queue) -> None:
    queue.enqueue("true", id="a")
    queue.enqueue("true", id="b", delay="1h")
    result = cli("explain", "a", "nobody", "b")
    assert result.code == 1
    assert "there is no job 'nobody'" in result.err
    assert [line for line in result.out.splitlines() if line.startswith("Job")] == [
        "Job a is pending: no worker is running.",
        "Job b is scheduled: its time has not come (and 1 more reason).",
    ]
    assert cli("explain", "nobody").code == 1


def test_with_a_free_worker(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a")
    assert codes(cli, "a") == ["ready"]
    queue.store.control([fake_worker.worker.id], "drain")
    assert codes(cli, "a") == ["workers_stopping"]


def test_with_a_worker_for_other_queues(cli: Cli, queue: Queue) -> None:
    hire(queue, serves="mail,reports")
    queue.enqueue("true", id="a")
    queue.enqueue("true", id="b", queue="reports")
    assert codes(cli, "a") == ["not_served"]
    assert codes(cli, "b") == ["ready"]


def test_when_all_slots_are_taken_it_tells_the_place_in_line(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    queue.enqueue("true", id="first")
    fake_worker.claim("first")
    queue.enqueue("true", id="low", priority=-1)
    for id in ("b", "c", "a"):
        queue.enqueue("true", id=id)
    queue.enqueue("true", id="high", priority=1)
    queue.enqueue("true", id="elsewhere", priority=9, queue="mail")
    assert codes(cli, "low") == ["busy"]
    assert "and 4 jobs of its queue are before this one" in first_sentence(cli, "low")
    assert "and 3 jobs of its queue are before this one" in first_sentence(cli, "a")
    assert "before" not in first_sentence(cli, "high")


def test_a_long_line_is_not_counted_to_its_end(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue_many(["true"] * 1_200)
    queue.enqueue("true", id="last")
    assert "1,000 jobs or more" in first_sentence(cli, "last")


def test_of_a_paused_queue(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", queue="mail")
    queues.pause(queue, "mail", reason="the \x1b[31mserver\x1b[0m moves")
    result = cli("explain", "a")
    assert ", until somebody resumes it: the \\x1b[31mserver\\x1b[0m moves." in result.out
    assert "try: queuectl queue resume mail" in result.out
    assert cli("queue", "resume", "mail").code == 0
    queues.drain(queue, "mail")
    assert codes(cli, "a") == ["ready"]


def test_of_a_queue_with_limits(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queues.configure(queue, "mail", concurrency=1, rate="1/h")
    for id in ("running", "a"):
        queue.enqueue("true", id=id, queue="mail")
    fake_worker.claim("running")
    assert "concurrency" in codes(cli, "a")
    # The remedy is a command that works.
    reasons = {reason["code"]: reason for reason in cli("explain", "a", "--json").json()["reasons"]}
    assert cli(*reasons["concurrency"]["remedy"].split()[1:]).code == 0
    assert "concurrency" not in codes(cli, "a")


def test_of_a_rate_that_is_spent(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queues.configure(queue, "mail", rate="1/h")
    now = queue.clock.now()
    queue.store.queues().set("mail", {"rate_spent": (now + 1_800_000) * 1_000_000}, now)
    queue.enqueue("true", id="a", queue="mail")
    (reason,) = cli("explain", "a", "--json").json()["reasons"]
    assert reason["code"] == "rate"
    assert "starts at most 1/h: not before" in reason["text"]
    assert reason["when"] is not None


def test_of_needs(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", needs="gpu=1")
    assert codes(cli, "a") == ["needs"]
    fake_worker.leave()
    hire(queue, provides="gpu=2")
    assert codes(cli, "a") == ["ready"]
    queue.enqueue("true", id="b", needs="gpu=3")
    assert "gpu=3 (the most is 2)" in first_sentence(cli, "b")


def test_of_a_held_job(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", hold=True)
    (reason,) = cli("explain", "a", "--json").json()["reasons"]
    assert (reason["code"], reason["remedy"]) == ("held", "queuectl release a")
    assert cli("release", "a").code == 0
    assert codes(cli, "a") == ["ready"]


def test_of_dependencies(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="build", max_retries=0)
    queue.enqueue("true", id="test", after=["build"])
    queue.enqueue("true", id="deploy", after=["test"])
    assert "build (pending) to succeed" in first_sentence(cli, "test")
    fake_worker.fail("build")
    queue.enqueue("true", id="other")
    fake_worker.complete("other")  # whoever comes by tells the others
    assert codes(cli, "test") == ["unmet"]
    told = cli("explain", "test").out
    assert "It waited for build (now dead) to succeed, which did not happen" in told
    assert "try: queuectl retry build" in told


def test_of_a_full_group(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    for id in ("a", "b", "c"):
        queue.enqueue("true", id=id, group="acme", group_limit=1)
    assert codes(cli, "a") == ["ready"]
    assert codes(cli, "c") == ["group"]
    assert "at most 1 may run at once, and 1 does, or is about to, and 1 job of it is" in first_sentence(
        cli, "c"
    )


def test_of_a_job_that_failed(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", backoff_strategy="fixed", retry_delay="10m")
    fake_worker.fail("a", error="exit code 1: no such file")
    told = cli("explain", "a").out
    assert "Its attempt 1 of 4 failed: exit code 1. It is tried again 10m after that" in told
    assert f"on {fake_worker.host} by worker {fake_worker.worker.id}: exit code 1 after" in told
    assert ": no such file\n" in told
    assert "How attempt 1 died:\n  exit code 1: what most commands say for any failure" in told


def test_of_a_running_job(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", timeout="10m")
    fake_worker.claim("a")
    assert codes(cli, "a") == ["running", "timeout"]
    queue.enqueue("true", id="b")
    FakeWorker(queue, alive=False).claim("b")
    assert codes(cli, "b") == ["worker_gone", "running"]


def test_of_jobs_that_have_ended(cli: Cli, jobs_in_every_state: None) -> None:
    assert codes(cli, "done") == ["completed"]
    assert codes(cli, "broken") == ["retries_used"]
    assert codes(cli, "stopped") == ["cancelled"]


def test_of_an_exit_code_that_is_not_retried(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", no_retry_on="1-3")
    fake_worker.end(fake_worker.claim("a"), kinds.FAILED, exit_code=2, error="exit code 2")
    assert "one of its codes that are never retried (1-3)" in first_sentence(cli, "a")


def test_of_a_unique_key_that_another_job_has_by_now(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", unique_key="nightly")
    queue.cancel("a")
    assert codes(cli, "a") == ["cancelled"]
    queue.enqueue("true", id="b", unique_key="nightly")
    assert codes(cli, "a") == ["cancelled", "unique"]
    assert codes(cli, "b") == ["ready"]
