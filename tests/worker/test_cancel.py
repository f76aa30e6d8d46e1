"""Cancelling a job: at once while it waits, with its whole tree while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive
from tests.support.systems import both_systems_shared
from tests.support.worker_home import WorkerHome, failpoints

# Ways to get out of reach of a signal to the process group; each writes the pid of what got away.
ESCAPES = {
    "a background process": "sleep 60 & echo $!; wait",
    "a session of its own": "setsid sh -c 'echo $$; exec sleep 60' & wait",
    "a double fork": "(setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 60",
    "an orphaned daemon": "setsid sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 60\" &)' & sleep 60",
    "a deaf grandchild": "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait",
}


def test_a_waiting_job_never_runs(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("touch ran", delay="1h")
    assert shared_home.jobs.cancel(id) == "cancelled"
    shared_home.run("true")
    job = shared_home.job(id)
    assert (job.state, job.attempts, job.runs) == (states.CANCELLED, 0, 0)
    assert shared_home.attempts(id) == []
    assert not (shared_home.work / "ran").exists()


@both_systems_shared
@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_a_running_job_ends_with_its_whole_tree(shared_home: WorkerHome, escape: str) -> None:
    id = shared_home.enqueue(escape)
    job = shared_home.running(id)
    escaped = int(shared_home.live(job))
    assert shared_home.jobs.cancel(id) == "cancelling"
    job = shared_home.ended(id)
    assert not alive(escaped)
    assert job.state == states.CANCELLED
    attempt = shared_home.attempt(id)
    assert (attempt.outcome, attempt.error) == (kinds.CANCELLED, "cancelled while it ran")
    assert job.attempts == 1


@both_systems_shared
def test_output_up_to_the_cancel_is_kept(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("trap 'echo bye; exit 3' TERM; echo hello; sleep 60 & wait")
    shared_home.running(id)
    shared_home.jobs.cancel(id)
    shared_home.ended(id)
    assert shared_home.stdout(id) == b"hello\nbye\n"
    assert shared_home.attempt(id).exit_code == 3


@both_systems_shared
def test_a_command_that_ignores_term_is_killed_after_the_grace(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("trap '' TERM; echo up; while :; do sleep 0.05; done")
    shared_home.running(id)
    shared_home.jobs.cancel(id)
    shared_home.ended(id)
    attempt = shared_home.attempt(id)
    assert (attempt.outcome, attempt.signal, attempt.exit_code) == (kinds.CANCELLED, 9, None)


def test_a_job_that_waits_for_its_retry_is_not_retried(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("false", retry_delay="1h", backoff_strategy="fixed")
    wait_until(lambda: shared_home.job(id).state == states.FAILED)
    assert shared_home.jobs.cancel(id) == "cancelled"
    job = shared_home.job(id)
    assert (job.state, job.attempts) == (states.CANCELLED, 1)


def test_a_command_that_ends_well_before_it_hears_of_it_has_completed(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("trap '' TERM; echo up; while ! test -e stop; do sleep 0.01; done; rm stop")
    shared_home.running(id)
    with shared_home.locked():
        # The worker cannot read the request as long as it cannot renew its lease.
        (shared_home.work / "stop").touch()
        wait_until(lambda: not shared_home.job_processes())
    job = shared_home.ended(id)
    assert job.state == states.COMPLETED


def test_success_wins_over_a_request_that_came_too_late(home: WorkerHome) -> None:
    """Its worker is held up before it can report; meanwhile somebody cancels."""
    go = home.work / "go"
    home.serve(env=failpoints(f"run.output_flushed=wait:{go}"))
    id = home.enqueue("echo $$ > new && mv new pid")
    wait_until((home.work / "pid").exists)
    command = (home.work / "pid").read_text().strip()
    wait_until(lambda: not Path("/proc", command).exists(), what="the worker to take note of the end")
    assert home.jobs.cancel(id) == "cancelling"
    go.touch()
    job = home.ended(id)
    assert (job.state, job.exit_code) == (states.COMPLETED, 0)
