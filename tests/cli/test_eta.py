"""status and show: how long it will take, by what was learned; in what words, and what that costs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker, learned

from queuectl.estimating import MOST_SAMPLED, eta
from queuectl.queue import Queue
from queuectl.queues import pause


def eta_line(cli: Cli) -> str:
    return next(line for line in cli("status").out.splitlines() if line.startswith("ETA: "))


def test_the_eta_is_the_work_that_waits_divided_by_the_slots(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    median = learned(queue, "make", 60)
    for _ in range(10):
        queue.enqueue("make", cwd="/srv")
    assert eta_line(cli).endswith(" (by the run times of these commands)")
    document = cli("status", "--json").json()
    assert document["eta_seconds"] == pytest.approx(10 * median / 1000, abs=0.1)
    assert document["eta"] == {"by": "commands", "known_percent": 100, "not_served": 0, "paused": 0}
    others = [FakeWorker(queue) for _ in range(3)]
    assert eta(queue).ms == 10 * median // 4
    for one in (fake_worker, *others):
        one.leave()
    assert cli("status", "--json").json()["eta_seconds"] is None
    assert "ETA" not in cli("status").out


def test_what_is_not_known_is_said(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    assert "ETA" not in cli("status").out
    learned(queue, "make", 60)
    queue.enqueue("make", cwd="/srv")
    queue.enqueue("something new", cwd="/srv")
    queue.enqueue("idle", queue="paused")
    queue.enqueue("idle", queue="rest")
    pause(queue, "rest")
    assert eta_line(cli).endswith(
        "(by the run times of these commands, 33% of them known; without 1 of paused queues)"
    )


def test_a_job_that_runs_and_one_that_waits_tell_how_long_they_will_take(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    queue.enqueue("make", id="new", cwd="/srv", timeout="300%")
    assert "300% of its usual run time, which is not known yet (0 of 3 successes)" in cli("show", "new").out
    assert "Usually takes" not in cli("show", "new").out
    median = learned(queue, "make", 60)
    text = cli("show", "new").out
    assert "Usually takes:" in text
    assert " (300% of its usual " in text
    document = cli("show", "new", "--json").json()
    assert (document["usual_seconds"], document["timeout_percent"]) == (median / 1000, 300)
    fake_worker.claim("new")
    told = cli("explain", "new").out
    assert "; its command usually takes " in told
    assert "(300% of its usual " in told
    assert " ends it at about " in told


def test_a_timeout_in_percent_can_be_changed_to_another_and_back(cli: Cli, queue: Queue) -> None:
    queue.enqueue("make", id="a", timeout="300%")
    assert queue.get("a").to_dict()["timeout_percent"] == 300
    assert cli("edit", "a", "--timeout", "10m").code == 0
    assert (queue.get("a").timeout, queue.get("a").rule("timeout_percent")) == (600_000, None)
    assert cli("edit", "a", "--timeout", "150%").code == 0
    assert (queue.get("a").timeout, queue.get("a").rule("timeout_percent")) == (None, 150)
    assert cli("edit", "a", "--clear", "timeout").code == 0
    assert (queue.get("a").timeout, queue.get("a").rules) == (None, None)


@pytest.mark.parametrize("value", ["50%", "%", "x%", "3.5%", "-300%", "1000000%"])
def test_a_share_that_makes_no_sense_is_refused(cli: Cli, value: str) -> None:
    result = cli("enqueue", f"--timeout={value}", "true")
    assert (result.code, result.out) == (2, "")
    assert "like 300%" in result.err


def test_with_very_many_jobs_only_a_sample_is_looked_at(queue: Queue, fake_worker: FakeWorker) -> None:
    here = queue.enqueue("true", hold=True).cwd
    median = learned(queue, "echo 0", 60, cwd=here)
    queue.enqueue_many([f"echo {number}" for number in range(100_000)])
    work = 0

    def count() -> bool:
        nonlocal work
        work += 100  # steps of SQLite's machine
        return False

    store: Any = queue.store
    store.connection._db.set_progress_handler(count, 100)  # only SQLite itself can count them
    found = eta(queue)
    store.connection._db.set_progress_handler(None)
    assert (found.ms, found.by, found.share_known) == (100_000 * median, "mixed", 0)
    assert 0 < work < MOST_SAMPLED * 100  # a look at each job would take some ten steps


def test_of_very_many_queues_the_largest_are_looked_at(queue: Queue, fake_worker: FakeWorker) -> None:
    here = queue.enqueue("true", hold=True).cwd
    median = learned(queue, "make", 60, cwd=here)
    for number in range(50):
        queue.enqueue_many([{"command": "make", "queue": f"q{number}"}] * 2)
    found = eta(queue)
    assert (found.ms, found.by) == (100 * median, "mixed")
    assert found.share_known == 40
