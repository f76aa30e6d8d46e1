"""A worker in the foreground of a terminal that is closed: nobody listens to it any more, and it works on."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive
from tests.support.worker_home import WorkerHome


@pytest.mark.parametrize("count", [1, 2])
def test_it_works_on(home: WorkerHome, count: int) -> None:
    """The kernel sends a hangup, and every word to the terminal is an error from then on."""
    several = ["--count", str(count)] if count > 1 else []
    start = [sys.executable, "-m", "queuectl", "worker", "start", "--foreground", *several]
    leader, process = home.in_a_terminal(*start)
    wait_until(lambda: len(home.registered()) == count, timeout=60, what="the workers to be ready")
    id = home.enqueue("echo up; while ! test -e go; do sleep 0.02; done")
    home.running(id)
    workers = home.workers()
    os.close(leader)
    (home.work / "go").touch()
    assert home.ended(id).state == states.COMPLETED
    jobs = [home.run("false"), home.run("echo on")]  # both are worth a line that nobody reads
    assert [job.state for job in jobs] == [states.DEAD, states.COMPLETED]
    assert all(alive(pid) for pid in workers)
    assert sorted(home.workers()) == sorted(workers)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert home.registered() == []
