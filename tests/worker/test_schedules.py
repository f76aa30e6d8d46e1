"""Real workers fire schedules at their times, and go on sleeping in between."""

from __future__ import annotations

from queuectl import schedules
from queuectl.core.schedules import firing_id
from queuectl.testing import wait_until
from tests.support.worker_home import WorkerHome


def fired(home: WorkerHome, name: str) -> int:
    return schedules.get(home.jobs, name).fired


def test_a_worker_fires_one_on_time_though_its_heart_beats_slowly(home: WorkerHome) -> None:
    home.config(worker_lease="3h")
    home.config(worker_heartbeat_interval="1h")
    home.serve()
    schedules.add(home.jobs, "tick", "@every 1s", {"command": "true"}, zone="UTC", overlap="allow")
    wait_until(lambda: fired(home, "tick") >= 3, what="three firings")
    jobs = [job for job in home.jobs.list() if job.schedule == "tick"]
    assert [job.id for job in jobs] == [firing_id("tick", job.created_at) for job in jobs]
    home.ended(*(job.id for job in jobs))
    assert {home.job(job.id).state for job in jobs} == {"completed"}


def test_one_that_came_due_while_no_worker_ran_is_made_up_for(home: WorkerHome) -> None:
    one = schedules.add(home.jobs, "late", "@every 1s", {"command": "echo $QUEUECTL_JOB_ID"}, zone="UTC")
    wait_until(lambda: home.jobs.clock.now() > (one.next_at or 0) + 1_000, what="its time to pass")
    home.serve()
    wait_until(lambda: fired(home, "late"), what="the first firing")
    schedules.pause(home.jobs, "late")
    (job, *_) = home.jobs.list()
    home.ended(job.id)
    assert home.stdout(job.id).decode().strip() == job.id
    assert schedules.get(home.jobs, "late").skipped >= 1


def test_workers_together_fire_each_time_once(home: WorkerHome) -> None:
    home.serve(count=3)
    schedules.add(home.jobs, "tick", "@every 1s", {"command": "true"}, zone="UTC", overlap="allow")
    wait_until(lambda: fired(home, "tick") >= 3, what="three firings")
    schedules.remove(home.jobs, "tick")
    ids = [job.id for job in home.jobs.list()]
    assert len(ids) == len(set(ids))
    home.ended(*ids)
