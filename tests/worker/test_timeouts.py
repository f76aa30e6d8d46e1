"""A job that takes too long ends with its whole tree, and in time, however it resists."""

from __future__ import annotations

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive, elapsed, kill
from tests.support.systems import both_systems_served
from tests.support.worker_home import WorkerHome

# Ways to get out of reach of a signal to the process group; each writes the pid of what got away.
ESCAPES = {
    "a background process": "sleep 60 & echo $!; wait",
    "a session of its own": "setsid sh -c 'echo $$; exec sleep 60' & wait",
    "a double fork": "(setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 60",
    "an orphaned daemon": "setsid sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 60\" &)' & sleep 60",
    "a deaf grandchild": "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait",
}


@both_systems_served
def test_a_job_over_its_time_fails_with_the_reason(served: WorkerHome) -> None:
    took = elapsed()
    job = served.run("echo begun; sleep 60", timeout="300ms")
    assert took() < 5
    attempt = served.attempt(job.id)
    assert (job.state, attempt.outcome) == (states.DEAD, kinds.TIMEOUT)
    assert attempt.error == job.last_error
    assert str(attempt.error).startswith("timed out after 0.")
    assert served.stdout(job.id) == b"begun\n"
    assert attempt.started_at is not None
    assert 200 <= attempt.finished_at - attempt.started_at < 3000


def test_a_job_over_its_time_is_retried(served: WorkerHome) -> None:
    job = served.run('test "$QUEUECTL_ATTEMPT" = 2 || sleep 60', timeout="200ms", max_retries=1)
    assert (job.state, job.attempts) == (states.COMPLETED, 2)
    assert [attempt.outcome for attempt in served.attempts(job.id)] == [kinds.TIMEOUT, kinds.SUCCEEDED]


def test_a_command_may_tidy_up_and_still_timed_out(served: WorkerHome) -> None:
    job = served.run("trap 'echo tidy; exit 0' TERM; echo ready; sleep 60 & wait", timeout="300ms")
    attempt = served.attempt(job.id)
    assert (job.state, attempt.outcome, attempt.exit_code) == (states.DEAD, kinds.TIMEOUT, 0)
    assert b"tidy" in served.stdout(job.id)


@both_systems_served
def test_a_command_that_ignores_term_is_killed_after_the_grace(served: WorkerHome) -> None:
    took = elapsed()
    job = served.run("trap '' TERM; while :; do sleep 0.05; done", timeout="200ms")
    assert 0.4 < took() < 5  # the timeout, then the grace of 300 ms
    attempt = served.attempt(job.id)
    assert (attempt.outcome, attempt.signal, attempt.exit_code) == (kinds.TIMEOUT, 9, None)


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_nothing_of_the_tree_survives_a_timeout(served: WorkerHome, escape: str) -> None:
    assert_gone(served, escape)


@both_systems_served
def test_nothing_of_the_tree_survives_anywhere(served: WorkerHome) -> None:
    assert_gone(served, ESCAPES["a double fork"])


def assert_gone(served: WorkerHome, escape: str) -> None:
    job = served.run(escape, timeout="500ms")
    assert served.attempt(job.id).outcome == kinds.TIMEOUT
    escaped = int(served.stdout(job.id))
    assert not alive(escaped)
    assert not served.job_processes()


def test_a_stopped_command_is_ended_too(served: WorkerHome) -> None:
    job = served.run("kill -STOP $$", timeout="200ms")
    assert served.attempt(job.id).outcome == kinds.TIMEOUT


def test_a_command_within_its_time_is_left_alone(served: WorkerHome) -> None:
    assert served.run("sleep 0.2", timeout="10s").state == states.COMPLETED


def test_the_time_of_a_job_that_left_processes_behind_is_its_own(served: WorkerHome) -> None:
    job = served.run("sleep 60 & echo $!", timeout="200ms")
    assert served.attempt(job.id).outcome == kinds.SUCCEEDED
    left = int(served.stdout(job.id))
    kill(left)
    wait_until(lambda: not alive(left))
