"""A worker in the foreground of a terminal that is closed: nobody listens to it any more, and it works on."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.worker.workshop import Workshop, alive


@pytest.mark.parametrize("count", [1, 2])
def test_it_works_on(site: Workshop, count: int) -> None:
    """The kernel sends a hangup, and every word to the terminal is an error from then on."""
    several = ["--count", str(count)] if count > 1 else []
    start = [sys.executable, "-m", "queuectl", "worker", "start", "--foreground", *several]
    leader, process = site.in_a_terminal(*start)
    wait_until(lambda: len(site.registered()) == count, timeout=60, what="the workers to be ready")
    id = site.enqueue("echo up; while ! test -e go; do sleep 0.02; done")
    site.running(id)
    workers = site.workers()
    os.close(leader)
    (site.work / "go").touch()
    assert site.ended(id).state == states.COMPLETED
    jobs = [site.run("false"), site.run("echo on")]  # both are worth a line that nobody reads
    assert [job.state for job in jobs] == [states.DEAD, states.COMPLETED]
    assert all(alive(pid) for pid in workers)
    assert sorted(site.workers()) == sorted(workers)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert site.registered() == []
