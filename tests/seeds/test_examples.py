"""The examples of the five descriptions, as they are written there, with real workers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.user_commands import Queuectl, wait_for_state

from queuectl.queue import Queue


def test_hello1_a_simple_successful_job(queuectl: Queuectl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of it is a process of its own."""
    monkeypatch.setattr(queuectl, "run", queuectl.run_process)
    enqueued = queuectl("enqueue", '{"id":"hello1","command":"echo Hello World"}')
    assert enqueued == "✓ Job hello1 enqueued successfully\n"
    started = queuectl.start()
    assert started.startswith("Worker ")
    assert started.endswith(" started\n")

    assert queuectl("wait", "hello1") == "✓ 1 job completed\n"

    assert queuectl("logs", "hello1") == "Hello World\n"
    assert queuectl("status").splitlines()[:6] == [
        "Active Workers: 1",
        "Pending: 0",
        "Processing: 0",
        "Completed: 1",
        "Failed: 0",
        "Dead (DLQ): 0",
    ]
    job = queuectl.json("show", "hello1")
    assert (job["state"], job["attempts"], job["exit_code"], job["worker_id"]) == ("completed", 1, 0, None)


def test_status_has_a_line_for_every_state(queuectl: Queuectl) -> None:
    queuectl("enqueue", "--id", "later", "--delay", "1h", "true")
    queuectl("enqueue", "--id", "never", "true")
    queuectl("cancel", "never")
    queuectl("enqueue", "--id", "bad", "--max-retries", "0", "exit 3")
    queuectl.start("--count", "2")
    queuectl.run("wait", "bad")

    assert queuectl("status").splitlines()[:10] == [
        "Active Workers: 2",
        "Pending: 0",
        "Processing: 0",
        "Completed: 0",
        "Failed: 0",
        "Dead (DLQ): 1",
        "Scheduled: 1",
        "Blocked: 0",
        "Cancelled: 1",
        "Total: 3",
    ]


def test_three_workers_on_five_jobs(queuectl: Queuectl, queue: Queue) -> None:
    """No job ends before three run: those who work one after the other would never come to an end."""
    ids = [f"job{number}" for number in range(1, 6)]
    for id in ids:
        queuectl(
            "enqueue",
            "--id",
            id,
            "touch begun-$$; until [ $(ls begun-* | wc -l) -ge 3 ]; do sleep 0.05; done",
        )

    queuectl.start("--count", "3")

    assert queuectl("wait", *ids) == "✓ 5 jobs completed\n"
    runs = [attempt for id in ids for attempt in queue.attempts(queue.get(id))]
    assert len(runs) == 5
    assert len({run.worker_id for run in runs}) == 3
    spans = [(run.started_at or 0, run.finished_at) for run in runs]
    at_once = [sum(begin <= start < end for begin, end in spans) for start, _ in spans]
    assert max(at_once) == 3
    listed = queuectl("list", "--state", "completed").splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [[id, "completed"] for id in ids]


def test_no_job_runs_twice_among_many_workers(queuectl: Queuectl, queue: Queue, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    (tmp_path / "jobs").write_text(f"echo x >> {marks}\n" * 60)
    queuectl.start("--count", "3", "--concurrency", "2")

    assert queuectl("enqueue", "--lines", "-f", "jobs") == "✓ 60 jobs enqueued\n"

    assert queuectl("wait", "--all") == "✓ 60 jobs completed\n"
    assert marks.read_text() == "x\n" * 60


def test_an_invalid_command_fails_gracefully(queuectl: Queuectl, queue: Queue) -> None:
    queuectl.start()

    queuectl("config", "set", "max-retries", "0")
    queuectl("enqueue", "--id", "no-command", "no-such-command-at-all")
    queuectl("enqueue", "--id", "no-program", "--", "no-such-program", "-x")
    queuectl("enqueue", "--id", "not-executable", "/")
    queuectl("enqueue", "--id", "bad-shell", "echo 'half a quote")
    queuectl("enqueue", "--id", "no-directory", "--cwd", "/no/such/directory", "true")
    queuectl("enqueue", "--id", "good", "echo fine")

    assert queuectl("wait", "good") == "✓ 1 job completed\n"
    for id, code, error in (
        ("no-command", 127, "exit code 127"),
        ("no-program", None, "cannot start no-such-program: No such file or directory"),
        ("not-executable", 126, "exit code 126"),
        ("bad-shell", 2, "exit code 2"),
        ("no-directory", None, "No such file or directory"),
    ):
        job = wait_for_state(queue, id, "dead")
        assert (job.exit_code, job.attempts) == (code, 1), id
        assert error in (job.last_error or ""), id
    assert len(queuectl.json("worker", "list")) == 1


def test_retry_from_the_dead_letter_queue_with_attempts_anew(
    queuectl: Queuectl, queue: Queue, tmp_path: Path
) -> None:
    repaired = tmp_path / "repaired"
    fields = f'"command":"test -e {repaired}","max_retries":1,"backoff_base":0.1'
    queuectl("enqueue", f'{{"id":"fail1",{fields}}}')
    queuectl.start()
    assert queuectl.run("wait", "fail1").returncode == 1
    assert queuectl("dlq", "list").splitlines()[1].split()[:3] == ["fail1", "dead", "2/2"]
    queuectl("queue", "pause", "default")

    assert queuectl("dlq", "retry", "fail1") == "✓ Job fail1 moved back to pending queue\n"

    job = queue.get("fail1")
    assert (job.state, job.attempts, job.last_error) == ("pending", 0, None)
    repaired.touch()
    queuectl("queue", "resume", "default")
    assert queuectl("wait", "fail1") == "✓ 1 job completed\n"
    shown = queuectl.json("show", "fail1")
    assert (shown["state"], shown["attempts"]) == ("completed", 1)
    assert [attempt["outcome"] for attempt in shown["history"]] == ["failed", "failed", "succeeded"]
    assert queuectl("dlq", "list") == ""


def test_higher_priority_first_then_first_in_first_out(queuectl: Queuectl, tmp_path: Path) -> None:
    order = tmp_path / "order"
    for id, priority in [("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 9), ("f", 0)]:
        command = f"echo {id} >> {order}"
        queuectl("enqueue", f'{{"id":"{id}","command":"{command}","priority":{priority}}}')

    queuectl.start()

    queuectl("wait", "--all")
    assert order.read_text().split() == ["e", "b", "d", "a", "f", "c"]


def test_every_attempt_is_kept(queuectl: Queuectl, queue: Queue) -> None:
    queuectl("enqueue", '{"id":"flaky","command":"echo try; exit 7","max_retries":2,"backoff_base":0.1}')
    queuectl.start()

    wait_for_state(queue, "flaky", "dead")

    history = queuectl.json("show", "flaky")["history"]
    assert [(one["attempt"], one["outcome"], one["exit_code"]) for one in history] == [
        (1, "failed", 7),
        (2, "failed", 7),
        (3, "failed", 7),
    ]
    assert all(one["finished_at"] <= two["started_at"] for one, two in pairwise(history))
    assert queuectl("logs", "flaky", "--attempt", "2") == "try\n"
