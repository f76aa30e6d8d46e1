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
from tests.support.dead_worker import spares_an_unrelated_process
from tests.support.worker_home import WorkerHome

NEXT = {"QUEUECTL_BOOT_ID": "the-next-one"}
ONCE = 'echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || exec sleep 300'


def test_after_a_boot_jobs_run_again_without_waiting_for_the_lease(home: WorkerHome) -> None:
    """Workers, supervisor and commands are gone at once; what remains are their records."""
    home.config(worker_lease="3h")
    home.start(count=2, concurrency=2)
    ids = [home.enqueue(ONCE) for _ in range(3)]
    for id in ids:
        home.running(id)
    for pid in home.pids():
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not home.pids(), what="the power to be off")
    home.start(env=NEXT)
    home.ended(*ids)
    for id in ids:
        assert (home.job(id).state, home.job(id).lost) == (states.COMPLETED, 1)
        assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    wait_until(lambda: len(home.registered()) == 1, what="the rows of the dead workers to go")
    assert "1 worker stopped" in home.ok("worker", "stop", env=NEXT)
    assert os.listdir(home.path / "run") == []


def test_numbers_from_before_a_boot_are_not_looked_up(home: WorkerHome) -> None:
    """An unrelated process has the number of a command from before, in a session of the same number."""
    spares_an_unrelated_process(home, boot="the-one-before", lease_ms=600_000)


@pytest.mark.proof
def test_twenty_starts_at_once(home: WorkerHome) -> None:
    """Each start adds its workers, none is lost or doubled, and one stop ends them all."""
    command = [sys.executable, "-m", "queuectl", "worker", "start"]
    starts = [
        subprocess.Popen(command, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(20)
    ]
    assert [start.wait(120) for start in starts] == [0] * 20, home.log
    assert len({worker.pid for worker in home.registered()}) == len(home.registered()) == 20
    assert len(home.supervisors()) == 20
    ids = [home.enqueue("true") for _ in range(40)]
    home.ended(*ids, timeout=60)
    assert all(home.job(id).runs == 1 for id in ids)
    assert "20 workers stopped" in home.ok("worker", "stop")
    assert not home.pids()
