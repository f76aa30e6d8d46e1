"""Cancelling a job: at once while it waits, with its whole tree while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive
from tests.support.systems import both_systems_served
from tests.support.worker_home import WorkerHome, failpoints

# Ways to get out of reach of a signal to the process group; each writes the pid of what got away.
ESCAPES = {
    "a background process": "sleep 60 & echo $!; wait",
    "a session of its own": "setsid sh -c 'echo $$; exec sleep 60' & wait",
    "a double fork": "(setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 60",
    "an orphaned daemon": "setsid sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 60\" &)' & sleep 60",
    "a deaf grandchild": "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait",
}


def test_a_waiting_job_never_runs(served: WorkerHome) -> None:
    id = served.enqueue("touch ran", delay="1h")
    assert served.jobs.cancel(id) == "cancelled"
    served.run("true")
    job = served.job(id)
    assert (job.state, job.attempts, job.runs) == (states.CANCELLED, 0, 0)
    assert served.attempts(id) == []
    assert not (served.work / "ran").exists()


@both_systems_served
@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_a_running_job_ends_with_its_whole_tree(served: WorkerHome, escape: str) -> None:
    id = served.enqueue(escape)
    job = served.running(id)
    escaped = int(served.live(job))
    assert served.jobs.cancel(id) == "cancelling"
    job = served.ended(id)
    assert not alive(escaped)
    assert job.state == states.CANCELLED
    attempt = served.attempt(id)
    assert (attempt.outcome, attempt.error) == (kinds.CANCELLED, "cancelled while it ran")
    assert job.attempts == 1


@both_systems_served
def test_output_up_to_the_cancel_is_kept(served: WorkerHome) -> None:
    id = served.enqueue("trap 'echo bye; exit 3' TERM; echo hello; sleep 60 & wait")
    served.running(id)
    served.jobs.cancel(id)
    served.ended(id)
    assert served.stdout(id) == b"hello\nbye\n"
    assert served.attempt(id).exit_code == 3


@both_systems_served
def test_a_command_that_ignores_term_is_killed_after_the_grace(served: WorkerHome) -> None:
    id = served.enqueue("trap '' TERM; echo up; while :; do sleep 0.05; done")
    served.running(id)
    served.jobs.cancel(id)
    served.ended(id)
    attempt = served.attempt(id)
    assert (attempt.outcome, attempt.signal, attempt.exit_code) == (kinds.CANCELLED, 9, None)


def test_a_job_that_waits_for_its_retry_is_not_retried(served: WorkerHome) -> None:
    id = served.enqueue("false", retry_delay="1h", backoff_strategy="fixed")
    wait_until(lambda: served.job(id).state == states.FAILED)
    assert served.jobs.cancel(id) == "cancelled"
    job = served.job(id)
    assert (job.state, job.attempts) == (states.CANCELLED, 1)


def test_a_command_that_ends_well_before_it_hears_of_it_has_completed(served: WorkerHome) -> None:
    id = served.enqueue("trap '' TERM; echo up; while ! test -e stop; do sleep 0.01; done; rm stop")
    served.running(id)
    with served.locked():
        # The worker cannot read the request as long as it cannot renew its lease.
        (served.work / "stop").touch()
        wait_until(lambda: not served.job_processes())
    job = served.ended(id)
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
