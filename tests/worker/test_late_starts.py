"""A worker that stands still right before a start, for longer than its lease, must not start it any more."""

from __future__ import annotations

import os
import signal

from queuectl.core import outcome as kinds
from queuectl.testing import wait_until
from tests.support.processes import is_stopped
from tests.support.worker_home import WorkerHome, failpoints

RECORDS = "echo $QUEUECTL_ATTEMPT_TOKEN >> runs; while ! test -e enough; do sleep 0.02; done"


def test_who_stood_still_before_a_start_does_not_start(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    home.config(worker_lease="1s")
    stops = {**failpoints("run.marked=stop"), "QUEUECTL_FAILPOINT_ONCE": str(home.work / "fired")}
    sleeper = home.serve(env=stops)
    id = home.enqueue(RECORDS)
    wait_until(lambda: is_stopped(sleeper.pid), what="the worker to stand still")
    home.config(worker_lease="30s")  # for the other: it must not lose its own on a busy machine
    home.serve()
    runs = home.work / "runs"
    wait_until(runs.exists, what="the other to run the job")
    os.kill(sleeper.pid, signal.SIGCONT)
    wait_until(lambda: "was declared dead" in home.log, what="the worker to hear of it")
    (home.work / "enough").touch()
    home.ended(id)
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    assert len(runs.read_text().splitlines()) == 1
    # It goes on as another, and is of use again.
    wait_until(lambda: len(home.registered()) == 2, what="the worker to come back")
