"""Workers as process 1, as in a container: they stop when asked, and no dead process is left unburied."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.worker_home import WorkerHome
from tests.worker.test_reused_pids import SPACE, refusal


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def dead(pids: list[int]) -> list[int]:
    """Those that nobody has buried."""
    found = []
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] == "Z":
            found.append(pid)
    return found


@pytest.fixture
def space() -> list[str]:
    if refusal():
        pytest.skip(f"NO PID NAMESPACE OF OUR OWN: {refusal()}")
    return SPACE


def test_a_worker_as_process_1_drains_and_buries_what_jobs_leave_behind(
    home: WorkerHome, space: list[str]
) -> None:
    outer = home.serve(prefix=space)
    (first,) = children(outer.pid)
    assert home.worker().pid == 1
    id = home.enqueue(
        "(setsid sh -c 'sleep 0.2; touch gone' &); echo up; while ! test -e go; do sleep 0.02; done"
    )
    home.running(id)
    wait_until((home.work / "gone").exists, what="the orphan to end")
    wait_until(lambda: not dead(children(first)), what="the orphan to be buried")
    os.kill(first, signal.SIGTERM)
    wait_until(lambda: "is stopping (drain)" in home.log)
    (home.work / "go").touch()
    assert outer.wait(20) == 0
    assert (home.job(id).state, home.job(id).attempts) == (states.COMPLETED, 1)


def test_a_supervisor_as_process_1_buries_the_orphans_of_a_killed_worker(
    home: WorkerHome, space: list[str]
) -> None:
    outer = home.serve(count=2, prefix=space)
    (first,) = children(outer.pid)
    id = home.enqueue('echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || exec sleep 300')
    home.running(id)
    (victim,) = (worker for worker in children(first) if children(worker))
    os.kill(victim, signal.SIGKILL)
    assert home.ended(id).state == states.COMPLETED
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    wait_until(lambda: len(children(first)) == 2, what="only workers to be left")
    os.kill(first, signal.SIGTERM)
    assert outer.wait(20) == 0
