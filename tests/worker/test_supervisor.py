"""Supervisors: crashed workers come back, their jobs at once; nobody outlives a foreground one."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive, descriptors, is_stopped
from tests.support.systems import both_systems
from tests.support.worker_home import WorkerHome, failpoints

HANGS_ONCE = 'echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60'


def beats_rarely(home: WorkerHome) -> None:
    """What happens before the next heartbeat has another reason."""
    home.config(worker_lease="3h")
    home.config(worker_heartbeat_interval="1h")


@both_systems
def test_a_crashed_workers_job_runs_again_at_once(home: WorkerHome) -> None:
    beats_rarely(home)
    home.start()
    id = home.enqueue(HANGS_ONCE)
    home.running(id)
    old = home.worker().pid
    os.kill(old, signal.SIGKILL)
    job = home.ended(id)
    assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 2, 1)
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    assert home.worker().pid != old
    assert f"worker process {old} ended unexpectedly (SIGKILL); starting another now" in home.log


def test_other_workers_free_the_jobs_of_a_crashed_one(home: WorkerHome) -> None:
    beats_rarely(home)
    home.start(count=2)
    id = home.enqueue(HANGS_ONCE)
    job = home.running(id)
    (victim,) = [worker for worker in home.registered() if worker.id == job.worker_id]
    os.kill(victim.pid, signal.SIGKILL)
    assert home.ended(id).state == states.COMPLETED
    wait_until(lambda: len(home.registered()) == 2, what="a new worker")


def test_a_crash_loop_is_slowed_down(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    home.start(env=failpoints("heartbeat.after@3=exit:7"))
    wait_until(lambda: "starting another in 2 s" in home.log)
    supervisor = stopped_without_a_worker(home)
    delays = [line.partition("; starting another ")[2] for line in crashes(home)]
    assert delays[:3] == ["now", "in 1 s", "in 2 s"]
    for words in (("status",), ("worker", "list")):
        said = home.q(*words)
        assert f"1 of the 1 workers of supervisor {supervisor} crashed" in said.stderr, said
        assert f"({len(delays)} crashes so far)" in said.stderr
    os.kill(supervisor, signal.SIGCONT)
    home.ok("worker", "stop")
    assert not home.pids()


def crashes(home: WorkerHome) -> list[str]:
    return [line for line in home.log.splitlines() if "(exit code 7)" in line]


def stopped_without_a_worker(home: WorkerHome) -> int:
    """The only supervisor, standing still while it waits to start another worker."""
    (supervisor,) = home.supervisors()
    while True:
        os.kill(supervisor, signal.SIGSTOP)
        wait_until(lambda: is_stopped(supervisor), what="the supervisor to stand still")
        if home.pids() == [supervisor]:
            return supervisor
        before = len(crashes(home))
        os.kill(supervisor, signal.SIGCONT)
        wait_until(lambda before=before: len(crashes(home)) > before, what="another crash")  # type: ignore[misc]


def test_workers_that_cannot_even_start_are_told_of(home: WorkerHome) -> None:
    result = home.q("worker", "start", env={"QUEUECTL_SHELL": "not a path"})
    assert result.returncode != 0
    assert "full path" in result.stderr
    assert not home.pids()


@pytest.mark.long
def test_five_starts_at_once_make_five_fleets(home: WorkerHome) -> None:
    starts = [
        subprocess.Popen(
            [sys.executable, "-m", "queuectl", "worker", "start"],
            env=home.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(5)
    ]
    errors = [start.communicate(timeout=60)[1] for start in starts]
    assert [start.returncode for start in starts] == [0] * 5, errors
    assert len(home.registered()) == 5
    assert len(home.supervisors()) == 5
    ids = [home.enqueue("true") for _ in range(20)]
    home.ended(*ids)
    assert all(home.job(id).attempts == 1 for id in ids)
    assert "5 workers stopped" in home.ok("worker", "stop")
    assert not home.pids()


@both_systems
def test_workers_in_the_foreground_end_with_their_supervisor(home: WorkerHome) -> None:
    process = home.serve(count=2)
    ids = [home.enqueue("setsid sleep 60 & echo up; sleep 60") for _ in range(2)]
    for id in ids:
        home.running(id)
    workers = home.workers()
    process.kill()
    wait_until(lambda: not any(alive(pid) for pid in workers), what="the workers to end")
    assert not home.job_processes()
    for id in ids:
        job = home.job(id)
        assert (job.state, job.attempts) == (states.PENDING, 0)
        assert home.attempt(id).outcome == kinds.RELEASED


def test_workers_in_the_background_carry_on_without_their_supervisor(home: WorkerHome) -> None:
    home.start(count=2)
    workers = home.workers()
    (supervisor,) = home.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not alive(supervisor))
    wait_until(lambda: home.log.count("lost its supervisor") == 2)
    assert home.run("true").state == states.COMPLETED
    assert all(alive(pid) for pid in workers)
    assert "2 workers stopped" in home.ok("worker", "stop")
    assert not any(alive(pid) for pid in workers)
    assert os.listdir(home.path / "run") == []


def test_a_stopped_supervisor_does_not_hold_up_a_stop_for_ever(home: WorkerHome) -> None:
    home.config(stop_grace="0", kill_grace="0")
    home.start()
    (supervisor,) = home.supervisors()
    os.kill(supervisor, signal.SIGSTOP)
    home.ok("worker", "stop")
    assert not home.pids()


def test_a_poisonous_job_ends_in_the_dead_letter_queue_and_others_go_on(home: WorkerHome) -> None:
    home.config(crash_limit="3", worker_heartbeat_interval="200ms")
    home.start(count=2)
    id = home.enqueue("kill -9 $PPID; sleep 5", max_retries=10, retry_delay="10ms", backoff_strategy="fixed")
    others = []
    while home.job(id).state != states.DEAD:
        others.append(home.enqueue("true"))
        home.ended(others[-1])
    job = home.job(id)
    assert (job.attempts, job.lost) == (3, 3)
    assert " died, last seen " in str(job.last_error)
    assert str(job.last_error).endswith(" (3 times)")
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST] * 3
    assert all(home.job(other).state == states.COMPLETED for other in others)


def test_a_worker_started_by_a_job_is_no_part_of_that_job(home: WorkerHome) -> None:
    home.serve()
    command = f"{sys.executable} -m queuectl worker start && sleep 60"
    id = home.enqueue(command)
    wait_until(lambda: len(home.registered()) == 2, what="the second worker")
    home.jobs.cancel(id)
    assert home.ended(id).state == states.CANCELLED
    assert len(home.registered()) == 2
    (supervisor,) = home.supervisors()
    assert alive(supervisor)


def test_a_supervisor_without_room_for_a_worker_tries_again(home: WorkerHome) -> None:
    home.start()
    (supervisor,) = home.supervisors()
    most, hardest = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (descriptors(supervisor) + 1, hardest))
    os.kill(home.worker().pid, signal.SIGKILL)
    wait_until(lambda: "worker cannot be started (Too many open files)" in home.log)
    assert alive(supervisor)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (most, hardest))
    assert home.run("true").state == states.COMPLETED
