"""A job that takes too long ends with its whole tree, and in time, however it resists."""

from __future__ import annotations

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive, kill
from tests.support.systems import both_systems_shared
from tests.support.worker_home import WorkerHome


@both_systems_shared
def test_a_job_over_its_time_fails_with_the_reason(shared_home: WorkerHome) -> None:
    job = shared_home.run("sleep 60", timeout="300ms")
    attempt = shared_home.attempt(job.id)
    assert (job.state, attempt.outcome) == (states.DEAD, kinds.TIMEOUT)
    assert attempt.error == job.last_error
    assert str(attempt.error).startswith("timed out after ")
    assert attempt.started_at is not None
    assert attempt.finished_at - attempt.started_at >= 300


def test_a_job_over_its_time_is_retried(shared_home: WorkerHome) -> None:
    job = shared_home.run("sleep 60", timeout="200ms", max_retries=1)
    assert (job.state, job.attempts) == (states.DEAD, 2)
    assert [attempt.outcome for attempt in shared_home.attempts(job.id)] == [kinds.TIMEOUT, kinds.TIMEOUT]


@both_systems_shared
def test_it_ends_with_its_tree_and_what_it_has_printed_is_kept(shared_home: WorkerHome) -> None:
    """How each kind of process is ended that gets away is told in test_cancel.py: the same is done here."""
    tidy = "trap 'echo tidy; exit 0' TERM"
    # To set a trap and to fork twice takes a shell a few milliseconds: three seconds are for a busy machine.
    job = shared_home.run(f"{tidy}; (setsid sh -c 'echo $$; exec sleep 60' &); sleep 60 & wait", timeout="3s")
    attempt = shared_home.attempt(job.id)
    assert (job.state, attempt.outcome, attempt.exit_code) == (states.DEAD, kinds.TIMEOUT, 0)
    escaped, said = shared_home.stdout(job.id).split()
    assert said == b"tidy"
    assert not alive(int(escaped))
    assert not shared_home.job_processes()


def test_a_stopped_command_is_ended_too(shared_home: WorkerHome) -> None:
    job = shared_home.run("kill -STOP $$", timeout="200ms")
    assert shared_home.attempt(job.id).outcome == kinds.TIMEOUT


def test_a_command_within_its_time_is_left_alone(shared_home: WorkerHome) -> None:
    assert shared_home.run("sleep 0.2", timeout="10s").state == states.COMPLETED


def test_the_time_of_a_job_that_left_processes_behind_is_its_own(shared_home: WorkerHome) -> None:
    job = shared_home.run("sleep 60 & echo $!", timeout="10s")
    assert shared_home.attempt(job.id).outcome == kinds.SUCCEEDED
    left = int(shared_home.stdout(job.id))
    kill(left)
    wait_until(lambda: not alive(left))
