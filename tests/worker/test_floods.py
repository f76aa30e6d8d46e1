"""Output beyond all measure: the worker stays as it is, the disk too, and other jobs go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import resident_kb
from tests.support.worker_home import WorkerHome

GIGABYTE = 1_000_000_000


def growth(home: WorkerHome, id: str) -> int:
    """By how many KB the worker grew at most while that job ran."""
    pid = home.worker().pid
    first = highest = resident_kb(pid)

    def over() -> bool:
        nonlocal highest
        highest = max(highest, resident_kb(pid))
        return home.job(id).state in (states.COMPLETED, states.DEAD)

    wait_until(over, timeout=300, what="the flood to end")
    return highest - first


def kept(home: WorkerHome, id: str) -> int:
    """Bytes on the disk."""
    log = home.attempt(id).log
    assert log is not None
    return sum(file.stat().st_size for file in Path(home.logs_dir).glob(log + "*"))


@pytest.mark.proof
def test_ten_gigabytes_in_one_line(home: WorkerHome) -> None:
    """The line has no end. On the other stream there is another: its last line is what an error quotes."""
    home.serve("--concurrency", "2")
    home.run("head -c 2000000 /dev/zero")
    id = home.enqueue(
        f"head -c {10 * GIGABYTE} /dev/zero; head -c {GIGABYTE} /dev/zero | tr '\\0' x >&2; exit 3",
        max_retries=0,
    )
    job = home.running(id)
    assert job.state == states.PROCESSING
    assert home.run("echo meanwhile").state == states.COMPLETED
    assert growth(home, id) < 32 * 1024
    attempt = home.attempt(id)
    assert (attempt.exit_code, attempt.output_bytes) == (3, 11 * GIGABYTE)
    assert kept(home, id) <= home.jobs.settings.output_max
    assert attempt.output_dropped == 11 * GIGABYTE - len(home.stdout(id)) - len(home.stderr(id))
    assert len(str(attempt.error)) < 300
