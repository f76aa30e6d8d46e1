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
from tests.support.processes import cpu_seconds, elapsed, switches
from tests.support.worker_home import WorkerHome

SECONDS = 3


@pytest.mark.proof
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing")
def test_an_idle_worker_makes_few_system_calls(home: WorkerHome, tmp_path: Path) -> None:
    process = home.serve("--concurrency", "4")
    home.ended(*[home.enqueue("true") for _ in range(20)])
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


@pytest.mark.proof
def test_an_idle_worker_uses_no_processor(home: WorkerHome) -> None:
    process = home.serve()
    home.run("true")
    took, before, naps = elapsed(), cpu_seconds(process.pid), switches(process.pid)
    wait_until(lambda: took() > SECONDS)
    assert cpu_seconds(process.pid) - before <= 0.05
    assert switches(process.pid) - naps < 20 * SECONDS


@pytest.fixture(scope="module")
def patient_home(shared_home: WorkerHome) -> WorkerHome:
    """Its worker looks for work once in an hour: only the doorbell, or the job's time, can be the reason."""
    shared_home.config(poll_interval="1h")
    shared_home.run("true")
    return shared_home


def test_a_job_on_an_idle_queue_starts_when_the_worker_is_rung(patient_home: WorkerHome) -> None:
    for _ in range(10):
        patient_home.run("true")
    patient_home.ok("enqueue", "--id", "rung", "--command", "true")
    assert patient_home.ended("rung").state == states.COMPLETED


def test_a_job_starts_when_its_time_has_come(patient_home: WorkerHome) -> None:
    id = patient_home.enqueue("true", delay="700ms")
    job = patient_home.ended(id)
    assert job.started_at is not None
    assert job.started_at >= job.run_at


def test_a_retry_starts_when_its_time_has_come(patient_home: WorkerHome) -> None:
    job = patient_home.run(
        "test $QUEUECTL_ATTEMPT = 2", max_retries=1, retry_delay="500ms", backoff_strategy="fixed"
    )
    assert job.state == states.COMPLETED
    first, second = patient_home.attempts(job.id)
    assert second.started_at is not None
    assert second.started_at - first.finished_at >= 500


def test_a_job_that_nobody_rang_for_is_found(home: WorkerHome) -> None:
    home.config(poll_interval="200ms")
    home.serve()
    home.run("true")
    id = home.enqueue("true", delay="1h")
    outside = apsw.Connection(str(home.path / "queue.db"))
    outside.set_busy_timeout(5000)
    outside.execute("UPDATE jobs SET state = 'pending', run_at = 0 WHERE id = ?", (id,))
    outside.close()
    assert home.ended(id).state == states.COMPLETED


def test_only_the_named_queues_are_served(home: WorkerHome) -> None:
    home.serve("--queue", "mail,web")
    other = home.enqueue("true", queue="other")
    assert home.run("true", queue="web").state == states.COMPLETED
    assert home.run("true", queue="mail").state == states.COMPLETED
    assert home.job(other).state == states.PENDING
