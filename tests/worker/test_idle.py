"""A worker with nothing to do does next to nothing, and yet starts at once when there is something."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import apsw
import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.worker.workshop import Workshop, cpu_seconds, elapsed, switches

SECONDS = 3


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing")
def test_an_idle_worker_makes_few_system_calls(site: Workshop, tmp_path: Path) -> None:
    process = site.serve("--concurrency", "4")
    site.ended(*[site.enqueue("true") for _ in range(20)])
    counts = tmp_path / "counts"
    trace = subprocess.Popen(["strace", "-f", "-c", "-p", str(process.pid), "-o", str(counts)])
    took = elapsed()
    wait_until(lambda: took() > SECONDS)
    trace.send_signal(signal.SIGINT)
    trace.wait(20)
    lines = counts.read_text().splitlines()
    if not lines:
        pytest.skip("strace may not attach here")
    total = next(int(line.split()[-2]) for line in lines if line.endswith("total"))
    # A look at the file and the change counter every second, and a heartbeat every five.
    assert total < 60 * SECONDS, counts.read_text()


def test_an_idle_worker_uses_no_processor(site: Workshop) -> None:
    process = site.serve()
    site.run("true")
    took, before, naps = elapsed(), cpu_seconds(process.pid), switches(process.pid)
    wait_until(lambda: took() > SECONDS)
    assert cpu_seconds(process.pid) - before <= 0.05
    assert switches(process.pid) - naps < 20 * SECONDS


def test_a_job_on_an_idle_queue_starts_at_once(site: Workshop) -> None:
    site.config(poll_interval="1h")  # so that only the doorbell can be the reason
    site.serve()
    site.run("true")
    waits = []
    for _ in range(10):
        took = elapsed()
        site.run("true")
        waits.append(took())
    assert sorted(waits)[5] < 0.2
    took = elapsed()
    site.ok("enqueue", "--id", "rung", "--command", "true")
    site.ended("rung")
    assert took() < 5


def test_a_job_that_nobody_rang_for_is_found(site: Workshop) -> None:
    site.config(poll_interval="200ms")
    site.serve()
    site.run("true")
    id = site.enqueue("true", delay="1h")
    stranger = apsw.Connection(str(site.home / "queue.db"))
    stranger.set_busy_timeout(5000)
    stranger.execute("UPDATE jobs SET state = 'pending', run_at = 0 WHERE id = ?", (id,))
    stranger.close()
    assert site.ended(id).state == states.COMPLETED


def test_a_job_starts_when_its_time_has_come(site: Workshop) -> None:
    site.config(poll_interval="1h")
    site.serve()
    site.run("true")
    id = site.enqueue("true", delay="700ms")
    job = site.ended(id)
    assert job.started_at is not None
    assert 0 <= job.started_at - job.run_at < 500


def test_a_retry_starts_when_its_time_has_come(site: Workshop) -> None:
    site.config(poll_interval="1h")
    site.serve()
    job = site.run("test $QUEUECTL_ATTEMPT = 2", max_retries=1, retry_delay="500ms", backoff_strategy="fixed")
    assert job.state == states.COMPLETED
    first, second = site.attempts(job.id)
    assert second.started_at is not None
    assert 500 <= second.started_at - first.finished_at < 1000


def test_only_the_named_queues_are_served(site: Workshop) -> None:
    site.serve("--queue", "mail,web")
    other = site.enqueue("true", queue="other")
    assert site.run("true", queue="web").state == states.COMPLETED
    assert site.run("true", queue="mail").state == states.COMPLETED
    assert site.job(other).state == states.PENDING
