"""The machine was switched off in the middle of jobs: all runs again at its next start; nobody is harmed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.worker.ghosts import harms_no_stranger
from tests.worker.workshop import Workshop, elapsed

NEXT = {"QUEUECTL_BOOT_ID": "the-next-one"}
ONCE = 'echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || exec sleep 300'


def test_after_a_boot_jobs_run_again_without_waiting_for_the_lease(site: Workshop) -> None:
    """Workers, supervisor and commands are gone at once; what remains are their records."""
    site.config(worker_lease="10m")
    site.start(count=2, concurrency=2)
    ids = [site.enqueue(ONCE) for _ in range(3)]
    for id in ids:
        site.running(id)
    for pid in site.pids():
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not site.pids(), what="the power to be off")
    took = elapsed()
    site.start(env=NEXT)
    site.ended(*ids)
    assert took() < 30
    for id in ids:
        assert (site.job(id).state, site.job(id).lost) == (states.COMPLETED, 1)
        assert [attempt.outcome for attempt in site.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    assert len(site.registered()) == 1
    assert "1 worker stopped" in site.ok("worker", "stop", env=NEXT)
    assert os.listdir(site.home / "run") == []


def test_numbers_from_before_a_boot_are_not_looked_up(site: Workshop) -> None:
    """A stranger has the number of a command from before, in a session of the same number."""
    harms_no_stranger(site, boot="the-one-before", lease_ms=600_000)


@pytest.mark.proof
def test_twenty_starts_at_once(site: Workshop) -> None:
    """Each start adds its workers, none is lost or doubled, and one stop ends them all."""
    command = [sys.executable, "-m", "queuectl", "worker", "start"]
    starts = [
        subprocess.Popen(command, env=site.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(20)
    ]
    assert [start.wait(120) for start in starts] == [0] * 20, site.log
    assert len({worker.pid for worker in site.registered()}) == len(site.registered()) == 20
    assert len(site.supervisors()) == 20
    ids = [site.enqueue("true") for _ in range(40)]
    site.ended(*ids, timeout=60)
    assert all(site.job(id).runs == 1 for id in ids)
    assert "20 workers stopped" in site.ok("worker", "stop")
    assert not site.pids()
