"""Supervisors: crashed workers come back, their jobs at once; nobody outlives a foreground one."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.worker.systems import both_systems
from tests.worker.workshop import Workshop, alive, descriptors, elapsed

HANGS_ONCE = 'echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60'
FAILPOINTS = {"QUEUECTL_ENABLE_FAILPOINTS": "1"}


@both_systems
def test_a_crashed_workers_job_runs_again_at_once(site: Workshop) -> None:
    site.start()
    id = site.enqueue(HANGS_ONCE)
    site.running(id)
    old = site.worker().pid
    took = elapsed()
    os.kill(old, signal.SIGKILL)
    job = site.ended(id)
    assert took() < 5
    assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 2, 1)
    assert [attempt.outcome for attempt in site.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    assert site.worker().pid != old
    assert f"worker process {old} ended unexpectedly (SIGKILL); starting another now" in site.log


def test_other_workers_free_the_jobs_of_a_crashed_one(site: Workshop) -> None:
    site.config(worker_heartbeat_interval="10s")  # so that only the ring can be the reason
    site.start(count=2)
    id = site.enqueue(HANGS_ONCE)
    job = site.running(id)
    (victim,) = [worker for worker in site.registered() if worker.id == job.worker_id]
    took = elapsed()
    os.kill(victim.pid, signal.SIGKILL)
    assert site.ended(id).state == states.COMPLETED
    assert took() < 5
    wait_until(lambda: len(site.registered()) == 2, what="a new worker")


def test_a_crash_loop_is_slowed_down(site: Workshop) -> None:
    site.config(worker_heartbeat_interval="100ms")
    site.start(env={**FAILPOINTS, "QUEUECTL_FAILPOINT": "heartbeat.after@3=exit:7"})
    wait_until(lambda: "starting another in 2 s" in site.log)
    took = elapsed()
    wait_until(lambda: took() > 1)  # less than what the next start waits for
    lines = [
        line.partition(" worker process ")[2] for line in site.log.splitlines() if "(exit code 7)" in line
    ]
    assert [line.partition("; ")[2] for line in lines] == [
        "starting another now",
        "starting another in 1 s",
        "starting another in 2 s",
    ]
    assert site.log.count(" started, ") == 3
    (supervisor,) = site.supervisors()
    os.kill(supervisor, signal.SIGSTOP)  # or the next worker might be there while we ask
    for words in (("status",), ("worker", "list")):
        said = site.q(*words)
        assert f"1 of the 1 workers of supervisor {supervisor} crashed" in said.stderr, said
        assert "(3 crashes so far)" in said.stderr
    os.kill(supervisor, signal.SIGCONT)
    # A stop does not wait for a worker that is not there.
    took = elapsed()
    site.ok("worker", "stop")
    assert took() < 5
    assert not site.pids()


def test_workers_that_cannot_even_start_are_told_of(site: Workshop) -> None:
    result = site.q("worker", "start", env={"QUEUECTL_SHELL": "not a path"})
    assert result.returncode != 0
    assert "full path" in result.stderr
    assert not site.pids()


def test_five_starts_at_once_make_five_fleets(site: Workshop) -> None:
    starts = [
        subprocess.Popen(
            [sys.executable, "-m", "queuectl", "worker", "start"],
            env=site.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(5)
    ]
    errors = [start.communicate(timeout=60)[1] for start in starts]
    assert [start.returncode for start in starts] == [0] * 5, errors
    assert len(site.registered()) == 5
    assert len(site.supervisors()) == 5
    ids = [site.enqueue("true") for _ in range(20)]
    site.ended(*ids)
    assert all(site.job(id).attempts == 1 for id in ids)
    assert "5 workers stopped" in site.ok("worker", "stop")
    assert not site.pids()


@both_systems
def test_workers_in_the_foreground_end_with_their_supervisor(site: Workshop) -> None:
    process = site.serve(count=2)
    ids = [site.enqueue("setsid sleep 60 & echo up; sleep 60") for _ in range(2)]
    for id in ids:
        site.running(id)
    workers = site.workers()
    process.kill()
    wait_until(lambda: not any(alive(pid) for pid in workers), what="the workers to end")
    assert not site.job_processes()
    for id in ids:
        job = site.job(id)
        assert (job.state, job.attempts) == (states.PENDING, 0)
        assert site.attempt(id).outcome == kinds.RELEASED


@both_systems
def test_workers_in_the_background_carry_on_without_their_supervisor(site: Workshop) -> None:
    site.start(count=2)
    workers = site.workers()
    (supervisor,) = site.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not alive(supervisor))
    wait_until(lambda: site.log.count("lost its supervisor") == 2)
    assert site.run("true").state == states.COMPLETED
    assert all(alive(pid) for pid in workers)
    assert "2 workers stopped" in site.ok("worker", "stop")
    assert not any(alive(pid) for pid in workers)
    assert os.listdir(site.home / "run") == []


def test_a_stopped_supervisor_does_not_hold_up_a_stop_for_ever(site: Workshop) -> None:
    site.config(stop_grace="0", kill_grace="0")
    site.start()
    (supervisor,) = site.supervisors()
    os.kill(supervisor, signal.SIGSTOP)
    site.ok("worker", "stop")
    assert not site.pids()


def test_a_poisonous_job_ends_in_the_dead_letter_queue_and_others_go_on(site: Workshop) -> None:
    site.config(crash_limit="3", worker_heartbeat_interval="200ms")
    site.start(count=2)
    id = site.enqueue("kill -9 $PPID; sleep 5", max_retries=10, retry_delay="10ms", backoff_strategy="fixed")
    others = []
    while site.job(id).state != states.DEAD:
        others.append(site.enqueue("true"))
        site.ended(others[-1])
    job = site.job(id)
    assert (job.attempts, job.lost) == (3, 3)
    assert " died, last seen " in str(job.last_error)
    assert str(job.last_error).endswith(" (3 times)")
    assert [attempt.outcome for attempt in site.attempts(id)] == [kinds.LOST] * 3
    assert all(site.job(other).state == states.COMPLETED for other in others)


def test_a_worker_started_by_a_job_is_no_part_of_that_job(site: Workshop) -> None:
    site.serve()
    command = f"{sys.executable} -m queuectl worker start && sleep 60"
    id = site.enqueue(command)
    wait_until(lambda: len(site.registered()) == 2, what="the second worker")
    site.jobs.cancel(id)
    assert site.ended(id).state == states.CANCELLED
    assert len(site.registered()) == 2
    (supervisor,) = site.supervisors()
    assert alive(supervisor)


def test_a_supervisor_without_room_for_a_worker_tries_again(site: Workshop) -> None:
    site.start()
    (supervisor,) = site.supervisors()
    most, hardest = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (descriptors(supervisor) + 1, hardest))
    os.kill(site.worker().pid, signal.SIGKILL)
    wait_until(lambda: "worker cannot be started (Too many open files)" in site.log)
    assert alive(supervisor)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (most, hardest))
    assert site.run("true").state == states.COMPLETED
